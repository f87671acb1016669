//! The end of a run: scripts, what git is still to have of progress and plan, and the account.

use std::time::Duration;

use ralph_core::config::Mode;
use ralph_core::fault;
use ralph_core::state;

use super::Run;
use super::decide::{Event, Finish, State};
use super::iteration::receipt;
use crate::agent::Descendants;
use crate::exit::{Failure, Success};
use crate::housekeeping;
use crate::landing::{self, Advance, LoopFile, Mark};
use crate::terminal::{self, clock, counted};
use crate::workspace::Start;

/// What the commit with the last entries of the progress says.
const RECORDS: &str = "chore(ralph): record progress";

impl Run {
    /// The end: whatever fails here is told and does not keep the rest from being done.
    pub(super) fn run_finished(&mut self, state: &State, finish: &Finish) -> Event {
        let ended = self.end_session(match finish {
            Finish::Complete => "COMPLETE: every story is done",
            Finish::MaxIterations => "REACHED_LIMIT: no iteration is left",
            _ => "the run ends",
        });
        self.tell(ended);
        // A run that is ended in the middle has no `post_iteration` to tell of its iteration.
        if let Some((outcome, _)) = self.outcome.clone() {
            let ended = self.end_iteration(state, outcome);
            self.tell(ended);
        }
        let recorded = self.record_progress(state);
        self.tell(recorded);
        let counters = &state.counters;
        let blocked: Vec<String> = counters.set_aside.iter().cloned().collect();
        let vars = vec![
            ("ITERATION", counters.iteration.to_string()),
            ("FINISH_TYPE", finish.word().to_owned()),
            ("TOTAL_ITERATIONS", counters.iteration.to_string()),
            ("TOTAL_COMMITS", counters.commits.to_string()),
            ("DURATION", self.context.elapsed().as_secs().to_string()),
            ("REASON", finish.reason().unwrap_or_default()),
            ("COST", format!("{:.4}", counters.spent.cost_usd)),
            ("BLOCKED", blocked.join(" ")),
        ];
        let script = self.context.script("finished", vars).map(drop);
        self.tell(script);
        let interrupts = &self.context.interrupts;
        Descendants::all().end(Duration::from_secs(2), &|| interrupts.count() > 1);
        fault::point("loop.finishing");
        let counted = self.finish_loop_progress(counters.iteration, finish);
        self.tell(counted);
        let pruned = housekeeping::prune(&self.context, &self.workspace);
        self.tell(pruned);
        self.context.note(None, &finish.told());
        Event::Finished { shares: std::mem::take(&mut self.unbooked) }
    }

    /// The last entries of the progress, the lessons and the boxes of blocked stories, as one commit
    /// where git has the plan: so that nothing of ours is left uncommitted.
    fn record_progress(&mut self, state: &State) -> Result<(), Failure> {
        if self.attempt.is_some() {
            return Ok(());
        }
        for _ in 0..5 {
            let (tip, is_followed) = self.target.look()?;
            let Some(base) = tip.as_deref() else { return Ok(()) };
            let blocked = state.counters.set_aside.iter().cloned().map(Mark::Blocked).collect();
            let files = self.books.files_for(is_followed, tip.as_deref(), blocked, None)?;
            if !files.iter().any(LoopFile::is_changed) {
                if is_followed {
                    self.books.bring_users_texts(&files)?;
                }
                return self.books.clear_pending(tip.as_deref());
            }
            let branch = self.target.current_branch();
            let start = Start { tip: tip.as_deref(), branch: &branch };
            if !self.workspace.is_in_place() {
                self.workspace.reset(start)?;
            }
            let git = self.workspace.git();
            git.run(&["read-tree", base])?;
            let texts: Vec<_> =
                files.iter().map(|file| (file.path.clone(), file.after.clone())).collect();
            let tree = self.workspace.with_files(&texts)?;
            let run = &self.context.run;
            let message = format!("{RECORDS}\n\nRalph-Run: {run}\n");
            let commit = landing::commit_tree(&git, &tree, &[base], &message)?;
            match self.target.advance(tip.as_deref(), &commit, &files)? {
                Advance::Moved => {}
                _ => return self.books.clear_pending(tip.as_deref()),
            }
        }
        Ok(())
    }

    fn finish_loop_progress(&self, iteration: u64, finish: &Finish) -> Result<(), Failure> {
        let status = match finish {
            Finish::Complete => "COMPLETE",
            Finish::MaxIterations => "REACHED_LIMIT",
            _ => "STOPPED",
        };
        if self.context.config.run.mode == Mode::Planning {
            return Ok(());
        }
        self.update_loop_progress(&self.books.load(&self.target)?, iteration, status)
    }

    fn tell(&self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.context.view.warn(failure.to_string());
        }
    }

    /// The account of the run, and what remains.
    pub(super) fn close(&self, state: &State, finish: Finish) -> Success {
        let (context, counters) = (&self.context, &state.counters);
        for (story, spent) in &counters.story_spent {
            context.view.line(format!("{story}: {}", receipt(*spent)));
        }
        let most = context.config.limits.max_cost_usd;
        match &finish {
            Finish::Budget(why) => context.view.line(format!("budget exceeded: {why}")),
            Finish::Blocked(why) | Finish::Error(why) => {
                terminal::complain(&std::io::Error::other(why.clone()));
            }
            _ if most > 0.0 && counters.spent.cost_usd > most => context.view.warn(format!(
                "budget exceeded: spent ${:.2} of ${most:.2}; what a session cost is known at its \
                 end",
                counters.spent.cost_usd
            )),
            _ => {}
        }
        if self.target.is_waiting() {
            let (waiting, take) = (self.target.current_branch(), self.target.how_to_take());
            context.view.warn(format!("work waits on {waiting}; {take}"));
        }
        let done = match context.config.run.mode {
            Mode::Planning => "planning".to_owned(),
            Mode::Building => format!(
                "{} landed in {}",
                counted(counters.commits as usize, "story", "stories"),
                counted(counters.iteration as usize, "iteration", "iterations")
            ),
        };
        context.view.line(format!(
            "finished ({}): {done}, {} in all; {}",
            finish.word(),
            clock(context.elapsed()),
            receipt(counters.spent)
        ));
        context.view.close();
        // Whoever interrupted the last script is told that it was heard.
        let finish = context.interrupts.signal().map(Finish::Manual).unwrap_or(finish);
        let incomplete = context.config.run.fail_if_incomplete
            && self
                .books
                .load(&self.target)
                .is_ok_and(|plan| plan.counts().open + plan.counts().blocked > 0);
        Success::Loop { finish, incomplete }
    }
}

impl Finish {
    /// Why, where there is more to say than the type.
    pub(super) fn reason(&self) -> Option<String> {
        match self.told() {
            state::Event::LoopFinished { reason, .. } => reason,
            _ => None,
        }
    }
}
