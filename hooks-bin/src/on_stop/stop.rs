//! The decision about a stop, and the one place that records it and answers.

use std::time::{SystemTime, UNIX_EPOCH};

use camino::Utf8PathBuf;
use ralph_base::secrets::mask;
use ralph_base::state::{self, Cap, Event, LoopDir, SessionDir, StateDir, StopFacts};
use ralph_core::hook::Decision;
use ralph_core::plan::State;
use ralph_project::gate::{Fill, LastStop, LetGo, StopStatus, Who, handoff_note, note_on_disk};
use ralph_project::loop_progress::LoopProgress;
use ralph_project::strikes;

use super::session::Session;
use crate::call::Call;

/// The decision about a stop.
pub(super) struct Stop {
    /// The text with which the stop is blocked; `None` allows it.
    pub(super) block: Option<String>,
    /// The status of an allowed stop.
    pub(super) status: StopStatus,
    /// The reasons, for the journal.
    pub(super) notes: Vec<String>,
    /// The gates that are unmet.
    pub(super) gates: Vec<&'static str>,
    /// How full the context is, if a fresh session should continue.
    pub(super) handoff: Option<Fill>,
    /// The new content of the other loop's `progress.txt`, if it changes.
    pub(super) progress: Option<Vec<u8>>,
    /// How many stories of the other loop's list are left, if it ends here.
    pub(super) remaining: Option<usize>,
}

impl Stop {
    pub(super) fn allow(status: StopStatus, note: Option<String>) -> Self {
        let notes = note.into_iter().collect();
        Self {
            block: None,
            status,
            notes,
            gates: Vec::new(),
            handoff: None,
            progress: None,
            remaining: None,
        }
    }

    pub(super) fn block(text: String, gates: Vec<&'static str>, notes: Vec<String>) -> Self {
        let allowed = Self::allow(StopStatus::Allowed, None);
        Self { block: Some(text), gates, notes, ..allowed }
    }

    /// Keeps the block if it is allowed; otherwise lets the session stop with the gates unmet.
    pub(super) fn unless_let_go(self, asked: Result<(), LetGo>) -> Self {
        let Err(why) = asked else { return self };
        let note = format!("{}; still unmet: {}", why.in_words(), self.notes.join(" "));
        Self { gates: self.gates, ..Self::allow(StopStatus::LetGo, Some(note)) }
    }

    fn note(&self) -> Option<String> {
        self.notes.first().cloned()
    }
}

/// Records the decision, and answers.
pub(super) fn conclude(session: &Session<'_>, stop: Stop) -> Decision {
    let call = session.call;
    if let (Some(dir), Some(bytes)) = (&session.loop_dir, &stop.progress) {
        replace_progress(session, dir, bytes);
    }
    if stop.block.is_some() || session.is_gated && (session.is_bound || call.project().takes_part())
    {
        journal(call, &stop);
    }
    if let Some(text) = stop.block {
        return Decision::Block(text);
    }
    let before = session.dir.as_ref().and_then(LastStop::load);
    let is_repeated = before.is_some_and(|last| last.status == StopStatus::Handoff)
        && stop.status == StopStatus::Handoff;
    if let Some(fill) = stop.handoff.as_ref()
        && session.is_bound
        && !is_repeated
    {
        leave_note(session, fill);
    }
    let is_session = session.who == Who::Session;
    if is_session && (session.is_bound || session.own_story.is_some()) {
        record(session, &stop);
    }
    if let Some(dir) = session.dir.as_ref().filter(|_| session.is_bound || !session.dirs.is_empty())
    {
        note_on_disk(dir, |blocks| match stop.status {
            StopStatus::Waiting | StopStatus::Working => blocks.waits(&session.who),
            _ => blocks.allowed(&session.who),
        });
    }
    if is_session
        && !session.is_ours
        && !matches!(stop.status, StopStatus::Waiting | StopStatus::Working)
    {
        remove_leftovers(session);
    }
    let decision = match &session.loop_dir {
        Some(dir) if matches!(stop.status, StopStatus::Complete | StopStatus::ReachedLimit) => {
            announce(session, dir, &stop)
        }
        _ if is_session && !is_repeated => notice(session, stop.status, stop.notes.first()),
        _ => Decision::NoOpinion,
    };
    let is_complete = session.loop_dir.is_some() && stop.status == StopStatus::Complete;
    match (decision, stop.remaining.or(is_complete.then_some(0))) {
        (Decision::Notice(notice), Some(remaining_features)) => {
            Decision::Ended { notice, remaining_features }
        }
        (decision, _) => decision,
    }
}

/// Removes the checkpoint and the story of another loop, as that loop's own stop hook would: they
/// would apply to the next session. Those written while this session ran are kept.
fn remove_leftovers(session: &Session<'_>) {
    let (call, state) = (session.call, session.call.project().own_state());
    let began = call.bound().began;
    let (mut is_there, mut is_left) = (false, true);
    let files = [state.checkpoint(), state.current_story()];
    for found in files.iter().filter_map(|path| fs_err::symlink_metadata(path).ok()) {
        let written = found.modified().ok();
        let is_older = began.is_none_or(|began| written.is_none_or(|at| at <= began));
        is_there = true;
        is_left = is_left && is_older && found.is_file();
    }
    let is_ours =
        || matches!(strikes::checkpoint(state), Ok(Some(found)) if found.snapshot.is_some());
    if is_there && is_left && !call.is_outside_run() && !is_ours() {
        // Best effort: what remains binds no session.
        files.iter().for_each(|path| drop(state::remove_if_there(path)));
    }
}

/// Writes a stop to the journal.
pub(super) fn journal(call: &Call<'_>, stop: &Stop) {
    let given = |text: &str| if text.is_empty() { None } else { Some(text.to_owned()) };
    let facts = StopFacts {
        hook_event: given(&call.input.event),
        agent_type: call.input.agent_type.as_deref().and_then(given),
        gates: stop.gates.iter().map(|gate| (*gate).to_owned()).collect(),
    };
    call.journal(&if stop.block.is_some() {
        Event::StopBlocked { reasons: stop.notes.clone(), stop: facts }
    } else {
        let status = stop.status.word().to_owned();
        Event::StopAllowed { status, note: stop.note(), stop: facts }
    });
}

/// Returns the notice that the user sees when a stop is not an ordinary one.
fn notice(session: &Session<'_>, status: StopStatus, note: Option<&String>) -> Decision {
    use StopStatus::{Complete, Handoff, LetGo, ReachedLimit};
    let what = match status {
        Complete => "every story is done",
        ReachedLimit => "no iterations are left, and stories are still open",
        Handoff if session.is_ours => "the context is nearly full; a new session continues",
        Handoff => "the context is nearly full; start a new session to continue",
        LetGo => "the session may stop although a gate is not met",
        _ => return Decision::NoOpinion,
    };
    Decision::Notice(match note {
        // The loop's own words already name the status.
        Some(note) if note.starts_with(status.word()) => note.clone(),
        Some(note) => format!("{}: {what} ({note})", status.word()),
        None => format!("{}: {what}", status.word()),
    })
}

/// Reports once, in `progress.txt` and by a notice, that another tool's list has ended.
fn announce(session: &Session<'_>, dir: &LoopDir, stop: &Stop) -> Decision {
    let word = stop.status.word();
    let before = fs_err::read(dir.progress()).unwrap_or_default();
    if LoopProgress::parse(&before).status.as_deref() == Some(word) {
        return Decision::NoOpinion;
    }
    replace_progress(session, dir, &LoopProgress::set(&before, "Status", word));
    let list = dir.feature_list();
    Decision::Notice(match (stop.status, stop.note()) {
        (StopStatus::Complete, _) => format!("{word}: every story of {list} is done"),
        (_, note) => {
            let left = note.unwrap_or_else(|| "stories are still open".to_owned());
            format!("{word}: no iterations are left for {list}; {left}")
        }
    })
}

fn replace_progress(session: &Session<'_>, dir: &LoopDir, bytes: &[u8]) {
    if let Err(error) = state::replace_users(&dir.progress(), bytes) {
        session.call.record("stopping", &error.to_string());
    }
}

/// Leaves a note for the session that continues.
fn leave_note(session: &Session<'_>, fill: &Fill) {
    let Some(path) = progress(session) else { return };
    let existing = state::read(&path).unwrap_or_default();
    let story = session.call.story();
    let words = mask(session.call.input.last_assistant_message.as_deref().unwrap_or_default());
    let note = handoff_note(&existing, story.as_ref().map(|id| id.as_str()), fill, &words);
    let never = Cap { above: u64::MAX, keep_lines: 0 };
    if let Err(error) = state::append_capped(&path, &note, never) {
        session.call.record("handoff", &error.to_string());
    }
}

/// Returns the path of the plan's progress file.
fn progress(session: &Session<'_>) -> Option<Utf8PathBuf> {
    if let Some(dir) = &session.loop_dir {
        return Some(StateDir::progress_beside(&dir.feature_list()));
    }
    let plan = session.plan()?;
    match session.config.run.progress.as_str() {
        "" => Some(StateDir::progress_beside(plan.path())),
        path => Some(session.call.work_root().join(path)),
    }
}

/// Records how an ended session stopped, and removes files that only served the session.
pub(super) fn session_ended(session: &Session<'_>) -> Decision {
    let call = session.call;
    if session.is_bound || session.own_story.is_some() {
        let stop = match session.dir.as_ref().and_then(LastStop::load) {
            Some(before) => Stop::allow(before.status, before.note),
            None => {
                let stop = Stop::allow(StopStatus::Ended, call.input.reason.clone());
                journal(call, &stop);
                stop
            }
        };
        record(session, &stop);
    }
    for dir in &session.dirs {
        clean_up(dir, call.env.run().is_some());
    }
    Decision::NoOpinion
}

/// Records how the session stopped, and, once per story, that it left the story open.
fn record(session: &Session<'_>, stop: &Stop) {
    let Some(dir) = &session.dir else { return };
    let before = LastStop::load(dir);
    let recorded = before.as_ref().and_then(|last| last.incomplete.clone());
    let left = left_open(session, stop.status);
    if let Some(story) = left.as_ref().filter(|story| recorded.as_ref() != Some(story)) {
        log_incomplete(session.call, story);
    }
    let mut last = LastStop::new(stop.status, stop.note());
    last.incomplete = left.or(recorded);
    if before.as_ref() == Some(&last) {
        return;
    }
    if let Err(error) = last.save(dir) {
        session.call.record("stopping", &error.to_string());
    }
}

/// Returns the story that this stop leaves open. While something is running none is, and after an
/// ordinary stop our own loop judges its story itself.
fn left_open(session: &Session<'_>, status: StopStatus) -> Option<String> {
    use StopStatus::{Allowed, Complete, ReachedLimit, Waiting};
    if status == Waiting {
        return None;
    }
    if let Some(attempt) = &session.attempt {
        let is_ordinary = matches!(status, Allowed | Complete | ReachedLimit);
        return (!is_ordinary).then(|| attempt.story.clone());
    }
    let (id, known) = session.own_story.as_ref()?;
    let is_open = known.as_ref().is_none_or(|story| story.state == State::Open);
    is_open.then(|| id.to_string())
}

fn log_incomplete(call: &Call<'_>, story: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let line = format!("incomplete:{story}:{now}");
    let path = call.project().own_state().sessions_log();
    if let Err(error) = state::append_line(&path, line.as_bytes()) {
        call.record("stopping", &error.to_string());
    }
}

/// Removes files that only served the session. How it ended is kept for a loop that waits for it,
/// and files of other tools are kept too.
fn clean_up(dir: &SessionDir, a_loop_waits: bool) {
    // A link may lead to the files of another session.
    if state::leads_elsewhere(dir.root()) {
        return;
    }
    let mut served = vec![dir.block_counters(), dir.block_lock(), dir.reads(), dir.commits()];
    if !a_loop_waits {
        served.extend([dir.last_verdict(), dir.last_stop()]);
    }
    for path in served {
        // Best effort: leftovers do no harm.
        let _ = fs_err::remove_file(path);
    }
    // Removes the folder only if it is empty.
    let _ = fs_err::remove_dir(dir.root());
}
