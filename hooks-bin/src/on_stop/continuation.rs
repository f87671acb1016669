//! The next story, where the session was asked to go on: by our own loop, or by a feature list.

use std::collections::BTreeSet;
use std::io;

use ralph_base::state::{self, LoopDir, StateDir};
use ralph_core::hook::Decision;
use ralph_core::plan;
use ralph_project::config::Config;
use ralph_project::gate::{
    Cause, Course, LetGo, Standing, StopStatus, Ticking, counted_up, course, instruction, remaining,
};
use ralph_project::loop_progress::LoopProgress;
use ralph_project::transcript::Ending;

use super::session::Session;
use super::{decisions, leaving, our_loop};

/// What continuation says about a stop.
pub(super) enum Answer {
    /// It decided.
    Decided(Decision),
    /// It has nothing against it; this is the status if nothing else has.
    Open(StopStatus),
}

/// Decides about going on.
pub(super) fn decide(session: &Session<'_>, ending: &Ending) -> Answer {
    if let Some((mailbox, run)) = our_loop::mailbox(session) {
        return our_loop::decide(session, &mailbox, &run, ending);
    }
    match &session.loop_dir {
        Some(dir) => with_feature_list(session, dir, ending),
        None => Answer::Open(StopStatus::Allowed),
    }
}

/// Another tool's feature list: the agent sets `passes`, and we only read it.
fn with_feature_list(session: &Session<'_>, dir: &LoopDir, ending: &Ending) -> Answer {
    let call = session.call;
    let path = dir.feature_list();
    let plan = match plan::load(&path, &call.config().plan) {
        Ok(plan) => plan,
        Err(error) => {
            call.record("continuation", &error.to_string());
            return Answer::Open(StopStatus::Allowed);
        }
    };
    let progress = plan::read_file(&dir.progress()).ok().flatten().unwrap_or_default();
    if LoopProgress::parse(&progress).is_paused() {
        return Answer::Open(StopStatus::Allowed);
    }
    let standing = standing(&progress, call.config());
    let story = match course(&plan, &BTreeSet::new(), standing) {
        Course::GoOn(story) => story,
        other => return end_of(session, &other),
    };
    // The transcript may be cut short or missing, and work leaves other traces.
    let work_tree = session.work_tree(&dir.progress());
    let fingerprint = session.fingerprint(Some(&path)) + &work_tree;
    if let Err(why) =
        session.ask(Cause::Continuation, ending, fingerprint, standing.continuations())
    {
        return refused(session, format!("{}; the next story is {}", why.told(), story.id), why);
    }
    // Our own count bounds it also where theirs cannot be written.
    if let Err(error) = count_up(dir, &progress, standing) {
        call.record("continuation", &error.to_string());
    }
    let ticking = Ticking::Agent { progress: dir.progress() };
    let mut text = instruction(None, &plan, story, standing, &ticking);
    let task = StateDir::task_beside(&path);
    if task.is_file() {
        text.push_str(&format!("\nThe whole task is described in {task}."));
    }
    Answer::Decided(send_on(session, text))
}

/// A file of which only the beginning was read is left as it is.
fn count_up(dir: &LoopDir, progress: &[u8], standing: Standing) -> io::Result<()> {
    let path = dir.progress();
    if progress.len() > plan::MAX_PLAN_BYTES {
        return Err(io::Error::other(format!("{path} is too large to count iterations in")));
    }
    state::replace_users(&path, &counted_up(progress, standing))
}

fn standing(progress: &[u8], config: &Config) -> Standing {
    Standing::of(&LoopProgress::parse(progress), config.run.max_iterations)
}

/// The plan gives no next story.
fn end_of(session: &Session<'_>, course: &Course<'_>) -> Answer {
    let (status, stories) = match course {
        Course::ReachedLimit(stories) => (StopStatus::ReachedLimit, stories),
        Course::Stuck(stories) => (StopStatus::LetGo, stories),
        Course::Complete | Course::GoOn(_) => return Answer::Open(StopStatus::Complete),
    };
    let note = match status {
        StopStatus::LetGo => format!("no story is ready to work on; {}", remaining(stories)),
        _ => remaining(stories),
    };
    Answer::Decided(leaving::allow(session, status, Some(note)))
}

/// The session is not held back any more.
pub(super) fn refused(session: &Session<'_>, note: String, why: LetGo) -> Answer {
    let status = match why {
        LetGo::ContinuationsSpent => StopStatus::ReachedLimit,
        _ => StopStatus::LetGo,
    };
    Answer::Decided(leaving::allow(session, status, Some(note)))
}

/// Blocks with this text.
pub(super) fn send_on(session: &Session<'_>, text: String) -> Decision {
    let first = text.lines().next().unwrap_or_default().to_owned();
    // What our loop sends back is a story whose checks failed.
    let is_next = first.contains(decisions::CONTINUATION);
    let gate = if is_next { decisions::CONTINUATION } else { decisions::CHECKS };
    decisions::blocked(session.call, &[gate], vec![first]);
    Decision::Block(text)
}
