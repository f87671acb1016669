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
        /// Prompts that the client will give itself.
        pub session_crons: Vec<WakeUp>,
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

/// A prompt that the client will give itself at a certain time, once or again and again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct WakeUp {
    pub recurring: bool,
    pub prompt: String,
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
const LOOKING: [&str; 11] =
    ["list", "search", "get", "stat", "info", "tree", "find", "grep", "show", "diff", "log"];

/// How names of tools begin that publish or merge (`$` ends a whole name), and the command line that
/// each stands for.
const FORGES: [(&str, &str); 2] = [
    (
        "push$ push_files push_branch push_commits push_repository create_or_update_file \
         create_commit commit_files delete_file_from_repository",
        "git push",
    ),
    (
        "merge$ merge_pull_request merge_merge_request merge_pr merge_mr merge_branch \
         accept_merge_request enable_auto_merge enable_pull_request_auto_merge",
        "gh pr merge",
    ),
];

/// The input of the tools that read or write one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileCall {
    /// The path of the file; absolute in all input observed so far.
    pub file_path: Utf8PathBuf,
    /// Whether the file is only read.
    pub only_reads: bool,
}

/// The names of the field with the path. A tool may have several: what is written comes first.
#[derive(Default, Deserialize)]
#[serde(default)]
struct FileInput {
    destination: Option<Utf8PathBuf>,
    file_path: Option<Utf8PathBuf>,
    notebook_path: Option<Utf8PathBuf>,
    path: Option<Utf8PathBuf>,
    #[serde(rename = "filePath")]
    path_in_camel_case: Option<Utf8PathBuf>,
}

/// The longest text in a tool's input that may be a path, and how many of them are judged.
const LONGEST_PATH: usize = 4096;
const MOST_PATHS: usize = 256;

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
        let name = self.server_tool().unwrap_or_default().to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let only_reads = self.tool_name == "Read" || !says(&WRITING) && says(&READING);
        if !self.is_file_tool() && !only_reads && !says(&WRITING) {
            return None;
        }
        let call: FileInput = typed(self.tool_input.as_deref())?;
        let named = call.destination.or(call.file_path).or(call.notebook_path).or(call.path);
        let file_path = named.or(call.path_in_camel_case)?;
        (!file_path.as_str().is_empty()).then_some(FileCall { file_path, only_reads })
    }

    /// Returns the name of an MCP server's tool, without the server.
    fn server_tool(&self) -> Option<&str> {
        self.tool_name.strip_prefix(SERVERS)?.split_once("__").map(|(_, name)| name)
    }

    /// Returns every text in the input of a tool of an MCP server that may be a path to write;
    /// none for tools that only look by their name.
    pub fn texts(&self) -> Vec<Utf8PathBuf> {
        let Some(name) = self.server_tool() else { return Vec::new() };
        let name = name.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let looks = !says(&WRITING) && (says(&READING) || says(&LOOKING));
        let input: Option<Value> = if looks { None } else { typed(self.tool_input.as_deref()) };
        let mut found = Vec::new();
        collect(&input.unwrap_or_default(), &mut found);
        found
    }

    /// Returns the command line that a tool of a forge or of git stands for.
    pub fn stands_for(&self) -> Option<&'static str> {
        let name = self.server_tool()?;
        let (mut words, mut before) = (String::new(), ' ');
        for c in name.chars() {
            if c.is_uppercase() && before.is_lowercase() {
                words.push('_');
            }
            words.extend(if c == '-' || c == '.' { Some('_') } else { c.to_lowercase().next() });
            before = c;
        }
        let words = words.trim_start_matches("git_");
        let names = |start: &str| match start.strip_suffix('$') {
            Some(whole) => words == whole,
            None => words.starts_with(start),
        };
        let mut rows = FORGES.iter();
        rows.find_map(|(starts, line)| starts.split(' ').any(names).then_some(*line))
    }

    /// Returns why the input of a tool that runs a command or changes a file cannot be judged.
    pub fn unreadable(&self) -> Option<String> {
        let text = self.tool_input.as_ref()?.get();
        let is_judged = self.is_file_tool() || self.tool_name == "Bash";
        let is_read = self.bash().is_some() || self.file().is_some();
        let is_odd = !text.starts_with('{') && text != "null";
        (is_odd || is_judged && !is_read).then(|| {
            let start: String = text.chars().take(80).collect();
            format!("the input of the tool `{}` cannot be read: {start}", self.tool_name)
        })
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

/// Collects the texts of a value that may be paths.
fn collect(value: &Value, found: &mut Vec<Utf8PathBuf>) {
    match value {
        Value::String(text) if found.len() < MOST_PATHS => {
            let may_be_path =
                !text.is_empty() && text.len() <= LONGEST_PATH && !text.contains('\n');
            found
                .extend(may_be_path.then(|| Utf8PathBuf::from(text.trim_start_matches("file://"))));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, found)),
        _ => {}
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
