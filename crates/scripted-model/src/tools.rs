//! The tools of other agents that correspond to those of Claude Code, which scripts use. The table
//! is `tools.json`; an agent's shell replaces tools that it lacks, and codex edits by patches.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::answer::{Answer, Block};

/// An agent's tools by our name: the agent's name, and its arguments with ours after a `$`.
type Tools = BTreeMap<String, (String, Map<String, Value>)>;

/// The tools of each agent.
static TABLE: LazyLock<BTreeMap<String, Tools>> =
    LazyLock::new(|| serde_json::from_str(include_str!("tools.json")).unwrap_or_default());

/// Returns the name of every agent's shell: only conversations of agents offer one of them.
pub(crate) fn shells() -> impl Iterator<Item = &'static str> {
    TABLE.values().filter_map(|tools| Some(tools.get("Bash")?.0.as_str()))
}

/// Translates the tool calls of a turn for this agent.
pub(crate) fn translate(mut answer: Answer, agent: &str) -> Answer {
    for block in &mut answer.blocks {
        if let Block::ToolUse { name, input } = block {
            (*name, *input) = call(agent, name, input);
        }
    }
    answer
}

fn call(agent: &str, tool: &str, input: &Value) -> (String, Value) {
    if let Some((name, wanted)) = TABLE.get(agent).and_then(|tools| tools.get(tool)) {
        let argument = |value: &Value| {
            let ours = value.as_str().and_then(|value| input.get(value.strip_prefix('$')?));
            ours.unwrap_or(value).clone()
        };
        let wanted = wanted.iter().map(|(name, value)| (name.clone(), argument(value)));
        return (name.clone(), Value::Object(wanted.collect()));
    }
    let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
    let path = text("file_path");
    let lines = |text: &str, sign: &str| {
        text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>()
    };
    match (agent, tool) {
        ("codex", "Read") => call(agent, "Bash", &json!({"command": format!("cat '{path}'")})),
        ("codex", "Write") => patch(&format!("Add File: {path}\n{}", lines(text("content"), "+"))),
        ("codex", "Edit") => {
            let old = lines(text("old_string"), "-");
            let new = lines(text("new_string"), "+");
            patch(&format!("Update File: {path}\n@@\n{old}{new}"))
        }
        _ => (tool.to_owned(), input.clone()),
    }
}

/// Builds a patch, which codex takes as a string.
fn patch(change: &str) -> (String, Value) {
    let patch = format!("*** Begin Patch\n*** {change}*** End Patch");
    ("apply_patch".to_owned(), Value::String(patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(agent: &str, answer: Answer) -> Vec<Block> {
        translate(answer, agent).blocks
    }

    #[test]
    fn tools_and_arguments_are_renamed() {
        let edit = || Answer::edit("/a", "old", "new");
        let input = json!({"path": "/a", "old_str": "old", "new_str": "new"});
        assert_eq!(called("copilot", edit()), Answer::tool("edit", input).blocks);
        assert_eq!(called("claude", edit()), edit().blocks);
        assert_eq!(shells().count(), 8);
    }

    #[test]
    fn codex_reads_by_its_shell_and_edits_by_patches() {
        let cat = Answer::tool("exec_command", json!({"cmd": "cat '/a'"})).blocks;
        assert_eq!(called("codex", Answer::read("/a")), cat);
        let patch = "*** Begin Patch\n*** Update File: /a\n@@\n-old\n+new\n*** End Patch";
        let patch = Answer::tool("apply_patch", patch.into()).blocks;
        assert_eq!(called("codex", Answer::edit("/a", "old", "new")), patch);
    }
}
