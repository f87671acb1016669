//! Going on under our own loop: the story just worked on is settled as the loop would settle it,
//! and only then the next one is given out.

use std::collections::BTreeSet;

use ralph_core::config::{Mode, StoriesPerSession};
use ralph_core::gate::{
    self, Cause, Course, LetGo, Standing, StopStatus, Ticking, course, instruction, note_on_disk,
};
use ralph_core::plan;
use ralph_core::settle::{self, Attempt, Check, Claim, Onlooker, Outcome, Place, Report};
use ralph_core::state::{Event, Journal, LastVerdict, Lock, LockError, Marks};
use ralph_core::transcript::Ending;
use ralph_core::usage_limit;

use super::continuation::{Answer, end_of, refused, send_on};
use super::leaving;
use super::session::Session;
use crate::harness::Failure;

/// The attempt to settle, if our loop wants this session to go on after it.
pub(super) fn asked_for(session: &Session<'_>) -> Option<Attempt> {
    let config = session.call.config();
    let wanted = match config.session.stories_per_session {
        StoriesPerSession::AtMost(0 | 1) => return None,
        StoriesPerSession::AtMost(stories) => Some(stories),
        StoriesPerSession::Auto => None,
    };
    if config.run.mode == Mode::Planning {
        return None;
    }
    if !session.call.is_loop_alive() {
        return None;
    }
    let attempt = session.attempt_with_plan()?;
    // The last story of a session is the loop's to settle.
    let begun = given_out(session) + 1;
    (wanted.is_none_or(|stories| begun < stories)).then_some(attempt)
}

/// How many stories this session was sent on to.
fn given_out(session: &Session<'_>) -> u64 {
    let counted = session.call.session().and_then(|dir| gate::Blocks::load(&dir, false));
    counted.map_or(0, |blocks| blocks.row(&session.who).stories.len() as u64)
}

/// Settles the attempt and goes on.
pub(super) fn decide(
    session: &Session<'_>,
    attempt: &Attempt,
    ending: &Ending,
) -> Result<Answer, Failure> {
    let call = session.call;
    let state = call.project().own_state();
    let _lock = match Lock::take(&state.settle_lock(), "settling a story") {
        Ok(lock) => lock,
        // Another hook of this stop is at it and will answer.
        Err(LockError::Held(_)) => return Ok(Answer::Decided(Default::default())),
        Err(LockError::Io(error)) => return Err(error.into()),
    };
    let repo = call.repo()?;
    let run = call.env.run().unwrap_or_default();
    let marks = Marks {
        session: Some(call.input.session_id.clone()),
        run: Some(run.clone()),
        story: Some(attempt.story.clone()),
    };
    let journal = Journal::new(state, call.hook).marked(marks);
    let place = Place {
        root: call.project().root(),
        repo: &repo,
        state,
        config: call.config(),
        journal: &journal,
        run: &run,
    };
    match settled(session, &place, attempt)? {
        Settled::Done(told) => go_on(session, &place, attempt, ending, &told),
        Settled::Failed(why) => failed(session, &place, attempt, ending, &why),
        Settled::ForTheLoop(why) => {
            Ok(Answer::Decided(leaving::allow(session, StopStatus::LetGo, Some(why))))
        }
    }
}

/// What became of the story just worked on.
enum Settled {
    /// Committed and ticked; told in one line.
    Done(String),
    /// Not done, and the agent can do something about it.
    Failed(String),
    /// Not done, and what follows is the loop's to decide.
    ForTheLoop(String),
}

fn settled(
    session: &Session<'_>,
    place: &Place<'_>,
    attempt: &Attempt,
) -> Result<Settled, Failure> {
    let said = session.call.input.last_assistant_message.clone();
    if said.as_deref().and_then(usage_limit::message_alone).is_some() {
        // Whatever is there is half of the work, and the loop waits for the reset.
        return Ok(Settled::ForTheLoop(
            "the usage limit of the agent's service is reached".to_owned(),
        ));
    }
    if let Some(began) = session.call.env.steering()
        && began != settle::steering_fingerprint(place.state, &attempt.plan)
    {
        let why = "the settings, the lifecycle scripts or other plans are not those that the agent \
                   was started with; nothing is settled by them";
        return Ok(Settled::ForTheLoop(why.to_owned()));
    }
    let claim = Claim::load(place.state, &attempt.story);
    if let Some(why) = claim.as_ref().and_then(Claim::denial) {
        return Ok(Settled::ForTheLoop(why));
    }
    if settle::is_marked_blocked(place, attempt) {
        return Ok(Settled::ForTheLoop("the agent marked the story as blocked".to_owned()));
    }
    if let Some(why) = settle::open_tasks(place, attempt)? {
        return Ok(Settled::Failed(why));
    }
    let last = session.dirs().iter().find_map(LastVerdict::load);
    if let Some(unmet) = last.and_then(|last| gate::last_verdict(&last)) {
        return Ok(Settled::Failed(unmet.to_string()));
    }
    let claimed = claim.map(|claim| claim.summary);
    let summary = claimed.clone().filter(|summary| !summary.is_empty()).or(said);
    let report = Report {
        summary,
        duration: attempt.age(),
        claimed: claimed.is_some(),
        ..Report::default()
    };
    Ok(match settle::settle(place, attempt, &report, Onlooker::default())? {
        Outcome::Done(done) => {
            let commit: String = done.commit.unwrap_or_default().chars().take(8).collect();
            Settled::Done(format!("{} is done (commit {commit}).", attempt.story))
        }
        Outcome::CheckFailed(checks) => match checks.last().and_then(Check::needs) {
            // Whether anything can be done about it is the loop's to say.
            Some(program) => Settled::ForTheLoop(format!("a check needs `{program}`")),
            None => Settled::Failed(shown(checks.last())),
        },
        Outcome::NothingChanged => Settled::Failed("No file was changed for it.".to_owned()),
        Outcome::TestsWeakened(what) => {
            Settled::Failed(format!("The tests were weakened: {what}. Bring them back."))
        }
        Outcome::CommitRefused(text) => {
            Settled::Failed(format!("The commit was refused:\n{}", gate::last_lines(&text)))
        }
        Outcome::CommitImpossible(text) => Settled::ForTheLoop(format!(
            "no commit can be written here: {}",
            gate::last_lines(&text)
        )),
        Outcome::Displaced(why) => Settled::ForTheLoop(why),
        Outcome::Stopped => Settled::ForTheLoop("the checks were stopped".to_owned()),
    })
}

fn shown(check: Option<&Check>) -> String {
    check.map_or_else(String::new, |check| {
        let output = gate::last_lines(&check.output);
        format!("`{}` {}; it printed:\n{output}", check.name(), check.verdict())
    })
}

/// The story is not done: back to it, within its attempts.
fn failed(
    session: &Session<'_>,
    place: &Place<'_>,
    attempt: &Attempt,
    ending: &Ending,
    why: &str,
) -> Result<Answer, Failure> {
    ralph_core::attempt::record_failure(place.state, why)?;
    let failures = attempt.failures.saturating_add(1);
    // The tasks that the agent added were written down meanwhile.
    let known = Attempt::load(place.state)?.unwrap_or_else(|| attempt.clone());
    Attempt { failures, ..known }.save(place.state)?;
    let attempts = place.config.limits.attempts_per_story;
    if failures >= attempts {
        let note = format!("{} failed as often as it may: {why}", attempt.story);
        return Ok(Answer::Decided(leaving::allow(session, StopStatus::LetGo, Some(note))));
    }
    if let Err(why) = ask(session, place, attempt, ending) {
        return Ok(refused(session, why, &attempt.story));
    }
    let text = format!(
        "{} ({}) is not done yet, attempt {} of {attempts}.\n{why}\n\
         Next: fix that, run the checks yourself, and stop again.",
        attempt.story,
        attempt.title.trim(),
        failures
    );
    Ok(Answer::Decided(send_on(session, text)))
}

/// The story is done: on to the next one.
fn go_on(
    session: &Session<'_>,
    place: &Place<'_>,
    attempt: &Attempt,
    ending: &Ending,
    told: &str,
) -> Result<Answer, Failure> {
    let plan = plan::load(&attempt.plan, &place.plan_options())?;
    let standing = standing(place, attempt);
    let story = match course(&plan, &BTreeSet::new(), standing) {
        Course::GoOn(story) => story,
        other => return Ok(end_of(session, &other)),
    };
    if let Err(why) = ask(session, place, attempt, ending) {
        return Ok(refused(session, why, &story.id));
    }
    // Whose iteration it is, is the loop's to say: it takes up what was settled here.
    let iteration = attempt.iteration.saturating_add(1);
    place.journal.append(&finished(attempt))?;
    settle::begin(place, &plan, story, iteration)?;
    let number = u32::try_from(iteration).unwrap_or(u32::MAX);
    place.journal.for_story(&story.id).append(&Event::IterationStarted { iteration: number })?;
    if let Some(dir) = session.call.session() {
        note_on_disk(&dir, |blocks| blocks.sent_to(&session.who, &story.id));
    }
    let text = instruction(Some(told), &plan, story, standing, &Ticking::Us);
    Ok(Answer::Decided(send_on(session, text)))
}

/// The end of an iteration that is followed by another one in the same session. What the session
/// cost is known at its end, and told with its last iteration.
fn finished(attempt: &Attempt) -> Event {
    Event::IterationFinished {
        outcome: "success".to_owned(),
        exit_code: None,
        duration_s: attempt.age().unwrap_or_default().as_secs_f64(),
        tokens: None,
        cost_usd: None,
    }
}

/// Asks to hold the session back, whether for the same story or for the next one.
fn ask(
    session: &Session<'_>,
    place: &Place<'_>,
    attempt: &Attempt,
    ending: &Ending,
) -> Result<(), LetGo> {
    let fingerprint = session.fingerprint(Some(&attempt.plan));
    let continuations = standing(place, attempt).continuations();
    session.ask(Cause::Continuation, ending, fingerprint, continuations)
}

fn standing(place: &Place<'_>, attempt: &Attempt) -> Standing {
    Standing { iteration: attempt.iteration, limit: place.config.run.max_iterations }
}
