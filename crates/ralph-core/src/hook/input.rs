//! The input from the client: one JSON object, of which only known fields are read.
//!
//! New fields appear with every release of the client, so unknown ones are ignored, and a field of
//! an unexpected type counts as missing instead of making the whole input invalid.

use std::borrow::Cow;

use camino::Utf8PathBuf;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use shell_reader::quoted;

use super::repair;

/// Defines a struct whose fields count as missing if they have an unexpected type; one field may be
/// kept as raw JSON.
macro_rules! lenient {
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident { $($(#[$doc:meta])* $seen:vis $field:ident: $type:ty,)* }
        $(raw $raw:ident)?
    ) => {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default)]
        $(#[$about])*
        $vis struct $name {
            $($(#[$doc])* #[serde(deserialize_with = "lenient")] $seen $field: $type,)*
            $($raw: Option<Box<RawValue>>,)?
        }
    };
}

lenient! {
    /// The input of one hook call.
    pub struct Input {
        /// The event, such as `PreToolUse`.
        #[serde(rename = "hook_event_name")]
        pub event: String,
        /// The id of the client session.
        pub session_id: String,
        /// The path of the session's transcript.
        pub transcript_path: Option<Utf8PathBuf>,
        /// The client's working directory.
        pub cwd: Option<Utf8PathBuf>,
        /// The client's permission mode, such as `bypassPermissions`.
        pub permission_mode: String,
        /// The id of the subagent, inside one.
        pub agent_id: Option<String>,
        /// The kind of subagent, inside one.
        pub agent_type: Option<String>,
        /// The tool's name, for events around tool calls.
        pub tool_name: String,
        /// The error of a failed tool: `Exit code N`, a newline and the output.
        pub error: Option<String>,
        /// Whether a tool failed because the user interrupted it.
        pub is_interrupt: bool,
        /// The duration of the tool call in milliseconds.
        pub duration_ms: Option<u64>,
        /// Whether a stop was already blocked in this turn.
        pub stop_hook_active: bool,
        /// The agent's last message.
        pub last_assistant_message: Option<String>,
        /// Commands that are still running in the background.
        pub background_tasks: Vec<BackgroundTask>,
        /// The prompt, for `UserPromptSubmit`.
        pub prompt: Option<String>,
        /// The id of the task, for `TaskCompleted`.
        pub task_id: Option<String>,
        /// The subject of the task.
        pub task_subject: Option<String>,
        /// The name of the teammate, for `TeammateIdle`.
        pub teammate_name: Option<String>,
        /// Why the session ended, for `SessionEnd`.
        pub reason: Option<String>,
        tool_response: Option<Response>,
    }
    raw tool_input
}

/// A command that is still running in the background.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "named as the client names them")]
pub struct BackgroundTask {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub status: String,
    pub command: Option<String>,
    pub description: Option<String>,
}

/// The input of a tool that runs a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "CommandInput")]
pub struct BashCall {
    /// The command line.
    pub command: String,
}

/// A command in any form that tools accept: a line, or words in one list or after the program.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CommandInput {
    command: Value,
    args: Value,
}

impl From<CommandInput> for BashCall {
    fn from(CommandInput { command, args }: CommandInput) -> Self {
        let mut parts = match command {
            Value::String(line) => vec![line],
            list => words(&list),
        };
        if parts.first().is_some_and(|program| !program.is_empty()) {
            parts.extend(words(&args));
        }
        Self { command: parts.join(" ") }
    }
}

/// Returns the strings of a list, quoted as shell words.
fn words(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(quoted).collect()
}

/// The result of a command, as far as the client reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BashResult<'a> {
    /// The exit code, if known: 0 after success, else the one that the client printed.
    pub exit_code: Option<i32>,
    /// The output of the command, possibly truncated.
    pub output: Cow<'a, str>,
    /// A file with the complete output, if it was truncated.
    pub output_file: Option<Utf8PathBuf>,
    /// Whether the command is still running in the background.
    pub still_running: bool,
    /// Whether the user interrupted the command.
    pub interrupted: bool,
}

/// The tools that read or write one file.
const FILE_TOOLS: [&str; 5] = ["Read", "Edit", "MultiEdit", "Write", "NotebookEdit"];

/// The prefix of MCP tool names, and the words in such names that indicate what the tool does with
/// its file.
const SERVERS: &str = "mcp__";
const WRITING: [&str; 12] = [
    "write", "edit", "create", "delete", "remove", "move", "rename", "append", "replace", "insert",
    "update", "patch",
];
const READING: [&str; 3] = ["read", "view", "open"];

/// The input of the tools that read or write one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FileCall {
    /// The path of the file; absolute in all input observed so far.
    #[serde(alias = "notebook_path", alias = "path", alias = "filePath", alias = "destination")]
    pub file_path: Utf8PathBuf,
    /// Whether the file is only read.
    #[serde(skip)]
    pub only_reads: bool,
}

/// An error in parsing the input.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The input is empty or not an object.
    #[error("the hook input is not a JSON object")]
    NoObject,
    /// The input begins like an object but is not valid JSON.
    #[error("the hook input is not valid JSON: {0}")]
    Broken(#[from] serde_json::Error),
}

impl Input {
    /// Parses an input, after repairing characters that the client cut in half and bytes that are
    /// not UTF-8.
    pub fn parse(bytes: &[u8]) -> Result<Self, InputError> {
        let repaired = repair::repair(bytes);
        // Checked first, because serde would accept a list as an object's fields in order.
        if repaired.trim_ascii_start().first() != Some(&b'{') {
            return Err(InputError::NoObject);
        }
        Ok(serde_json::from_slice(&repaired)?)
    }

    /// Derives the event from the fields, for older setups that do not send its name. If several
    /// events fit, returns the first that the hook knows.
    pub fn event_among<'e>(&self, known: &[&'e str]) -> Option<&'e str> {
        let (is_of_tool, failed) = (!self.tool_name.is_empty(), self.error.is_some());
        let events = [
            ("PostToolUseFailure", is_of_tool && failed),
            ("PreToolUse", is_of_tool && !failed),
            ("PostToolUse", is_of_tool && !failed),
            ("UserPromptSubmit", self.prompt.is_some()),
            ("TaskCompleted", self.task_id.is_some()),
            ("TeammateIdle", self.teammate_name.is_some()),
            ("StopFailure", failed && !is_of_tool),
            ("SessionEnd", self.reason.is_some()),
            ("SubagentStop", self.agent_id.is_some() && !is_of_tool),
            ("Stop", !self.session_id.is_empty() && !is_of_tool),
        ];
        let mut fitting = events.into_iter().filter(|(_, fits)| *fits);
        fitting.find_map(|(name, _)| known.iter().copied().find(|event| *event == name))
    }

    /// Returns the command line that a tool is to run: any input with a command counts, whatever
    /// the tool's name (`Bash`, `Monitor`, or a tool of an MCP server).
    pub fn bash(&self) -> Option<BashCall> {
        let call = if self.is_file_tool() { None } else { typed(self.tool_input.as_deref()) };
        call.filter(|call: &BashCall| !call.command.is_empty())
    }

    /// Returns the file that a tool reads or writes: a tool of the client, or one of an MCP server
    /// whose name indicates it.
    pub fn file(&self) -> Option<FileCall> {
        let own = self.tool_name.strip_prefix(SERVERS).and_then(|name| name.split_once("__"));
        let name = own.map_or(String::new(), |(_, name)| name.to_ascii_lowercase());
        let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let only_reads = self.tool_name == "Read" || !says(&WRITING) && says(&READING);
        if !self.is_file_tool() && !only_reads && !says(&WRITING) {
            return None;
        }
        let call: FileCall = typed(self.tool_input.as_deref())?;
        (!call.file_path.as_str().is_empty()).then_some(FileCall { only_reads, ..call })
    }

    /// Returns whether this is a file tool of the client. Its input may be long and has no command.
    pub fn is_file_tool(&self) -> bool {
        FILE_TOOLS.contains(&self.tool_name.as_str())
    }

    /// Returns the result of the command in `PostToolUse` or `PostToolUseFailure`. A tool whose
    /// response has no output, such as `Monitor`, has only started the command.
    pub fn bash_result(&self) -> Option<BashResult<'_>> {
        match (&self.error, &self.tool_response) {
            (Some(error), _) => Some(BashResult::of_failure(error, self.is_interrupt)),
            (None, Some(response)) => response.result(),
            (None, None) => None,
        }
    }
}

lenient! {
    /// The client's report of a successful command. Responses of other tools are ignored.
    #[serde(rename_all = "camelCase")]
    struct Response {
        stdout: Option<String>,
        stderr: String,
        interrupted: bool,
        background_task_id: Option<String>,
        persisted_output_path: Option<Utf8PathBuf>,
    }
}

impl Response {
    fn result(&self) -> Option<BashResult<'_>> {
        let still_running = self.background_task_id.is_some();
        let output = match (self.stdout.as_deref()?, self.stderr.as_str()) {
            (stdout, "") => Cow::Borrowed(stdout),
            (stdout, stderr) => Cow::Owned(format!("{stdout}\n{stderr}")),
        };
        Some(BashResult {
            exit_code: (!still_running && !self.interrupted).then_some(0),
            output,
            output_file: self.persisted_output_path.clone(),
            still_running,
            interrupted: self.interrupted,
        })
    }
}

impl<'a> BashResult<'a> {
    /// Parses `Exit code N`, a newline, and the output.
    fn of_failure(error: &'a str, interrupted: bool) -> Self {
        let (first, rest) = error.split_once('\n').unwrap_or((error, ""));
        let exit_code = first.strip_prefix("Exit code ").and_then(|code| code.trim().parse().ok());
        let output = Cow::Borrowed(if exit_code.is_some() { rest } else { error });
        Self { exit_code, output, interrupted, ..Self::default() }
    }
}

fn typed<T: DeserializeOwned>(raw: Option<&RawValue>) -> Option<T> {
    let text = raw?.get();
    if text.starts_with('{') { serde_json::from_str(text).ok() } else { None }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Loosely<T> {
    AsExpected(T),
    Otherwise(IgnoredAny),
}

/// Deserializes a value of the expected type, or returns the default.
fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    match Loosely::deserialize(deserializer)? {
        Loosely::AsExpected(value) => Ok(value),
        Loosely::Otherwise(_) => Ok(T::default()),
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
