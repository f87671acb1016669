//! The end of a run: scripts, what git is still to have of progress and plan, and the account.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::fault;
use ralph_core::git::Git;
use ralph_core::plan::Plan;
use ralph_project::checks::{RUN_MARK, one_line};
use ralph_project::config::Mode;
use run_history::{RunHistory, Situation};

use super::Run;
use super::decide::{Ending, Finish};
use super::iteration::LEAST_TIME;
use crate::agent::Descendants;
use crate::exit::Failure;
use crate::git_output::paths;
use crate::landing::{self, Advance, LoopFile, Made, PlanChanges};
use crate::report::{look, write};
use crate::saved;
use crate::terminal::{self, Tone, in_words};
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
        self.save();
        let (history, situation) = self.history_at_end(&finish);
        let report = self.write_report(&history, &situation);
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
        self.context.note(None, &finish.event());
        self.record.finish = Some(finish.word().to_owned());
        self.record.reason = finish.reason().map(str::to_owned);
        self.save();
        self.close(finish, &history, &situation, report.as_deref())
    }

    /// The history with the end of this run in it, and what only files and git say.
    fn history_at_end(&self, finish: &Finish) -> (RunHistory, Situation) {
        let context = &self.context;
        let plan = self.what_is_there().filter(|_| !self.record.planning);
        let plans = plan.map_or_else(Vec::new, |plan| self.plans_of_run(plan));
        let mut history = context.history.borrow_mut().clone();
        let _ = history.read_on();
        let looked = look(&context.project, &mut history, &plans);
        let situation = looked.unwrap_or_else(|error| {
            context.view.warn(error.to_string());
            Situation::default()
        });
        history.take(&context.journal(None).record(&finish.event()));
        (history, Situation { is_running: false, ..situation })
    }

    fn write_report(&self, history: &RunHistory, situation: &Situation) -> Option<Utf8PathBuf> {
        let run = history.find(&self.context.run)?;
        let report = history.report(&run, situation, &self.workspace.source.git());
        let written = report.map_err(Failure::from);
        match written.and_then(|report| write(&self.context.project, &report, None)) {
            Ok(path) => Some(path),
            Err(error) => {
                self.context.view.warn(format!("the report could not be written: {error}"));
                None
            }
        }
    }

    /// The plan, as far as it can be read.
    fn what_is_there(&self) -> Option<Plan> {
        let look = self.target.see().ok()?;
        self.books.load_seen(&self.target, &look).ok()
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
            let (tip, is_followed) = self.target.look_again()?;
            let Some(base) = tip.as_deref() else { return Ok(()) };
            let changes = PlanChanges { marks: self.blocked_marks(), ..PlanChanges::default() };
            let files = self.books.files_for(is_followed, tip.as_deref(), &changes)?;
            if !files.iter().any(LoopFile::is_changed) {
                if is_followed {
                    self.books.bring_users_texts(&files)?;
                } else if self.target.is_waiting {
                    // Nothing may be in the way of what waits any more.
                    self.target.advance(Some(base), base, &files)?;
                }
                return self.books.clear_pending(tip.as_deref());
            }
            let branch = self.target.current_branch();
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
        match landing::commit(&git, tree, &message, limit, &|| interrupts.count() > 1)? {
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
    fn close(
        &self,
        finish: Finish,
        history: &RunHistory,
        situation: &Situation,
        report: Option<&Utf8Path>,
    ) -> ExitCode {
        let (context, counters) = (&self.context, &self.record.counters);
        context.view.close();
        self.show_receipts();
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
        let ending = self.ending(&finish, history, situation);
        let mut tone = if finish == Finish::Complete { Tone::Good } else { Tone::Warning };
        for line in ending.last_lines() {
            context.view.toned(std::mem::replace(&mut tone, Tone::Plain), line);
        }
        if let Some(report) = report {
            context.view.line(format!("report: {}", here::shown(report)));
        }
        let stories = history.counts();
        let remain = stories.open + stories.blocked > 0;
        let incomplete = context.config.run.fail_if_incomplete && remain;
        // Whoever interrupted the last script is told that it was heard.
        let finish = context.interrupts.signal().map(Finish::Manual).unwrap_or(finish);
        ExitCode::from(finish.exit_code(incomplete))
    }

    /// How the run ended.
    fn ending<'a>(
        &self,
        finish: &'a Finish,
        history: &RunHistory,
        situation: &Situation,
    ) -> Ending<'a> {
        let context = &self.context;
        let run = history.find(&context.run).unwrap_or_default();
        let done = match context.config.run.mode {
            Mode::Planning => "planning".to_owned(),
            Mode::Building => run.account(),
        };
        let red = self.record.failed_before.keys().map(|check| format!("`{}`", one_line(check)));
        let needs = history.needs(Some(&run), situation);
        let (took, spent) = (in_words(context.elapsed()), history.cost(&run).receipt());
        Ending {
            finish,
            account: format!("{done}, {took} total; {spent}"),
            remains: history.has_plans().then(|| history.what_remains(&needs)),
            open: history.counts().open,
            needs,
            still_red: red.collect(),
            changes: history.changes(&run),
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
