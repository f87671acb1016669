//! A `result` line that is not as we know it: cut off, or with values of other kinds. An agent that
//! prints such a line has not told us that it ended well.

use serde_json::Value;

use super::stream::Verdict;

/// What the verdict's reason says of it.
const REASON: &str = "a result that cannot be understood";

/// The same of half an event, which may have been a result.
const HALF: &str = "a last event that is cut off";

/// What is shown of it.
const SHOWN: usize = 200;

/// What a line that could not be read says about the agent's end; none if it is no result, as far
/// as can be seen. `speaks_events` tells whether the agent printed events before, so that half a
/// line is half an event.
pub(super) fn judge(line: &str, speaks_events: bool) -> Option<Verdict> {
    match serde_json::from_str::<Value>(line) {
        Ok(value) if value.get("type").is_some_and(|kind| kind == "result") => {
            Some(lenient(&value))
        }
        Ok(_) => None,
        Err(_) if names_a_result(line) => Some(unreadable(line, REASON)),
        Err(error) => (error.is_eof() && speaks_events).then(|| unreadable(line, HALF)),
    }
}

/// Whether a verdict was given on half an event: it holds only while no other event follows.
pub(super) fn is_on_half_an_event(verdict: &Verdict) -> bool {
    verdict.reason.as_deref() == Some(HALF)
}

/// A result of which some value is not what it used to be. It counts as a success only if it says
/// so in so many words.
fn lenient(value: &Value) -> Verdict {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let is_good = matches!(value.get("is_error"), Some(Value::Bool(false)) | None)
        && text("subtype").is_none_or(|kind| kind == "success");
    let error_kind = text("subtype").filter(|kind| kind.starts_with("error"));
    let reason = text("terminal_reason").or(error_kind).unwrap_or(REASON);
    Verdict {
        is_error: !is_good,
        text: text("result").unwrap_or_default().to_owned(),
        api_status: value.get("api_error_status").and_then(|s| u16::try_from(s.as_u64()?).ok()),
        reason: (!is_good).then(|| reason.to_owned()),
    }
}

fn unreadable(line: &str, reason: &str) -> Verdict {
    let text = line.trim().chars().take(SHOWN).collect();
    Verdict { is_error: true, text, api_status: None, reason: Some(reason.to_owned()) }
}

fn names_a_result(line: &str) -> bool {
    let start: String = line.chars().filter(|c| !c.is_whitespace()).take(SHOWN).collect();
    start.contains("\"type\":\"result\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, speaks_events: bool, expected: Option<(bool, Option<&str>)>) {
        let found = judge(line, speaks_events);
        let found = found.as_ref().map(|verdict| (verdict.is_error, verdict.reason.as_deref()));
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn what_is_cut_off_or_not_as_we_know_it_is_no_success() {
        let cut = Some((true, Some(REASON)));
        check(r#"{"type":"result","subtype":"success","is_error":fal"#, false, cut);
        check(r#"{"type" : "result", "is_error":tr"#, false, cut);
        check(r#"{"type":"res"#, true, Some((true, Some(HALF))));
        check(r#"{"type":"res"#, false, None);
        check(r#"{"type":"result","is_error":"true"}"#, false, cut);
        check(r#"{"type":"result","is_error":"false","subtype":"success"}"#, false, cut);
        check(r#"{"type":"result","subtype":7,"is_error":1}"#, false, cut);
        let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":"true"}"#;
        check(turns, false, Some((true, Some("error_max_turns"))));
        check(r#"{"type":"novel","is_error":"true"}"#, true, None);
        check("{ not json }", true, None);
    }

    #[test]
    fn a_success_whose_sums_cannot_be_read_is_one_all_the_same() {
        let line = r#"{"type":"result","subtype":"success","is_error":false,"total_cost_usd":"1"}"#;
        check(line, true, Some((false, None)));
    }
}
