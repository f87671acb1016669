//! Recorded payloads of other agents, and the format of decisions for these agents.

use ralph_core::hook::Input;
use test_support::fixtures;

use super::*;

/// Converts the recorded payloads of an agent; `expected` has one line per converted payload.
fn check(agent: &str, file: &str, expected: &[&str]) {
    let dialect = Dialect::find(agent).unwrap();
    let path = fixtures().join(format!("other-agents/payloads/{file}.jsonl"));
    let text = fs_err::read_to_string(path).unwrap();
    let mut found = Vec::new();
    for line in text.lines() {
        let inputs = inputs(dialect, serde_json::from_str(line).unwrap());
        if inputs.is_empty() {
            found.push("nothing".to_owned());
        }
        for input in inputs {
            let input = Input::parse(input.to_string().as_bytes()).unwrap();
            let command = input.bash().map(|bash| format!(" `{}`", bash.command));
            let file = input.file().map(|file| format!(" {} {}", input.tool_name, file.file_path));
            let result = input.bash_result().map(|result| {
                let code = result.exit_code.map_or("?".to_owned(), |code| code.to_string());
                format!(" -> {code} {:?}", result.output.trim_end())
            });
            let prompt = input.prompt.as_ref().map(|prompt| format!(" {prompt:?}"));
            let said = input.last_assistant_message.as_ref().map(|said| format!(" said {said}"));
            let parts = [command, file, result, prompt, said].into_iter().flatten();
            found.push(parts.fold(input.event.clone(), |text, part| text + &part));
        }
    }
    assert_eq!(found, expected, "{agent}");
}

#[test]
fn payloads_are_converted_to_those_of_claude() {
    check(
        "codex",
        "codex",
        &[
            "PreToolUse `echo hi; pwd; exit 3`",
            "PreToolUse Edit a.txt",
            "PostToolUseFailure `echo hi; pwd; exit 3` -> ? \"hi\\n/home/dev/proj\"",
            "Stop said done",
            "UserPromptSubmit \"do it\"",
        ],
    );
    check(
        "copilot",
        "copilot",
        &[
            "PreToolUse `echo ran > ran.txt`",
            "PreToolUse Edit /home/dev/proj/.ralph/config.toml",
            "PostToolUse `echo ran > ran.txt` -> 0 \"\\n<shellId: 0 completed with exit code 0>\"",
            "nothing",
            "SubagentStop said child done",
        ],
    );
    check(
        "gemini",
        "gemini",
        &[
            "PreToolUse `echo ran > ran.txt`",
            "PreToolUse Write b.txt",
            "PostToolUseFailure `echo hi; exit 3` -> 3 \"hi\"",
            "Stop \"do it\" said done",
            "UserPromptSubmit \"do it\"",
        ],
    );
}

#[test]
fn payloads_of_agents_with_claude_events_are_converted_too() {
    check(
        "qwen",
        "qwen",
        &[
            "PostToolUseFailure `echo hi; exit 3` -> 3 \"Command: echo hi; exit 3\\nDirectory: (root)\\nOutput: \
             hi\\nError: (none)\\nExit Code: 3\\nSignal: (none)\\nProcess Group PGID: (none)\"",
            "PostToolUse `echo ran > ran.txt` -> 0 \"\"",
        ],
    );
    check(
        "qwen",
        "qwen-0.15",
        &[
            "PreToolUse Edit /home/dev/proj/.ralph/config.toml",
            "PostToolUse `cat a.txt` -> 0 \"hello\"",
            "Stop said done",
        ],
    );
    check(
        "droid",
        "droid",
        &[
            "PreToolUse `echo ran > ran.txt; exit 3`",
            "PreToolUse Write b.txt",
            "PostToolUse `echo hi` -> 0 \"hi\\n\\n\\n[Process exited with code 0]\"",
            "Stop",
        ],
    );
    check(
        "kimi",
        "kimi",
        &[
            "PreToolUse Write /home/dev/proj/.ralph/config.toml",
            "PostToolUse `cat a.txt` -> 0 \"hello\"",
            "PostToolUseFailure `echo ran > ran.txt; exit 3` -> 3 \"Process exited with code \
             3\\nCommand failed with exit code: 3.\"",
            "UserPromptSubmit \"do it\"",
            "StopFailure -> ? \"401 bad key\"",
        ],
    );
}

#[test]
fn a_patch_counts_as_an_edit_of_each_of_its_files() {
    let codex = Dialect::find("codex").unwrap();
    let patch = "*** Begin Patch\n*** Update File: a.sh\n@@\n-ls\n+rm -rf /\n*** Add File: new/b.txt\n+x\n\
                 *** Delete File: c.txt\n*** Update File: d.txt\n*** Move to: e.txt\n*** End Patch";
    let calls = |tool: &str, command: &str| -> Vec<String> {
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": tool,
                             "tool_input": {"command": command}});
        let inputs = inputs(codex, payload);
        inputs
            .iter()
            .map(|input| format!("{} {}", input["tool_name"], input["tool_input"]))
            .collect()
    };
    let files = [
        r#""Edit" {"file_path":"a.sh"}"#,
        r#""Write" {"file_path":"new/b.txt"}"#,
        r#""Edit" {"file_path":"c.txt"}"#,
        r#""Edit" {"file_path":"d.txt"}"#,
        r#""Write" {"file_path":"e.txt"}"#,
    ];
    assert_eq!(calls("apply_patch", patch), files);
    let by_shell = calls("Bash", &format!("apply_patch <<'EOF'\n{patch}\nEOF"));
    assert_eq!(by_shell.get(1..), Some(files.map(str::to_owned).as_slice()));
    assert!(by_shell[0].starts_with("\"Bash\""), "{by_shell:?}");
}

#[test]
fn decisions_are_formatted_for_each_agent() {
    let own = |agent: &str, event: &str| {
        let same = if event == "PostToolUseFailure" { "PostToolUse" } else { event };
        Dialect::find(agent).unwrap().own_event(same).unwrap()
    };
    let reply = |agent: &str, decision: &Decision, event: &str| {
        let reply = Dialect::find(agent).unwrap().reply(decision.clone(), own(agent, event), event);
        reply
            .stdout
            .unwrap_or_else(|| format!("{} {}", reply.exit_code, reply.stderr.unwrap_or_default()))
    };
    let (deny, block) = (Decision::Deny("R".to_owned()), Decision::Block("R".to_owned()));
    let claudes = deny.worded("PreToolUse").stdout.unwrap();
    for agent in ["codex", "copilot", "qwen", "opencode", "droid", "kimi"] {
        assert_eq!(reply(agent, &deny, "PreToolUse"), claudes, "{agent}");
    }
    assert_eq!(reply("gemini", &deny, "PreToolUse"), r#"{"decision":"deny","reason":"R"}"#);
    assert_eq!(reply("gemini", &block, "Stop"), r#"{"decision":"block","reason":"R"}"#);
    assert_eq!(reply("kimi", &block, "Stop"), "2 R");
    let context = r#"{"hookSpecificOutput":{"additionalContext":"R","hookEventName":"AfterTool"}}"#;
    assert_eq!(reply("gemini", &block, "PostToolUseFailure"), context);
    assert_eq!(reply("gemini", &block, "PostToolUse"), context);
    assert_eq!(reply("copilot", &block, "PostToolUse"), r#"{"additionalContext":"R"}"#);
}

#[test]
fn every_agent_has_a_start_command_and_valid_pointers() {
    for agent in AGENTS {
        assert!(agent.start.starts_with(agent.name), "{}", agent.name);
        assert!(agent.behind.is_empty() || agent.start.contains(agent.behind), "{}", agent.name);
        let pointers = agent.output.iter().chain(agent.code_texts).chain([&agent.code]);
        for pointer in pointers.filter(|pointer| !pointer.is_empty()) {
            assert!(pointer.starts_with('/'), "{}: {pointer}", agent.name);
        }
        for line in agent.lines {
            let words = [line.session, line.text, line.call, line.done, line.output, line.error];
            let are_pointers = words.iter().all(|word| word.is_empty() || word.starts_with('/'));
            assert!(are_pointers && !line.when.is_empty(), "{}: {line:?}", agent.name);
        }
    }
}
