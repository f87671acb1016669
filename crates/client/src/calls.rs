//! The agent's tool calls, described in a few words, and those that were refused.

use std::collections::VecDeque;

use serde_json::Value;

use super::unjudged::Unjudged;

/// How many calls are kept for readers that poll rarely.
const MOST_KEPT: usize = 256;

/// The tool calls of an agent so far.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    /// The agent's working folder: paths are shown relative to it.
    root: String,
    /// Calls without a result yet: their ids and descriptions.
    open: Vec<(String, String)>,
    /// The newest calls, and the total number of calls.
    newest: VecDeque<String>,
    pub count: usize,
    /// Calls that a hook or the user's settings refused.
    pub refused: Vec<RefusedCall>,
    /// The commands, and those with a known exit code in the order in which they ended.
    pub ran: Vec<Ran>,
    pub ended: Vec<Ran>,
}

/// A command that an agent ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    /// The call's id.
    pub id: String,
    /// The command line.
    pub command: String,
    /// The exit code, if it is known.
    pub exit_code: Option<i32>,
    /// The end of its output.
    pub output: String,
}

/// A refused tool call, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedCall {
    pub call: String,
    pub why: String,
}

impl Calls {
    pub(super) fn from_folder(root: &str) -> Self {
        Self { root: root.trim_end_matches('/').to_owned(), ..Self::default() }
    }

    /// Returns the calls after the first `known` ones, oldest first.
    pub fn since(&self, known: usize) -> impl Iterator<Item = &str> {
        let new = self.count.saturating_sub(known).min(self.newest.len());
        self.newest.iter().take(new).rev().map(String::as_str)
    }

    /// Records the start of a call; returns its description.
    pub(super) fn begin(&mut self, name: &str, part: &Value) -> String {
        let call = call(name, part.get("input"), &self.root);
        let id = text_of(part, "id").unwrap_or_default().to_owned();
        if let Some(command) = part.pointer("/input/command").and_then(Value::as_str) {
            let command = command.to_owned();
            self.ran.push(Ran { id: id.clone(), command, ..Ran::default() });
        }
        self.open.push((id, call.clone()));
        self.newest.truncate(MOST_KEPT - 1);
        self.newest.push_front(call.clone());
        self.count += 1;
        call
    }

    /// Records the results of calls; returns the last one that was refused, if any.
    pub(super) fn end(&mut self, event: &Value, unjudged: &mut Unjudged) -> Option<String> {
        let parts = event.get("message").and_then(|message| message.get("content")?.as_array());
        let mut last = None;
        for part in parts.into_iter().flatten() {
            let Some(id) = text_of(part, "tool_use_id") else { continue };
            let code = event.get("exit_code").and_then(Value::as_i64);
            if let (Some(ran), Some(code)) = (self.ran.iter().rfind(|ran| ran.id == id), code) {
                let mut ended = Ran { exit_code: i32::try_from(code).ok(), ..ran.clone() };
                keep_end(&mut ended.output, text_of(part, "content").unwrap_or_default());
                self.ended.push(ended);
            }
            let Some(at) = self.open.iter().position(|(call, _)| call == id) else { continue };
            let (_, call) = self.open.remove(at);
            let is_error = part.get("is_error").and_then(Value::as_bool) == Some(true);
            let why = refusal(part.get("content")).filter(|_| is_error);
            unjudged.result(why.as_deref());
            let Some(why) = why else { continue };
            self.refused.push(RefusedCall { call: call.clone(), why });
            last = Some(call);
        }
        last
    }
}

/// How many bytes are kept of plain text, of standard error and of a command's output.
const KEPT: usize = 4 * 1024;

/// Appends a line to a text of which only the end is kept.
pub(super) fn keep_end(kept: &mut String, text: &str) {
    kept.push_str(text);
    kept.push('\n');
    kept.drain(..kept.ceil_char_boundary(kept.len().saturating_sub(KEPT)));
}

/// Returns a string field of an event.
pub(super) fn text_of<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// The maximum length of a refusal: it ends with what to do instead, which must not be cut.
const REFUSAL: usize = 500;

/// Returns the first line, truncated to fit into a line of the view.
pub(super) fn short(text: &str) -> String {
    cut(text, 120)
}

/// Returns the first line, with an ellipsis if it was truncated.
fn cut(text: &str, longest: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).take(longest + 1).collect();
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
        None => line,
    }
}

/// Returns why a call was refused, if its result reports a refusal.
fn refusal(content: Option<&Value>) -> Option<String> {
    let content = content?;
    let text = content.as_str().or_else(|| text_of(content.as_array()?.first()?, "text"))?;
    if let Some((hook, why)) = text.split_once(" hook error: ") {
        return if hook.starts_with("PreToolUse") { Some(cut(why, REFUSAL)) } else { None };
    }
    let is_refused = text.starts_with("Permission to use") || text.contains("is forbidden by rule");
    if is_refused { Some(cut(text, REFUSAL)) } else { None }
}

/// Describes a call: the tool and its target, with paths relative to the agent's folder.
fn call(name: &str, input: Option<&Value>, root: &str) -> String {
    let keys = ["command", "file_path", "notebook_path", "pattern", "path", "url", "description"];
    let Some(target) = keys.iter().find_map(|key| input?.get(key)?.as_str()) else {
        return name.to_owned();
    };
    let mut target = target.to_owned();
    if !root.is_empty() {
        target = target.replace(&format!("{root}/"), "").replace(root, ".");
    }
    let target = target.strip_prefix("cd . && ").unwrap_or(&target);
    short(&format!("{name}: {}", short(target)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn begin(calls: &mut Calls, id: &str, command: &str) -> String {
        calls.begin("Bash", &json!({"id": id, "input": {"command": command}}))
    }

    fn end(calls: &mut Calls, id: &str, text: &Value) -> Option<String> {
        let part = json!({"tool_use_id": id, "is_error": true, "content": text});
        calls.end(&json!({"message": {"content": [part]}}), &mut Unjudged::default())
    }

    #[test]
    fn paths_are_relative_and_refused_calls_are_recorded() {
        let mut calls = Calls::from_folder("/copies/app/1");
        let line = "cd /copies/app/1 && cat /copies/app/1/src/a.rs";
        assert_eq!(begin(&mut calls, "a", line), "Bash: cat src/a.rs");
        assert_eq!(begin(&mut calls, "b", "git push"), "Bash: git push");
        assert_eq!(begin(&mut calls, "c", "ls /copies/app/1"), "Bash: ls .");
        assert_eq!(end(&mut calls, "a", &json!("cat: no such file")), None);
        let denied = json!("PreToolUse:Bash hook error: git-push: not yours\nask a person");
        assert_eq!(end(&mut calls, "b", &denied).as_deref(), Some("Bash: git push"));
        let denied = json!([{"type": "text", "text": "Permission to use Bash has been denied."}]);
        assert_eq!(end(&mut calls, "c", &denied).as_deref(), Some("Bash: ls ."));
        let whys: Vec<&str> = calls.refused.iter().map(|refusal| refusal.why.as_str()).collect();
        assert_eq!(whys, ["git-push: not yours", "Permission to use Bash has been denied."]);
        assert!(calls.open.is_empty());
    }
}
