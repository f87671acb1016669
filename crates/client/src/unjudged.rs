//! What the client says of hooks that gave no verdict: calls that ran all the same, and calls or prompts
//! that it refused because a hook failed.

use serde_json::Value;

use super::calls::text_of;

/// After so many calls in a row, no further one will be judged either.
const MOST: usize = 3;

/// What the client's refusal of a call says if a hook failed that must not fail.
const FAILED: &str = "blocking because onFailure is";

/// What was seen of hooks that gave no verdict.
#[derive(Debug, Clone, Default)]
pub struct Unjudged {
    /// How many calls had been made before the first one that ran unjudged. The client names only the
    /// first call of each hook.
    before: Option<usize>,
    /// The id of the last call that it named.
    named: String,
    /// How many in a row ran or were refused without a verdict.
    in_a_row: usize,
    /// Whether the prompt was refused, so that the agent did nothing.
    pub is_prompt: bool,
    /// What the client said last about it.
    pub said: String,
}

impl Unjudged {
    /// Takes a message of the client; `calls` is the number of calls so far.
    pub(super) fn message(&mut self, event: &Value, calls: usize) {
        let text = || text_of(event, "content").unwrap_or_default().replace('\n', " ");
        if let Some(call) = event.get("hook_no_verdict") {
            self.before.get_or_insert(calls.saturating_sub(1));
            self.named = text_of(call, "tool_use_id").unwrap_or_default().to_owned();
            self.in_a_row += 1;
            self.said = text();
        }
        let outcome = event.pointer("/prompt_submit_outcome/kind").and_then(Value::as_str);
        if outcome == Some("no_verdict") {
            (self.is_prompt, self.said) = (true, text());
        }
    }

    /// Takes the result of a call, with the reason if it was refused.
    pub(super) fn result(&mut self, call: &str, refusal: Option<&str>) {
        match refusal.filter(|why| why.contains(FAILED)) {
            Some(why) => {
                self.in_a_row += 1;
                self.said = why.to_owned();
            }
            None if call != self.named => self.in_a_row = 0,
            None => {}
        }
    }

    /// Returns how many of these calls ran unjudged: all since the first, as far as is known.
    pub(super) fn of_calls(&self, calls: usize) -> usize {
        self.before.map_or(0, |before| calls.saturating_sub(before))
    }

    /// Returns whether the hooks are gone, and not just late once.
    pub fn is_lasting(&self) -> bool {
        self.in_a_row >= MOST
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::stream::Stream;

    /// The lines of a client, as they were measured.
    fn seen(lines: &[Value]) -> Stream {
        let mut seen = Stream::default();
        lines.iter().for_each(|line| seen.line(line.to_string().as_bytes()));
        seen
    }

    fn call(id: &str) -> Value {
        let part =
            json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}});
        json!({"type": "assistant", "message": {"id": id, "content": [part]}})
    }

    fn result(id: &str, text: &str) -> Value {
        let part =
            json!({"type": "tool_result", "tool_use_id": id, "is_error": true, "content": text});
        json!({"type": "user", "message": {"content": [part]}})
    }

    fn notice(id: &str) -> Value {
        json!({
            "type": "system", "subtype": "informational", "tag": "hook_no_verdict",
            "content": "A hook gave no usable answer, so it didn't check this action.",
            "hook_no_verdict": {"hook_event": "PreToolUse", "tool_use_id": id, "timed_out": false},
        })
    }

    const FAILS: &str = "PreToolUse:Bash hook error: [/x/ralph-pre-tool --run]: failed; blocking because \
                         onFailure is \"block\"\n/bin/sh: 1: /x/ralph-pre-tool: not found";

    #[test]
    fn calls_since_the_first_unjudged_one_are_counted() {
        let first = [call("a"), result("a", "ok"), call("b"), notice("b"), result("b", "ok")];
        let found = seen(&first);
        assert_eq!((found.unguarded_calls(), found.unjudged.is_lasting()), (1, false));
        assert!(found.unjudged.said.starts_with("A hook gave no usable answer"));
        let more = seen(&[&first[..], &[call("c"), result("c", "ok")]].concat());
        assert_eq!((more.unguarded_calls(), more.unjudged.is_lasting()), (2, false));
        let three =
            [call("a"), notice("a"), result("a", "ok"), call("b"), notice("b"), notice("c")];
        assert!(seen(&three).unjudged.is_lasting());
        assert_eq!(seen(&[call("a"), result("a", "ok")]).unguarded_calls(), 0);
    }

    #[test]
    fn three_refusals_in_a_row_by_failing_hooks_are_lasting() {
        let refused = |id| [call(id), result(id, FAILS)];
        let two = [refused("a"), refused("b")].concat();
        assert!(!seen(&two).unjudged.is_lasting());
        assert_eq!(seen(&two).unguarded_calls(), 0, "none of them ran");
        assert!(seen(&[&two[..], &refused("c")].concat()).unjudged.is_lasting());
        let other = [call("x"), result("x", "PreToolUse:Bash hook error: git-push is forbidden")];
        assert!(!seen(&[&two[..], &other, &refused("c")].concat()).unjudged.is_lasting());
    }

    #[test]
    fn a_refused_prompt_is_noticed() {
        let line = json!({
            "type": "system", "subtype": "informational", "content": "UserPromptSubmit operation blocked",
            "prompt_submit_outcome": {"kind": "no_verdict", "no_verdict_kind": "hook_failed"},
        });
        assert!(seen(&[line]).unjudged.is_prompt);
    }
}
