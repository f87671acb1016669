//! What the client sends: one JSON object, of which we read what we know.
//!
//! New fields appear with every release of the client, so unknown ones are ignored, and a field of
//! an unexpected type counts as missing instead of spoiling the rest.

use camino::Utf8PathBuf;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::mend;

/// One call of a hook.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Input {
    /// The event, such as `PreToolUse`.
    #[serde(rename = "hook_event_name", deserialize_with = "lenient")]
    pub event: String,
    /// The client session.
    #[serde(deserialize_with = "lenient")]
    pub session_id: String,
    /// The session's transcript.
    #[serde(deserialize_with = "lenient")]
    pub transcript_path: Option<Utf8PathBuf>,
    /// Where the client works.
    #[serde(deserialize_with = "lenient")]
    pub cwd: Option<Utf8PathBuf>,
    /// The subagent, inside one.
    #[serde(deserialize_with = "lenient")]
    pub agent_id: Option<String>,
    /// The kind of subagent, inside one.
    #[serde(deserialize_with = "lenient")]
    pub agent_type: Option<String>,
    /// The tool, for the events around tool calls.
    #[serde(deserialize_with = "lenient")]
    pub tool_name: String,
    /// What a tool that failed reported: `Exit code N`, a newline and the output.
    #[serde(deserialize_with = "lenient")]
    pub error: Option<String>,
    /// Whether a tool failed because the user interrupted it.
    #[serde(deserialize_with = "lenient")]
    pub is_interrupt: bool,
    /// How long the tool took.
    #[serde(deserialize_with = "lenient")]
    pub duration_ms: Option<u64>,
    /// Whether a stop was held back before in this turn.
    #[serde(deserialize_with = "lenient")]
    pub stop_hook_active: bool,
    /// The agent's last words.
    #[serde(deserialize_with = "lenient")]
    pub last_assistant_message: Option<String>,
    /// Commands that still run in the background.
    #[serde(deserialize_with = "lenient")]
    pub background_tasks: Vec<BackgroundTask>,
    /// The prompt, for `UserPromptSubmit`.
    #[serde(deserialize_with = "lenient")]
    pub prompt: Option<String>,
    /// The task, for `TaskCompleted`.
    #[serde(deserialize_with = "lenient")]
    pub task_id: Option<String>,
    /// What the task is about.
    #[serde(deserialize_with = "lenient")]
    pub task_subject: Option<String>,
    /// The teammate, for `TeammateIdle`.
    #[serde(deserialize_with = "lenient")]
    pub teammate_name: Option<String>,
    /// Why the session ended, for `SessionEnd`.
    #[serde(deserialize_with = "lenient")]
    pub reason: Option<String>,
    tool_input: Option<Box<RawValue>>,
    tool_response: Option<Box<RawValue>>,
}

/// A command that still runs in the background.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "named as the client names them")]
pub struct BackgroundTask {
    pub id: String,
    pub status: String,
    pub command: Option<String>,
    pub description: Option<String>,
}

/// The input of the Bash tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct BashCall {
    /// The command line.
    pub command: String,
    /// Whether it was started in the background.
    #[serde(deserialize_with = "lenient")]
    pub run_in_background: bool,
}

/// How a Bash command ended, as far as the client tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BashResult {
    /// The exit code, where it is known: 0 after success, else what the client printed.
    pub exit_code: Option<i32>,
    /// What the command printed, perhaps only a part of it.
    pub output: String,
    /// A file with all of the output, when it was cut.
    pub output_file: Option<Utf8PathBuf>,
    /// Whether it still runs in the background.
    pub still_running: bool,
    /// Whether the user interrupted it.
    pub interrupted: bool,
}

/// The input of the tools that read or write one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FileCall {
    /// The file; absolute in everything the client was seen to send.
    #[serde(alias = "notebook_path")]
    pub file_path: Utf8PathBuf,
}

/// Why an input could not be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It is something else than an object, or nothing at all.
    #[error("the hook's input is no JSON object")]
    NoObject,
    /// It begins like an object.
    #[error("the hook's input is no JSON object that can be read: {0}")]
    Broken(#[from] serde_json::Error),
}

impl Input {
    /// Reads an input. Where the client cut a text in the middle of a character, or passed on
    /// bytes that are no text, the damage is mended first.
    pub fn parse(bytes: &[u8]) -> Result<Self, InputError> {
        let mended = mend::mend(bytes);
        // Asked for first: a list would be read as an object's fields in their order.
        if mended.trim_ascii_start().first() != Some(&b'{') {
            return Err(InputError::NoObject);
        }
        Ok(serde_json::from_slice(&mended)?)
    }

    /// The call of the Bash tool, if this is one.
    pub fn bash(&self) -> Option<BashCall> {
        if self.tool_name == "Bash" { typed(self.tool_input.as_deref()) } else { None }
    }

    /// The file that a file tool reads or writes, if this is such a call.
    pub fn file(&self) -> Option<FileCall> {
        let known = ["Read", "Edit", "MultiEdit", "Write", "NotebookEdit"];
        if !known.contains(&self.tool_name.as_str()) {
            return None;
        }
        typed(self.tool_input.as_deref())
            .filter(|call: &FileCall| !call.file_path.as_str().is_empty())
    }

    /// How the Bash command of a `PostToolUse` or `PostToolUseFailure` ended.
    pub fn bash_result(&self) -> Option<BashResult> {
        if self.tool_name != "Bash" {
            return None;
        }
        match (&self.error, typed::<Response>(self.tool_response.as_deref())) {
            (Some(error), _) => Some(BashResult::of_failure(error, self.is_interrupt)),
            (None, Some(response)) => Some(response.into()),
            (None, None) => None,
        }
    }
}

/// What the client reports of a command that succeeded.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Response {
    #[serde(deserialize_with = "lenient")]
    stdout: String,
    #[serde(deserialize_with = "lenient")]
    stderr: String,
    #[serde(deserialize_with = "lenient")]
    interrupted: bool,
    #[serde(deserialize_with = "lenient")]
    background_task_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    persisted_output_path: Option<Utf8PathBuf>,
}

impl From<Response> for BashResult {
    fn from(response: Response) -> Self {
        let still_running = response.background_task_id.is_some();
        let mut output = response.stdout;
        if !response.stderr.is_empty() {
            output.push('\n');
            output.push_str(&response.stderr);
        }
        Self {
            exit_code: (!still_running && !response.interrupted).then_some(0),
            output,
            output_file: response.persisted_output_path,
            still_running,
            interrupted: response.interrupted,
        }
    }
}

impl BashResult {
    /// `Exit code N`, a newline, and the output.
    fn of_failure(error: &str, interrupted: bool) -> Self {
        let (first, rest) = error.split_once('\n').unwrap_or((error, ""));
        let exit_code = first.strip_prefix("Exit code ").and_then(|code| code.trim().parse().ok());
        let output = if exit_code.is_some() { rest } else { error };
        Self { exit_code, output: output.to_owned(), interrupted, ..Self::default() }
    }
}

fn typed<T: DeserializeOwned>(raw: Option<&RawValue>) -> Option<T> {
    let text = raw?.get();
    if text.starts_with('{') { serde_json::from_str(text).ok() } else { None }
}

/// A value of another type than expected counts as missing.
fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
