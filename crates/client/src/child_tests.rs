//! Recorded streams of other agents: refusals are recognized without knowing the agent.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use test_support::fixtures;

use super::{Refusal, RunEnd, Stream};
use crate::AgentRun;

fn run(name: &str, code: i32) -> AgentRun {
    let path = fixtures().join(format!("other-agents/streams/{name}.jsonl"));
    let text = fs_err::read(path).unwrap();
    let mut seen = Stream::default();
    text.split(|byte| *byte == b'\n').for_each(|line| seen.line(line));
    AgentRun { end: RunEnd::Exited(ExitStatus::from_raw(code << 8)), seen }
}

#[test]
fn refusals_are_recognized_in_the_streams_of_all_agents() {
    for (name, code, expected) in [
        ("codex-429", 1, "later"),
        ("codex-usage-limit", 1, "at a time"),
        ("codex-context", 1, "full"),
        ("gemini-daily-quota", 173, "later"),
        ("gemini-401", 145, "key"),
        ("qwen-401", 1, "key"),
        ("qwen-0.15-401", 0, "key"),
        ("copilot-429", 1, "at a time"),
        ("opencode-401", 1, "key"),
        ("opencode-429", 1, "at a time"),
        ("droid-429", 1, "at a time"),
        ("kimi-429", 1, "at a time"),
        ("goose-429", 0, "at a time"),
        ("codex-success", 0, "none"),
        ("gemini-success", 0, "none"),
        ("gemini-stop-blocked", 0, "none"),
        ("qwen-success", 0, "none"),
        ("copilot-success", 0, "none"),
        ("opencode-success", 0, "none"),
        ("droid-success", 0, "none"),
        ("kimi-success", 0, "none"),
    ] {
        let found = match run(name, code).refusal() {
            Some(Refusal::Later(None)) => "later",
            Some(Refusal::Later(Some(_))) => "at a time",
            Some(Refusal::Down) => "down",
            Some(Refusal::Unreachable) => "unreachable",
            Some(Refusal::Key) => "key",
            Some(Refusal::Full) => "full",
            None => "none",
        };
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_message_of_a_refusal_is_kept() {
    let said = run("codex-usage-limit", 1).seen.said.complaints;
    assert!(said.contains("try again at 2:30 PM"), "{said}");
    let said = run("droid-429", 1).seen.said.complaints;
    assert!(said.ends_with("429 Rate limit reached. Please try again in 7s.\n"), "{said}");
    let said = run("gemini-401", 145).seen.verdict.unwrap().text;
    assert!(said.contains("invalid_api_key"), "{said}");
}
