//! Several stories in one session of our own loop: the loop is asked what comes next, and obeyed.
//!
//! The loop alone checks, lands and gives out stories. Here is only who may ask, and how long the
//! answer is waited for.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ralph_base::state::{Lock, LockError, RunDir};
use ralph_core::hook::Decision;
use ralph_project::config::StoriesPerSession;
use ralph_project::gate::{Cause, Standing, StopStatus};
use ralph_project::install::STOP_TIMEOUT;
use ralph_project::mailbox::{self, Mailbox, Question};
use ralph_project::transcript::Ending;

use super::continuation::{Answer, refused, send_on};
use super::leaving;
use super::session::Session;

/// How long the loop's answer is waited for. The checks run meanwhile, so it is nearly as long as
/// the client waits for us; what remains is for the gates that are judged without an answer.
const PATIENCE: Duration = Duration::from_secs(STOP_TIMEOUT as u64 - 600);

/// Where to ask, if our loop wants this session to go on after its story.
pub(super) fn mailbox(session: &Session<'_>) -> Option<(Mailbox, RunDir)> {
    let call = session.call;
    let folder = call.env.mailbox()?;
    if let StoriesPerSession::AtMost(0 | 1) = call.config().session.stories_per_session {
        return None;
    }
    let run = call.run_dir().filter(|_| call.is_loop_alive() && session.attempt().is_some())?;
    Some((Mailbox::at(folder), run))
}

/// Asks the loop. Without an answer, for whatever reason, the other gates decide.
pub(super) fn decide(
    session: &Session<'_>,
    mailbox: &Mailbox,
    run: &RunDir,
    ending: &Ending,
) -> Answer {
    asked(session, mailbox, run, ending).unwrap_or_else(|error| {
        session.call.record("asking the loop", &error.to_string());
        Answer::Open(StopStatus::Allowed)
    })
}

/// A block is counted before, so that the loop is never asked for one that may not be made.
fn asked(
    session: &Session<'_>,
    mailbox: &Mailbox,
    run: &RunDir,
    ending: &Ending,
) -> io::Result<Answer> {
    let _lock = match Lock::take(&mailbox.lock(), "asking the loop") {
        Ok(lock) => lock,
        // Another hook of this stop is asking, and its answer counts.
        Err(LockError::Held(_)) => return Ok(Answer::Decided(Decision::NoOpinion)),
        Err(LockError::Io(error)) => return Err(error),
    };
    // A story that the loop has given out since is progress, whatever the transcript shows.
    let fingerprint = session.fingerprint(Some(&run.attempt()));
    let standing = Standing { iteration: 0, limit: session.call.config().run.max_iterations };
    if let Err(why) =
        session.ask(Cause::Continuation, ending, fingerprint, standing.continuations())
    {
        return Ok(refused(session, why.told().to_owned(), why));
    }
    let answer = mailbox.ask(&question(session), &run.lock(), PATIENCE)?;
    Ok(match answer {
        Some(mailbox::Answer::GoOn(text)) => Answer::Decided(send_on(session, text)),
        Some(mailbox::Answer::Stop(why)) => {
            // The loop's word begins with the status, where it is more than an ordinary stop.
            let known = [StopStatus::Complete, StopStatus::ReachedLimit];
            let status = known.into_iter().find(|status| why.starts_with(status.word()));
            let status = status.unwrap_or(StopStatus::Allowed);
            Answer::Decided(leaving::allow(session, status, Some(why)))
        }
        None => Answer::Open(StopStatus::Allowed),
    })
}

fn question(session: &Session<'_>) -> Question {
    let (input, pid) = (session.call.input, std::process::id());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Question {
        id: format!("{pid}-{now}"),
        session: input.session_id.clone(),
        said: input.last_assistant_message.clone(),
        pid,
    }
}
