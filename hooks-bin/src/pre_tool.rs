//! Denies tool calls: pushes, merges, destructive commands, edits of files that were not read.
//!
//! The rules are in `ralph_core::guard`; this module collects the facts for them and answers the
//! client.

mod commit;
mod transcript;
mod unseen;

use camino::Utf8Path;
use ralph_base::state::Event;
use ralph_core::guard::{self, Denial, OwnSessions};
use ralph_core::hook::Decision;
use ralph_project::config::check;

use crate::call::Call;
use crate::harness::{Failure, Hook};

/// The hook.
pub const HOOK: Hook = Hook {
    name: "ralph-pre-tool",
    purpose: "Denies pushes, merges, destructive commands, and edits of files that were not read.",
    events: &["PreToolUse"],
    decide,
    mistake: check::mistake,
};

fn decide(call: &Call<'_>) -> Result<Decision, Failure> {
    if let Some(denial) = unseen::later(call) {
        return Ok(deny(call, &denial));
    }
    if let Some(bash) = call.input.bash() {
        return Ok(command(call, &bash.command));
    }
    if let Some(line) = call.input.stands_for() {
        return Ok(command(call, line));
    }
    if let Some(why) = call.input.unreadable() {
        call.record("reading the tool's input", &why);
    }
    let named = call
        .input
        .texts()
        .into_iter()
        .find_map(|text| call.edit(&call.absolute(&text)).check_as_named(&call.config().guard));
    if let Some(denial) = named {
        return Ok(deny(call, &denial));
    }
    let Some(file) = call.input.file() else { return Ok(Decision::NoOpinion) };
    let path = call.absolute(&file.file_path);
    if file.only_reads {
        // Recorded here, so that this hook alone is enough. A missing file shows nothing.
        if path.exists() {
            call.known_files().record(&path)?;
        }
        return Ok(Decision::NoOpinion);
    }
    Ok(edit(call, &path))
}

fn command(call: &Call<'_>, command: &str) -> Decision {
    let facts = call.facts(command);
    let script = facts.read(command);
    let denial = guard::check_script(command, &script, &facts, &call.config().guard)
        .or_else(|| unseen::typed(call, &facts, &script))
        .or_else(|| commit::check(call, &facts, &script));
    let decision = match denial {
        Some(denial) => deny(call, &denial),
        None => {
            // Best effort: a read that is not recorded only means that the file is read again.
            let _ = call.record_command(&script, &facts);
            Decision::NoOpinion
        }
    };
    // Not freed, like the call itself: the process is about to end.
    std::mem::forget((script, facts));
    decision
}

fn edit(call: &Call<'_>, path: &Utf8Path) -> Decision {
    let config = call.config();
    let mut edit = call.edit(path);
    let known = call.known_files();
    // If nothing can be recorded, the agent could never satisfy a denial.
    edit.known = !(edit.exists && config.guard.in_force("read-before-edit"))
        || call.project().state().is_none()
        || known.contains(&edit.path)
        || is_empty(path)
        || transcript::shows(call, path);
    match guard::check_edit(&edit, &config.guard) {
        Some(denial) => deny(call, &denial),
        None => {
            // The agent knows a file that it creates; an Edit may fail if there is none.
            if !edit.exists && call.input.tool_name != "Edit" {
                let _ = known.record(path);
            }
            Decision::NoOpinion
        }
    }
}

/// Whether a file is empty, as after `touch`: there is nothing to read in it.
fn is_empty(path: &Utf8Path) -> bool {
    path.metadata().is_ok_and(|file| file.len() == 0)
}

/// Denies the call; in the user's own session, the settings may let the user decide.
fn deny(call: &Call<'_>, denial: &Denial) -> Decision {
    let own =
        if call.is_a_persons() { call.config().guard.own_sessions } else { OwnSessions::Deny };
    if own == OwnSessions::Off {
        return Decision::NoOpinion;
    }
    let is_asked = own == OwnSessions::Ask && client_asks(call);
    let question = denial.question().filter(|_| is_asked);
    call.journal(&Event::Denied {
        rule: denial.rule.clone(),
        tool: call.input.tool_name.clone(),
        target: denial.found.clone(),
        asked: question.is_some(),
    });
    question.map_or_else(|| Decision::Deny(denial.to_string()), Decision::Ask)
}

/// Whether the client is certain to ask before it runs the call. With permissions bypassed, it drops the
/// question wherever its own check of a path on the same line speaks too, whatever our rule is about.
fn client_asks(call: &Call<'_>) -> bool {
    call.input.permission_mode != "bypassPermissions" && !transcript::is_of_an_old_client(call)
}
