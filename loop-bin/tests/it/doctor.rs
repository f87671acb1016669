//! The doctor finds beforehand what would stop a run in the middle of the night.

use crate::stage::{PLAN, Stage};

const ONE: &str = "- [ ] US-001: First\n";

/// The doctor finds this after the project was spoilt, and nothing before.
#[track_caller]
fn check(spoil: impl Fn(&Stage), args: &[(&str, &str)], found: &[&str]) {
    let stage = Stage::new("works", ONE);
    stage.run(&["doctor"]).ended(0);
    spoil(&stage);
    let mut command = stage.command(&["doctor"]);
    command.envs(args.iter().copied());
    let ran: crate::stage::Ran = command.output().unwrap().into();
    ran.ended(1);
    for words in found {
        ran.says(words);
    }
}

#[test]
fn scripts_that_cannot_be_started() {
    let script = ".ralph/hooks/started";
    let write = |content: &'static str, mode: u32| {
        move |stage: &Stage| {
            stage.repo.write(script, content);
            stage.repo.chmod(script, mode);
        }
    };
    check(write("#!/bin/sh\n", 0o644), &[], &["PROBLEM", "started is not executable; run `chmod"]);
    check(write("#!/bin/sh\r\n", 0o755), &[], &["started cannot be started", "carriage return"]);
    check(write("#!/no/shell\n", 0o755), &[], &["its interpreter `/no/shell` was not found"]);
}

#[test]
fn programs_and_scripts_that_are_missing() {
    let nothing = |_: &Stage| ();
    let verify = [("RALPH_VERIFY", "true\nno-such-runner --all\n")];
    check(nothing, &verify, &["the check `no-such-runner --all` needs `no-such-runner`"]);
    let verify = [("RALPH_VERIFY", "sh tests/missing.sh\n")];
    check(nothing, &verify, &["needs `tests/missing.sh`, which was not found"]);
    let agent = [("RALPH_AGENT", "sh missing.sh")];
    check(nothing, &agent, &["the agent's script `missing.sh` was not found"]);
}

#[test]
fn an_unknown_variable_in_the_prompt() {
    let spoil = |stage: &Stage| {
        let prompt = PLAN.replace("plan.md", "prompt.md");
        stage.repo.write(prompt, "Do {{STORY_IDD}}\n");
    };
    check(spoil, &[], &["prompt.md", "STORY_IDD"]);
}

#[test]
fn a_lock_that_nobody_holds() {
    let spoil = |stage: &Stage| stage.repo.write(".git/index.lock", "");
    check(spoil, &[], &["index.lock is there: a git is at work, or was killed; remove the file"]);
}

#[test]
fn a_signature_that_fails() {
    let spoil = |stage: &Stage| {
        stage.repo.git(["config", "commit.gpgsign", "true"]);
        stage.repo.git(["config", "gpg.program", "/bin/false"]);
    };
    check(spoil, &[], &["commits are to be signed (commit.gpgsign), and that fails"]);
}

#[test]
fn a_repository_that_calls_itself_bare() {
    let stage = Stage::new("works", ONE);
    stage.repo.git(["config", "core.bare", "true"]);
    for args in [vec!["doctor"], vec![]] {
        let ran = stage.run(&args);
        ran.ended(1).says("is bare").says("git config core.bare false");
        let all = format!("{}{}", ran.out, ran.err);
        assert!(!all.contains("rev-parse") && !all.contains("git init"), "{all}");
    }
}
