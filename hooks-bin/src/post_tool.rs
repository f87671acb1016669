//! Detects failing test runs, and rolls back the attempt after saving it.
//!
//! The client reports successful and failed commands by different events; both are handled here.
//! Test runs are judged in `ralph_core::verdict`, their consequences in `ralph_project::strikes`.

mod failed;
mod output;

use camino::Utf8Path;
use ralph_base::state::{self, LastVerdict};
use ralph_core::guard;
use ralph_core::hook::{BashResult, Decision};
use ralph_core::verdict::{Kind, Run, Verdict, judge, test_folders};
use ralph_project::config::check;
use shell_reader::{Script, Word};

use crate::call::Call;
use crate::harness::{Failure, Hook};

/// The hook.
pub const HOOK: Hook = Hook {
    name: "ralph-post-tool",
    purpose: "Detects failing test runs, and rolls back the attempt after saving it.",
    events: &["PostToolUse", "PostToolUseFailure"],
    decide,
    mistake: check::mistake_beside_guard,
};

/// What the agent learns about a test run whose result is unknown.
const HIDDEN: &str = "The exit code of these tests is hidden, and their output does not show \
                      whether they passed; this does not count as a pass. Run them again without \
                      the pipe or `|| true`, or with `set -o pipefail` first.";

fn decide(call: &Call<'_>) -> Result<Decision, Failure> {
    if let (Some(bash), Some(result)) = (call.input.bash(), call.input.bash_result()) {
        return command(call, &bash.command, &result);
    }
    if let Some(file) = call.input.file()
        && call.input.error.is_none()
    {
        call.known_files().record(&call.absolute(&file.file_path))?;
    }
    Ok(Decision::NoOpinion)
}

fn command(call: &Call<'_>, command: &str, result: &BashResult<'_>) -> Result<Decision, Failure> {
    // Whether an amended commit is the agent's own does not matter here, so git is not asked.
    let facts = call.facts("");
    let script = facts.read(command);
    call.record_command(&script, &facts)?;
    if guard::commits(&script, &facts) && !call.is_of_our_loop() {
        let _ = failed::note_commits(call);
    }
    if result.still_running || result.interrupted {
        return Ok(Decision::NoOpinion);
    }
    let output = output::gather(result);
    let verdict = judge(&Run {
        command,
        exit_code: result.exit_code,
        output: &result.output,
        end: output.end.as_deref(),
        cut: output.cut,
        test_commands: &call.config().tests.commands,
        script: Some(&script),
    });
    if verdict.kind == Kind::NotATest || runs_elsewhere(call, &script) {
        return Ok(Decision::NoOpinion);
    }
    // If an agent reports no exit code, there may be a failure that the output does not show.
    let is_sure = result.exit_code.is_some() || call.agent.is_none_or(|agent| !agent.exit_unknown);
    if is_sure || verdict.kind != Kind::Passed {
        remember(call, command, output.text(result), &verdict);
    } else if let Some(session) = call.session() {
        // An earlier failure may no longer hold either.
        state::remove_if_there(session.last_verdict())?;
    }
    match verdict.kind {
        Kind::Failed => failed::settle(call, command, output.text(result), &verdict),
        Kind::Passed => {
            failed::forgive(call)?;
            Ok(Decision::NoOpinion)
        }
        Kind::Unknown if result.exit_code.is_some() && call.project().state().is_some() => {
            Ok(Decision::Context(HIDDEN.to_owned()))
        }
        _ => Ok(Decision::NoOpinion),
    }
}

/// Whether all tests of the line ran outside the tree that the agent works in, so that they say
/// nothing about its work. A subagent may have a work tree of its own.
fn runs_elsewhere(call: &Call<'_>, script: &Script) -> bool {
    // A folder that does not exist may be on another machine.
    let is_elsewhere = |folder: &Utf8Path| folder.is_dir() && !call.project().works_in(folder);
    let leads_elsewhere = |folder: &Option<&Word>| match folder {
        None => is_elsewhere(&call.cwd()),
        Some(folder) => folder.known().is_some_and(|folder| {
            let at_home =
                folder.strip_prefix("~/").and_then(|below| Some(call.env.home()?.join(below)));
            is_elsewhere(&at_home.unwrap_or_else(|| call.absolute(folder.into())))
        }),
    };
    let folders = test_folders(script, &call.config().tests.commands);
    if folders.is_empty() { leads_elsewhere(&None) } else { folders.iter().all(leads_elsewhere) }
}

/// Records a verdict for the journal, the gates and the loop.
fn remember(call: &Call<'_>, command: &str, output: &str, verdict: &Verdict) {
    call.journal(&verdict.event());
    let Some(session) = call.session() else { return };
    let last = LastVerdict::load(&session).unwrap_or_default();
    // What proves nothing does not clear a failure.
    if verdict.kind == Kind::Unknown && last.verdict == Kind::Failed.name() {
        return;
    }
    let before = last.failures_in_a_row;
    let last = LastVerdict {
        failures_in_a_row: match verdict.kind {
            Kind::Failed => before + 1,
            Kind::Passed => 0,
            _ => before,
        },
        agent: call.input.agent_id.clone(),
        ..verdict.as_last(command, output, &call.env.run().unwrap_or_default())
    };
    // Best effort, like the journal: the decision does not depend on it.
    let _ = last.save(&session);
}
