//! A session interrupted by the service continues with its existing work.

use test_support::fixtures;

use crate::stage::{ONE, Ran, Stage};

fn run(first: &str, vars: &[(&str, &str)], args: &[&str]) -> (Stage, Ran) {
    let stage = Stage::new("resumable", ONE);
    let client = fixtures().join("agents/resumable.sh");
    let scratch = stage.repo.scratch();
    scratch.script("bin/claude", &format!("#!/bin/sh\nexec sh '{client}' \"$@\"\n"));
    let path = format!("{}:/usr/bin:/bin", scratch.path("bin"));
    let mut command = stage.command(&[&["--agent", "claude -p"], args].concat());
    command.env("PATH", path).env("FIRST", first).envs(vars.iter().copied());
    let ran = command.output().unwrap().into();
    (stage, ran)
}

/// The session that each call was asked to resume, or `new`.
fn resumed(stage: &Stage) -> Vec<String> {
    let asked = |line: &str| {
        let after = line.split_once("--resume ").map(|(_, after)| after).unwrap_or("new");
        after.split_whitespace().next().unwrap_or_default().to_owned()
    };
    stage.note("calls").lines().map(asked).collect()
}

#[test]
fn the_same_session_is_resumed_after_a_usage_limit_and_counted_once() {
    for whole in ["", "1"] {
        let (stage, ran) = run("limit", &[("WHOLE", whole)], &["--attempts", "1"]);
        ran.ended(0).says("continuing from attempt US-001/1").says("US-001 done");
        assert_eq!(resumed(&stage), ["new", "s-1"]);
        stage.has(&[("half.txt", "half\n"), ("whole.txt", "whole\n")]);
        let journal = stage.read(".ralph/events.jsonl");
        let lines = journal.lines().filter(|line| line.contains("\"iteration_finished\""));
        let finished: Vec<serde_json::Value> =
            lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        let sum = |key: &str| finished.iter().filter_map(|event| event[key].as_f64()).sum::<f64>();
        assert_eq!((sum("tokens"), (sum("cost_usd") * 1e6).round()), (3060.0, 30_000.0), "{whole}");
        let trailer =
            stage.repo.git(["log", "-1", "--format=%(trailers:key=Ralph-Cost,valueonly)"]);
        assert_eq!(trailer.trim(), "$0.0300", "the story's, over all its attempts");
    }
}

#[test]
fn a_lost_session_is_replaced_by_one_that_knows_the_attempt() {
    let (stage, ran) = run("limit", &[("LOST", "1")], &["--attempts", "1"]);
    ran.ended(0).says("the client no longer has the session s-1").says("US-001 done");
    assert_eq!(resumed(&stage), ["new", "s-1", "new"]);
    let prompt = stage.note("prompt");
    assert!(prompt.contains("The last attempt, US-001/1, did not land:"), "{prompt}");
}

#[test]
fn a_failed_attempt_is_retried_in_a_new_session() {
    let (stage, ran) = run("fails", &[], &[]);
    ran.ended(0).says("US-001 done");
    assert_eq!(resumed(&stage), ["new", "new"]);
    assert_eq!(stage.read("half.txt"), "", "what failed is not laid into the next attempt");
}

#[test]
fn a_full_context_costs_no_attempt() {
    let (stage, ran) = run("full", &[], &["--attempts", "1"]);
    ran.ended(0).says("US-001 done");
    assert_eq!(resumed(&stage), ["new", "new"]);
}
