//! Transcripts of every size and shape.

use test_support::Scratch;

use super::*;

fn answer(tokens: u64) -> String {
    format!(
        r#"{{"type":"assistant","isSidechain":false,"message":{{"content":[{{"type":"text","text":"x"}}],"usage":{{"input_tokens":{tokens},"cache_creation_input_tokens":10,"cache_read_input_tokens":null,"output_tokens":5}}}}}}"#
    )
}

const CALL: &str = r#"{"type": "assistant", "isSidechain": false, "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {}}], "usage": {"input_tokens": 100, "output_tokens": 1}}}"#;

fn read(lines: &[String], since: usize) -> Ending {
    let scratch = Scratch::new();
    let path = scratch.file("t.jsonl", lines.join("\n") + "\n");
    let since: usize = lines.iter().take(since).map(|line| line.len() + 1).sum();
    ending(&path, since as u64).unwrap()
}

fn check(lines: &[String], since: usize, context: Option<u64>, tool_called: bool) {
    let found = read(lines, since);
    assert_eq!((found.context, found.tool_called), (context, tool_called));
}

fn bulky(size: usize) -> String {
    format!(r#"{{"type":"attachment","body":"{}"}}"#, "y".repeat(size))
}

#[test]
fn the_last_answer_of_the_main_conversation_counts() {
    check(&[answer(1000), answer(2000)], 2, Some(2015), false);
    let by = |model: &str| {
        answer(9).replace("\"message\":{", &format!("\"message\":{{\"model\":\"{model}\","))
    };
    assert_eq!(read(&[by("old"), by("new")], 2).model, "new");
    let side = answer(9000).replace("\"isSidechain\":false", "\"isSidechain\":true");
    check(&[answer(1000), side], 2, Some(1015), false);
    let made_up = answer(0).replace("10", "0").replace(":5", ":0");
    check(&[answer(1000), made_up], 2, Some(1015), false);
}

#[test]
fn other_invalid_and_torn_lines_are_skipped() {
    let lines = [
        answer(1000),
        bulky(400_000),
        r#"{"type":"user","message":{"content":"the \"assistant\" said \"usage\""}}"#.to_owned(),
        "rubbish \"assistant\"".to_owned(),
        String::new(),
        r#"{"type":"assistant","message":{"usage":{"input_tok"#.to_owned(),
    ];
    check(&lines, 0, Some(1015), false);
    check(&[], 0, None, false);
    check(&[bulky(10)], 0, None, false);
}

#[test]
fn tokens_used_before_a_compaction_do_not_count() {
    let boundary = r#"{"type":"system","subtype":"compact_boundary"}"#.to_owned();
    check(&[answer(150_000), boundary.clone()], 0, None, false);
    check(&[answer(150_000), boundary, answer(3000)], 0, Some(3015), false);
}

#[test]
fn a_tool_call_counts_only_after_the_given_position() {
    let lines = [answer(1), CALL.to_owned(), bulky(300_000), answer(2)];
    check(&lines, 0, Some(17), true);
    check(&lines, 1, Some(17), true);
    check(&lines, 2, Some(17), false);
    let line =
        r#"{"type":"user","message":{"content":[{"type":"tool_use","note":"\"assistant\""}]}}"#;
    check(&[line.to_owned(), answer(2)], 0, Some(17), false);
}

#[test]
fn lines_across_chunks_are_joined() {
    for size in [1, 1000, 131_000, 131_072, 131_073, 262_144, 700_000] {
        let long = answer(7).replace("\"x\"", &format!("\"{}\"", "z".repeat(size)));
        check(&[bulky(200_000), long, bulky(150_000)], 0, Some(22), false);
    }
}

#[test]
fn an_answer_that_is_not_written_yet_is_detected() {
    let found = read(&[answer(1), CALL.to_owned(), answer(2)], 0);
    assert_eq!(found.said, "x");
    assert!(!found.is_behind("x\n") && !found.is_behind(""), "{found:?}");
    assert!(found.is_behind("y"));
    assert!(Ending::default().is_behind("y"));
}

#[test]
fn reading_stops_at_a_size_limit() {
    let lines = [answer(1000), bulky(9 * 1024 * 1024)];
    check(&lines, 0, None, false);
    assert!(read(&lines, 0).length > 9 * 1024 * 1024);
}

#[test]
fn a_missing_transcript_is_an_error() {
    let scratch = Scratch::new();
    assert!(ending(&scratch.path("none"), 0).is_err());
    assert!(ending(&scratch.dir("folder"), 0).is_err());
    assert_eq!(ending(&scratch.file("empty", ""), 0).unwrap(), Ending::default());
}
