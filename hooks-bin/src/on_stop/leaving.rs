//! A session leaves: what is written down, and what is cleaned up after it.

use std::time::{SystemTime, UNIX_EPOCH};

use camino::Utf8PathBuf;
use ralph_base::secrets::mask;
use ralph_base::state::{self, Cap, LoopDir, SessionDir, StateDir};
use ralph_core::hook::Decision;
use ralph_core::plan::State;
use ralph_project::gate::{Fill, LastStop, StopStatus, Who, handoff_note, note_on_disk};
use ralph_project::loop_progress::LoopProgress;

use super::decisions;
use super::session::Session;
use crate::call::Call;

/// Allows a stop: journal, counters, and the record for the loop.
pub(super) fn allow(session: &Session<'_>, status: StopStatus, note: Option<String>) -> Decision {
    allow_unmet(session, status, note, &[])
}

/// The same, although these gates are unmet.
pub(super) fn allow_unmet(
    session: &Session<'_>,
    status: StopStatus,
    note: Option<String>,
    gates: &[&str],
) -> Decision {
    let call = session.call;
    if session.is_bound() || call.project().takes_part() {
        decisions::allowed(call, status, note.clone(), gates);
    }
    if session.is_bound() && session.who == Who::Session {
        record(session, status, note.clone());
    }
    if let Some(dir) = call.session().filter(|_| session.is_bound() || session.has_files()) {
        note_on_disk(&dir, |blocks| match status {
            StopStatus::Waiting | StopStatus::Working => blocks.waits(&session.who),
            _ => blocks.allowed(&session.who),
        });
    }
    match &session.loop_dir {
        Some(dir) if matches!(status, StopStatus::Complete | StopStatus::ReachedLimit) => {
            announce(session, dir, status)
        }
        _ if session.who == Who::Session => notice(status, note.as_deref()),
        _ => Decision::NoOpinion,
    }
}

/// What the person in front of the session sees of a stop that is no ordinary one.
fn notice(status: StopStatus, note: Option<&str>) -> Decision {
    use StopStatus::{Complete, Handoff, LetGo, ReachedLimit};
    let what = match status {
        Complete => "every story is done",
        ReachedLimit => "no iterations are left, and stories are still open",
        Handoff => "the context is nearly full; a new session continues",
        LetGo => "the session may stop although something is unmet",
        _ => return Decision::NoOpinion,
    };
    Decision::Notice(match note {
        // The loop's own words say it already.
        Some(note) if note.starts_with(status.word()) => note.to_owned(),
        Some(note) => format!("{}: {what} ({note})", status.word()),
        None => format!("{}: {what}", status.word()),
    })
}

/// Another tool's list came to its end: its `progress.txt` says so, and the person is told, once.
fn announce(session: &Session<'_>, dir: &LoopDir, status: StopStatus) -> Decision {
    let (path, word) = (dir.progress(), status.word());
    let before = fs_err::read(&path).unwrap_or_default();
    if LoopProgress::parse(&before).status.as_deref() == Some(word) {
        return Decision::NoOpinion;
    }
    if let Err(error) = state::replace_users(&path, &LoopProgress::set(&before, "Status", word)) {
        session.call.record("stopping", &error.to_string());
    }
    let list = dir.feature_list();
    Decision::Notice(match status {
        StopStatus::Complete => format!("{word}: every story of {list} is done"),
        _ => format!("{word}: no iterations are left, and stories of {list} are still open"),
    })
}

/// Lets the session go because its context is nearly full; a fresh one finds a note.
pub(super) fn hand_over(session: &Session<'_>, fill: &Fill) -> Decision {
    let before = session.call.session().and_then(|dir| LastStop::load(&dir));
    let is_first = before.is_none_or(|stop| stop.status != StopStatus::Handoff);
    if session.is_bound() && is_first {
        leave_note(session, fill);
    }
    let note = Some(format!("context limit reached: {}", fill.told()));
    let told = allow(session, StopStatus::Handoff, note);
    if is_first { told } else { Decision::NoOpinion }
}

fn leave_note(session: &Session<'_>, fill: &Fill) {
    let Some(path) = progress(session) else { return };
    let existing = state::read(&path).unwrap_or_default();
    let story = session.call.story();
    let words = session.call.input.last_assistant_message.as_deref().unwrap_or_default();
    let words = mask(words);
    let note = handoff_note(&existing, story.as_ref().map(|id| id.as_str()), fill, &words);
    let never = Cap { above: u64::MAX, keep_lines: 0 };
    if let Err(error) = state::append_capped(&path, &note, never) {
        session.call.record("handoff", &error.to_string());
    }
}

/// Where the plan's progress is written.
fn progress(session: &Session<'_>) -> Option<Utf8PathBuf> {
    if let Some(dir) = &session.loop_dir {
        return Some(StateDir::progress_beside(&dir.feature_list()));
    }
    let plan = session.plan()?;
    match session.call.config().run.progress.as_str() {
        "" => Some(StateDir::progress_beside(plan.path())),
        path => Some(session.call.work_root().join(path)),
    }
}

/// The agent's service failed, so that no `Stop` will come. A context that does not fit any more
/// is a case for a fresh session.
pub(super) fn failed(call: &Call<'_>) -> Decision {
    let session = Session::new(call, Who::Session);
    let words = call.input.last_assistant_message.as_deref().unwrap_or_default();
    let is_full = words.to_ascii_lowercase().starts_with("prompt is too long");
    let status = if is_full { StopStatus::Handoff } else { StopStatus::ApiError };
    if session.is_bound() {
        allow(&session, status, call.input.error.clone());
    }
    Decision::NoOpinion
}

/// The session is over.
pub(super) fn ended(call: &Call<'_>) -> Decision {
    let session = Session::new(call, Who::Session);
    if session.is_bound() || session.own_story().is_some() {
        let before = call.session().and_then(|dir| LastStop::load(&dir));
        let status = before.as_ref().map_or(StopStatus::Ended, |stop| stop.status);
        if before.is_none() {
            decisions::allowed(call, status, call.input.reason.clone(), &[]);
        }
        record(&session, status, before.and_then(|stop| stop.note));
    }
    for dir in session.dirs() {
        clean_up(dir, call.env.run().is_some());
    }
    Decision::NoOpinion
}

/// Writes down how the session stopped, and once for each story that it left it open.
pub(super) fn record(session: &Session<'_>, status: StopStatus, note: Option<String>) {
    let Some(dir) = session.call.session() else { return };
    let before = LastStop::load(&dir);
    let recorded = before.as_ref().and_then(|stop| stop.incomplete.clone());
    let mut stop = LastStop::new(status, note);
    stop.incomplete = left_open(session, status);
    if let Some(story) = stop.incomplete.as_ref().filter(|story| recorded.as_ref() != Some(story)) {
        log_incomplete(session.call, story);
    } else {
        stop.incomplete = stop.incomplete.or(recorded);
    }
    if before.as_ref() == Some(&stop) {
        return;
    }
    if let Err(error) = stop.save(&dir) {
        session.call.record("stopping", &error.to_string());
    }
}

/// The story that this stop leaves open. While something runs nothing was left yet, and after an
/// ordinary stop our own loop judges its story itself.
fn left_open(session: &Session<'_>, status: StopStatus) -> Option<String> {
    if status == StopStatus::Waiting {
        return None;
    }
    if let Some(attempt) = session.attempt() {
        let is_ordinary =
            matches!(status, StopStatus::Allowed | StopStatus::Complete | StopStatus::ReachedLimit);
        return (!is_ordinary).then_some(attempt.story);
    }
    let id = session.own_story()?;
    let story = session.known_story(&id);
    story.is_none_or(|story| story.state == State::Open).then(|| id.to_string())
}

fn log_incomplete(call: &Call<'_>, story: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let line = format!("incomplete:{story}:{now}");
    let path = call.project().own_state().sessions_log();
    if let Err(error) = state::append_line(&path, line.as_bytes()) {
        call.record("stopping", &error.to_string());
    }
}

/// Removes what only served the session. How it ended is kept for a loop that waits for it, and
/// what other tools wrote is theirs.
fn clean_up(dir: &SessionDir, a_loop_waits: bool) {
    // A link may lead to what is another session's.
    if state::leads_elsewhere(dir.root()) {
        return;
    }
    let mut served = vec![dir.block_counters(), dir.block_lock(), dir.reads()];
    served.extend([dir.reads_index(), dir.shared_reads_index(), dir.known_story()]);
    if !a_loop_waits {
        served.extend([dir.last_verdict(), dir.last_stop()]);
    }
    for path in served {
        // Best effort: what cannot be removed does no harm.
        let _ = fs_err::remove_file(path);
    }
    // Only an empty folder goes.
    let _ = fs_err::remove_dir(dir.root());
}
