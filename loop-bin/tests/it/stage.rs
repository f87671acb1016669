//! A project with a plan, a scripted agent and a loop to run over it.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use test_support::{Scratch, TestRepo, fixtures, program};
pub(crate) use test_support::{is_alive, signal, until};

pub(crate) const ONE: &str = "- [ ] US-001: First\n";
pub(crate) const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";
pub(crate) const THREE: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n- [ ] US-003: Third\n";
pub(crate) const PLAN: &str = ".ralph/PRD-1/plan.md";
pub(crate) const LOOP: &str = env!("CARGO_BIN_EXE_ralph-loop");

pub(crate) struct Stage {
    pub(crate) repo: TestRepo,
    pub(crate) notes: Scratch,
    agent: String,
}

/// The output and the exit code of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, words: &str) -> &Self {
        let all = format!("{}{}", self.out, self.err);
        assert!(all.contains(words), "no `{words}` in:\n{all}");
        self
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Stage {
    /// A repository with one commit, an uncommitted plan, and an agent from the fixtures.
    pub(crate) fn new(agent: &str, plan: &str) -> Self {
        Self::with(TestRepo::new(), agent, plan)
    }

    pub(crate) fn with(repo: TestRepo, agent: &str, plan: &str) -> Self {
        repo.write(PLAN, plan);
        repo.introduce_user();
        let mut stage = Self { repo, notes: Scratch::new(), agent: String::new() };
        stage.agent(agent);
        stage
    }

    /// Switches to another agent from the fixtures.
    pub(crate) fn agent(&mut self, agent: &str) {
        self.agent = format!("sh '{}'", fixtures().join("agents").join(format!("{agent}.sh")));
    }

    /// The loop, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_of(LOOP, args)
    }

    /// Another program in place of the loop, not started yet.
    pub(crate) fn command_of(&self, copy: &str, args: &[&str]) -> Command {
        let mut command = program(copy, &self.repo.scratch().path("home"));
        // Agents leave notes for the tests, and change the project, which the sandbox forbids.
        let writable = format!("{}\n{}", self.repo.scratch().root(), self.notes.root());
        command.args(args).current_dir(self.repo.root()).env("GIT_CONFIG_NOSYSTEM", "1");
        // Most of these checks fail before the first story.
        command.env("RALPH_AGENT", &self.agent).env("RALPH_BASELINE", "skip");
        command.env("AGENT_NOTES", self.notes.root()).env("RALPH_SANDBOX_WRITE", writable);
        // It is asked for where it is tested.
        command.env("RALPH_KEEP_AWAKE", "false");
        // Where tests run as root, its agents may skip permissions all the same.
        command.env("RALPH_LOOP", LOOP).env("CLAUDECODE", "1").env("IS_SANDBOX", "1");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().expect("the loop runs").into()
    }

    /// Runs the loop with these variables.
    pub(crate) fn run_env(&self, vars: &[(&str, &str)], args: &[&str]) -> Ran {
        self.command(args).envs(vars.iter().copied()).output().expect("the loop runs").into()
    }

    /// Runs the loop in a folder of the project, or anywhere else.
    pub(crate) fn run_in(&self, folder: impl AsRef<Utf8Path>, args: &[&str]) -> Ran {
        let folder = self.repo.root().join(folder);
        self.command(args).current_dir(folder).output().expect("the loop runs").into()
    }

    /// Installs a git hook of the user's.
    pub(crate) fn install_hook(&self, name: &str, text: &str) {
        let path = format!(".git/hooks/{name}");
        self.repo.write(&path, format!("#!/bin/sh\n{text}\n"));
        self.repo.chmod(&path, 0o755);
    }

    /// Starts the loop in its own process group, so that signals reach it alone.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the loop starts")
    }

    /// Starts the loop, and kills it as soon as a condition holds.
    pub(crate) fn killed_when(&self, args: &[&str], what: &str, is_true: impl Fn() -> bool) {
        let mut child = self.start(args);
        until(what, is_true);
        signal("KILL", child.id());
        child.wait().expect("it was started");
    }

    pub(crate) fn note(&self, name: &str) -> String {
        fs_err::read_to_string(self.note_path(name)).unwrap_or_default()
    }

    pub(crate) fn note_path(&self, name: &str) -> Utf8PathBuf {
        self.notes.path(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.repo.root().join(name)).unwrap_or_default()
    }

    pub(crate) fn plan(&self) -> String {
        self.read(PLAN)
    }

    pub(crate) fn progress(&self) -> String {
        self.read(".ralph/PRD-1/progress.md")
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.repo.root().join(name).exists()
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        let path = format!(".ralph/hooks/{name}");
        self.repo.write(&path, format!("#!/bin/sh\n{text}\n"));
        self.repo.chmod(&path, 0o755);
    }

    /// The subjects of all commits, newest first.
    pub(crate) fn subjects(&self) -> Vec<String> {
        self.repo.git(["log", "--format=%s"]).lines().map(str::to_owned).collect()
    }

    /// The number of saved attempts that did not land.
    pub(crate) fn discarded(&self) -> usize {
        let outcome = "--format=%(contents:trailers:key=Ralph-Outcome,valueonly=true,separator=)";
        let refs = self.repo.git(["for-each-ref", outcome, "refs/ralph/attempts"]);
        refs.lines().filter(|outcome| !outcome.is_empty()).count()
    }

    /// The top folder of the agent's copy, if it exists.
    pub(crate) fn copy(&self) -> Option<Utf8PathBuf> {
        let cache = self.repo.scratch().path("home/.cache/ralph");
        let mut found = cache.read_dir_utf8().ok()?.flatten();
        let folder = found.find(|entry| entry.file_name().starts_with("repo-"))?;
        Some(folder.path().join("1")).filter(|copy| copy.exists())
    }

    /// Whether a file is in the copy.
    pub(crate) fn in_copy(&self, name: &str) -> bool {
        self.copy().is_some_and(|copy| copy.join(name).exists())
    }

    /// The events of the journal, in order.
    pub(crate) fn events(&self) -> Vec<String> {
        let name = |line: &str| {
            let rest = line.split("\"event\":\"").nth(1)?;
            Some(rest.split('"').next()?.to_owned())
        };
        self.read(".ralph/events.jsonl").lines().filter_map(name).collect()
    }

    /// Only files of the loop differ from the last commit.
    #[track_caller]
    pub(crate) fn is_clean(&self) {
        let status = self.repo.git(["status", "--porcelain", "--", ".", ":!.ralph"]);
        assert_eq!(status, "");
    }
}

/// Copies the loop into a folder with a separate process: if this one had opened the file to write,
/// any child forked at that moment would keep it busy.
pub(crate) fn copy_loop_to(folder: &Utf8Path) {
    fs_err::create_dir_all(folder).unwrap();
    let copied = Command::new("cp").args([LOOP, folder.as_str()]).status().expect("cp runs");
    assert!(copied.success());
}

/// Writes a script that can be executed.
pub(crate) fn executable(path: &Utf8Path, text: &str) {
    fs_err::write(path, text).unwrap();
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
