//! A repository's work tree: where it is, and whether it may be touched now.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

use super::command::{Git, GitError};
use super::hooks::Hooks;
use super::looks::Looks;
use super::outputs;
use super::position::Position;
use super::snapshot::flags::{self, Flags};
use crate::state::{PROJECT_MARKER, UNTOUCHED, is_in_use};

/// A work tree and its git folder; in a linked worktree the git folder is that worktree's own.
#[derive(Debug, Clone)]
pub struct Repo {
    git: Git,
    top: PathBuf,
    git_dir: PathBuf,
    /// The project's folder, relative to the top.
    project: PathBuf,
    untouched: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
    overlooked: BTreeSet<PathBuf>,
    spared: BTreeSet<PathBuf>,
    flags: Flags,
    hooks: Option<Hooks>,
}

/// Why a repository cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    /// It says of itself that it has no work tree.
    #[error(
        "the repository of {dir} is bare, so git sees no files in it; run `git config core.bare \
         false` there if it does have a work tree, or start in a clone that has one"
    )]
    Bare {
        /// Where it was looked for.
        dir: String,
    },
    /// Its settings say that its files are elsewhere.
    #[error(
        "git says that the files of the repository of {dir} are in {top}; if they are not, run \
         `git config --unset core.worktree` in {dir}"
    )]
    Elsewhere {
        /// Where it was looked for.
        dir: String,
        /// Where its files are said to be.
        top: String,
    },
    /// There is none, or it belongs to somebody else; git's message tells which.
    #[error("{dir} is not in a git work tree that can be used: {source}{}", advice(source))]
    NotARepository {
        /// Where it was looked for.
        dir: String,
        /// Git's answer.
        source: GitError,
    },
    /// An operation of several steps is under way; its state lives outside tree, index and HEAD
    /// and could not be brought back.
    #[error("a {operation} is under way in {top}; finish it or run `git {abort}`, then try again")]
    Busy {
        /// The operation.
        operation: &'static str,
        /// How to end it.
        abort: &'static str,
        /// The work tree.
        top: String,
    },
}

/// Where there is no repository at all, git does not say how to get one.
fn advice(source: &GitError) -> &'static str {
    match source.names_no_repository() {
        true => "; run `git init` in the project and commit what is there, then try again",
        false => "",
    }
}

/// What git leaves in its folder during an operation of several steps.
const OPERATIONS: [(&str, &str, &str); 6] = [
    ("rebase-merge", "rebase", "rebase --abort"),
    ("rebase-apply", "rebase", "rebase --abort"),
    ("MERGE_HEAD", "merge", "merge --abort"),
    ("CHERRY_PICK_HEAD", "cherry-pick", "cherry-pick --abort"),
    ("REVERT_HEAD", "revert", "revert --abort"),
    ("BISECT_LOG", "bisect", "bisect reset"),
];

/// What git leaves in its folder during an operation, its name, and how it is given up without a
/// change to files, index or commits.
const GIVING_UP: [(&str, &str, &[&str]); 5] = [
    ("rebase-merge", "rebase", &["rebase", "--quit"]),
    ("rebase-apply", "rebase", &["am", "--quit"]),
    ("CHERRY_PICK_HEAD", "cherry-pick", &["cherry-pick", "--quit"]),
    ("REVERT_HEAD", "revert", &["revert", "--quit"]),
    ("MERGE_HEAD", "merge", &["merge", "--quit"]),
];

impl Repo {
    /// The repository around a project folder, which may be a folder inside the work tree.
    pub fn open(project: &Utf8Path) -> Result<Self, RepoError> {
        // As the user would ask: everywhere else git is told that there are no hooks.
        let git = Git::at(project.as_std_path()).with_hooks();
        let where_is = ["--show-toplevel", "--git-dir", "--git-path", "hooks"];
        let where_is = [&["rev-parse", "--path-format=absolute"], &where_is[..]].concat();
        let dir = || project.to_string();
        let output = git.run(&where_is).map_err(|source| match source.needs_a_work_tree() {
            true => RepoError::Bare { dir: dir() },
            false => RepoError::NotARepository { dir: dir(), source },
        })?;
        let mut lines = output.split(|byte| *byte == b'\n');
        let mut path = || PathBuf::from(OsStr::from_bytes(lines.next().unwrap_or_default()));
        let (top, git_dir, hooks) = (path(), path(), path());
        let inside = project.as_std_path().canonicalize().ok();
        let inside = inside.as_deref().and_then(|project| project.strip_prefix(&top).ok());
        let Some(inside) = inside else {
            return Err(RepoError::Elsewhere { dir: dir(), top: top.display().to_string() });
        };
        let (untouched, project) = (untouched_in(inside), inside.to_owned());
        let mut repo = Self { untouched, project, ..Self::bare(top, git_dir) };
        repo.hooks = Some(Hooks::in_folder(hooks, &repo));
        Ok(repo)
    }

    /// The repository that has its top in this folder, if there is one: a submodule, for instance.
    pub(super) fn inside(top: &Path) -> Option<Self> {
        let git_dir = git_dir_of(top).filter(|git_dir| git_dir.join("HEAD").exists())?;
        Some(Self::bare(top.to_owned(), git_dir))
    }

    /// One in which nothing is known of projects.
    fn bare(top: PathBuf, git_dir: PathBuf) -> Self {
        Self {
            git: Git::at(&top),
            top,
            git_dir,
            project: PathBuf::new(),
            untouched: Vec::new(),
            outputs: Vec::new(),
            overlooked: BTreeSet::new(),
            spared: BTreeSet::new(),
            flags: Flags::default(),
            hooks: None,
        }
    }

    /// The same; these files are not touched either.
    pub(super) fn sparing(&self, files: BTreeSet<PathBuf>) -> Self {
        Self { spared: files, ..self.clone() }
    }

    /// The same; files of the work tree that a process prints into are not touched.
    #[must_use]
    pub fn sparing_outputs_of(mut self, process: u32) -> Self {
        self.outputs = outputs::outputs_in(&self.top, process);
        self
    }

    /// Files of the work tree that a process prints into, relative to its top.
    pub(crate) fn outputs(&self) -> &[PathBuf] {
        &self.outputs
    }

    /// The same; files that git was told to overlook (`--skip-worktree`, `--assume-unchanged`) are
    /// saved with every checkpoint, because no status tells of their changes.
    pub fn minding_overlooked(mut self) -> Result<Self, GitError> {
        self.flags = Flags::read(&self)?;
        self.overlooked = self.flags.files(&self);
        Ok(self)
    }

    /// What the index looks like: where that is the same, nobody told git to overlook anything.
    pub fn index_looks(&self) -> Option<Looks> {
        Looks::of(&self.git_dir.join("index"))
    }

    /// Takes back what git was told to overlook, or to overlook no more, since somebody began to
    /// mind that; names the files.
    pub fn put_back_overlooked(&self) -> Result<Vec<PathBuf>, GitError> {
        flags::put_back(self, &self.flags)
    }

    /// Files that git was told to overlook, if somebody minds them.
    pub fn overlooked(&self) -> &BTreeSet<PathBuf> {
        &self.overlooked
    }

    /// Whether a commit certainly runs none of the user's git hooks.
    pub(crate) fn has_no_hooks(&self) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.are_missing(self))
    }

    /// Git at the top of the work tree.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// The top of the work tree.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The git folder of this work tree.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git folder that all work trees of the repository share.
    pub fn shared_git_dir(&self) -> PathBuf {
        match fs_err::read_to_string(self.git_dir.join("commondir")) {
            Ok(place) => self.git_dir.join(place.trim_end()),
            Err(_) => self.git_dir.clone(),
        }
    }

    /// The settings that all work trees of the repository share.
    pub(super) fn settings_file(&self) -> PathBuf {
        self.shared_git_dir().join("config")
    }

    /// A note of ours in the git folder; none if its path is not UTF-8.
    pub fn own_file(&self, name: &str) -> Option<Utf8PathBuf> {
        Utf8Path::from_path(&self.git_dir).map(|folder| folder.join(name))
    }

    /// The tree without files: what a repository without commits is compared with.
    fn empty_tree(&self) -> Result<String, GitError> {
        self.git.line(&["hash-object", "-t", "tree", "/dev/null"])
    }

    /// What changes are counted against: a commit, or the tree without files where there is none.
    pub(super) fn base(&self, commit: Option<&str>) -> Result<String, GitError> {
        commit.map_or_else(|| self.empty_tree(), |commit| Ok(commit.to_owned()))
    }

    /// The commit that is checked out; none in a repository without commits.
    pub fn head(&self) -> Result<Option<String>, GitError> {
        if let Some(Position { commit: Some(commit), .. }) = Position::of(self) {
            return Ok(Some(commit));
        }
        match self.git.line(&["rev-parse", "--quiet", "--verify", "HEAD"]) {
            Ok(commit) => Ok(Some(commit)),
            Err(error) if error.exit_code() == Some(1) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives up an operation of several steps that was left under way, and names it. The files stay
    /// as they are, so that they can be saved.
    pub fn quit_operation(&self) -> Result<Option<&'static str>, GitError> {
        let mut left = None;
        for (file, name, quit) in GIVING_UP {
            if self.git_dir.join(file).exists() {
                self.git.run(quit)?;
                left = Some(name);
            }
        }
        Ok(left)
    }

    /// Whether a path, relative to the top, belongs to us or to the client's settings, here or in
    /// another project, is a file that we print into, or is spared.
    pub fn is_untouched(&self, path: &Path) -> bool {
        self.untouched.iter().chain(&self.outputs).any(|folder| path.starts_with(folder))
            || self.spared.contains(path)
            || UNTOUCHED.iter().any(|name| self.is_of_another_project(path, name))
    }

    /// Whether a path, relative to the top, is in our folder or the client's, and no file that we
    /// print into.
    pub fn is_in_own_folder(&self, path: &Path) -> bool {
        let is_below = |folder: &PathBuf| path.starts_with(folder);
        self.untouched.iter().any(is_below) && !self.outputs.iter().any(is_below)
    }

    /// Whether a path belongs to the state of another project in this work tree.
    pub(crate) fn is_state_of_another(&self, path: &Path) -> bool {
        self.is_of_another_project(path, PROJECT_MARKER)
    }

    /// Whether a path is in a folder of this name that another project has. Below our own project
    /// such a folder may as well be work, so it counts only if somebody worked with it.
    fn is_of_another_project(&self, path: &Path, name: &str) -> bool {
        let is_named = |folder: &&Path| folder.file_name() == Some(OsStr::new(name));
        let Some(root) = path.ancestors().filter(is_named).last().and_then(Path::parent) else {
            return false;
        };
        let state = self.top.join(root).join(PROJECT_MARKER);
        match root.starts_with(&self.project) {
            _ if root == self.project => false,
            true => is_in_use(&state),
            false => state.is_dir(),
        }
    }

    /// Refuses while a rebase, merge or the like is under way.
    pub fn refuse_if_busy(&self) -> Result<(), RepoError> {
        for (name, operation, abort) in OPERATIONS {
            if self.git_dir.join(name).exists() {
                let top = self.top.display().to_string();
                return Err(RepoError::Busy { operation, abort, top });
            }
        }
        Ok(())
    }
}

/// Whether a text is the name of an object, of either length.
pub(super) fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The git folder of a work tree: in it, or where the file in its place says.
pub(super) fn git_dir_of(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    let metadata = fs_err::metadata(&dot_git).ok()?;
    if !metadata.is_file() {
        return metadata.is_dir().then_some(dot_git);
    }
    let text = fs_err::read(&dot_git).ok()?;
    let place = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    let mut full = top.to_owned();
    for part in Path::new(OsStr::from_bytes(place)).components() {
        match part {
            // By the names alone: what it leads to may have been moved away.
            Component::ParentDir => drop(full.pop()),
            other => full.push(other),
        }
    }
    Some(full)
}

/// Our folders relative to the top of the work tree: those of the project, which may be a folder
/// further down, and those at the top.
fn untouched_in(project: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = UNTOUCHED.iter().map(PathBuf::from).collect();
    folders.extend(UNTOUCHED.iter().map(|name| project.join(name)));
    folders.dedup();
    folders
}
