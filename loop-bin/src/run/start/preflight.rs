//! The result of examining the project, before anything is changed.

use ralph_base::state::RunDir;
use ralph_core::plan::Plan;
use ralph_project::config::{Config, Flag, Mode};
use ralph_project::project::Project;
use run_history::RunHistory;

use crate::run::attempt::verify::Verifiers;
use crate::run::observe::{Audience, Observers};
use board::Board;
use client::ClientOptions;
use ralph_project::diagnosis::Diagnosis;
use work_copy::Workspace;

/// What a run has beside its kernel, as lists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extensions {
    /// What looks at finished work.
    pub(crate) verifiers: Verifiers,
    /// What hears of each event.
    pub(crate) observers: Observers,
}

impl Extensions {
    /// Begins to observe a run.
    pub(super) fn audience(&self, project: &Project, config: &Config, run: &str) -> Audience {
        let begun = self.observers.iter().flat_map(|one| one.begin(project, config, run));
        Audience::new(begun.collect())
    }
}

/// The examined project.
pub(crate) struct Preflight {
    pub(crate) project: Project,
    pub(crate) config: Config,
    pub(crate) run_dir: RunDir,
    /// `None` if planning is to write it.
    pub(crate) plan: Option<Plan>,
    /// The command line's flags, and those that the plan's own files replace.
    pub(crate) flags: Vec<Flag>,
    pub(crate) workspace: Workspace,
    pub(crate) target: Board,
    pub(crate) options: ClientOptions,
    pub(crate) findings: Vec<Diagnosis>,
    pub(crate) extensions: Extensions,
    /// The forecast for one story.
    pub(crate) history: RunHistory,
    /// How many of the problems say nothing about the checks.
    pub(crate) problems_beside_checks: usize,
}

impl Preflight {
    /// The most workers that the run can have.
    pub(crate) fn most_workers(&self) -> u64 {
        match self.config.run.mode {
            Mode::Planning => 1,
            Mode::Building => self.config.run.workers,
        }
    }

    pub(super) fn note(&mut self, text: String) {
        self.findings.push(Diagnosis::Note(text));
    }

    pub(super) fn agent_problem(&mut self, text: String) {
        self.problems_beside_checks += 1;
        let is_praise =
            |it: &Diagnosis| matches!(it, Diagnosis::Good(text) if text.starts_with("agent `"));
        self.findings.retain(|finding| !is_praise(finding));
        self.problem(text);
    }

    pub(super) fn problem(&mut self, text: String) {
        self.findings.push(Diagnosis::Problem(text));
    }
}
