//! Chooses the story for a free slot, and starts an attempt at it: the attempt is on disk before its
//! thread starts.

use ralph_base::state::{self, Event, StoryKey, plan_name};
use ralph_core::git::Git;
use ralph_core::plan::{Plan, State, Story};
use ralph_project::config::RollbackOn;
use ralph_project::under_way::Attempt;
use run_history::StoryTally;

use super::attempt::{Assignment, Budget, Task, log_of};
use super::context::update_loop_progress;
use super::decide::{
    Allowance, Finish, Picked, agent_for, free_agents, limit_reached, pick, pick_only,
};
use super::scripts::{self, NEXT_ITERATION, ScriptRequest};
use super::state::{Conductor, Slot, UnderWay};
use super::{discard, wait};
use crate::exit::Failure;
use crate::record::Outcome;
use crate::saved::{self, SavedAttempt};
use crate::terminal::{Tone, Worker, counted};
use board::{PlanChanges, Tip};
use client::SessionSoFar;
use work_copy::Start;

/// The next step of a free slot.
pub(super) enum Choice {
    Story(Box<Plan>, StoryKey),
    /// Have the agent write the plan.
    Plan(StoryKey),
    /// First release the paused agent with this message.
    Release(&'static str),
    Wait,
    Finish(Finish),
}

/// Chooses a slot's next step. Completion is checked before limits.
pub(super) fn choose(run: &mut Conductor, slot: usize) -> Result<Choice, Failure> {
    hear_retries(run)?;
    loop {
        let Tip { commit: tip, is_followed, .. } = run.board.tip()?;
        let plan = run.books.load_at(tip.as_deref(), is_followed)?;
        let plan = tick_again(run, plan, tip.as_deref(), is_followed)?;
        report_changes_by_others(run, &plan);
        show_position(run, &plan);
        let name = plan_name(run.context.project.root(), plan.path());
        let (given_up, under_way) = (run.record.tally.set_aside_in(&name), run.under_way());
        let is_alone = under_way.is_empty();
        let picked = match run.context.config.run.story.as_str() {
            "" => pick(&plan, &given_up, &under_way),
            only => pick_only(&plan, only, &given_up),
        };
        let story = match picked {
            Picked::Story(story) => story,
            Picked::Wait => return Ok(nothing_now(run, slot)),
            Picked::Complete if !is_alone => return Ok(nothing_now(run, slot)),
            Picked::Complete => return Ok(Choice::Finish(Finish::Complete)),
            Picked::Depends(why) | Picked::Stuck(why) => {
                return Ok(Choice::Finish(Finish::Blocked(why)));
            }
        };
        let key = StoryKey::new(&name, &story);
        log::info!("chosen: {key}");
        let done = run.record.tally.attempts_at(&key);
        if done >= run.context.config.limits.attempts_per_story.max(1) {
            let times = counted(done as usize, "attempt", "attempts");
            let why = format!("it is open again after {times}; something keeps removing its work");
            discard::set_aside(run, slot, &key, tip.as_deref(), &why)?;
            continue;
        }
        if let Some(instead) = limited(run, slot, is_alone) {
            return Ok(instead);
        }
        if run.record.tally.has_conflicted(&key) {
            // It has conflicted with another story. This time no other story lands before it.
            if run.landing.is_some_and(|holder| holder != slot) {
                return Ok(Choice::Wait);
            }
            run.landing = Some(slot);
        }
        run.record.tally.run.iteration += 1;
        run.save();
        return Ok(match ask_script(run, slot, &key)? {
            Some(instead) => {
                run.free_landing(slot);
                instead
            }
            None => Choice::Story(Box::new(plan), key),
        });
    }
}

/// Reopens, for this run too and with all attempts, the stories that `ralph-loop retry` reopened.
fn hear_retries(run: &mut Conductor) -> Result<(), Failure> {
    let mut asked = String::new();
    state::drain(&run.context.run_dir.retries(), |lines| {
        asked = String::from_utf8_lossy(lines).into_owned();
        Ok(())
    })?;
    for key in asked.lines().filter_map(StoryKey::parse) {
        let tally = run.record.tally.story(&key);
        *tally = StoryTally { spent: tally.spent, ..StoryTally::default() };
        report_change(run, Some(&key), "reopened by `ralph-loop retry`".to_owned());
        run.books.asked_for.push(key.story);
    }
    Ok(())
}

/// The step to take instead of another story, if a limit is reached or the user asked the run to stop.
fn limited(run: &Conductor, slot: usize, is_alone: bool) -> Option<Choice> {
    let config = &run.context.config;
    // A session's cost is known only at its end, and another story might exceed the limit.
    if let Some(live) = run.desk(slot).ok().and_then(|desk| desk.session.as_ref())
        && live.stories_given() >= config.session.stories_per_session
    {
        let why = "this session reached its story limit; a new session continues";
        return Some(Choice::Release(why));
    }
    let elapsed = run.context.elapsed().as_secs_f64();
    let reached =
        limit_reached(&run.record.tally, &config.limits, config.run.max_iterations, elapsed);
    let finish = if run.is_stop_requested() { Some(Finish::Stopped) } else { reached }?;
    // Stories in progress may still complete the plan.
    Some(if is_alone { Choice::Finish(finish) } else { nothing_now(run, slot) })
}

/// Runs `next_iteration`; returns the step that it asks for instead of the story, if any.
pub(super) fn ask_script(
    run: &mut Conductor,
    slot: usize,
    key: &StoryKey,
) -> Result<Option<Choice>, Failure> {
    let request = scripts::next_iteration(run, slot, key);
    if let Some(signal) = run.context.interrupts.signal() {
        return Ok(Some(Choice::Finish(Finish::Manual(signal))));
    }
    match request {
        ScriptRequest::Continue => {
            run.record.tally.run.skipped = 0;
            Ok(None)
        }
        ScriptRequest::Stop => Ok(Some(Choice::Finish(Finish::stopped_by(NEXT_ITERATION)))),
        ScriptRequest::Skip => {
            if let Some(finish) = wait::after_skip(run) {
                return Ok(Some(Choice::Finish(finish)));
            }
            // Do not keep a paused agent for hours.
            let release = Choice::Release("the next story begins later, in a new session");
            Ok(Some(if run.slot(slot)?.has_session() { release } else { Choice::Wait }))
        }
    }
}

/// The step of a slot that has to wait.
fn nothing_now(run: &Conductor, slot: usize) -> Choice {
    if run.slots.get(slot).is_some_and(Slot::has_session) {
        return Choice::Release("other workers have the remaining stories");
    }
    run.view.doing(slot, "waiting for other stories");
    Choice::Wait
}

/// Reports changes that other processes have made to the plan.
pub(super) fn report_changes_by_others(run: &mut Conductor, plan: &Plan) {
    let name = plan_name(run.context.project.root(), plan.path());
    let done = plan.stories().iter().filter(|story| story.state == State::Done);
    let done: Vec<&str> = done.map(|story| story.id.as_str()).collect();
    for story in run.record.tally.newly_ticked(&name, &done) {
        let what = "ticked by another process during the run; not verified".to_owned();
        report_change(run, Some(&StoryKey::new(&name, &story)), what);
    }
}

/// Ticks landed stories again that are open in the plan: an editor may have saved an older version.
/// Returns the plan with those ticks; the user's file gets them now, and the branch with the next commit.
fn tick_again(
    run: &mut Conductor,
    mut plan: Plan,
    tip: Option<&str>,
    is_followed: bool,
) -> Result<Plan, Failure> {
    let name = plan_name(run.context.project.root(), plan.path());
    for story in run.record.tally.stories_in(&name, |story| story.is_landed) {
        if plan.story(&story).is_none_or(|found| found.state != State::Open) {
            continue;
        }
        let key = StoryKey::new(&name, &story);
        let is_there = is_still_there(&run.source.git(), &key, tip, "")?;
        if is_followed && !run.board.tip()?.is_followed {
            // If the user switched branches meanwhile, this plan may be the other branch's.
            plan = Plan::parse(plan.path(), plan.tick(&story)?, &run.books.options)?;
            continue;
        }
        let tally = run.record.tally.story(&key);
        let is_known = std::mem::replace(&mut tally.is_reopened, is_there);
        tally.is_landed = is_there;
        if !is_there {
            continue;
        }
        if !is_known {
            let again = format!("to redo it, run `ralph-loop retry {story}` after this run");
            let what = "reopened by another process, but its work has landed; ticked again";
            report_change(run, Some(&key), format!("{what} ({again})"));
        }
        plan = Plan::parse(plan.path(), plan.tick(&story)?, &run.books.options)?;
        if is_followed || !run.books.is_tracked(tip) {
            let marks = vec![(story, State::Done)];
            run.books.mark_users_text(&PlanChanges { marks, ..PlanChanges::default() })?;
        }
    }
    Ok(plan)
}

/// Reports a change that another process made.
fn report_change(run: &Conductor, key: Option<&StoryKey>, what: String) {
    let about = key.map(|key| format!("{}: ", key.story)).unwrap_or_default();
    run.view.warn(format!("{about}{what}"));
    run.note_in(usize::MAX, key, &Event::ChangedMeanwhile { what });
}

/// Whether a landed story's commit is on the target under the same title, and nobody has reverted it or reopened
/// the story with `ralph-loop retry`. Between two runs a plan may give the id to another story.
pub(super) fn is_still_there(
    git: &Git,
    key: &StoryKey,
    tip: Option<&str>,
    title: &str,
) -> Result<bool, Failure> {
    let attempts = saved::at_story(git, key)?;
    let is_asked = saved::newest(attempts.clone()).is_some_and(|newest| newest.is_retry());
    let landed = attempts.into_iter().find(|one| one.outcome.is_none() && !is_asked);
    let (Some(SavedAttempt { commit, .. }), Some(tip)) = (landed, tip) else { return Ok(false) };
    // Waiting work may have been rebased: it is then another commit with the same message.
    let message = git.line(&["log", "-1", "--format=%B", &commit])?;
    if !message.contains(title.trim()) {
        return Ok(false);
    }
    let story = format!("--grep=Ralph-Story: {}", key.story);
    let listed = git.run(&["log", "-z", "--format=%H %B", "--fixed-strings", &story, tip])?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let mut commits = listed.split('\0').filter_map(|one| one.split_once(' '));
    let Some((id, _)) = commits.find(|(_, text)| text.trim() == message.trim()) else {
        return Ok(false);
    };
    let reverted = format!("--grep=This reverts commit {id}");
    Ok(git.line(&["log", "-1", "--format=%H", &reverted, &format!("{id}..{tip}")])?.is_empty())
}

/// Shows the state of the plan and a forecast.
pub(super) fn show_position(run: &Conductor, plan: &Plan) {
    run.history.borrow_mut().add_plans([plan]);
    let (context, tally) = (&run.context, &run.record.tally);
    // This run's own attempts are the best basis.
    let landed = tally.run.commits as f64;
    let so_far = context.elapsed().as_secs_f64() / landed;
    let story_s = if landed > 0.0 { Some(so_far) } else { context.forecast.seconds };
    run.view.expect(context.config.limits.max_cost_usd, story_s);
    run.show_counts();
}

/// Starts an attempt at a story in a slot.
pub(super) fn begin(
    run: &mut Conductor,
    slot: usize,
    plan: Plan,
    key: StoryKey,
) -> Result<(), Failure> {
    let found = plan.story(&key.story).cloned().ok_or_else(|| {
        Failure::because(format!("story {} was just removed from {}", key.story, plan.path()))
    })?;
    show_story(run, slot, &found, &key);
    let Tip { commit: tip, branch, .. } = run.board.tip()?;
    let books = [&run.books.plan, &run.books.progress];
    let start = Start { tip: tip.as_deref(), branch: &branch, books };
    let attempts = saved::at_story(&run.source.git(), &key)?;
    // An attempt without changes is not saved, but has a log.
    let number = saved::number_after(&attempts).max(run.history.borrow().number_after(&key));
    let hint = hint(&attempts);
    let newest = saved::newest(attempts);
    let mut attempt = new_attempt(run, slot, &key, (&found.title, number), start)?;
    attempt.text = format!("{}\n{}", found.title, found.details);
    attempt.model = plan.setting(&found, "model").unwrap_or_default();
    let (named, fallback) = (plan.setting(&found, "agent"), &run.context.config.agent.fallback);
    let now = jiff::Timestamp::now().as_second();
    let (agent, known) = agent_for(named.as_deref(), fallback, &run.record.tally, now);
    agent.clone_into(&mut attempt.agent);
    if let Err(name) = known {
        run.view.warn(format!("{}: `{name}` is not a known agent", found.id));
    }
    attempt.save(&run.desk(slot)?.dir)?;
    let agent = run.context.agent_name(&attempt).unwrap_or_default();
    let under_way = format!("{}\n", key.story);
    for state in [run.context.state(), run.desk(slot)?.state()] {
        state::replace_unsynced(&state.current_story(), under_way.as_bytes())?;
    }
    let counts = (attempt.iteration, run.context.config.run.max_iterations);
    update_loop_progress(&plan, counts, "IN_PROGRESS")?;
    let iteration = u32::try_from(attempt.iteration).unwrap_or(u32::MAX);
    let started = Event::IterationStarted { iteration, title: found.title, attempt: number };
    run.note_in(slot, Some(&key), &started);
    let assignment = Assignment {
        progress: run.books.progress_text(tip.as_deref()),
        plan,
        session: session_to_resume(newest.as_ref(), agent),
        resumed: to_resume(run, newest),
        messages: messages(run),
        hint,
        budget: budget(run, &key, &attempt.agent),
    };
    let path = log_of(run.context.state(), &attempt);
    let log = path.metadata();
    run.view.log(slot, path);
    let name = run.slot(slot)?.name.clone();
    let record = run.record.slots.entry(name).or_default();
    (record.session_tokens, record.session_log) = (0, log.map_or(0, |log| log.len()));
    let work = UnderWay { slot, key, attempt, ..UnderWay::default() };
    run.give(work, Task::Work(Box::new(assignment)))?;
    run.save();
    Ok(())
}

/// Records a new attempt, and protects its base commit from garbage collection.
pub(super) fn new_attempt(
    run: &Conductor,
    slot: usize,
    key: &StoryKey,
    (title, number): (&str, u64),
    start: Start<'_>,
) -> Result<Attempt, Failure> {
    let desk = run.desk(slot)?;
    let attempt = Attempt {
        run: desk.run.clone(),
        story: key.story.clone(),
        title: title.to_owned(),
        iteration: run.record.tally.run.iteration,
        number,
        plan: run.books.plan.clone(),
        tag: run.books.options.tag.clone(),
        progress: run.books.progress.clone(),
        work: desk.copy.root().to_owned(),
        target: start.branch.to_owned(),
        base: start.tip.map(str::to_owned),
        ..Attempt::now()
    };
    if let Some(base) = &attempt.base {
        saved::hold(&run.source.git(), &desk.name, base)?;
    }
    attempt.save(&desk.dir)?;
    Ok(attempt)
}

/// The limits for an agent's work on a story.
pub(super) fn budget(run: &Conductor, key: &StoryKey, agent: &str) -> Budget {
    let (config, tally) = (&run.context.config, &run.record.tally);
    let spent = (tally.run.spent.cost_usd, run.slots.len() as u64);
    let allowance = Allowance::of(&config.agent, &config.limits, run.context.elapsed(), spent);
    let may_hand_over = tally.may_hand_over(key, config.limits.attempts_per_story);
    let (fallback, now) = (&config.agent.fallback, jiff::Timestamp::now().as_second());
    let may_switch =
        !fallback.is_empty() && free_agents(fallback, tally, now).any(|name| name != agent);
    Budget { allowance, quota_streak: tally.run.quota_streak, may_switch, may_hand_over }
}

/// The user's messages for the next prompt.
pub(super) fn messages(run: &Conductor) -> String {
    state::read_text(run.context.run_dir.messages()).unwrap_or_default()
}

fn show_story(run: &Conductor, slot: usize, story: &Story, key: &StoryKey) {
    let Story { id, title, .. } = story;
    let (name, rest) = if story.is_named_by_title() { (title, "") } else { (id, &**title) };
    let gap = if rest.is_empty() { "" } else { " " };
    let iteration = run.record.tally.run.iteration;
    run.toned(slot, Tone::Plain, format!("iteration {iteration}: {name}{gap}{rest}"));
    run.view.slot(
        slot,
        Worker {
            story: Some(name.clone()),
            title: rest.to_owned(),
            attempt: run.record.tally.attempts_at(key) + 1,
            attempts: run.context.config.limits.attempts_per_story.max(1),
            since: Some(jiff::Timestamp::now()),
            ..Worker::default()
        },
    );
}

/// The hint of the newest `ralph-loop retry`, unless the story has landed since.
fn hint(attempts: &[SavedAttempt]) -> String {
    let asked = attempts.iter().filter(|one| one.is_retry()).max_by_key(|one| one.number);
    let has_landed = |asked: &SavedAttempt| {
        attempts.iter().any(|one| one.outcome.is_none() && one.number > asked.number)
    };
    let asked = asked.filter(|asked| !has_landed(asked));
    asked.map(|asked| asked.details.trim().to_owned()).unwrap_or_default()
}

/// The attempt to continue, if the last one ended halfway.
fn to_resume(run: &Conductor, newest: Option<SavedAttempt>) -> Option<SavedAttempt> {
    let always = run.context.config.rollback.on == RollbackOn::Never;
    newest.filter(|newest| {
        newest.outcome.as_deref().is_some_and(|word| always || Outcome::is_resumed(word))
    })
}

/// The client session to resume, if any.
fn session_to_resume(newest: Option<&SavedAttempt>, agent: &str) -> Option<SessionSoFar> {
    let SavedAttempt { session, outcome, .. } = newest?;
    let keeps = Outcome::keeps_session(outcome.as_deref()?);
    let session: SessionSoFar = session.as_deref()?.parse().ok()?;
    let is_its_own = session.agent.is_empty() || session.agent == agent;
    (keeps && is_its_own).then_some(session)
}
