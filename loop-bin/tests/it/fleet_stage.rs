//! A git server with a plan, and machines that work through it.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use camino::Utf8PathBuf;
use test_support::{Scratch, TestRepo, program};

use crate::stage::{LOOP, Ran};

pub(crate) const PLAN: &str = "IMPLEMENTATION_PLAN.md";
pub(crate) const OWN_FILE: &str = "echo done >\"$story.txt\"";

pub(crate) struct Fleet {
    /// Where the user works.
    pub(crate) user: TestRepo,
    pub(crate) notes: Scratch,
}

pub(crate) fn agent(act: &str) -> String {
    format!("cat >/dev/null; story=$(cat \"$RALPH_STORY_FILE\"); {act}")
}

impl Fleet {
    /// A server with a plan of so many stories, and so many clones of it.
    pub(crate) fn new(stories: usize, machines: usize) -> Self {
        let user = TestRepo::new();
        user.introduce_user();
        let plan: String = (1..=stories).map(|n| format!("- [ ] US-{n:03}: Story {n}\n")).collect();
        user.write(PLAN, plan);
        user.write(".ralph/.gitignore", "*\n");
        user.commit_all("plan");
        let fleet = Self { user, notes: Scratch::new() };
        let server = fleet.server();
        fleet.user.git(["init", "-q", "--bare", "-b", "main", server.as_str()]);
        fleet.user.git(["remote", "add", "origin", server.as_str()]);
        fleet.user.git(["push", "-q", "origin", "main"]);
        for machine in 0..machines {
            let clone = fleet.machine(machine);
            fleet.user.git(["clone", "-q", server.as_str(), clone.as_str()]);
        }
        fleet
    }

    pub(crate) fn server(&self) -> Utf8PathBuf {
        self.user.scratch().path("server.git")
    }

    pub(crate) fn machine(&self, machine: usize) -> Utf8PathBuf {
        self.user.scratch().path(&format!("machine-{machine}"))
    }

    pub(crate) fn command(&self, machine: usize, args: &[&str]) -> Command {
        // Each has a home of its own, as machines do.
        let home = self.user.scratch().path(&format!("home-{machine}"));
        let mut command = program(LOOP, &home);
        fs_err::create_dir_all(&home).unwrap();
        fs_err::write(home.join(".gitconfig"), "[user]\nname = M\nemail = m@example.com\n")
            .unwrap();
        command
            .args(args)
            .current_dir(self.machine(machine))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("RALPH_BASELINE", "skip")
            .env("RALPH_FLEET", "origin")
            .env("RALPH_LEASE", "4")
            .env("NOTES", self.notes.root())
            .env("CLAUDECODE", "1");
        command
    }

    pub(crate) fn run(&self, machine: usize, args: &[&str]) -> Ran {
        self.command(machine, args).output().expect("the loop runs").into()
    }

    pub(crate) fn start(&self, machine: usize, args: &[&str]) -> Child {
        let mut command = self.command(machine, args);
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the loop starts")
    }

    pub(crate) fn at_server(&self, args: &[&str]) -> String {
        self.user.git_in(self.server().as_std_path(), args)
    }

    pub(crate) fn refs(&self, below: &str) -> Vec<String> {
        let listed = self.at_server(&["for-each-ref", "--format=%(refname)", below]);
        listed.lines().map(str::to_owned).collect()
    }

    pub(crate) fn has_note(&self, name: &str) -> bool {
        self.notes.path(name).exists()
    }

    /// Every story landed once and is ticked, and the progress has it once.
    #[track_caller]
    pub(crate) fn complete(&self, stories: usize) {
        let format = "--format=%(trailers:key=Ralph-Story,valueonly=true,separator=)";
        let log = self.at_server(&["log", format, "main"]);
        let landed: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
        let distinct: BTreeSet<&&str> = landed.iter().collect();
        assert_eq!((landed.len(), distinct.len()), (stories, stories), "{landed:?}");
        let plan = self.at_server(&["show", &format!("main:{PLAN}")]);
        assert_eq!(plan.matches("[x]").count(), stories, "{plan}");
        let progress = self.at_server(&["show", "main:progress.md"]);
        assert_eq!(progress.matches("- Status: SUCCESS").count(), stories, "{progress}");
        assert_eq!(self.refs("refs/ralph/fleet/main/claims"), [""; 0]);
    }

    pub(crate) fn hook(&self, name: &str, text: &str) {
        let path = self.server().join("hooks").join(name);
        self.user.scratch().file(path.as_str(), format!("#!/bin/sh\n{text}\n"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs_err::set_permissions(path, mode).unwrap();
    }
}

pub(crate) fn ended(child: Child) -> Ran {
    child.wait_with_output().expect("it was started").into()
}
