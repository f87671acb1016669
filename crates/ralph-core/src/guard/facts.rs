//! The guard's input and its answer.

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use shell_reader::Script;

/// The rule about files that the agent does not know. Only the agent can help that, so it applies
/// in every session alike.
pub(super) const READ_BEFORE_EDIT: &str = "read-before-edit";

/// Facts about the place where a command would run or a file would be edited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The folder in which the agent works: the project, or its copy.
    pub root: Utf8PathBuf,
    /// The corresponding folder in another work tree of the same repository, if the command starts
    /// or the file is in one.
    pub linked_root: Option<Utf8PathBuf>,
    /// The project that `root` is a copy of, if it is one.
    pub copy: Option<CopyOf>,
    /// The working directory of the command line.
    pub cwd: Utf8PathBuf,
    /// The folder for temporary files.
    pub temp: Utf8PathBuf,
    /// The user's home folder; settings and state in it are also protected.
    pub home: Utf8PathBuf,
    /// The state folder of the loop's attempt, also protected; empty outside of a run.
    pub state: Utf8PathBuf,
    /// Whether the last commit is known to be newer than the checkpoint, so that amending it
    /// changes the agent's own work only.
    pub head_is_newer: bool,
    /// Files and folders in protected places that the agent may write: the plan's own files, and
    /// those that the gates ask this session to maintain.
    pub own_files: Vec<Utf8PathBuf>,
    /// The id of the client's session.
    pub session: String,
    /// Whether a loop started the agent, so that nobody is watching it.
    pub in_loop: bool,
}

impl Facts {
    /// Returns the project's folder in the current work tree.
    pub fn tree(&self) -> &Utf8Path {
        self.linked_root.as_ref().unwrap_or(&self.root)
    }

    /// Returns the path relative to the project, in `root` or `linked_root`.
    pub fn inside<'p>(&self, path: &'p Utf8Path) -> Option<&'p Utf8Path> {
        let mut roots = self.linked_root.iter().chain([&self.root]);
        roots.find_map(|root| path.strip_prefix(root).ok())
    }

    /// Parses a command line with the variables known from these facts.
    pub fn read(&self, command: &str) -> Script {
        let project = self.copy.as_ref().and_then(CopyOf::project_root).unwrap_or_default();
        let variables = [
            ("HOME", self.home.as_str()),
            ("PWD", self.cwd.as_str()),
            ("TMPDIR", self.temp.as_str()),
            ("CLAUDE_PROJECT_DIR", self.root.as_str()),
            ("CLAUDE_CODE_SESSION_ID", self.session.as_str()),
            ("RALPH_ROOT", project.as_str()),
            ("RALPH_WORKSPACE", self.root.as_str()),
            ("RALPH_STATE_DIR", self.state.as_str()),
        ];
        let known: Vec<_> = variables.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        shell_reader::read_with(command, &known)
    }
}

/// The correspondence between a copy and the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOf {
    /// The top of the copy's repository.
    pub top: Utf8PathBuf,
    /// The top of the project's repository, under each of its names.
    pub project: Vec<Utf8PathBuf>,
    /// The project's folder, relative to that top; empty if it is the top.
    pub below: Utf8PathBuf,
}

impl CopyOf {
    /// Returns the path in the copy that corresponds to one in the project; `None` if the path is
    /// not in the project. The copy may itself be inside the project's folder.
    pub fn counterpart(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        if path.starts_with(&self.top) {
            return None;
        }
        let inside = self.project.iter().find_map(|top| path.strip_prefix(top).ok())?;
        Some(joined(&self.top, inside))
    }

    /// Returns the project's folder, under its first name.
    pub(super) fn project_root(&self) -> Option<Utf8PathBuf> {
        self.project.first().map(|top| joined(top, &self.below))
    }

    /// Returns the folders whose state, settings and history the agent must not write.
    pub(super) fn guarded(&self) -> impl Iterator<Item = Utf8PathBuf> {
        let tops = self.project.iter().chain([&self.top]);
        tops.flat_map(|top| [top.clone(), joined(top, &self.below)])
    }
}

/// Joins two paths without the trailing slash that an empty second part would leave.
fn joined(folder: &Utf8Path, below: &Utf8Path) -> Utf8PathBuf {
    folder.components().chain(below.components()).collect()
}

/// The denial of a command or an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// The name of the rule.
    pub rule: String,
    /// The forbidden part of the command line, or the file.
    pub found: String,
    /// The reason.
    pub reason: String,
    /// What to do instead.
    pub instead: String,
}

impl Denial {
    /// Returns the text for a person who decides about the call instead; `None` if a person cannot
    /// know the answer.
    pub fn question(&self) -> Option<String> {
        let Self { rule, found, reason, .. } = self;
        let text = format!("Allow `{found}`? Ralph asks you first: {reason} (rule {rule}).");
        (rule != READ_BEFORE_EDIT).then_some(text)
    }
}

/// The text for the agent.
impl std::fmt::Display for Denial {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "`{}` is forbidden by rule {}: {}.", self.found, self.rule, self.reason)?;
        if self.instead.is_empty() { Ok(()) } else { write!(out, " Instead: {}.", self.instead) }
    }
}
