//! A client for tests that sends payloads and reads answers like the real client.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use test_support::{Scratch, TestRepo, program, run_with_input};

pub(crate) const PRE_TOOL: &str = env!("CARGO_BIN_EXE_ralph-pre-tool");
pub(crate) const POST_TOOL: &str = env!("CARGO_BIN_EXE_ralph-post-tool");
pub(crate) const PRE_PROMPT: &str = env!("CARGO_BIN_EXE_ralph-pre-prompt");
pub(crate) const ON_STOP: &str = env!("CARGO_BIN_EXE_ralph-on-stop");

/// A session of the client in a project.
pub(crate) struct Client {
    /// The project that contains the state.
    pub(crate) project: Utf8PathBuf,
    /// The folder in which the client was started: the project or a copy of it.
    pub(crate) cwd: Utf8PathBuf,
    pub(crate) home: Scratch,
    pub(crate) session: String,
    pub(crate) vars: Vec<(String, String)>,
    /// The hooks' arguments.
    pub(crate) args: &'static [&'static str],
}

impl Client {
    pub(crate) fn in_project(project: &Utf8Path) -> Self {
        let session = "2f34ec4b-e866-4eb9-9c21-1d11a42caab5".to_owned();
        let (project, cwd) = (project.to_owned(), project.to_owned());
        Self { project, cwd, home: Scratch::new(), session, vars: Vec::new(), args: &[] }
    }

    pub(crate) fn in_repo(test: &TestRepo) -> Self {
        Self::in_project(test.root())
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs a hook; returns `None` if the hook has no opinion.
    pub(crate) fn send(&self, hook: &str, fields: Value) -> Option<Value> {
        let mut input = json!({
            "session_id": self.session,
            "cwd": self.cwd,
            "transcript_path": self.home.path("transcript.jsonl"),
            "permission_mode": "bypassPermissions",
        });
        let all = input.as_object_mut().unwrap();
        all.extend(fields.as_object().unwrap().clone());
        let mut command = program(hook, self.home.root());
        command
            .args(self.args)
            .env("CLAUDE_PROJECT_DIR", &self.cwd)
            .envs(self.vars.iter().cloned());
        let output = run_with_input(&mut command, input.to_string().as_bytes());
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer = String::from_utf8(output.stdout).unwrap();
        (!answer.is_empty()).then(|| serde_json::from_str(&answer).unwrap())
    }

    /// Returns the reason why pre-tool denies a call, or `None` if pre-tool allows the call.
    pub(crate) fn denied(&self, tool: &str, input: Value) -> Option<String> {
        let fields =
            json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
        let answer = self.send(PRE_TOOL, fields)?;
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "PreToolUse");
        assert!(output["permissionDecision"] == "deny" || output["permissionDecision"] == "ask");
        Some(output["permissionDecisionReason"].as_str().unwrap().to_owned())
    }

    pub(crate) fn bash_denied(&self, command: &str) -> Option<String> {
        self.denied("Bash", json!({"command": command}))
    }

    pub(crate) fn edit_denied(&self, tool: &str, file: &str) -> Option<String> {
        self.denied(tool, json!({"file_path": self.cwd.join(file)}))
    }

    /// Reports the end of a command to post-tool; returns the text for the agent.
    pub(crate) fn bash_ended(&self, command: &str, code: i32, output: &str) -> Option<String> {
        let mut fields =
            json!({"tool_name": "Bash", "tool_input": {"command": command}, "duration_ms": 5});
        if code == 0 {
            fields["hook_event_name"] = "PostToolUse".into();
            fields["tool_response"] = json!({"stdout": output, "stderr": "", "interrupted": false});
        } else {
            fields["hook_event_name"] = "PostToolUseFailure".into();
            fields["error"] = format!("Exit code {code}\n{output}").into();
        }
        let answer = self.send(POST_TOOL, fields)?;
        let context = &answer["hookSpecificOutput"]["additionalContext"];
        let shown = if context.is_null() {
            assert_eq!(answer["decision"], "block");
            &answer["reason"]
        } else {
            context
        };
        Some(shown.as_str().unwrap().to_owned())
    }

    pub(crate) fn tool_ended(&self, tool: &str, file: &str) {
        let answer = self.send(
            POST_TOOL,
            json!({
                "hook_event_name": "PostToolUse",
                "tool_name": tool,
                "tool_input": {"file_path": self.cwd.join(file)},
                "tool_response": {"type": "text"},
            }),
        );
        assert_eq!(answer, None);
    }

    /// Sends a prompt; returns the context that is added to it.
    pub(crate) fn prompted(&self, prompt: &str) -> Option<String> {
        let fields = json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt});
        let answer = self.send(PRE_PROMPT, fields)?;
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
        Some(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
    }

    pub(crate) fn journal(&self) -> Vec<Value> {
        let text =
            fs_err::read_to_string(self.project.join(".ralph/events.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn events(&self, name: &str) -> Vec<Value> {
        self.journal().into_iter().filter(|line| line["event"] == name).collect()
    }
}
