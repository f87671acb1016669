//! `TaskCompleted` and `TeammateIdle`: nothing may be left behind in the lines that were added.

use std::hash::{DefaultHasher, Hash, Hasher};

use ralph_core::gate::{Cause, StopStatus, Who};
use ralph_core::git::Repo;
use ralph_core::hook::Decision;
use ralph_core::leftovers::{Kind, added_lines, find, told};
use ralph_core::state::Event;
use ralph_core::transcript::Ending;

use super::session::Session;
use crate::call::Call;
use crate::harness::Failure;

/// Holds a task or a teammate back while added lines hold leftovers of these kinds.
pub(super) fn decide(call: &Call<'_>, kinds: &[Kind]) -> Result<Decision, Failure> {
    // Without a repository nobody can tell which lines are new.
    let Ok(repo) = Repo::open(call.project().root()) else { return Ok(Decision::NoOpinion) };
    let found = find(&added_lines(&repo, call.project().own_state())?, kinds);
    if found.is_empty() {
        return Ok(Decision::NoOpinion);
    }
    let (who, subject) = subject(call);
    let session = Session::new(call, Who::Other(who));
    let text = format!("{subject}: the added lines hold {}.{}", counted(found.len()), told(&found));
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let fingerprint = format!("{:016x}", hasher.finish());
    match session.ask(Cause::Leftovers, &Ending::default(), fingerprint, 0) {
        Ok(()) => {
            call.journal(&Event::StopBlocked { reasons: vec![text.clone()] });
            Ok(Decision::Block(text))
        }
        // The counts stay: what was let go once is not held back again unless it changes.
        Err(why) => {
            let note = Some(format!("{}; still unmet: {text}", why.told()));
            let status = StopStatus::LetGo.word().to_owned();
            call.journal(&Event::StopAllowed { status, note });
            Ok(Decision::NoOpinion)
        }
    }
}

/// Whom the counts are for, and how the text begins.
fn subject(call: &Call<'_>) -> (String, String) {
    let input = call.input;
    let short = |text: &Option<String>| -> String {
        text.as_deref().unwrap_or_default().chars().filter(|c| !c.is_control()).take(200).collect()
    };
    if input.event == "TeammateIdle" {
        let name = short(&input.teammate_name);
        return (format!("teammate {name}"), format!("{name} cannot pause yet"));
    }
    let (id, title) = (short(&input.task_id), short(&input.task_subject));
    (format!("task {id}"), format!("Task {id} ({title}) is not complete"))
}

fn counted(count: usize) -> String {
    if count == 1 { "1 leftover".to_owned() } else { format!("{count} leftovers") }
}
