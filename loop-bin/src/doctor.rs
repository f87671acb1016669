//! `ralph-loop doctor` and `--dry-run`: everything that a start would find out, with nothing written
//! and no agent run.

use std::collections::BTreeSet;
use std::process::ExitCode;

use camino::Utf8Path;
use nix::sys::statvfs::statvfs;
use ralph_base::env::Env;
use ralph_base::state::Lock;
use ralph_project::config::Flag;

use crate::exit::Failure;
use crate::finding::Finding;
use crate::run::start::{Preflight, held_by, look_for_recovery, preflight};
use crate::terminal::{counted, say};
use crate::workspace::cache;

/// Less than this leaves no room for a build.
const LEAST_FREE_MIB: u64 = 1024;

/// Examines.
pub(crate) fn run(env: &Env, flags: &[Flag]) -> Result<ExitCode, Failure> {
    let mut findings = match preflight(env, flags) {
        Ok(preflight) => [all(&preflight)?, disks(&preflight)?].concat(),
        Err(failure) => vec![Finding::Problem(failure.to_string())],
    };
    findings.iter().for_each(show);
    findings.retain(|finding| matches!(finding, Finding::Problem(_)));
    match findings.len() {
        0 => Ok(ExitCode::SUCCESS),
        count => Err(Failure::because(counted(count, "problem found", "problems found"))),
    }
}

/// Shows what a run would do.
pub(crate) fn dry_run(preflight: &Preflight) -> Result<ExitCode, Failure> {
    for finding in all(preflight)? {
        if preflight.config.run.json_events {
            say(serde_json::to_string(&finding)?);
        } else {
            show(&finding);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(finding: &Finding) {
    say(match finding {
        Finding::Good(text) => format!("ok       {text}"),
        Finding::Note(text) => format!("note     {text}"),
        Finding::Problem(text) => format!("PROBLEM  {text}"),
    });
}

/// What was found, and what a start finds later than that.
fn all(preflight: &Preflight) -> Result<Vec<Finding>, Failure> {
    let mut findings = preflight.findings.clone();
    findings.extend(preflight.workspace.linked_by_files(&preflight.config.verify.commands));
    findings.extend(look_for_recovery(&preflight.project)?.into_iter().map(Finding::Note));
    if let Some(held) = Lock::holder(&preflight.run_dir.lock()) {
        findings.push(Finding::Note(held_by(&held)));
    }
    Ok(findings)
}

/// The room where the project is, and where the copy is.
fn disks(preflight: &Preflight) -> Result<Vec<Finding>, Failure> {
    let folders = [preflight.project.root(), cache::existing(preflight.workspace.top())];
    let folders = BTreeSet::from(folders);
    folders.into_iter().map(disk).collect()
}

fn disk(folder: &Utf8Path) -> Result<Finding, Failure> {
    let stat = statvfs(folder.as_std_path())?;
    let free = stat.blocks_available() as u64 * stat.fragment_size() as u64 / 1024 / 1024;
    Ok(match free {
        0..LEAST_FREE_MIB => Finding::Problem(format!("only {free} MiB free in {folder}")),
        _ => Finding::Good(format!("{} GiB free in {folder}", free / 1024)),
    })
}
