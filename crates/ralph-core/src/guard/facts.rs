//! What the guard receives, and what it answers.

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use shell_reader::Script;

/// What the caller knows about the place where a command would run or a file be edited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The folder in which the agent works: the project's, or that of its copy.
    pub root: Utf8PathBuf,
    /// The folder that stands for it in another work tree of the same repository, if the command
    /// begins or the file lies in one.
    pub linked_root: Option<Utf8PathBuf>,
    /// What that is a copy of, if it is one.
    pub copy: Option<CopyOf>,
    /// Where the command line begins.
    pub cwd: Utf8PathBuf,
    /// The folder for temporary files.
    pub temp: Utf8PathBuf,
    /// The user's home folder, whose settings and state are protected as well.
    pub home: Utf8PathBuf,
    /// The state folder of an attempt of the loop's, which is protected too; empty outside of a run.
    pub state: Utf8PathBuf,
    /// Whether the last commit is known to be newer than the checkpoint, so that amending it
    /// changes the agent's own work only.
    pub head_is_newer: bool,
    /// Files and folders in protected places that the agent may write: the plan's own, and what the
    /// gates ask this session to keep.
    pub own_files: Vec<Utf8PathBuf>,
    /// The client's session.
    pub session: String,
    /// Whether a loop started the agent, so that nobody watches it.
    pub in_loop: bool,
}

impl Facts {
    /// The project's folder in the work tree at hand.
    pub fn tree(&self) -> &Utf8Path {
        self.linked_root.as_ref().unwrap_or(&self.root)
    }

    /// The path relative to the project, if it lies in it or in that other work tree.
    pub fn inside<'p>(&self, path: &'p Utf8Path) -> Option<&'p Utf8Path> {
        let mut roots = self.linked_root.iter().chain([&self.root]);
        roots.find_map(|root| path.strip_prefix(root).ok())
    }

    /// Reads a command line with what is known about the place.
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

/// Which folder stands for which: the top of the copy for that of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOf {
    /// The top of the copy's repository.
    pub top: Utf8PathBuf,
    /// The top of the project's repository, by each name that it has.
    pub project: Vec<Utf8PathBuf>,
    /// The project's folder, relative to its top; empty if it is the top.
    pub below: Utf8PathBuf,
}

impl CopyOf {
    /// The path in the copy that stands for one in the project; none if it does not lie there. The
    /// copy may itself lie in the project's folder.
    pub fn counterpart(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        if path.starts_with(&self.top) {
            return None;
        }
        let inside = self.project.iter().find_map(|top| path.strip_prefix(top).ok())?;
        Some(joined(&self.top, inside))
    }

    /// The project's own folder, by its first name.
    pub(super) fn project_root(&self) -> Option<Utf8PathBuf> {
        self.project.first().map(|top| joined(top, &self.below))
    }

    /// The folders whose state, settings and history are not the agent's to write.
    pub(super) fn guarded(&self) -> impl Iterator<Item = Utf8PathBuf> {
        let tops = self.project.iter().chain([&self.top]);
        tops.flat_map(|top| [top.clone(), joined(top, &self.below)])
    }
}

/// Without the slash at the end that joining nothing would leave.
fn joined(folder: &Utf8Path, below: &Utf8Path) -> Utf8PathBuf {
    folder.components().chain(below.components()).collect()
}

/// Why a command or an edit is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// The name of the rule.
    pub rule: String,
    /// The part of the command line that it forbids, or the file.
    pub found: String,
    /// Why.
    pub reason: String,
    /// What to do instead.
    pub instead: String,
}

impl std::fmt::Display for Denial {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "`{}` is forbidden by rule {}: {}.", self.found, self.rule, self.reason)?;
        if self.instead.is_empty() { Ok(()) } else { write!(out, " Instead: {}.", self.instead) }
    }
}
