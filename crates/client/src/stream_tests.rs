//! Parsing the output of Claude Code.

use test_support::fixtures;

use super::*;

fn seen(name: &str) -> Stream {
    let text = fs_err::read(fixtures().join("streams").join(name)).unwrap();
    let mut seen = Stream::default();
    text.split(|byte| *byte == b'\n').for_each(|line| seen.line(line));
    seen
}

#[test]
fn a_successful_run_is_parsed() {
    let seen = seen("success.jsonl");
    let verdict = seen.verdict.clone().unwrap();
    assert_eq!((verdict.is_error, verdict.text.as_str()), (false, "All done."));
    let tokens = (seen.context.tokens, seen.window(), seen.tokens);
    assert_eq!(tokens, (161_020, Some(1_000_000), 312_040));
    assert!((seen.cost_usd.unwrap() - 1.245).abs() < 1e-9);
    assert_eq!(seen.session.unwrap(), "f20e8b35-b9c4-4b7e-8fc0-39ff3b2d0b37");
    assert_eq!((seen.now.doing.as_str(), seen.rejected), ("All done.", None));
}

#[test]
fn is_error_overrides_the_subtype() {
    let limited = seen("rate-limited.jsonl").verdict.unwrap();
    assert_eq!((limited.is_error, limited.api_status), (true, Some(429)));
    let long = seen("prompt-too-long.jsonl").verdict.unwrap();
    assert_eq!((long.is_error, long.reason.as_deref()), (true, Some("prompt_too_long")));
    assert!(seen("max-turns.jsonl").verdict.unwrap().is_error);
}

#[test]
fn the_current_activity_is_shown() {
    let mut seen = Stream::default();
    seen.line(br#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"cargo test\nls"}}]}}"#);
    assert_eq!(seen.now.doing, "Bash: cargo test");
    seen.line(br#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error":"overloaded"}"#);
    assert_eq!(seen.now.doing, "the service returned overloaded; retry 2 of 10");
    seen.line(b"just text");
    assert_eq!((seen.now.doing.as_str(), seen.said.text.as_str()), ("just text", "just text\n"));
}

#[test]
fn a_refusal_has_a_reset_time_and_can_be_lifted() {
    let mut seen = Stream::default();
    let event = |status: &str| {
        format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1790000000}}}}"#
        )
    };
    seen.line(event("rejected").as_bytes());
    assert_eq!(seen.rejected, Some(Some(1_790_000_000)));
    seen.line(event("allowed").as_bytes());
    assert_eq!(seen.rejected, None);
}

#[test]
fn a_truncated_event_is_an_error_only_at_the_end() {
    let mut seen = Stream::default();
    seen.line(br#"{"type":"system","session_id":"1"}"#);
    seen.line(br#"{"type":"user","message":{"content":"cut of"#);
    assert!(seen.verdict.as_ref().is_some_and(|verdict| verdict.is_error));
    seen.line(br#"{"type":"user","session_id":"1"}"#);
    assert_eq!(seen.verdict, None);
}

#[test]
fn a_result_of_unexpected_shape_is_still_parsed() {
    for (line, expected) in [
        (r#"{"type":"result","is_error":"true"}"#, Some(true)),
        (r#"{"type":"result","subtype":"error_max_turns"}"#, Some(true)),
        (r#"{"type":"result","is_error":false,"total_cost_usd":[1]}"#, Some(false)),
        ("{ not json }", None),
    ] {
        let mut seen = Stream::default();
        seen.line(line.as_bytes());
        assert_eq!(seen.verdict.map(|verdict| verdict.is_error), expected, "{line}");
    }
}

#[test]
fn broken_and_unknown_lines_are_ignored() {
    let mut seen = Stream::default();
    let (novel, odd) = (r#"{"type":"novel","result":7}"#, r#"{"type":"assistant","message":3}"#);
    for line in [r#"{"type":"#, "{}", novel, "\u{0}\u{1}", odd] {
        seen.line(line.as_bytes());
    }
    assert!(seen.verdict.is_none() && seen.session.is_none());
}
