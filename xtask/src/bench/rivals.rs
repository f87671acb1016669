//! What hooks are compared with: an empty program, the start of interpreters, and the same
//! decisions in bash with jq.

use std::process::Command;

use super::hooks::Case;
use super::rounds::Contender;
use super::stage::Stage;
use crate::run;

/// An empty program, which everything is measured by.
pub(crate) const EMPTY: &str = "/bin/true";

/// How many times faster than the script a hook must be.
pub(crate) const FASTER: f64 = 40.0;

/// Slow programs take part in every twentieth round only.
const RARELY: usize = 20;

/// The start of a program that does nothing, for those that are there.
pub(crate) fn starts(stage: &Stage) -> Vec<Contender> {
    let lines: [&[&str]; 4] = [
        &[EMPTY],
        &["bash", "-c", ":"],
        &["node", "-e", "0"],
        // The real interpreter: what version managers put in its place is a script.
        &["/usr/bin/python3", "-c", "pass"],
    ];
    let there = lines.into_iter().filter(|line| line.first().is_some_and(|name| is_there(name)));
    there
        .map(|line| {
            let words = line.iter().map(|word| (*word).to_owned()).collect();
            let name = if line.len() == 1 { EMPTY.to_owned() } else { line.join(" ") };
            let every = if line.len() == 1 { 1 } else { RARELY };
            Contender { every, ..Contender::new(&name, stage.program(words, Vec::new())) }
        })
        .collect()
}

/// The same decision in bash with jq.
pub(crate) fn script(stage: &Stage, case: &Case) -> Contender {
    let path = run::root().join("fixtures/bash-hook.sh").into_string();
    let program = stage.program(vec!["bash".into(), path], stage.input(case.input.clone()));
    Contender { every: RARELY, ..case.played_by(program, &script_name(case.name)) }
}

/// Under which name the script's time stands.
pub(crate) fn script_name(case: &str) -> String {
    format!("bash and jq: {case}")
}

/// Whether a program can be started at all.
pub(crate) fn is_there(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
}
