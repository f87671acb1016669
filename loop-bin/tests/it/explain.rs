//! `ralph-loop explain`, for people who write rules.

use std::io::Write;
use std::process::Stdio;

use test_support::Scratch;

use crate::{BINARY, program, ralph_loop};

fn explain(scratch: &Scratch, args: &[&str]) -> String {
    let (code, out, err) = ralph_loop(scratch.root(), &[&["explain"], args].concat());
    assert_eq!(code, 0, "{err}");
    out
}

#[test]
fn a_command_is_taken_apart() {
    let scratch = Scratch::new();
    scratch.dir(".ralph");
    let out = explain(&scratch, &["cd app && X=push; timeout 5 git $X 2>&1 | tail -1"]);
    assert!(out.contains("runs      git push"), "{out}");
    assert!(out.contains("through a pipe, then timeout"), "{out}");
    assert!(out.contains("its exit code does not affect that of the whole line"), "{out}");
    assert!(out.contains("denied by git-push"), "{out}");
    assert!(out.contains("instead") && out.contains("request-merge"), "{out}");
    assert!(out.contains("test run  no"), "{out}");
}

#[test]
fn a_test_run_is_recognised_and_no_rule_speaks() {
    let scratch = Scratch::new();
    let out = explain(&scratch, &["npx jest --ci"]);
    assert!(out.contains("test run  yes") && out.contains("no rule applies"), "{out}");
}

#[test]
fn a_test_run_is_judged_with_its_rule_and_its_evidence() {
    let scratch = Scratch::new();
    let args = ["explain", "--test-run", "--command", "npx jest | tail -3", "--exit-code", "0"];
    let mut command = program(BINARY, scratch.root());
    command.args(args).current_dir(scratch.root()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let output = b"  \xe2\x9c\x95 adds (2 ms)\nTests:       1 failed, 3 passed, 4 total\n";
    child.stdin.take().unwrap().write_all(output).unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let expected = "verdict   failed\nrule      the exit code does not come from the tests, so the \
                    summary decides\nevidence  Tests:       1 failed, 3 passed, 4 total\nrunner    \
                    jest\ncounts    3 passed, 1 failed, 0 with errors, 0 skipped\nfailing   adds\n";
    assert_eq!(said, expected);
}

#[test]
fn the_projects_own_rules_speak() {
    let scratch = Scratch::new();
    let config = "[[guard.rules]]\nname = \"no-deploy\"\nprogram = \"make\"\nargs = [\"deploy\"]\n";
    scratch.file(".ralph/config.toml", config);
    assert!(explain(&scratch, &["make deploy"]).contains("denied by no-deploy"));
}

#[test]
fn rules_that_speak_only_in_a_run_or_on_request_are_named() {
    let scratch = Scratch::new();
    let out = explain(&scratch, &["terraform apply"]);
    assert!(out.contains("in a run  denied by deploy"), "{out}");
    assert!(out.contains("no rule applies"), "{out}");
    let out = explain(&scratch, &["psql -c 'drop table a'"]);
    assert!(out.contains("database is off"), "{out}");
    assert!(explain(&scratch, &["npm publish"]).contains("denied by publish"));
}

#[test]
fn an_edit_is_explained() {
    let scratch = Scratch::new();
    scratch.file(".ralph/config.toml", "[scope]\npaths = [\"src/**\"]\n");
    assert!(explain(&scratch, &["--file", ".git/config"]).contains("denied by protected-path"));
    assert!(explain(&scratch, &["--file", "README.md"]).contains("denied by scope"));
    assert!(explain(&scratch, &["--file", "src/a.rs"]).contains("no rule applies"));
}

#[test]
fn a_broken_configuration_is_named() {
    let scratch = Scratch::new();
    scratch.file(".ralph/config.toml", "[guard]\ndisabel = []\n");
    let (code, _, err) = ralph_loop(scratch.root(), &["explain", "ls"]);
    assert!(code == 2 && err.contains("config.toml:2") && err.contains("`disable`"), "{err}");
}
