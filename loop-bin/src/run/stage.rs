//! What a run has at hand: the project, its settings and what is under way.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::config::{Config, Flag, Mode};
use ralph_core::fault;
use ralph_core::git::{JustCommitted, Position, Repo, Status};
use ralph_core::plan::progress;
use ralph_core::project::Project;
use ralph_core::settle::{self, Attempt, Place, Report, named_files, progress_path};
use ralph_core::state::{Event, Journal, Marks, StateDir};

use super::allowance::Allowance;
use super::client_files::ClientFiles;
use super::draft::Draft;
use super::heard::OURS;
use super::keepsake::Keepsake;
use super::left_out::LeftOut;
use super::record::Record;
use super::scripted::Scripted;
use super::session::Closed;
use crate::agent::ClientOptions;
use crate::exit::{Failure, Success};
use crate::locks::Locks;
use crate::signals::Interrupts;
use crate::step::{Action, Counters, Finish, Outcome, State};
use crate::terminal::{self, View};

/// An attempt of which nothing was taken back.
#[derive(Debug, Clone)]
pub(crate) struct Abandoned {
    pub(crate) story: String,
    pub(crate) why: &'static str,
}

/// What a run has at hand.
pub(crate) struct Stage {
    pub(crate) flags: Vec<Flag>,
    pub(crate) project: Project,
    pub(crate) repo: Repo,
    pub(crate) config: Config,
    pub(crate) plan: Utf8PathBuf,
    pub(crate) view: View,
    /// Where programs are looked for.
    pub(crate) path: String,
    /// What the agent gets besides its own command line.
    pub(crate) options: ClientOptions,
    pub(crate) interrupts: Interrupts,
    /// The run's name, and what it did before a crash.
    pub(crate) run: String,
    pub(crate) counters: Counters,
    pub(crate) earlier: Duration,
    pub(crate) begun: Instant,
    pub(crate) started_at: String,
    /// The snapshot of the user's uncommitted work, if some was kept aside.
    pub(crate) aside: Option<String>,
    /// The attempt under way, and what is known about it.
    pub(crate) attempt: Option<Attempt>,
    /// Where HEAD was when the last iteration ended.
    pub(super) left_at: Option<Position>,
    /// The planning under way.
    pub(crate) draft: Option<Draft>,
    /// An attempt that was interrupted, and forgotten with the tree as it was.
    pub(crate) abandoned: Option<Abandoned>,
    pub(crate) report: Report,
    /// What the whole session used, where the report has only the last story's share of it.
    pub(crate) whole_session: Option<Report>,
    /// Iterations that the stop hook closed in the session, and of which no script was told yet.
    pub(crate) closed: Vec<Closed>,
    /// The story that was committed just now, for as long as nothing else ran since.
    pub(crate) just_committed: Cell<Option<Box<JustCommitted>>>,
    /// What scripts may have changed since the last story was begun.
    pub(super) scripted: Cell<Option<Scripted>>,
    /// How long the journal was when the iteration began.
    pub(super) heard_from: Cell<u64>,
    /// Whether the attempt is left for a fresh session instead of being ended with its iteration.
    pub(crate) is_handed_over: bool,
    /// What was in our folder before the agent was started.
    pub(super) keepsake: Keepsake,
    /// What arms the guards, as it was when the last agent was started.
    pub(super) client_files: ClientFiles,
    /// What is uncommitted in our folders, and a copy of it.
    pub(super) left_out: LeftOut,
    /// Git hooks that it added.
    pub(super) added_hooks: Vec<PathBuf>,
    /// What the agent may take at most.
    pub(crate) allowance: Allowance,
    /// How the attempt under way ended, once it was taken back.
    pub(crate) outcome: Option<Outcome>,
    /// What the progress does not tell yet of the attempt that was taken back.
    pub(crate) unlogged: Option<(progress::Status, String)>,
    /// Whether it is known under whose name this run commits.
    pub(crate) is_author_known: bool,
    /// Whether the agent was found not to report what it costs.
    pub(crate) is_costless: bool,
    /// Stories in a row that met the usage limit.
    pub(crate) quota_streak: u32,
    /// Whether something broke that the next start has to look at.
    pub(crate) broke: bool,
    /// What was written down last about the run, its time aside.
    pub(crate) saved: RefCell<Option<Record>>,
    /// Held for as long as we live.
    pub(crate) locks: Locks,
}

impl Stage {
    /// The project's state.
    pub(crate) fn state(&self) -> &StateDir {
        self.project.own_state()
    }

    /// The journal, marked with the run and the story under way.
    pub(crate) fn journal(&self) -> Journal {
        let story = self.attempt.as_ref().map(|attempt| attempt.story.clone());
        let marks = Marks { run: Some(self.run.clone()), story, session: None };
        let journal = Journal::new(self.state(), OURS).marked(marks);
        if self.config.run.json_events { journal.echoed(terminal::echo) } else { journal }
    }

    /// Writes an event down. A journal that cannot be written does not end the run.
    pub(crate) fn note(&self, event: &Event) {
        if let Event::IterationStarted { .. } | Event::LoopStarted { .. } = event {
            self.heard_from.set(self.journal().length());
        }
        if let Err(error) = self.journal().append(event) {
            self.view.warn(error.to_string());
        }
    }

    /// Where attempts take place.
    pub(crate) fn place<'a>(&'a self, journal: &'a Journal) -> Place<'a> {
        Place {
            root: self.project.root(),
            repo: &self.repo,
            state: self.state(),
            config: &self.config,
            journal,
            run: &self.run,
        }
    }

    /// How long the run has taken, crashes included.
    pub(crate) fn elapsed(&self) -> Duration {
        self.earlier + self.begun.elapsed()
    }

    /// How long it is until the run's time is used up; none without such a limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let limit = self.config.limits.max_duration.limit();
        limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    /// Tells what somebody did to the plan, and what became of it.
    pub(crate) fn tell_findings(&self, who: &str, findings: &[impl Display]) {
        for finding in findings {
            self.view.warn(format!("{who} {finding}"));
        }
    }

    /// Names the repositories inside the project that a rollback did not touch.
    pub(crate) fn tell_left_alone(&self, left_alone: &[String]) {
        if !left_alone.is_empty() {
            let paths = left_alone.join(", ");
            self.view.warn(format!("repositories inside the project were left alone: {paths}"));
        }
    }

    /// The user's uncommitted files; plan, progress and our own folders do not count.
    pub(crate) fn dirty_files(&self) -> Result<Vec<std::path::PathBuf>, Failure> {
        let mut changed = Status::read(&self.repo)?.changed;
        changed.retain(|path| !self.is_ours(path));
        Ok(changed)
    }

    /// Whether a path below the top of the work tree belongs to the loop.
    pub(crate) fn is_ours(&self, path: &std::path::Path) -> bool {
        self.repo.is_untouched(path) || self.is_plans(path)
    }

    /// Whether it is the plan, or what the loop writes beside it.
    fn is_plans(&self, path: &std::path::Path) -> bool {
        let full = self.repo.top().join(path);
        let progress = progress_path(&self.config.run, self.project.root(), &self.plan);
        same_file(&full, self.plan.as_std_path())
            || same_file(&full, progress.as_std_path())
            || same_file(&full, StateDir::loop_progress_beside(&self.plan).as_std_path())
    }

    /// What is uncommitted in our own folder and the client's is the user's, and does not become part
    /// of a commit; but for the plan, the progress and the lessons, which the loop writes.
    pub(crate) fn leave_out(&mut self, status: &Status) -> Result<(), Failure> {
        let lessons = self.state().guardrails();
        // The last entry of another plan's progress was written after the last commit.
        let is_progress = |path: &std::path::Path| {
            Utf8Path::from_path(path).is_some_and(|path| StateDir::progress_beside(path) == path)
        };
        let is_written = |path: &std::path::Path| {
            is_progress(path) || same_file(&self.repo.top().join(path), lessons.as_std_path())
        };
        let mut left_out = status.changed.clone();
        left_out.retain(|path| {
            self.repo.is_untouched(path) && !self.is_plans(path) && !is_written(path)
        });
        settle::leave_out(self.state(), left_out.iter().map(std::path::PathBuf::as_path))?;
        self.left_out = LeftOut::of(&self.repo, left_out.clone());
        if !left_out.is_empty() {
            let files = named_files(&left_out);
            self.view.line(format!("uncommitted, and left out of every commit: {files}"));
        }
        Ok(())
    }

    /// Writes down where the run stands. A disk that is full does not end it.
    pub(crate) fn save(&self, state: &State, action: &Action) {
        // To choose takes no time and changes nothing, and of a story that is done the journal tells;
        // both are written down along with what is chosen next.
        if matches!(action, Action::Choose | Action::RunPostIteration(Outcome::Success)) {
            return;
        }
        let finish = match action {
            Action::End(finish) => Some(finish.word().to_owned()),
            _ => None,
        };
        let record = Record {
            run: self.run.clone(),
            started_at: self.started_at.clone(),
            elapsed_s: self.elapsed().as_secs_f64(),
            plan: self.plan.clone(),
            counters: state.counters.clone(),
            story: state.story.clone(),
            finish,
            interrupted: self.interrupts.signal().is_some(),
            aside: self.aside.clone(),
            planning: self.config.run.mode == Mode::Planning,
            // At its end a run leaves what is there to the user, whose own work comes back then.
            scripted: self
                .scripted
                .get()
                .filter(|_| !matches!(action, Action::RunFinished(_) | Action::End(_))),
            ..Record::new()
        };
        self.write_down(record);
        fault::point("loop.step-saved");
    }

    pub(super) fn write_down(&self, record: Record) {
        // How long it took is only worth a write along with something else.
        let seen = Record { elapsed_s: 0.0, ..record.clone() };
        if self.saved.borrow().as_ref() == Some(&seen) {
            return;
        }
        match record.save(self.state()) {
            Ok(()) => *self.saved.borrow_mut() = Some(seen),
            Err(error) => {
                self.view.warn(format!("the run's state could not be written: {error}"));
            }
        }
    }

    /// The end of the run, for whoever started it.
    pub(crate) fn close(&self, finish: Finish) -> Success {
        self.view.close();
        let settings = &self.config.run;
        let incomplete = settings.fail_if_incomplete && self.has_open_stories();
        if let Finish::Error(why) = &finish {
            terminal::complain(&std::io::Error::other(why.clone()));
        }
        Success::Loop { finish, incomplete }
    }
}

fn same_file(one: &std::path::Path, other: &std::path::Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|o| o == one))
}
