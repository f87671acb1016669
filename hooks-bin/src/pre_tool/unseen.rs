//! What no hook would judge later on: work that the client starts by itself after the story, and what
//! an agent types into a shell that runs.

use ralph_core::guard::{Denial, Facts};
use shell_reader::{Command, Reach, Script};

use crate::call::Call;

/// Tools that make the client go on after the session's work: by a clock, or towards a goal of its own.
const LATER: [&str; 2] = ["CronCreate", "SetGoal"];

const SHELLS: [&str; 6] = ["bash", "sh", "zsh", "dash", "ksh", "fish"];

/// Denies tools whose effect a run does not wait for.
pub(super) fn later(call: &Call<'_>) -> Option<Denial> {
    let tool = call.input.tool_name.as_str();
    let is_meant = LATER.contains(&tool) && call.env.run().is_some();
    (is_meant && call.config().guard.in_force("later")).then(|| Denial {
        rule: "later".to_owned(),
        found: tool.to_owned(),
        reason: "this run ends with its stories, and decides itself what is worked on next"
            .to_owned(),
        instead:
            "do the work now, wait with ScheduleWakeup, or say in your summary what is to be done \
                  later"
                .to_owned(),
    })
}

/// Denies a shell without a script in runs of codex, which types into it without calling a hook.
pub(super) fn typed(call: &Call<'_>, facts: &Facts, script: &Script) -> Option<Denial> {
    let is_codex = call.agent.is_some_and(|agent| agent.name == "codex");
    if !is_codex || !facts.in_loop || !call.config().guard.in_force("typed-input") {
        return None;
    }
    let shell = script.commands.iter().find(|command| reads_terminal(command))?;
    Some(Denial {
        rule: "typed-input".to_owned(),
        found: shell.name().unwrap_or_default().to_owned(),
        reason: "nobody sees what is typed into a shell that runs".to_owned(),
        instead: "give each command to the tool by itself, or as `bash -c '…'`".to_owned(),
    })
}

/// Whether a command is a shell that takes its commands from the terminal.
fn reads_terminal(command: &Command) -> bool {
    let is_option = |word: &str| word.starts_with(['-', '+']) && !word.contains('c');
    command.name().is_some_and(|name| SHELLS.contains(&name))
        && command.args.iter().all(|word| word.known().is_some_and(is_option))
        && command.redirects.is_empty()
        && !command.reached.iter().any(|step| matches!(step, Reach::Pipe { .. }))
}
