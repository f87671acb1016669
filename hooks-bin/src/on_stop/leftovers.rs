//! `TaskCompleted` and `TeammateIdle`: added lines must not contain leftovers.

use ralph_core::git::{Checkpoint, Repo};
use ralph_core::hook::Decision;
use ralph_project::gate::{Cause, Who};
use ralph_project::leftovers::{LeftoverKind, added_lines, find, in_words};
use ralph_project::strikes;

use super::session::Session;
use super::stop::{self, Stop};
use crate::call::Call;
use crate::harness::Failure;

/// Holds back a task or a teammate while added lines contain leftovers of these kinds.
pub(super) fn decide(call: &Call<'_>, kinds: &[LeftoverKind]) -> Result<Decision, Failure> {
    // Without a repository it is unknown which lines are new.
    let Ok(repo) = call.repo() else { return Ok(Decision::NoOpinion) };
    let checkpoint = checkpoint(call, &repo);
    let found = find(&added_lines(&repo, checkpoint.as_ref())?, kinds);
    if found.is_empty() {
        return Ok(Decision::NoOpinion);
    }
    let (who, subject) = subject(call);
    let session = Session::new(call, Who::Other(who));
    let text =
        format!("{subject}: added lines contain {}.{}", counted(found.len()), in_words(&found));
    let asked = session.ask(Cause::Leftovers, text.clone(), 0);
    let stop = Stop::block(text.clone(), vec!["LEFTOVERS"], vec![text]).unless_let_go(asked);
    // The counts stay: what was allowed once is not blocked again unless it changes.
    stop::journal(call, &stop);
    Ok(stop.block.map(Decision::Block).unwrap_or_default())
}

/// Returns the checkpoint that applies to this session, if there is one.
fn checkpoint(call: &Call<'_>, repo: &Repo) -> Option<Checkpoint> {
    let state = call.project().own_state();
    let found = strikes::checkpoint(state).ok()??;
    let is_stale =
        !call.is_of_our_loop() && call.bound().stale(state, &found, repo).ok()?.is_some();
    Some(found).filter(|_| !is_stale && !call.is_outside_run())
}

/// Returns whom the counts are for, and how the message begins.
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
