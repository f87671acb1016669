//! ralph-on-stop as the client runs it, with the payloads that the client sends.

mod bounds;
mod continuation;
mod gates;
mod handoff;
mod leftovers;
mod our_loop;
mod sessions;

use serde_json::{Value, json};
use test_support::{TestRepo, fixtures, program, run_with_input};

use crate::client::ON_STOP;

/// A project with a repository, a home folder and the environment of the client.
struct Stage {
    repo: TestRepo,
    vars: Vec<(String, String)>,
}

/// The answer of the hook.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    /// The reason, if it blocked.
    blocked: Option<String>,
    /// The message to the person.
    notice: Option<String>,
    /// How many features of another tool's list are left, if it ends.
    remaining: Value,
    exit_code: i32,
    stderr: String,
}

impl Stage {
    fn new() -> Self {
        let repo = TestRepo::new();
        repo.introduce_user();
        repo.write(".ralph/config.toml", "");
        Self { repo, vars: Vec::new() }
    }

    fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.vars.push((name.to_owned(), value.into()));
        self
    }

    fn write(&self, name: &str, content: &str) -> &Self {
        self.repo.write(name, content);
        self
    }

    /// Writes one of the session's state files.
    fn state(&self, session: &str, name: &str, content: &str) -> &Self {
        self.write(&format!(".ralph/state/{session}/{name}"), content)
    }

    fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.repo.root().join(name)).unwrap()
    }

    fn exists(&self, name: &str) -> bool {
        self.repo.root().join(name).exists()
    }

    /// Sends an event to the hook.
    fn send(&self, input: &Value) -> Answer {
        let home = self.repo.scratch().path("home");
        let mut command = program(ON_STOP, &home);
        command.env("CLAUDE_PROJECT_DIR", self.repo.root()).envs(self.vars.iter().cloned());
        let output = run_with_input(&mut command, input.to_string().as_bytes());
        let answer: Value = match output.stdout.as_slice() {
            [] => Value::Null,
            text => serde_json::from_slice(text).unwrap(),
        };
        let notice = answer["systemMessage"].as_str().map(str::to_owned);
        let blocked = (!answer.is_null() && notice.is_none()).then(|| {
            assert_eq!(answer["decision"], "block");
            answer["reason"].as_str().unwrap().to_owned()
        });
        Answer {
            blocked,
            notice,
            remaining: answer["remaining_features"].clone(),
            exit_code: output.status.code().unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Sends a stop of this session; the client sets `active` after a block.
    fn stop(&self, session: &str, active: bool) -> Option<String> {
        self.answer(session, active).blocked
    }

    /// Like `stop`, with the whole answer.
    fn answer(&self, session: &str, active: bool) -> Answer {
        let mut input = payload("Stop-first");
        input["session_id"] = session.into();
        input["stop_hook_active"] = active.into();
        let transcript = self.repo.scratch().path("transcript.jsonl");
        input["transcript_path"] = transcript.as_str().into();
        let answer = self.send(&input);
        assert_eq!((answer.exit_code, answer.stderr.as_str()), (0, ""));
        answer
    }

    /// Appends a turn with a tool call to the transcript.
    fn work(&self) {
        self.say(json!([{"type": "tool_use", "name": "Bash", "input": {}}]), 1000);
    }

    /// Appends an answer of the model to the transcript.
    fn say(&self, content: Value, tokens: u64) {
        let line = json!({
            "type": "assistant",
            "isSidechain": false,
            "message": {"model": "m", "content": content, "usage": {"input_tokens": tokens, "output_tokens": 0}},
        });
        let path = self.repo.scratch().path("transcript.jsonl");
        let before = fs_err::read_to_string(&path).unwrap_or_default();
        fs_err::write(path, format!("{before}{line}\n")).unwrap();
    }

    /// Returns the last event of the journal.
    fn last_event(&self) -> Value {
        let journal = self.read(".ralph/events.jsonl");
        serde_json::from_str(journal.lines().last().unwrap()).unwrap()
    }

    /// Returns the status and the note with which the last stop was allowed.
    fn allowed(&self) -> (String, String) {
        let event = self.last_event();
        assert_eq!(event["event"], "stop_allowed", "{event}");
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        (text("status"), text("note"))
    }
}

/// Returns a recorded payload of the client, for the session `s1`.
fn payload(name: &str) -> Value {
    let text = fs_err::read(fixtures().join(format!("payloads/{name}.json"))).unwrap();
    let mut payload: Value = serde_json::from_slice(&text).unwrap();
    payload["session_id"] = "s1".into();
    payload
}
