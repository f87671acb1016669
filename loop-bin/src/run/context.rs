//! What never changes in a run: the project, its settings, and where things are shown and written
//! down.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use ralph_base::state::{Event, Journal, Marks, RunDir, StateDir};
use ralph_project::checks::Check;
use ralph_project::config::{Config, Flag};
use ralph_project::project::Project;
use run_history::{Forecast, LOOP, RunHistory};

use super::workers::part::Part;
use crate::agent::ClientOptions;
use crate::signals::Interrupts;
use crate::terminal::{View, say};

/// What never changes in a run.
pub(crate) struct Context {
    pub(crate) flags: Vec<Flag>,
    pub(crate) project: Project,
    pub(crate) config: Config,
    /// The user's file of settings as it was at the start.
    pub(crate) config_text: Option<Vec<u8>>,
    pub(crate) view: View,
    /// What this run and earlier ones did.
    pub(crate) history: RefCell<RunHistory>,
    /// The name of the plan under way, for the journal.
    pub(crate) plan_name: RefCell<String>,
    /// What one story is likely to take.
    pub(crate) forecast: Forecast,
    /// Where programs are looked for.
    pub(crate) path: String,
    /// What the agent gets besides its own command line.
    pub(crate) options: ClientOptions,
    pub(crate) interrupts: Interrupts,
    /// The run's name; that of a worker is its own.
    pub(crate) run: String,
    /// Our part in a run with several workers.
    pub(crate) part: Option<Part>,
    pub(crate) run_dir: RunDir,
    pub(crate) started_at: String,
    /// How long the run took before a crash, and since when it goes on.
    pub(crate) earlier: Duration,
    pub(crate) begun: Instant,
}

impl Context {
    /// The project's state.
    pub(crate) fn state(&self) -> &StateDir {
        self.project.own_state()
    }

    /// The journal, marked with the run and a story.
    pub(crate) fn journal(&self, story: Option<&str>) -> Journal {
        let story = story.map(str::to_owned);
        let (run, plan_name) = (Some(self.run.clone()), Some(self.plan_name.borrow().clone()));
        let marks = Marks { run, plan_name, story, ..Marks::default() };
        let journal = Journal::new(self.state(), LOOP).marked(marks);
        if !self.config.run.json_events {
            return journal;
        }
        journal.echoed(|line| say(String::from_utf8_lossy(line)))
    }

    /// Gives an event to whoever follows them.
    pub(crate) fn tell(&self, story: &str, event: &Event) {
        let _ = self.journal(Some(story)).tell(event);
    }

    /// Writes an event down. A journal that cannot be written does not end the run.
    pub(crate) fn note(&self, story: Option<&str>, event: &Event) {
        let journal = self.journal(story);
        let record = journal.record(event);
        if let Err(error) = journal.write(&record) {
            self.view.warn(error.to_string());
        }
        self.history.borrow_mut().take(&record);
        self.show_counts();
    }

    /// Shows where the run stands by all that happened so far, whichever worker did it.
    pub(crate) fn show_counts(&self) {
        let mut history = self.history.borrow_mut();
        // A journal that cannot be read is reported where it is written.
        let _ = history.read_on();
        if let (Some(run), true) = (history.last(), history.has_plans()) {
            self.view.counts(history.counts(), history.cost(run).cost_usd.unwrap_or(0.0));
        }
    }

    /// Writes down how checks ended, and what their runners counted.
    pub(crate) fn note_checks(&self, story: Option<&str>, checks: &[Check]) {
        for check in checks {
            let counts = check.verdict_of(&self.config).map(|verdict| verdict.counts);
            let counts = counts.filter(|counts| counts.passed + counts.failed > 0);
            self.note(
                story,
                &Event::Checked {
                    check: check.name(),
                    ended: check.verdict(),
                    passed: counts.map(|counts| counts.passed),
                    failed: counts.map(|counts| counts.failed),
                    seconds: check.took.as_secs_f64(),
                },
            );
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

    /// Whether we are asked to end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupts.signal().is_some()
    }
}
