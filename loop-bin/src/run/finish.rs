//! The end of a run: scripts, what git is still to have of progress and plan, and the account.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::fault;
use ralph_base::state;
use ralph_core::git::Git;
use ralph_core::plan::Plan;
use ralph_project::checks::{RUN_MARK, one_line};
use ralph_project::config::Mode;

use super::Run;
use super::decide::{Ending, Finish};
use super::iteration::{LEAST_TIME, receipt};
use crate::agent::Descendants;
use crate::board::{self, Advance, LoopFile, Made, PlanChanges, Tip, Waiting};
use crate::exit::Failure;
use crate::git_output::paths;
use crate::morning::{self, Standing};
use crate::saved;
use crate::terminal::{self, Tone, counted, in_words};
use crate::workspace::Start;
use crate::{here, housekeeping};

/// What the commit with the last entries of the progress says.
const RECORDS: &str = "chore(ralph): record progress";

impl Run {
    /// The end: whatever fails here is told and does not keep the rest from being done.
    pub(super) fn finish(mut self, finish: Finish) -> ExitCode {
        let (status, goodbye) = match finish {
            Finish::Complete => ("COMPLETE", "COMPLETE: all stories are done"),
            Finish::MaxIterations => ("REACHED_LIMIT", "REACHED_LIMIT: no iterations left"),
            _ => ("STOPPED", "the run has ended"),
        };
        let ended = self.end_session(goodbye);
        self.tell(ended);
        let recorded = self.record_progress();
        self.tell(recorded);
        if let (Ok(plan), false) = (self.books.load(&self.target), self.record.planning) {
            self.look_for_changes(&plan);
        }
        let report = self.write_report(&finish);
        self.run_finished(&finish, report.as_deref());
        self.notify_end(&finish, report.as_deref());
        let interrupts = &self.context.interrupts;
        Descendants::all().end(Duration::from_secs(2), &|| interrupts.count() > 1);
        fault::point("loop.finishing");
        if !self.record.planning {
            self.tell(self.update_loop_progress(status));
        }
        let (git, keep) = (self.workspace.source.git(), self.context.config.workspace.keep);
        if self.attempt.is_none() {
            self.tell(saved::release(&git).map_err(Into::into));
        }
        self.tell(housekeeping::prune(&git, self.context.state(), keep, false).map(drop));
        let (finish_type, reason) = (finish.word().to_owned(), finish.reason().map(str::to_owned));
        self.context.note(None, &state::Event::LoopFinished { finish_type, reason });
        self.record.finish = Some(finish.word().to_owned());
        self.record.reason = finish.reason().map(str::to_owned);
        self.save();
        self.close(finish, report.as_deref())
    }

    /// The page of this run; the journal has all but its end by now.
    fn write_report(&self, finish: &Finish) -> Option<Utf8PathBuf> {
        let (project, source) = (&self.context.project, &self.workspace.source);
        let (plan, waiting) = self.what_is_there();
        let misfit = self.record.misfit.clone();
        let ends = Some((finish.word().to_owned(), finish.reason().map(str::to_owned)));
        let standing = Standing { waiting, misfit, ends, ..Standing::default() };
        let page = morning::page(project, source, plan.as_ref(), &standing, &self.context.run);
        let written =
            page.and_then(|page| page.map(|page| morning::write(project, &page, None)).transpose());
        written.unwrap_or_else(|error| {
            self.context.view.warn(format!("the report could not be written: {error}"));
            None
        })
    }

    /// The plan, and what waits; as far as they can be read.
    fn what_is_there(&self) -> (Option<Plan>, Option<Waiting>) {
        (self.books.load(&self.target).ok(), self.target.waiting().ok().flatten())
    }

    fn run_finished(&self, finish: &Finish, report: Option<&Utf8Path>) {
        let counters = &self.record.counters;
        let blocked: Vec<String> = counters.all_set_aside().into_iter().collect();
        let vars = vec![
            ("ITERATION", counters.iteration.to_string()),
            ("FINISH_TYPE", finish.word().to_owned()),
            ("TOTAL_ITERATIONS", counters.iteration.to_string()),
            ("TOTAL_COMMITS", counters.commits.to_string()),
            ("DURATION", self.context.elapsed().as_secs().to_string()),
            ("REASON", finish.reason().unwrap_or_default().to_owned()),
            ("COST", counters.cost_for_scripts()),
            ("BLOCKED", blocked.join(" ")),
            ("REPORT", report.map(Utf8Path::to_string).unwrap_or_default()),
        ];
        self.script("finished", vars);
    }

    /// The last entries of the progress, the lessons and the boxes of blocked stories, as one commit
    /// where git has the plan: so that nothing of ours is left uncommitted.
    pub(super) fn record_progress(&mut self) -> Result<(), Failure> {
        // The copy holds what an attempt has made, and perhaps nothing else does.
        if self.attempt.is_some() || self.is_copy_taken()? {
            return Ok(());
        }
        for _ in 0..5 {
            let Tip { commit: tip, is_followed, branch } = self.target.look()?;
            let Some(base) = tip.as_deref() else { return Ok(()) };
            let changes = PlanChanges { marks: self.blocked_marks(), ..PlanChanges::default() };
            let files = self.books.files_for(is_followed, tip.as_deref(), &changes)?;
            if !files.iter().any(LoopFile::is_changed) {
                if is_followed {
                    self.books.bring_users_texts(&files)?;
                } else {
                    // Nothing may be in the way of what waits any more.
                    self.follow_waiting()?;
                }
                return self.books.clear_pending(tip.as_deref());
            }
            let start = Start { tip: tip.as_deref(), branch: &branch };
            let git = self.workspace.git();
            if self.workspace.is_in_place {
                git.run(&["read-tree", base])?;
            } else {
                self.workspace.reset(start)?;
            }
            let changed = files.iter().filter(|file| file.is_changed());
            let tree = self.workspace.with_files(changed.map(LoopFile::text))?;
            let made = self.commit_records(&git, &tree)?;
            if made.is_altered && !self.workspace.is_in_place {
                let changed = ["diff-tree", "-r", "-z", "--name-only", base, &made.commit];
                let is_other = |path: &PathBuf| !files.iter().any(|file| file.path == *path);
                if paths(&git.run(&changed)?).iter().any(is_other) {
                    return Err(Failure::because(
                        "progress was not committed because your git hooks add unchecked files to \
                         the commit; it will be committed with the next story",
                    ));
                }
            }
            let files = self.as_committed(&made, files);
            self.books.remember(tip.as_deref(), &made, &files);
            match self.advance(tip.as_deref(), &made.commit, &files)? {
                Advance::Moved => {}
                _ => return self.books.clear_pending(Some(&made.commit)),
            }
        }
        Ok(())
    }

    /// Commits what is in the index, as any other commit that lands. What is refused goes with the
    /// next story that lands.
    fn commit_records(&self, git: &Git, tree: &str) -> Result<Made, Failure> {
        let (run, interrupts) = (&self.context.run, &self.context.interrupts);
        let is_hurried = self.context.is_interrupted();
        let limit = if is_hurried { Some(LEAST_TIME) } else { self.check_limit() };
        let message = format!("{RECORDS}\n\nRalph-Run: {run}\n");
        let git = git.with_var(RUN_MARK, run);
        match board::commit(&git, tree, &message, limit, &|| interrupts.count() > 1)? {
            Ok(made) => Ok(made),
            Err(refusal) => Err(Failure::because(format!("progress was not committed: {refusal}"))),
        }
    }

    fn tell(&self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.context.view.warn(failure.to_string());
        }
    }

    /// The account of the run, and what remains.
    fn close(&self, finish: Finish, report: Option<&Utf8Path>) -> ExitCode {
        let (context, counters) = (&self.context, &self.record.counters);
        context.view.close();
        self.show_receipts();
        let (plan, waiting) = self.what_is_there();
        let most = context.config.limits.max_cost_usd;
        match &finish {
            Finish::Budget(why) => context.view.line(why),
            Finish::Blocked(why) | Finish::Error(why) | Finish::RedBaseline(why) => {
                terminal::complain(why);
            }
            _ if most > 0.0 && counters.spent.cost_usd > most => context.view.warn(format!(
                "budget exceeded: spent ${:.2} of ${most:.2}; a session's cost is only known when \
                 it ends",
                counters.spent.cost_usd
            )),
            _ => {}
        }
        let ending = self.ending(&finish, plan.as_ref(), waiting);
        let mut tone = if finish == Finish::Complete { Tone::Good } else { Tone::Warning };
        for line in ending.last_lines() {
            context.view.toned(std::mem::replace(&mut tone, Tone::Plain), line);
        }
        if let Some(report) = report {
            context.view.line(format!("report: {}", here::shown(report)));
        }
        let remain = ending.stories.is_some_and(|stories| stories.open + stories.blocked > 0);
        let incomplete = context.config.run.fail_if_incomplete && remain;
        // Whoever interrupted the last script is told that it was heard.
        let finish = context.interrupts.signal().map(Finish::Manual).unwrap_or(finish);
        ExitCode::from(finish.exit_code(incomplete))
    }

    /// How the run ended. What cannot be read is left out.
    fn ending<'a>(
        &self,
        finish: &'a Finish,
        plan: Option<&Plan>,
        waiting: Option<Waiting>,
    ) -> Ending<'a> {
        let (context, counters) = (&self.context, &self.record.counters);
        let plan = plan.filter(|_| !self.record.planning);
        let done = match context.config.run.mode {
            Mode::Planning => "planning".to_owned(),
            Mode::Building => {
                let stories = counted(counters.commits as usize, "story", "stories");
                let iterations = counted(counters.iteration as usize, "iteration", "iterations");
                let unchecked = match counters.unchecked {
                    0 => String::new(),
                    count => format!(", {count} unchecked"),
                };
                format!("{stories} landed in {iterations}{unchecked}")
            }
        };
        let red = self.record.failed_before.keys().map(|check| format!("`{}`", one_line(check)));
        let (stories, plans, blocked) = match plan {
            Some(plan) => {
                let (stories, plans, blocked) = self.plans_of_run(plan);
                (Some(stories), plans, blocked)
            }
            None => (None, 1, Vec::new()),
        };
        let first = blocked.first().map(|(story, _)| story.as_str());
        let kept = saved::tried(&self.workspace.source.git(), first);
        let misfit = self.record.misfit.as_deref();
        let (took, mut spent) = (in_words(context.elapsed()), receipt(counters.spent));
        spent.extend(counters.unknown_cost().map(|unknown| format!(", {unknown}")));
        Ending {
            finish,
            account: format!("{done}, {took} total; {spent}"),
            stories,
            plans,
            has_attempt: kept.is_ok_and(|kept| !kept.is_empty()),
            blocked,
            still_red: red.collect(),
            meanwhile: counters.meanwhile(),
            waiting: waiting.map(|waiting| waiting.told(misfit)),
            has_options: !context.flags.is_empty(),
            other_prds: self.left_for_others(),
        }
    }
    /// The other numbered plans that another run may work on: how many of their stories are open.
    fn left_for_others(&self) -> Vec<(u32, usize)> {
        if self.context.config.run.all_prds {
            return Vec::new();
        }
        let others = self.other_prds().unwrap_or_default();
        let open = others.iter().map(|(number, plan)| (*number, plan.counts().open));
        open.filter(|(_, open)| *open > 0).collect()
    }
}
