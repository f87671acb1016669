//! A project with a user's work of every kind in it, a plan of five stories, and a loop to torture.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::linux;
use test_support::{Scratch, TestRepo, fixtures, program, signal, started_with};
use wait_timeout::ChildExt;

use super::clock::Clock;
use super::users_work::UsersWork;

/// Settings of a project whose stories may be tried as often as it takes.
pub(super) const PATIENT: &str = "\
[verify]
commands = [\"sh check.sh\"]
[limits]
attempts_per_story = 50
stalled_after = 50
[agent]
grace = 1
";

/// A whole run takes seconds; whoever takes longer than this hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// The stories of the plan.
pub(super) const STORIES: [&str; 5] = ["US-001", "US-002", "US-003", "US-004", "US-005"];

/// Where a plan can be: in the folder that is never rolled back, or among the user's files.
pub(super) const PLANS: [&str; 2] = [".ralph/PRD-1/plan.md", "IMPLEMENTATION_PLAN.md"];

const CONFIG: &str = "\
[rollback]
after_failures = 1
[verify]
commands = [\"! test -e made/broken.txt\"]
[session]
stories_per_session = 2
[limits]
attempts_per_story = 50
stalled_after = 50
[agent]
grace = 1
";

/// A project under torture.
pub(super) struct Stage {
    pub(super) repo: TestRepo,
    pub(super) plan: &'static str,
    pub(super) work: UsersWork,
    notes: Scratch,
    binaries: Utf8PathBuf,
    agent: String,
    clock: Option<Clock>,
}

/// How a start of the loop ended.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    /// Its exit code; none if a signal ended it.
    pub(super) code: Option<i32>,
    /// Whether it was killed.
    pub(super) killed: bool,
    /// Whether it had to be killed because it did not end.
    pub(super) hung: bool,
    pub(super) took: Duration,
    pub(super) said: String,
}

impl Stage {
    /// A project with all kinds of uncommitted work, and the agent that works with hooks.
    pub(super) fn new(binaries: &Utf8Path, plan: &'static str) -> Self {
        Self::over(TestRepo::new(), binaries, plan)
    }

    /// The same with a submodule, in which the agent works as well.
    pub(super) fn with_submodule(binaries: &Utf8Path, plan: &'static str) -> Self {
        let (repo, library) = (TestRepo::new(), TestRepo::new());
        let url = library.root().as_str();
        repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
        repo.commit_all("a submodule");
        Self::over(repo, binaries, plan)
    }

    fn over(repo: TestRepo, binaries: &Utf8Path, plan: &'static str) -> Self {
        repo.write(".ralph/config.toml", CONFIG);
        repo.write(plan, plan_with(" "));
        let work = UsersWork::make(&repo);
        Self { work, ..Self::around(repo, binaries, plan).with_agent("tortured") }
    }

    /// A loop over a project as it is.
    pub(super) fn around(repo: TestRepo, binaries: &Utf8Path, plan: &'static str) -> Self {
        repo.git(["config", "user.name", "Test"]);
        repo.git(["config", "user.email", "test@localhost"]);
        Self {
            repo,
            plan,
            work: UsersWork::default(),
            notes: Scratch::new(),
            binaries: binaries.to_owned(),
            agent: String::new(),
            clock: None,
        }
    }

    /// The same with another agent of the fixtures.
    pub(super) fn with_agent(self, name: &str) -> Self {
        let script = fixtures().join("agents").join(format!("{name}.sh"));
        Self { agent: format!("sh '{script}'"), ..self }
    }

    /// The same with a wall clock that can be set.
    pub(super) fn with_clock(self, library: &Utf8Path) -> Self {
        Self { clock: Some(Clock::new(library, self.notes.path("clock"))), ..self }
    }

    /// Its clock, if it has one of its own.
    pub(super) fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }

    /// A hook's program.
    pub(super) fn binary(&self, name: &str) -> Utf8PathBuf {
        self.binaries.join(name)
    }

    /// A program with this stage's environment.
    pub(super) fn program(&self, path: &str) -> Command {
        let mut command = program(path, &self.home());
        command
            .current_dir(self.repo.root())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("RALPH_AGENT", &self.agent)
            .env("AGENT_NOTES", self.notes.root())
            .env("RALPH_LOOP", self.binary("ralph-loop"))
            .env("HOOKS", &self.binaries)
            .envs(self.clock.iter().flat_map(Clock::variables));
        command
    }

    /// The loop, not started yet; its output goes to a file, because orphans would hold a pipe.
    pub(super) fn looped(&self, args: &[&str]) -> Result<Command> {
        let mut command = self.program(self.binary("ralph-loop").as_str());
        let out = fs_err::File::create(self.out())?.into_parts().0;
        command.args(args).process_group(0).stdin(Stdio::null());
        command.stderr(out.try_clone()?).stdout(out);
        Ok(command)
    }

    /// Starts the loop, with a fault if one is named.
    pub(super) fn start(&self, fault: Option<&str>) -> Result<Child> {
        let mut command = self.looped(&[])?;
        if let Some(fault) = fault {
            command.env("RALPH_INTERNAL__FAULT", fault);
        }
        command.spawn().context("the loop does not start")
    }

    /// Waits until the loop has ended.
    pub(super) fn wait(&self, mut child: Child, begun: Instant) -> Result<Ran> {
        let ended = child.wait_timeout(PATIENCE)?;
        if ended.is_none() {
            child.kill()?;
        }
        let status = child.wait()?;
        Ok(Ran {
            code: status.code(),
            killed: status.signal() == Some(9),
            hung: ended.is_none(),
            took: begun.elapsed(),
            said: self.said(),
        })
    }

    /// Runs the loop to its end.
    pub(super) fn run(&self, fault: Option<&str>) -> Result<Ran> {
        let begun = Instant::now();
        self.wait(self.start(fault)?, begun)
    }

    /// Every process that lives on of those that the loop started, and the loop; the person's are not
    /// among them.
    pub(super) fn processes(&self) -> Vec<u32> {
        started_with(&format!("AGENT_NOTES={}", self.notes.root()))
    }

    /// Kills all of them, as a machine does that goes down; git is among them.
    pub(super) fn kill_everything(&self) {
        for _ in 0..20 {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            left.into_iter().for_each(|pid| signal("KILL", pid));
        }
    }

    /// Kills the agent and what it started, but neither the loop nor its git.
    pub(super) fn kill_agent(&self) {
        let is_run = |variable: &Vec<u8>| variable.starts_with(b"RALPH_RUN=");
        let run = |pid: &u32| linux::variables(pid.cast_signed()).iter().any(is_run);
        self.processes().into_iter().filter(run).for_each(|pid| signal("KILL", pid));
    }

    /// What works under this number: the worker, which is marked by `true`, and its agent.
    pub(super) fn of_worker(&self, number: usize) -> Vec<(u32, bool)> {
        let record = self.path(&format!(".git/ralph/workers/{number}/run.json"));
        let record = fs_err::read(record).unwrap_or_default();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap_or_default();
        let worker = record.get("pid").and_then(serde_json::Value::as_u64);
        let mark = format!("RALPH_WORKER={number}");
        let is_mark = |variable: &Vec<u8>| variable == mark.as_bytes();
        let agent = |pid: &u32| linux::variables(pid.cast_signed()).iter().any(is_mark);
        // Numbers are used again: only what is ours is meant.
        let ours = self.processes().into_iter();
        ours.map(|pid| (pid, Some(u64::from(pid)) == worker))
            .filter(|(pid, is_worker)| *is_worker || agent(pid))
            .collect()
    }

    fn home(&self) -> Utf8PathBuf {
        self.repo.scratch().path("home")
    }

    fn out(&self) -> Utf8PathBuf {
        self.repo.scratch().path("out")
    }

    /// What the loop has said up to now.
    pub(super) fn said(&self) -> String {
        String::from_utf8_lossy(&fs_err::read(self.out()).unwrap_or_default()).into_owned()
    }

    /// A path in the project.
    pub(super) fn path(&self, name: &str) -> Utf8PathBuf {
        self.repo.root().join(name)
    }

    /// What the agent left of this name outside of the project; empty if nothing.
    pub(super) fn note(&self, name: &str) -> String {
        fs_err::read_to_string(self.notes.path(name)).unwrap_or_default()
    }

    /// Leaves a sign for whoever looks for it outside of the project.
    pub(super) fn leave_note(&self, name: &str) {
        self.notes.file(name, "");
    }

    /// The text of a file; empty if there is none.
    pub(super) fn read(&self, name: &str) -> String {
        let bytes = fs_err::read(self.path(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The plan with the same mark in all of its boxes.
pub(super) fn plan_with(mark: &str) -> String {
    let story = |id: &&str| format!("- [{mark}] {id}: Make the part of {id}\n");
    format!("# Plan\n\n{}", STORIES.iter().map(story).collect::<String>())
}
