//! Which story is next.

use ralph_base::state::run_and_worker;
use ralph_base::state::{self, StateDir};
use ralph_core::plan::{self, Format, Next, Plan};
use ralph_project::loop_progress::LoopProgress;

use super::LiveAgent;
use crate::board::Tip;
use crate::exit::Failure;
use crate::run::Run;
use crate::run::decide::Finish;
use crate::terminal::counted;

/// What is next.
#[derive(Debug)]
pub(in crate::run) enum Choice {
    Story(String),
    /// The work of the attempt under way is there and has to be landed.
    Unlanded,
    /// Nothing, until another worker has ended its story.
    Wait,
    Finish(Finish),
}

impl Run {
    /// A plan that is complete is complete, whatever limit was reached with its last story.
    pub(in crate::run) fn choose(&mut self) -> Result<Choice, Failure> {
        if let Some(why) = self.target_trouble.take() {
            return Err(Failure::because(why));
        }
        if std::mem::take(&mut self.is_unlanded) {
            // Right before it lands: whatever was done since the start may have reset the copy.
            self.bring_back_work()?;
            return Ok(Choice::Unlanded);
        }
        if self.context.part.as_ref().is_some_and(|part| part.is_to_settle) {
            return Ok(Choice::Finish(Finish::Complete));
        }
        let choosing = self.lock_for_choosing()?;
        let (plan, tip) = self.see_plan()?;
        let story = match self.next_story(&plan)? {
            Ok(story) => story,
            Err(instead) => return Ok(instead),
        };
        log::info!("chosen: {story}");
        let done = self.record.counters.attempts_at(&story);
        let config = &self.context.config;
        if done >= config.limits.attempts_per_story.max(1) {
            let times = counted(done as usize, "attempt", "attempts");
            let why = format!("it is open again after {times}; something keeps removing its work");
            self.set_aside(&story, tip.as_deref(), &why)?;
            drop(choosing);
            return self.choose();
        }
        // What a session cost is known at its end, and the next story may be one too many.
        let is_full = |live: &LiveAgent| !self.may_take_another(live.stories_given());
        if self.waiting.as_ref().is_some_and(is_full) {
            self.end_session("this session reached its number of stories; a new one continues")?;
        }
        let (config, elapsed) = (&self.context.config, self.context.elapsed().as_secs_f64());
        let counters = &self.record.counters;
        if let Some(finish) =
            counters.limit_reached(&config.limits, config.run.max_iterations, elapsed)
        {
            return Ok(Choice::Finish(finish));
        }
        self.record.counters.iteration += 1;
        self.record.story = Some(story.clone());
        self.save();
        Ok(Choice::Story(story))
    }

    /// The plan as it is now, and the commit that it is of. What the other workers have is looked at before:
    /// what lands meanwhile was theirs, and nobody takes anything while we choose.
    fn see_plan(&mut self) -> Result<(Plan, Option<String>), Failure> {
        self.look_at_others()?;
        let Tip { commit: tip, is_followed, .. } = self.target.look()?;
        let plan = self.books.load_at(tip.as_deref(), is_followed)?;
        self.look_for_changes(&plan);
        self.show_position(&plan);
        Ok((plan, tip))
    }

    /// The next story of this plan, or what is to be done instead.
    fn next_story(&mut self, plan: &Plan) -> Result<Result<String, Choice>, Failure> {
        let passed_over = self.passed_over();
        let next = plan.next_story(&passed_over);
        if next == Next::Complete {
            return self.leave_plan(None).map(Err);
        }
        let is_stuck = matches!(next, Next::Stuck { .. });
        if let (Next::Stuck { waiting, blocked }, true) = (&next, self.others.taken.is_empty()) {
            return self.leave_plan(Some(stuck(waiting, blocked))).map(Err);
        }
        if self.is_stop_requested()? {
            return Ok(Err(Choice::Finish(Finish::Stopped)));
        }
        // What others end may be what the rest waits for.
        if is_stuck || self.others.pause.is_some() {
            return Ok(Err(Choice::Wait));
        }
        Ok(self.preferred(plan, &passed_over).ok_or(Choice::Wait))
    }

    /// Whether `ralph-loop stop` asked this run to end before its next story.
    pub(super) fn is_stop_requested(&self) -> Result<bool, Failure> {
        let request = self.context.run_dir.stop_request();
        let (run, worker) = run_and_worker(&self.context.run);
        let is_ours = fs_err::read_to_string(&request).is_ok_and(|asked| asked == run);
        if is_ours && worker.is_none() {
            state::remove_if_there(request)?;
        }
        Ok(is_ours)
    }

    /// Keeps the `progress.txt` of a feature list up to date, where there is one.
    pub(in crate::run) fn update_loop_progress(&self, status: &str) -> Result<(), Failure> {
        let path = StateDir::loop_progress_beside(&self.books.plan);
        if !path.is_file() || self.books.load(&self.target)?.format() != Format::FeatureList {
            return Ok(());
        }
        let (iteration, limit) =
            (self.record.counters.iteration, self.context.config.run.max_iterations);
        let new = LoopProgress::set(&fs_err::read(&path)?, "Iteration", &iteration.to_string());
        let new = LoopProgress::set(&new, "Max Iterations", &limit.to_string());
        let new = LoopProgress::set(&new, "Status", status);
        Ok(state::replace_users(&path, &new)?)
    }
}

/// Why no story is left, and what a person can do.
fn stuck(waiting: &[&plan::Story], blocked: &[&plan::Story]) -> String {
    let ids = |stories: &[&plan::Story]| {
        stories.iter().map(|story| story.id.clone()).collect::<Vec<_>>().join(", ")
    };
    let mut why = format!("no story can be worked on; blocked: {}", ids(blocked));
    if !waiting.is_empty() {
        why.push_str(&format!("; dependent on them: {}", ids(waiting)));
    }
    why
}
