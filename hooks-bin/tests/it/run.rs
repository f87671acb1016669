//! A run of our loop as the hooks of its agent see it: a project, a copy, a lock, an attempt.

use camino::Utf8Path;
use ralph_base::state::{Lock, RunDir, StateDir};
use ralph_core::git::{Checkpoint, Repo, Status};
use ralph_project::under_way::Attempt;
use test_support::TestRepo;

use crate::client::Client;

/// The run's name.
pub(crate) const RUN: &str = "run-1";

/// A loop that works on US-001 in a copy of a project.
pub(crate) struct Run {
    pub(crate) project: TestRepo,
    pub(crate) copy: TestRepo,
    lock: Option<Lock>,
}

impl Run {
    /// Creates a run in a project with this configuration.
    pub(crate) fn new(config: &str) -> Self {
        let project = TestRepo::new();
        project.write(".ralph/config.toml", config);
        project.write(".ralph/PRD-1/plan.md", "- [ ] US-001: Log in\n- [ ] US-002: Log out\n");
        StateDir::of_project(project.root()).prepare().unwrap();
        project.commit_all("plan");
        let copy = project.cloned();
        let lock = Some(hold_lock(project.root()));
        project.write(".ralph/current-story", "US-001\n");
        begin(project.root(), copy.root(), RUN);
        Self { project, copy, lock }
    }

    /// Simulates the death of the loop.
    pub(crate) fn kill_loop(&mut self) {
        self.lock = None;
    }

    pub(crate) fn state(&self) -> StateDir {
        StateDir::of_project(self.project.root())
    }

    /// Saves the current copy as the checkpoint of the run.
    pub(crate) fn checkpoint(&self) {
        checkpoint(self.copy.root(), &self.state(), RUN);
    }

    /// Returns a session of the agent.
    pub(crate) fn agent(&self) -> Client {
        let client = Client { cwd: self.copy.root().to_owned(), ..self.person() };
        let temp = client.home.dir("tmp");
        client
            .with("RALPH_RUN", RUN)
            .with("RALPH_ROOT", self.project.root().as_str())
            .with("RALPH_WORKSPACE", self.copy.root().as_str())
            .with("PLAN_PATH", self.copy.root().join(".ralph/PRD-1/plan.md").as_str())
            .with("TMPDIR", temp.as_str())
    }

    /// Returns a session of a person in the project.
    pub(crate) fn person(&self) -> Client {
        Client::in_repo(&self.project)
    }
}

/// Takes the lock of a running loop in a project.
pub(crate) fn hold_lock(project: &Utf8Path) -> Lock {
    Lock::take(&RunDir::of_project(project).unwrap().lock(), "the loop").unwrap()
}

/// Records that a run works on US-001.
pub(crate) fn begin(project: &Utf8Path, work: &Utf8Path, run: &str) {
    let attempt = Attempt {
        run: run.to_owned(),
        story: "US-001".to_owned(),
        title: "Log in".to_owned(),
        iteration: 3,
        number: 1,
        plan: project.join(".ralph/PRD-1/plan.md"),
        progress: project.join(".ralph/PRD-1/progress.md"),
        work: work.to_owned(),
        target: "main".to_owned(),
        base: None,
        ..Attempt::now()
    };
    attempt.save(&RunDir::of_project(project).unwrap()).unwrap();
}

/// Saves a tree as the checkpoint of a run.
pub(crate) fn checkpoint(work: &Utf8Path, state: &StateDir, run: &str) {
    let repo = Repo::open(work).unwrap();
    let status = Status::read(&repo).unwrap();
    Checkpoint::create_for(&repo, state, "checkpoint", Some(run), status).unwrap();
}
