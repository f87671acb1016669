//! A project with a plan, a user's work of every kind in it, and a loop to torture.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::linux;
use test_support::{Scratch, TestRepo, fixtures, program, signal, started_with};
use wait_timeout::ChildExt;

use super::users_work::UsersWork;

/// The maximum time of a run: a whole run takes seconds, so a longer one hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// Possible paths of the plan: in the folder that is never rolled back, or among the user's files.
pub(super) const PLANS: [&str; 2] = [".ralph/PRD-1/plan.md", "IMPLEMENTATION_PLAN.md"];

/// Settings with unlimited attempts at a story.
const CONFIG: &str = "\
[verify]
commands = [\"sh check.sh\"]
[limits]
attempts_per_story = 50
stalled_after = 50
[agent]
grace = 1
";

/// A command with which each check records a checksum of what it has read.
const SUM: &str = "cat made/*.txt counted/* count.txt mine/* shared.txt 2>/dev/null | cksum";

/// A plan of a number of stories, the agent that does them and the check that they must pass.
pub(super) struct Project {
    /// The name of a script below `fixtures/agents`.
    pub(super) agent: &'static str,
    /// Settings in addition to the usual ones.
    pub(super) config: &'static str,
    pub(super) check: &'static str,
    /// Stories that depend on another one, with that one.
    pub(super) depends: &'static [(&'static str, &'static str)],
    pub(super) stories: usize,
}

/// Five stories: one fails its check at first, one is rolled back by a hook, two share a session.
pub(super) const FIVE: Project = Project {
    agent: "tortured",
    config: "[rollback]\non = \"failure\"\nafter_failures = 1\n[session]\nstories_per_session = 2\n",
    check: "! test -e made/broken.txt\n",
    depends: &[],
    stories: 5,
};

impl Project {
    fn ids(&self) -> Vec<String> {
        (1..=self.stories).map(|number| format!("US-{number:03}")).collect()
    }

    pub(super) fn plan(&self) -> String {
        let line = |id: String| {
            let on = self.depends.iter().find(|(story, _)| *story == id);
            let on = on.map_or(String::new(), |(_, on)| format!(" (depends: {on})"));
            format!("- [ ] {id}: Make the part of {id}{on}\n")
        };
        format!("# Plan\n\n{}", self.ids().into_iter().map(line).collect::<String>())
    }
}

/// A project under torture.
pub(super) struct Stage {
    pub(super) repo: TestRepo,
    pub(super) plan: &'static str,
    /// The plan's text when everything is done.
    pub(super) done: String,
    /// The stories that must land.
    pub(super) stories: Vec<String>,
    /// The exit code of an undisturbed run.
    pub(super) code: i32,
    pub(super) workers: usize,
    /// Additional options of the loop.
    pub(super) options: Vec<String>,
    pub(super) work: UsersWork,
    notes: Scratch,
    binaries: Utf8PathBuf,
    agent: String,
}

/// The result of one start of the loop.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    /// Its exit code; `None` if a signal ended it.
    pub(super) code: Option<i32>,
    /// Whether it was killed.
    pub(super) killed: bool,
    /// Whether it had to be killed because it did not end.
    pub(super) hung: bool,
    pub(super) took: Duration,
    pub(super) said: String,
}

impl Stage {
    /// Creates a project with all kinds of uncommitted work.
    pub(super) fn new(project: &Project, binaries: &Utf8Path, plan: &'static str) -> Self {
        Self::with_users_work(TestRepo::new(), project, binaries, plan)
    }

    /// Creates the project of five stories with a submodule, in which the agent works as well.
    pub(super) fn with_submodule(binaries: &Utf8Path, plan: &'static str) -> Self {
        let (repo, library) = (TestRepo::new(), TestRepo::new());
        let url = library.root().as_str();
        repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
        repo.commit_all("a submodule");
        Self::with_users_work(repo, &FIVE, binaries, plan)
    }

    fn with_users_work(
        repo: TestRepo,
        project: &Project,
        binaries: &Utf8Path,
        plan: &'static str,
    ) -> Self {
        let mut stage = Self::around(repo, project, binaries, plan);
        stage.repo.write("count.txt", "0\n");
        stage.repo.write(plan, project.plan());
        stage.work = UsersWork::make(&stage.repo);
        stage
    }

    /// Creates a project whose plan and files are still to be written.
    pub(super) fn around(
        repo: TestRepo,
        project: &Project,
        binaries: &Utf8Path,
        plan: &'static str,
    ) -> Self {
        repo.git(["config", "user.name", "Test"]);
        repo.git(["config", "user.email", "test@localhost"]);
        repo.write(".ralph/config.toml", format!("{CONFIG}{}", project.config));
        repo.write("check.sh", format!("{SUM} >>\"$AGENT_NOTES/checked\"\n{}", project.check));
        let script = fixtures().join("agents").join(format!("{}.sh", project.agent));
        Self {
            repo,
            plan,
            done: project.plan().replace("[ ]", "[x]"),
            stories: project.ids(),
            code: 0,
            workers: 1,
            options: Vec::new(),
            work: UsersWork::default(),
            notes: Scratch::new(),
            binaries: binaries.to_owned(),
            agent: format!("sh '{script}'"),
        }
    }

    /// Returns a program with this stage's environment.
    pub(super) fn program(&self, path: &str) -> Command {
        let mut command = program(path, &self.repo.scratch().path("home"));
        command
            .current_dir(self.repo.root())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("RALPH_AGENT", &self.agent)
            .env("AGENT_NOTES", self.notes.root())
            // Otherwise as in any run: the agent can only write to its copy.
            .env("RALPH_SANDBOX_WRITE", self.notes.root())
            .env("RALPH_LOOP", self.ralph_loop())
            .env("HOOKS", &self.binaries);
        command
    }

    pub(super) fn ralph_loop(&self) -> Utf8PathBuf {
        self.binaries.join("ralph-loop")
    }

    /// Starts the loop, with a fault if one is given. Its output goes to a file, because orphans
    /// would keep a pipe open.
    pub(super) fn start(&self, fault: Option<&str>) -> Result<Child> {
        self.start_in(self.repo.root(), fault)
    }

    /// Starts the loop in another folder, to which the project was moved.
    pub(super) fn start_in(&self, folder: &Utf8Path, fault: Option<&str>) -> Result<Child> {
        let mut command = self.program(self.ralph_loop().as_str());
        command.current_dir(folder);
        let out = fs_err::File::create(self.out())?.into_parts().0;
        command.process_group(0).stdin(Stdio::null()).stderr(out.try_clone()?).stdout(out);
        if self.workers > 1 {
            command.args(["--workers", &self.workers.to_string()]);
        }
        command.args(&self.options);
        command.envs(fault.map(|fault| ("RALPH_INTERNAL__FAULT", fault)));
        command.spawn().context("the loop does not start")
    }

    /// Waits until the loop has ended.
    pub(super) fn wait(&self, mut child: Child, started: Instant) -> Result<Ran> {
        let ended = child.wait_timeout(PATIENCE)?;
        if ended.is_none() {
            child.kill()?;
        }
        let status = child.wait()?;
        Ok(Ran {
            code: status.code(),
            killed: status.signal() == Some(9),
            hung: ended.is_none(),
            took: started.elapsed(),
            said: self.said(),
        })
    }

    /// Runs the loop to its end.
    pub(super) fn run(&self, fault: Option<&str>) -> Result<Ran> {
        let started = Instant::now();
        self.wait(self.start(fault)?, started)
    }

    /// Returns the running processes of the loop and its children, not those of the person.
    pub(super) fn processes(&self) -> Vec<u32> {
        started_with(&format!("AGENT_NOTES={}", self.notes.root()))
    }

    /// Kills all of them, including git, as when a machine goes down.
    pub(super) fn kill_everything(&self) {
        for _ in 0..20 {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            left.into_iter().for_each(|pid| signal("KILL", pid));
        }
    }

    /// Kills the agents and what they started, but neither the loop nor its git.
    pub(super) fn kill_agent(&self) {
        let is_run = |variable: &Vec<u8>| variable.starts_with(b"RALPH_RUN=");
        let is_agent = |pid: &u32| linux::variables(pid.cast_signed()).iter().any(is_run);
        self.processes().into_iter().filter(is_agent).for_each(|pid| signal("KILL", pid));
    }

    fn out(&self) -> Utf8PathBuf {
        self.repo.scratch().path("out")
    }

    /// Returns what the loop has printed so far.
    pub(super) fn said(&self) -> String {
        String::from_utf8_lossy(&fs_err::read(self.out()).unwrap_or_default()).into_owned()
    }

    /// Whether a tree passes its check, and whether a check has run on exactly this tree.
    pub(super) fn check(&self, tree: &Utf8Path) -> Result<(bool, bool)> {
        let before = self.note("checked");
        let mut check = self.program("sh");
        let passes = check.arg("check.sh").current_dir(tree).stdout(Stdio::null()).status()?;
        let after = self.note("checked");
        let sum = after.lines().last().unwrap_or_default();
        Ok((passes.success(), before.lines().any(|line| line == sum)))
    }

    /// Returns a path in the project.
    pub(super) fn path(&self, name: &str) -> Utf8PathBuf {
        self.repo.root().join(name)
    }

    /// Reads a note that the agent left outside of the project; empty if there is none.
    pub(super) fn note(&self, name: &str) -> String {
        fs_err::read_to_string(self.notes.path(name)).unwrap_or_default()
    }

    /// Writes a note for the agent outside of the project.
    pub(super) fn leave(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs_err::write(self.notes.path(name), text)?)
    }

    /// Reads a file; empty if there is none.
    pub(super) fn read(&self, name: &str) -> String {
        let bytes = fs_err::read(self.path(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns what git prints, or `None` if it fails.
    pub(super) fn git(&self, args: &[&str]) -> Option<String> {
        let output = self.repo.try_git(self.repo.root().as_std_path(), args);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }
}
