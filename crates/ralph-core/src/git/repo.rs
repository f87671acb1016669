//! A repository's work tree: its location, and whether it may be changed now.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use camino::Utf8Path;

use super::diff::as_path;
use super::{Git, GitError};
use ralph_base::state::{PROJECT_MARKER, UNTOUCHED, is_in_use};

/// A work tree and its git folder (in a linked worktree, that worktree's own).
#[derive(Debug, Clone)]
#[must_use]
pub struct Repo {
    git: Git,
    top: PathBuf,
    git_dir: PathBuf,
    shared_git_dir: PathBuf,
    /// The project's folder, relative to the top.
    project: PathBuf,
    /// Files that are never touched, in addition to our own.
    spared: Vec<PathBuf>,
}

/// The reason why a repository cannot be used, and how to fix that.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RepoError(String);

/// A multi-step operation: the file that git keeps in its folder during it, its name, how to abort
/// it, and how to quit it without changing files, index or commits.
type Operation = (&'static str, &'static str, &'static str, &'static [&'static str]);

const OPERATIONS: [Operation; 6] = [
    ("rebase-merge", "rebase", "rebase --abort", &["rebase", "--quit"]),
    ("rebase-apply", "rebase", "rebase --abort", &["am", "--quit"]),
    ("CHERRY_PICK_HEAD", "cherry-pick", "cherry-pick --abort", &["cherry-pick", "--quit"]),
    ("REVERT_HEAD", "revert", "revert --abort", &["revert", "--quit"]),
    ("MERGE_HEAD", "merge", "merge --abort", &["merge", "--quit"]),
    ("BISECT_LOG", "bisect", "bisect reset", &["bisect", "reset", "HEAD"]),
];

impl Repo {
    /// Opens the repository that contains a project folder, which may be below the work tree's top.
    pub fn open(project: &Utf8Path) -> Result<Self, RepoError> {
        let git = Git::at(project.as_std_path());
        let args = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir"];
        let found = git.run(&[&args[..], &["--git-common-dir"]].concat());
        let output = found.map_err(|error| RepoError(unusable(project, &error)))?;
        if output.iter().filter(|byte| **byte == b'\n').count() != 3 {
            return Err(RepoError(format!(
                "the path {:?} contains a line break; rename the folder",
                project.as_str()
            )));
        }
        let mut lines = output.split(|byte| *byte == b'\n').map(as_path);
        let mut path = || lines.next().unwrap_or_default();
        let (top, git_dir, shared_git_dir) = (path(), path(), path());
        let inside = project.as_std_path().canonicalize().ok();
        let inside = inside.as_deref().and_then(|project| project.strip_prefix(&top).ok());
        let Some(inside) = inside.map(Path::to_owned) else {
            return Err(RepoError(format!(
                "the repository in {project} has its work tree in {}; if that is wrong, run `git \
                 config --unset core.worktree` in {project}",
                top.display()
            )));
        };
        let (git, spared) = (Git::at(&top), Vec::new());
        Ok(Self { git, top, git_dir, shared_git_dir, project: inside, spared })
    }

    /// Describes a newly created repository; `project` is the project's folder in it.
    pub fn made_in(top: &Path, project: &Path) -> Self {
        let git_dir = top.join(".git");
        let (git, shared_git_dir) = (Git::at(top), git_dir.clone());
        let (top, project) = (top.to_owned(), project.to_owned());
        Self { git, top, git_dir, shared_git_dir, project, spared: Vec::new() }
    }

    /// Returns a copy that uses this git, which must run at the top of the work tree.
    pub fn using(self, git: Git) -> Self {
        Self { git, ..self }
    }

    /// Returns a copy that never touches these files either.
    pub fn sparing(self, spared: Vec<PathBuf>) -> Self {
        Self { spared, ..self }
    }

    /// Returns the git runner for the top of the work tree.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Returns the top of the work tree.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Returns the git folder of this work tree.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the git folder that all work trees of the repository share.
    pub fn shared_git_dir(&self) -> &Path {
        &self.shared_git_dir
    }

    /// Returns the commit to compare with, or the empty tree if there is none.
    pub(super) fn base(&self, commit: Option<&str>) -> Result<String, GitError> {
        let empty_tree = || self.git.line(&["hash-object", "-t", "tree", "/dev/null"]);
        commit.map_or_else(empty_tree, |commit| Ok(commit.to_owned()))
    }

    /// Returns the checked-out commit; `None` in a repository without commits.
    pub fn head(&self) -> Result<Option<String>, GitError> {
        self.resolve("HEAD")
    }

    /// Resolves a name to an object id; `None` if the name does not exist.
    pub(super) fn resolve(&self, name: &str) -> Result<Option<String>, GitError> {
        match self.git.line(&["rev-parse", "--quiet", "--verify", name]) {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.exit_code() == Some(1) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Quits an unfinished multi-step operation, and returns its name. The files stay unchanged, so
    /// that they can be saved.
    pub fn quit_operation(&self) -> Result<Option<&'static str>, GitError> {
        let mut left = None;
        for (_, name, _, quit) in self.operations() {
            self.git.run(quit)?;
            left = Some(*name);
        }
        Ok(left)
    }

    fn operations(&self) -> impl Iterator<Item = &'static Operation> {
        OPERATIONS.iter().filter(|(file, ..)| self.git_dir.join(file).exists())
    }

    /// Returns whether a path, relative to the top, belongs to us or to the client's settings, in
    /// this or another project.
    pub fn is_untouched(&self, path: &Path) -> bool {
        let is_spared = self.spared.iter().any(|spared| spared == path);
        is_spared
            || UNTOUCHED.iter().any(|name| {
                let is_named = |folder: &&Path| folder.file_name() == Some(OsStr::new(name));
                let root = path.ancestors().filter(is_named).last().and_then(Path::parent);
                root.is_some_and(|root| self.is_project(root))
            })
    }

    /// Returns whether a folder is a project. Below our own project such a folder may be part of
    /// the work, so it counts only if it is in use.
    fn is_project(&self, root: &Path) -> bool {
        let state = self.top.join(root).join(PROJECT_MARKER);
        if root == self.project || root.as_os_str().is_empty() {
            true
        } else if root.starts_with(&self.project) {
            is_in_use(&state)
        } else {
            state.is_dir()
        }
    }

    /// Returns an error during a rebase, merge or the like: its state is outside of tree, index and
    /// HEAD, and could not be restored.
    pub fn refuse_if_busy(&self) -> Result<(), RepoError> {
        let Some((_, name, abort, _)) = self.operations().next() else { return Ok(()) };
        Err(RepoError(format!(
            "a {name} is in progress in {}; finish it or run `git {abort}`, then try again",
            self.top.display()
        )))
    }
}

/// Explains why there is no usable repository: missing, bare, or owned by another user.
fn unusable(project: &Utf8Path, error: &GitError) -> String {
    if error.said().contains("must be run in a work tree") {
        return format!(
            "the repository in {project} is bare, so it has no files to work on; run `git config \
             core.bare false` there if it has a work tree, or start in a regular clone"
        );
    }
    // Git does not say how to create one. For a broken link to a repository its message says more.
    if error.names_no_repository() && error.to_string().contains("parent") {
        return format!(
            "{project} is not a git repository; run `git init` there and commit your files"
        );
    }
    format!("{project} is not in a usable git work tree: {error}")
}
