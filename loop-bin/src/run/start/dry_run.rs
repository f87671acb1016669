//! `--dry-run`: every problem that a start would find; nothing is written.

use std::process::ExitCode;

use ralph_base::state::Lock;
use ralph_project::diagnosis::Diagnosis;
use work_copy::linked_by_files;

use super::preflight::Preflight;
use crate::exit::Failure;
use crate::record::{held_by, look_for_recovery};
use crate::terminal::{counted, say};

/// Prints what a run would do.
pub(crate) fn dry_run(preflight: &Preflight) -> Result<ExitCode, Failure> {
    let findings = all_findings(preflight)?;
    findings.iter().for_each(show);
    end_of(&findings)
}

/// Prints a finding.
pub(crate) fn show(finding: &Diagnosis) {
    say(match finding {
        Diagnosis::Good(text) => format!("ok       {text}"),
        Diagnosis::Later(text) => format!("later    {text}"),
        Diagnosis::Note(text) => format!("note     {text}"),
        Diagnosis::Problem(text) => format!("PROBLEM  {text}"),
    });
}

/// All findings, and those that a start makes only later.
pub(crate) fn all_findings(preflight: &Preflight) -> Result<Vec<Diagnosis>, Failure> {
    let mut findings = preflight.findings.clone();
    findings.extend(linked_by_files(&preflight.workspace, &preflight.config.verify.commands));
    findings.extend(look_for_recovery(&preflight.project)?.into_iter().map(Diagnosis::Note));
    if let Some(held) = Lock::holder(&preflight.run_dir.lock()) {
        findings.push(Diagnosis::Note(held_by(&held)));
    }
    Ok(findings)
}

/// Ends with an error if there was a problem, so that a script can stop there.
pub(crate) fn end_of(findings: &[Diagnosis]) -> Result<ExitCode, Failure> {
    match findings.iter().filter(|finding| finding.is_problem()).count() {
        0 => Ok(ExitCode::SUCCESS),
        count => Err(Failure::because(counted(count, "problem found", "problems found"))),
    }
}
