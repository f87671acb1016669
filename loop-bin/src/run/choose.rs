//! Which story a free slot works on.

use ralph_base::state::{Event, StoryKey, plan_name};
use ralph_core::plan::{Plan, State};

use super::decide::{CONFIG_CHANGED, Finish, Picked, ScriptRequest, pick};
use super::scripts::{self, NEXT_ITERATION};
use super::state::Conductor;
use super::{discard, wait};
use crate::exit::Failure;
use crate::terminal::counted;
use board::Tip;

/// What a free slot does next.
pub(super) enum Choice {
    Story(Plan, StoryKey),
    /// Release the paused agent first, with these words.
    Release(&'static str),
    Wait,
    Finish(Finish),
}

/// Chooses for a slot. Completion is checked before limits.
pub(super) fn choose(run: &mut Conductor, slot: usize) -> Result<Choice, Failure> {
    loop {
        let (plan, tip) = read_plan(run)?;
        let name = plan_name(run.context.project.root(), plan.path());
        let (given_up, under_way) = (run.record.tally.set_aside_in(&name), run.under_way());
        let is_alone = under_way.is_empty();
        let story = match pick(&plan, &given_up, &under_way, &run.context.config.scope) {
            Picked::Story(story) => story,
            Picked::Wait => return Ok(idle(run, slot)),
            Picked::Complete if !is_alone => return Ok(idle(run, slot)),
            Picked::Complete => return Ok(Choice::Finish(Finish::Complete)),
            Picked::Stuck(why) => return Ok(Choice::Finish(Finish::Blocked(why))),
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
            // It conflicted with another story once. This time nobody lands before it.
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
            None => Choice::Story(plan, key),
        });
    }
}

/// What to do instead of another story, if a limit is reached or the user asked the run to stop.
fn limited(run: &Conductor, slot: usize, is_alone: bool) -> Option<Choice> {
    let config = &run.context.config;
    // What a session cost is known at its end, and the next story may be one too many.
    let session = run.desk(slot).and_then(|desk| desk.session.as_ref());
    let limit = config.session.stories_per_session;
    if session.is_some_and(|live| live.stories_given() >= limit) {
        let why = "this session reached its number of stories; a new one continues";
        return Some(Choice::Release(why));
    }
    let elapsed = run.context.elapsed().as_secs_f64();
    let reached =
        run.record.tally.limit_reached(&config.limits, config.run.max_iterations, elapsed);
    let finish = if run.is_stop_requested() { Some(Finish::Stopped) } else { reached }?;
    // Stories under way may still complete the plan.
    Some(if is_alone { Choice::Finish(finish) } else { idle(run, slot) })
}

/// Asks `next_iteration`; what to do instead of the story, if it wants something else.
fn ask_script(run: &mut Conductor, slot: usize, key: &StoryKey) -> Result<Option<Choice>, Failure> {
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
            // A paused agent is not kept for hours.
            let is_paused = has_session(run, slot);
            let release = Choice::Release("the next story begins later, in a new session");
            Ok(Some(if is_paused { release } else { Choice::Wait }))
        }
    }
}

fn has_session(run: &Conductor, slot: usize) -> bool {
    let desk = run.desk(slot);
    desk.is_some_and(|desk| desk.session.is_some())
}

/// There is nothing for this slot now.
fn idle(run: &Conductor, slot: usize) -> Choice {
    if has_session(run, slot) {
        return Choice::Release("another worker has the stories that are left");
    }
    run.view.doing(slot, "waiting for other stories");
    Choice::Wait
}

/// The plan as it is now, and the commit that it is of.
fn read_plan(run: &mut Conductor) -> Result<(Plan, Option<String>), Failure> {
    let Tip { commit: tip, is_followed, .. } = run.board.look()?;
    let plan = run.books.load_at(tip.as_deref(), is_followed)?;
    report_changes_by_others(run, &plan);
    show_position(run, &plan);
    Ok((plan, tip))
}

/// Reports what other processes did to plan and settings since the last look.
pub(super) fn report_changes_by_others(run: &mut Conductor, plan: &Plan) {
    let name = plan_name(run.context.project.root(), plan.path());
    let done = plan.stories().iter().filter(|story| story.state == State::Done);
    let done: Vec<&str> = done.map(|story| story.id.as_str()).collect();
    for story in run.record.tally.newly_ticked(&name, &done) {
        let what = "ticked by another process during the run; not verified".to_owned();
        run.view.warn(format!("{story}: {what}"));
        run.note(Some(&StoryKey::new(&name, &story)), &Event::ChangedMeanwhile { what });
    }
    let settings = fs_err::read(run.context.state().config()).ok();
    if !run.record.tally.run.is_config_changed && settings != run.context.config_text {
        run.record.tally.run.is_config_changed = true;
        run.view.warn(CONFIG_CHANGED);
        run.note(None, &Event::ChangedMeanwhile { what: CONFIG_CHANGED.to_owned() });
    }
}

/// Shows where the plan stands, and what is likely to follow.
pub(super) fn show_position(run: &Conductor, plan: &Plan) {
    run.history.borrow_mut().see_plans([plan]);
    let (context, tally) = (&run.context, &run.record.tally);
    // What this very run took says more than earlier ones.
    let landed = tally.run.commits as f64;
    let so_far = context.elapsed().as_secs_f64() / landed;
    let story_s = if landed > 0.0 { Some(so_far) } else { context.forecast.seconds };
    run.view.expect(context.config.limits.max_cost_usd, story_s);
    run.show_counts();
}
