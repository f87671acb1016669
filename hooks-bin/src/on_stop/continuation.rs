//! The next story, if the session should continue: after our own loop's answer, or a feature list.
//!
//! Only our loop checks, lands and assigns its stories, so it is asked through its mailbox. In
//! another tool's feature list the agent sets `passes`, and the hook only reads it.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ralph_base::state::{Lock, LockError, LoopDir, RunDir, StateDir};
use ralph_core::plan;
use ralph_project::gate::{
    Cause, IterationCount, LetGo, NextStep, StopStatus, Ticking, counted_up, instruction,
    next_step, remaining,
};
use ralph_project::install::STOP_TIMEOUT;
use ralph_project::loop_progress::LoopProgress;
use ralph_project::mailbox::{Answer, Mailbox, Question};

use super::session::Session;
use super::stop::Stop;

/// How long to wait for the loop's answer. The checks run meanwhile, so it is nearly the client's
/// own timeout; the rest is for the gates that are judged if there is no answer.
const PATIENCE: Duration = Duration::from_secs(STOP_TIMEOUT as u64 - 600);

/// The gate names for a next story, and for a story whose checks failed.
const CONTINUATION: &str = "CONTINUATION";
const CHECKS: &str = "CHECKS";

/// The outcome of the question whether the session continues.
pub(super) enum Next {
    Decided(Stop),
    /// The gates decide; if they are met, the stop has this status.
    Gates(StopStatus),
    /// Another hook of this stop is already asking the loop; its answer counts.
    AskedByAnotherHook,
}

/// Decides whether the session continues with another story.
pub(super) fn decide(session: &Session<'_>) -> Next {
    if let Some((mailbox, run)) = mailbox(session) {
        return ask_loop(session, &mailbox, &run).unwrap_or_else(|error| {
            session.call.record("asking the loop", &error.to_string());
            Next::Gates(StopStatus::Allowed)
        });
    }
    match &session.loop_dir {
        Some(dir) => read_feature_list(session, dir),
        None => Next::Gates(StopStatus::Allowed),
    }
}

/// Returns the mailbox and the run, if our loop wants this session to continue after its story.
fn mailbox(session: &Session<'_>) -> Option<(Mailbox, RunDir)> {
    let call = session.call;
    let folder = call.env.mailbox()?;
    if session.config.session.stories_per_session <= 1 {
        return None;
    }
    let run = call.run_dir().filter(|_| session.attempt.is_some() && call.is_loop_alive())?;
    Some((Mailbox::at(folder), run))
}

/// Asks the loop. A block is counted first, so that the loop is never asked for a forbidden one.
fn ask_loop(session: &Session<'_>, mailbox: &Mailbox, run: &RunDir) -> io::Result<Next> {
    let _lock = match Lock::take(&mailbox.lock(), "asking the loop") {
        Ok(lock) => lock,
        Err(LockError::Held(_)) => return Ok(Next::AskedByAnotherHook),
        Err(LockError::Io(error)) => return Err(error),
    };
    // A story that the loop has assigned since is progress, whatever the transcript shows.
    let fingerprint = session.fingerprint(Some(&run.attempt()));
    let count = IterationCount { iteration: 0, limit: session.config.run.max_iterations };
    if let Err(why) = session.ask(Cause::Continuation, fingerprint, count.continuations()) {
        return Ok(Next::Decided(let_go(why, why.in_words().to_owned())));
    }
    let stop = match mailbox.ask(&question(session), &run.lock(), PATIENCE)? {
        Some(Answer::GoOn(text)) => send_on(text),
        Some(Answer::Stop(why)) => {
            // The loop's answer begins with the status, if it is more than an ordinary stop.
            let known = [StopStatus::Complete, StopStatus::ReachedLimit];
            let status = known.into_iter().find(|status| why.starts_with(status.word()));
            Stop::allow(status.unwrap_or(StopStatus::Allowed), Some(why))
        }
        None => return Ok(Next::Gates(StopStatus::Allowed)),
    };
    Ok(Next::Decided(stop))
}

fn question(session: &Session<'_>) -> Question {
    let (input, pid) = (session.call.input, std::process::id());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Question {
        id: format!("{pid}-{now}"),
        session: input.session_id.clone(),
        said: input.last_assistant_message.clone(),
    }
}

fn read_feature_list(session: &Session<'_>, dir: &LoopDir) -> Next {
    let path = dir.feature_list();
    let plan = match plan::load(&path, &session.config.plan) {
        Ok(plan) => plan,
        Err(error) => {
            session.call.record("continuation", &error.to_string());
            return Next::Gates(StopStatus::Allowed);
        }
    };
    let progress = plan::read_file(&dir.progress()).ok().flatten().unwrap_or_default();
    let known = LoopProgress::parse(&progress);
    if known.is_paused() {
        return Next::Gates(StopStatus::Allowed);
    }
    let mut count = IterationCount::of(&known, session.config.run.max_iterations);
    let is_declared = known.status.as_deref() == Some(StopStatus::Complete.word());
    if is_declared {
        // Somebody ended the loop by hand.
        count = IterationCount { iteration: u64::MAX, limit: 1 };
    }
    let ended = |status, stories: &[String], why: String| {
        let note = Some(why + &remaining(stories));
        Next::Decided(Stop { remaining: Some(stories.len()), ..Stop::allow(status, note) })
    };
    let story = match next_step(&plan, &BTreeSet::new(), count) {
        NextStep::GoOn(story) => story,
        NextStep::Complete => return Next::Gates(StopStatus::Complete),
        NextStep::ReachedLimit(stories) if is_declared => {
            let why = format!("the status in {} is COMPLETE; ", dir.progress());
            return ended(StopStatus::LetGo, &stories, why);
        }
        NextStep::ReachedLimit(stories) => {
            return ended(StopStatus::ReachedLimit, &stories, String::new());
        }
        NextStep::Stuck(stories) => {
            return ended(StopStatus::LetGo, &stories, "no story is ready to work on; ".to_owned());
        }
    };
    // The transcript may be truncated or missing, but work leaves other traces.
    let fingerprint = session.fingerprint(Some(&path)) + &session.work_tree(&dir.progress());
    if let Err(why) = session.ask(Cause::Continuation, fingerprint, count.continuations()) {
        let note = format!("{}; the next story is {}", why.in_words(), story.id);
        return Next::Decided(let_go(why, note));
    }
    let ticking = Ticking::Agent { progress: dir.progress() };
    let mut text = instruction(None, &plan, story, count, &ticking);
    let task = StateDir::task_beside(&path);
    if task.is_file() {
        text.push_str(&format!("\nThe whole task is described in {task}."));
    }
    let mut stop = send_on(text);
    // A file that was read only in part is not rewritten: our own count limits the blocks even if
    // theirs cannot be written.
    if progress.len() <= plan::MAX_PLAN_BYTES {
        stop.progress = Some(counted_up(&progress, count));
    }
    Next::Decided(stop)
}

/// Lets the session stop.
fn let_go(why: LetGo, note: String) -> Stop {
    let status = match why {
        LetGo::ContinuationsSpent => StopStatus::ReachedLimit,
        _ => StopStatus::LetGo,
    };
    Stop::allow(status, Some(note))
}

/// Blocks the stop with this text.
fn send_on(text: String) -> Stop {
    let first = text.lines().next().unwrap_or_default().to_owned();
    // Any other text from our loop is about a story whose checks failed.
    let gate = if first.contains(CONTINUATION) { CONTINUATION } else { CHECKS };
    Stop::block(text, vec![gate], vec![first])
}
