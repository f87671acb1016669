//! What the client says of hooks that gave no verdict: calls that ran all the same, and calls or prompts
//! that it refused because a hook failed.

use serde_json::Value;

use super::calls::text_of;

/// After so many calls in a row, no further one will be judged either.
const MOST: usize = 3;

/// What the client's refusal of a call says if a hook failed that must not fail.
const FAILED: &str = "blocking because onFailure is";

/// The plugin that brings our own hooks.
const OURS: &str = "ralph-loop@";

/// What was seen of hooks that gave no verdict.
#[derive(Debug, Clone, Default)]
pub struct Unjudged {
    /// How many calls had been made before the first one that ran unjudged, by a hook that may be ours. The
    /// client names only the first call of each hook.
    before: Option<usize>,
    /// How many calls in a row were refused because a hook failed that must not fail.
    refused: usize,
    /// Whether the prompt was refused, so that the agent did nothing.
    pub is_prompt: bool,
    /// What the client said last about calls that ran.
    pub notice: Option<String>,
    /// What it said last about calls or prompts that were refused.
    pub said: String,
}

impl Unjudged {
    /// Takes a message of the client; `calls` is the number of calls so far.
    pub(super) fn message(&mut self, event: &Value, calls: usize) {
        let text = || text_of(event, "content").unwrap_or_default().replace('\n', " ");
        if let Some(call) = event.get("hook_no_verdict") {
            if text_of(call, "plugin_id").is_none_or(|plugin| plugin.starts_with(OURS)) {
                self.before.get_or_insert(calls.saturating_sub(1));
            }
            self.notice = Some(text());
        }
        let outcome = event.pointer("/prompt_submit_outcome/kind").and_then(Value::as_str);
        if outcome == Some("no_verdict") {
            (self.is_prompt, self.said) = (true, text());
        }
    }

    /// Takes the result of a call, with the reason if it was refused.
    pub(super) fn result(&mut self, refusal: Option<&str>) {
        match refusal.filter(|why| why.contains(FAILED)) {
            Some(why) => (self.refused, self.said) = (self.refused + 1, why.to_owned()),
            None => self.refused = 0,
        }
    }

    /// Returns how many of these calls ran unjudged by hooks of ours: all since the first, as far as is
    /// known. Where the run has passed its hooks (`is_passed`), the client refuses what they do not judge, and
    /// whatever it says of calls that ran is about the hooks of others.
    pub(super) fn of_calls(&self, calls: usize, is_passed: bool) -> usize {
        let before = self.before.filter(|_| !is_passed);
        before.map_or(0, |before| calls.saturating_sub(before))
    }

    /// Returns whether the hooks are gone, and not just late once.
    pub(super) fn is_lasting(&self, calls: usize, is_passed: bool) -> bool {
        self.refused >= MOST || self.of_calls(calls, is_passed) >= MOST
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
        assert_eq!((found.unguarded_calls(false), found.is_unguarded_for_good(false)), (1, false));
        assert!(found.unjudged.notice.unwrap().starts_with("A hook gave no usable answer"));
        let more = [&first[..], &[call("c"), result("c", "ok")]].concat();
        assert_eq!(seen(&more).unguarded_calls(false), 2);
        assert!(!seen(&more).is_unguarded_for_good(false));
        // The client does not repeat itself.
        assert!(seen(&[&more[..], &[call("d")]].concat()).is_unguarded_for_good(false));
        assert_eq!(seen(&[call("a"), result("a", "ok")]).unguarded_calls(false), 0);
    }

    #[test]
    fn hooks_of_others_that_give_no_verdict_are_not_ours() {
        let calls = [call("a"), call("b"), call("c")];
        let lines = |notice: Value| [&[call("x"), notice][..], &calls].concat();
        let passed = seen(&lines(notice("x")));
        assert_eq!((passed.unguarded_calls(true), passed.is_unguarded_for_good(true)), (0, false));
        assert!(passed.unjudged.notice.is_some(), "the person is told all the same");
        let of_plugin = |plugin: &str| {
            let mut notice = notice("x");
            notice["hook_no_verdict"]["plugin_id"] = json!(plugin);
            seen(&lines(notice)).unguarded_calls(false)
        };
        assert_eq!((of_plugin("other@market"), of_plugin("ralph-loop@ralph")), (0, 4));
    }

    #[test]
    fn three_refusals_in_a_row_by_failing_hooks_are_lasting() {
        let refused = |id| [call(id), result(id, FAILS)];
        let two = [refused("a"), refused("b")].concat();
        assert!(!seen(&two).is_unguarded_for_good(true));
        assert_eq!(seen(&two).unguarded_calls(true), 0, "none of them ran");
        assert!(seen(&[&two[..], &refused("c")].concat()).is_unguarded_for_good(true));
        let other = [call("x"), result("x", "PreToolUse:Bash hook error: git-push is forbidden")];
        assert!(!seen(&[&two[..], &other, &refused("c")].concat()).is_unguarded_for_good(true));
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
