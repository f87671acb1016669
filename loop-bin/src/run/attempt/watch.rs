//! Watches an agent at work, or one that is paused in its stop hook.

use std::cell::{Cell, LazyCell};
use std::io;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::HOOKS;
use ralph_base::fault;
use ralph_base::state::{self, Event, Id, StateDir, StoryKey};
use ralph_project::gate::{LastStop, StopStatus};
use ralph_project::install::quoted;
use ralph_project::mailbox::{Answer, Mailbox, Question};
use ralph_project::strikes::{HookRollback, Memory, checkpoint};
use ralph_project::under_way::{Attempt, Phase};
use serde_json::{Value, json};

use super::prepare::agent_variables;
use super::unhooked::Unhooked;
use super::{Course, Desk, Job, Report, StoryTokens, Used};
use crate::exit::Failure;
use crate::run::context::Context;
use crate::run::decide::{Allowance, Owner};
use crate::terminal::{Glimpse, Tone, counted, seconds as seconds_of};
use client::{
    AgentRun, Log, MEGABYTE, RunEnd, Session, SessionSoFar, Start, Stream, Supervision, Totals,
    Turn, folder_of_this_program, with_files_of,
};
use work_copy::doors::Doors;

/// How long a released agent may take to exit.
const FAREWELL: Duration = Duration::from_secs(60);

/// How often hook records are read while an agent works.
const LOOKS_EVERY: Duration = Duration::from_millis(500);

/// How much of a log's end is searched for refused paths, and the most paths to record.
const MOST_READ: u64 = 4 << 20;
const MOST_REFUSED: usize = 10;

/// A running agent, possibly paused in its stop hook.
pub(in crate::run) struct LiveAgent {
    session: Session,
    /// The question that it is waiting on.
    question: Question,
    /// How many of its calls and refused calls have been shown.
    shown: (usize, usize),
    /// The stories that it was given, with the tokens of each; their cost is known when the session
    /// ends.
    stories: StoryTokens,
}

impl LiveAgent {
    /// The number of stories that it was given.
    pub(in crate::run) fn stories_given(&self) -> u64 {
        self.stories.len() as u64
    }

    /// The tokens of its stories so far.
    fn tokens(&self) -> u64 {
        self.stories.iter().map(|(_, tokens)| tokens).sum()
    }

    /// Adds tokens to the current story.
    fn book(&mut self, key: &StoryKey, tokens: u64) {
        match self.stories.last_mut() {
            Some((last, sum)) if last == key => *sum += tokens,
            _ => self.stories.push((key.clone(), tokens)),
        }
    }
}

/// An agent's turn.
pub(super) struct Watched {
    /// The agent's end; `None` if it is paused.
    pub(super) ended: Option<AgentRun>,
    /// The session, its totals, and the agent's last message.
    pub(super) session: Option<String>,
    pub(super) totals: Totals,
    pub(super) said: String,
    pub(super) used: Used,
}

/// Starts an agent with a prompt and watches it until it ends or asks to stop.
pub(super) fn start(
    job: &Job,
    desk: &mut Desk,
    course: &mut Course,
    allowance: Allowance,
    (prompt, resumed): (&str, Option<&SessionSoFar>),
) -> Result<Watched, Failure> {
    let context = &job.context;
    let budget = allowance.cost_usd.map(|(sum, _)| sum);
    let (line, options) = context.agent_of(&course.attempt);
    let turn = Start { budget_usd: budget, resumed, model: context.model_of(&course.attempt) };
    let line = options.applied_to(&line, &turn, &desk.dir)?;
    // An agent whose program is a project file is started from the project, committed or not.
    let line = with_files_of(context.project.root(), &line);
    let mut vars = agent_variables(job, desk);
    // Cleared if unused, as those are.
    let brought = if options.brings_hooks() { "passed" } else { "" };
    vars.push((HOOKS.to_owned(), brought.to_owned()));
    let log = open_log(context, &log_of(context.state(), &course.attempt))?;
    Mailbox::at(desk.state().mailbox()).empty()?;
    state::remove_if_there(desk.state().working_session())?;
    desk.copy.forget_state();
    // Before the start, because the agent may kill the loop at once.
    set_phase(desk, &mut course.attempt, Phase::Working)?;
    let root = desk.copy.root().to_owned();
    let earlier = resumed.map(|session| session.totals).unwrap_or_default();
    let door = desk.copy.doors.for_agent(&course.attempt.agent)?;
    let session = Session::start(&line, &root, (&vars, &door), (prompt, earlier), log)?;
    let question = Question::default();
    let live = LiveAgent { session, question, shown: (0, 0), stories: Vec::new() };
    watch(job, desk, live, course, allowance)
}

/// Answers the paused agent, and watches it until it ends or asks again.
pub(super) fn go_on(
    job: &Job,
    desk: &mut Desk,
    course: &mut Course,
    allowance: Allowance,
    text: String,
) -> Result<Watched, Failure> {
    let Some(live) = desk.session.take() else {
        return Err(Failure::because("no agent is waiting for an answer"));
    };
    desk.copy.forget_state();
    set_phase(desk, &mut course.attempt, Phase::Working)?;
    Mailbox::at(desk.state().mailbox()).reply(&live.question, Answer::GoOn(text))?;
    watch(job, desk, live, course, allowance)
}

/// Records an attempt's phase.
pub(in crate::run) fn set_phase(
    desk: &Desk,
    attempt: &mut Attempt,
    phase: Phase,
) -> Result<(), Failure> {
    attempt.phase = phase;
    Ok(attempt.save(&desk.dir)?)
}

fn watch(
    job: &Job,
    desk: &mut Desk,
    mut live: LiveAgent,
    course: &mut Course,
    allowance: Allowance,
) -> Result<Watched, Failure> {
    let (context, begun) = (&job.context, Instant::now());
    let deadline = allowance.time.map(|(time, _)| time);
    // What the agent waits for its service does not count, except for the run's own limit.
    let is_runs = matches!(allowance.time, Some((_, Owner::Run)));
    let waited = |seen: &Stream| if is_runs { Duration::ZERO } else { seen.waits.so_far() };
    let has_waited = Cell::new(Duration::ZERO);
    let is_late = || deadline.is_some_and(|limit| begun.elapsed() >= limit + has_waited.get());
    let is_said = Cell::new(false);
    let beat = || {
        if (is_late() || context.is_interrupted()) && !is_said.replace(true) {
            announce_grace(job);
        }
    };
    let (state, attempt) = (desk.state().clone(), &course.attempt);
    let shown_by_output = LazyCell::new(|| Unhooked::new(job, desk, attempt));
    let unhooked = |seen: &Stream| (seen.calls.count > 0).then(|| &*shown_by_output);
    let is_passed = context.agent_of(attempt).1.brings_hooks();
    let watch = Supervision {
        deadline,
        waited: &waited,
        silence: context.config.agent.silence.limit(),
        beat: &beat,
        awaits_work: &|seen| {
            last_stop(&state, seen.session.as_deref()) == Some(StopStatus::Working)
        },
        forbids: &|seen| unguarded(seen, is_passed).or_else(|| unhooked(seen)?.forbidden(seen)),
        ..supervision(context)
    };
    let mailbox = Mailbox::at(desk.state().mailbox());
    let (mut shown, mut looked) = (live.shown, None::<Instant>);
    let is_warned = Cell::new(false);
    let facts = &mut course.facts;
    let turn = live.session.watch(&watch, Some(&mailbox), &mut |seen| {
        show(job, seen, &mut shown);
        has_waited.set(waited(seen));
        if seen.unjudged.notice.is_some() && !is_warned.replace(true) {
            warn_of_hook(job, seen, is_passed);
        }
        unhooked(seen).inspect(|agent| agent.note_tests(seen));
        if looked.is_none_or(|looked| looked.elapsed() >= LOOKS_EVERY) {
            looked = Some(Instant::now());
            show_rollbacks(job, &state, &mut facts.rollbacks);
        }
    })?;
    show_rollbacks(job, &state, &mut facts.rollbacks);
    live.shown = shown;
    fault::point("loop.agent-ended");
    let (seen, took) = (live.session.seen(), begun.elapsed());
    unhooked(&seen).inspect(|agent| agent.note_tests(&seen));
    let unguarded = said_unguarded(&seen, is_passed);
    facts.unguarded = unguarded.or(facts.unguarded.take());
    facts.saw_model(&seen.context.model);
    let tokens = seen.tokens.saturating_sub(live.tokens());
    live.book(&job.key, tokens);
    *facts.duration.get_or_insert_default() += took;
    if tokens > 0 {
        *facts.tokens.get_or_insert_default() += tokens;
    }
    let (seconds, session_tokens) = (took.as_secs_f64(), live.tokens());
    let used = Used { seconds, tokens, session_tokens, ..Used::default() };
    Ok(watched(turn, &seen, used, live, desk))
}

/// What became of a turn of an agent; one that asks goes on later.
fn watched(turn: Turn, seen: &Stream, used: Used, live: LiveAgent, desk: &mut Desk) -> Watched {
    let said = last_words(seen);
    match turn {
        Turn::Ended(run) => {
            let used = Used { ended: Some((run.clone(), live.stories)), ..used };
            let session = run.seen.session.clone();
            Watched { session, totals: seen.totals(), said, ended: Some(*run), used }
        }
        Turn::Asks(question) => {
            let said = question.said.clone().unwrap_or(said);
            let session = Some(question.session.clone());
            desk.session = Some(LiveAgent { question, ..live });
            Watched { session, totals: seen.totals(), said, ended: None, used }
        }
    }
}

/// Warns of a hook that gave no verdict.
fn warn_of_hook(job: &Job, seen: &Stream, is_passed: bool) {
    let is_ours = seen.unguarded_calls(is_passed) > 0;
    let what = if is_ours { "a call ran unguarded" } else { "a hook that is not ours fails" };
    let said = seen.unjudged.notice.as_deref().unwrap_or_default();
    job.reporter.warn(format!("{}: {what}: {said}", job.key.story));
}

/// What is said of calls that no hook judged.
fn said_unguarded(seen: &Stream, is_passed: bool) -> Option<String> {
    let count = seen.unguarded_calls(is_passed);
    let said = seen.unjudged.notice.as_ref().filter(|_| count > 0)?;
    Some(format!("unguarded for {}: {said}", counted(count, "call", "calls")))
}

/// Why an agent must be ended whose client says that hooks judge nothing any more.
fn unguarded(seen: &Stream, is_passed: bool) -> Option<RunEnd> {
    let said = said_unguarded(seen, is_passed).unwrap_or_else(|| seen.unjudged.said.clone());
    seen.is_unguarded_for_good(is_passed).then_some(RunEnd::Unguarded(said))
}

/// The agent's last message.
fn last_words(seen: &Stream) -> String {
    match &seen.verdict {
        Some(verdict) => verdict.text.clone(),
        None => seen.said.text.lines().last().unwrap_or_default().to_owned(),
    }
}

/// Reports the agent's current activity, its new calls, and refused calls.
fn show(job: &Job, seen: &Stream, shown: &mut (usize, usize)) {
    let window = seen.window().filter(|window| *window > 0);
    job.reporter.send(Report::Glimpse(Glimpse {
        doing: seen.now.doing.clone(),
        is_refused: seen.now.is_refused,
        cost_usd: seen.cost_usd,
        tokens: seen.tokens,
        context: window.map(|window| seen.context.tokens * 100 / window),
    }));
    for call in seen.calls.since(shown.0) {
        let event = Event::ToolCall { call: call.to_owned() };
        job.reporter.send(Report::Event(job.key.clone(), event));
    }
    let mut before = None;
    for refusal in seen.calls.refused.iter().skip(shown.1) {
        // Repetitions of the same refused call are shown once.
        if before != Some(refusal) {
            let story = &job.key.story;
            let text = format!("{story}: refused: {} ({})", refusal.call, refusal.why);
            job.reporter.toned(Tone::Warning, text);
        }
        before = Some(refusal);
    }
    *shown = (seen.calls.count, seen.calls.refused.len());
}

/// Reports new rollbacks made by hooks.
fn show_rollbacks(job: &Job, state: &StateDir, known: &mut Vec<HookRollback>) {
    let rollbacks = rollbacks(state);
    for rollback in rollbacks.iter().skip(known.len()) {
        job.reporter.toned(Tone::Warning, format!("{}: {rollback}", job.key.story));
    }
    *known = rollbacks;
}

/// The rollbacks that hooks made during the attempt with this state.
pub(in crate::run) fn rollbacks(state: &StateDir) -> Vec<HookRollback> {
    let checkpoint = checkpoint(state).ok().flatten();
    checkpoint.map(|checkpoint| Memory::load(state, &checkpoint).rollbacks).unwrap_or_default()
}

/// Announces that the agent was asked to stop, and its grace period.
fn announce_grace(job: &Job) {
    let context = &job.context;
    let grace = seconds_of(Duration::from_secs(context.config.agent.grace.0));
    if context.is_interrupted() {
        job.reporter.send(Report::Stopping);
    } else {
        let story = &job.key.story;
        job.reporter.warn(format!("{story}: timed out; the agent has {grace} to exit"));
    }
}

/// Releases the agent that is paused in its stop hook, and waits for it to exit; returns what its session
/// used.
pub(in crate::run) fn release(
    context: &Context,
    desk: &mut Desk,
    why: &str,
) -> Result<Option<Used>, Failure> {
    let Some(mut live) = desk.session.take() else { return Ok(None) };
    let mailbox = Mailbox::at(desk.state().mailbox());
    let until = Instant::now() + FAREWELL;
    let run = loop {
        mailbox.reply(&live.question, Answer::Stop(why.to_owned()))?;
        let deadline = Some(until.saturating_duration_since(Instant::now()));
        let watch = Supervision { deadline, ..supervision(context) };
        match live.session.watch(&watch, Some(&mailbox), &mut |_| ())? {
            Turn::Ended(run) => break run,
            // Another stop hook blocked it, so it asks again.
            Turn::Asks(again) => live.question = again,
        }
    };
    let session_tokens = live.tokens();
    Ok(Some(Used { session_tokens, ended: Some((run, live.stories)), ..Used::default() }))
}

/// The log of an attempt's agent.
pub(crate) fn log_of(state: &StateDir, attempt: &Attempt) -> Utf8PathBuf {
    let Attempt { run, iteration, story, .. } = attempt;
    state.logs().join(format!("{run}-{iteration:03}-{story}.log"))
}

/// Opens the log of an agent.
pub(crate) fn open_log(context: &Context, path: &Utf8Path) -> io::Result<Log> {
    Log::open(path, context.config.limits.log * MEGABYTE)
}

/// The paths that the sandbox refused to an agent, according to its log.
pub(in crate::run) fn refused_in(
    doors: &Doors,
    state: &StateDir,
    attempt: &Attempt,
) -> impl Iterator<Item = Utf8PathBuf> + use<> {
    let is_sandboxed = doors.are_sandboxed();
    let log = is_sandboxed.then(|| state::tail(&log_of(state, attempt), MOST_READ).ok()).flatten();
    let said = log.map(|log| log.bytes).unwrap_or_default();
    doors.refused(&String::from_utf8_lossy(&said)).into_iter().take(MOST_REFUSED)
}

pub(crate) fn supervision(context: &Context) -> Supervision<'_> {
    Supervision {
        deadline: None,
        waited: &|_| Duration::ZERO,
        silence: None,
        grace: Duration::from_secs(context.config.agent.grace.0),
        most_output: context.config.limits.output * MEGABYTE,
        interrupts: &context.interrupts,
        beat: &|| (),
        awaits_work: &|_| false,
        forbids: &|_| None,
    }
}

/// The stop hook's last answer to a session.
pub(super) fn last_stop(state: &StateDir, session: Option<&str>) -> Option<StopStatus> {
    let session = state.session(&Id::parse(session?).ok()?);
    Some(LastStop::load(&session)?.status)
}

/// Runs the stop hook for an agent that has none, and returns the reason if it blocks, with the session to
/// continue.
pub(super) fn unmet(
    job: &Job,
    desk: &Desk,
    course: &Course,
    watched: &Watched,
) -> Result<Option<(SessionSoFar, String)>, Failure> {
    let (_, options) = job.context.agent_of(&course.attempt);
    let (Some(agent), Some(run)) = (options.resumed_at_stop, &watched.ended) else {
        return Ok(None);
    };
    let is_error = run.seen.verdict.as_ref().is_some_and(|verdict| verdict.is_error);
    let (Some(0), false, None, Some(id)) =
        (run.exit_code(), is_error, run.refusal(), &watched.session)
    else {
        return Ok(None);
    };
    let event = json!({
        "hook_event_name": "Stop", "session_id": id, "cwd": desk.copy.root(),
        "last_assistant_message": watched.said,
    });
    let reason = ask_stop_hook(job, desk, &course.attempt, agent, &event)?;
    let session = SessionSoFar { id: id.clone(), totals: watched.totals, agent: agent.to_owned() };
    Ok(reason.map(|reason| (session, reason)))
}

/// Runs the stop hook in the agent's folder; returns the reason if it blocks.
fn ask_stop_hook(
    job: &Job,
    desk: &Desk,
    attempt: &Attempt,
    agent: &str,
    event: &Value,
) -> Result<Option<String>, Failure> {
    let folder = folder_of_this_program().unwrap_or_default();
    let line = format!("{}/ralph-on-stop --agent {agent}", quoted(&folder));
    let path = log_of(job.context.state(), attempt).with_extension("stop.log");
    let door = desk.copy.doors.for_agent(&attempt.agent)?;
    state::remove_if_there(&path)?;
    let (log, vars) = (open_log(&job.context, &path)?, agent_variables(job, desk));
    let prompt = (&*event.to_string(), Totals::default());
    let mut hook = Session::start(&line, desk.copy.root(), (&vars, &door), prompt, log)?;
    let run = loop {
        if let Turn::Ended(run) = hook.watch(&supervision(&job.context), None, &mut |_| ())? {
            break run;
        }
    };
    let printed = state::read_text(&path)?;
    let answer: Value = serde_json::from_str(printed.trim()).unwrap_or_default();
    let reason = answer.get("reason").and_then(Value::as_str).map(str::to_owned);
    Ok(reason.or_else(|| (run.exit_code() == Some(2)).then_some(printed)))
}
