//! The ignore rules of a tree that is not checked out.
//!
//! Rules decide what a restore may touch: what the target's rules ignore was never part of the
//! target and stays, and what only the present rules hide is new and goes.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::own_rules::OwnRules;
use crate::git::blobs;
use crate::git::command::GitError;
use crate::git::repo::Repo;
use crate::git::restore::diff::{self, Change, Content};
use crate::git::snapshot::take::SnapshotError;

/// The name of the files that hold rules.
pub(in crate::git) const RULES_FILE: &str = ".gitignore";

/// How git is asked which of some paths are ignored, whatever the index says.
const CHECK: [&str; 4] = ["check-ignore", "-z", "--stdin", "--no-index"];

/// Asked for in a folder, to know whether all of the folder is ignored.
const ANYTHING: &str = "ralph-asks";

/// The `.gitignore` files of a tree, laid out in a folder of their own, beside a git folder with the
/// rules that the repository had for itself.
#[derive(Debug)]
pub(in crate::git) struct Rules<'a> {
    repo: &'a Repo,
    folder: PathBuf,
    excludes_file: Option<OsString>,
}

impl<'a> Rules<'a> {
    /// Lays out the rules of a commit's tree and those of the repository itself, which may have been
    /// changed since.
    pub(in crate::git) fn of(
        repo: &'a Repo,
        commit: &str,
        own: &OwnRules,
    ) -> Result<Self, SnapshotError> {
        let folder = repo.git_dir().join(format!("ralph-rules-{}", std::process::id()));
        let excludes_file = own.excludes_file.as_ref().map(|file| named_from(repo.top(), file));
        let rules = Self { repo, folder, excludes_file };
        fs_err::create_dir_all(rules.tree())?;
        // The least that git takes for a repository; it is asked for nothing but rules.
        let git = rules.git_dir();
        ["objects", "refs", "info"].iter().try_for_each(|n| fs_err::create_dir_all(git.join(n)))?;
        fs_err::write(git.join("HEAD"), "ref: refs/heads/none\n")?;
        fs_err::write(git.join("info/exclude"), own.exclude.as_deref().unwrap_or_default())?;
        let files: Vec<Change> = diff::all_of(repo.git(), commit)?
            .into_iter()
            .filter(|file| holds_rules(&file.path) && matches!(file.to, Content::File { .. }))
            .collect();
        let files: Vec<&Change> = files.iter().collect();
        blobs::read(repo, &files, |file, content| rules.lay_out(&file.path, content))?;
        Ok(rules)
    }

    /// Adds rules that no commit holds as they are on disk: those of a folder that hides itself.
    pub(in crate::git) fn add_from_disk<'p>(
        &self,
        paths: impl Iterator<Item = &'p PathBuf>,
    ) -> io::Result<()> {
        for path in paths {
            // One that cannot be read hides nothing from git either.
            if let Ok(content) = fs_err::read(self.repo.top().join(path)) {
                self.lay_out(path, &content)?;
            }
        }
        Ok(())
    }

    fn lay_out(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let path = self.tree().join(path);
        path.parent().map_or(Ok(()), fs_err::create_dir_all)?;
        fs_err::write(path, content)
    }

    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    fn git_dir(&self) -> PathBuf {
        self.folder.join("git")
    }

    /// Those of the paths that these rules and the user's ignore.
    pub(in crate::git) fn ignored<'p>(
        &self,
        paths: impl Iterator<Item = &'p PathBuf>,
    ) -> Result<BTreeSet<PathBuf>, GitError> {
        let names = joined(paths);
        if names.is_empty() {
            return Ok(BTreeSet::new());
        }
        let (tree, git_dir) = (self.tree(), self.git_dir());
        let option = |name: &str, value: &OsStr| [OsStr::new(name), value].join(OsStr::new(""));
        let mut args = vec![
            option("--git-dir=", git_dir.as_os_str()),
            option("--work-tree=", tree.as_os_str()),
        ];
        if let Some(file) = &self.excludes_file {
            args.extend(["-c".into(), option("core.excludesFile=", file)]);
        }
        args.extend(CHECK.map(OsString::from));
        answered(self.repo.git().within(&tree).feed(&args, &names))
    }
}

/// Those of the paths that the rules now in place ignore, though they need not be there.
pub(in crate::git) fn those_ignored(
    repo: &Repo,
    paths: &[PathBuf],
) -> Result<BTreeSet<PathBuf>, GitError> {
    let names = joined(paths.iter());
    if names.is_empty() {
        return Ok(BTreeSet::new());
    }
    answered(repo.git().feed(&CHECK, &names))
}

/// Each ended by NUL, as git reads names.
pub(in crate::git) fn joined<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Vec<u8> {
    let mut names = Vec::new();
    for path in paths {
        names.extend_from_slice(path.as_os_str().as_bytes());
        names.push(0);
    }
    names
}

fn answered(answer: Result<Vec<u8>, GitError>) -> Result<BTreeSet<PathBuf>, GitError> {
    match answer {
        Ok(ignored) => Ok(paths_in(&ignored).collect()),
        // Exit code 1: none of them is ignored.
        Err(error) if error.exit_code() == Some(1) => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

impl Drop for Rules<'_> {
    fn drop(&mut self) {
        let _ = fs_err::remove_dir_all(&self.folder);
    }
}

/// Git takes a relative name for one in the folder that it was started in.
fn named_from(top: &Path, file: &str) -> OsString {
    if file.starts_with('~') { file.into() } else { top.join(file).into_os_string() }
}

/// Whether a path is one of the files that hold rules.
pub(in crate::git) fn holds_rules(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new(RULES_FILE))
}

const IGNORED: [&str; 6] =
    ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--full-name"];

/// The files on disk that the rules now in place ignore.
pub(in crate::git) fn ignored_now(repo: &Repo) -> Result<Vec<PathBuf>, GitError> {
    Ok(paths_in(&repo.git().run(&IGNORED)?).collect())
}

/// Repositories inside this one that only the present rules hide: those of a commit's tree do not.
pub(in crate::git) fn hidden_repositories(
    repo: &Repo,
    commit: &str,
    own: &OwnRules,
) -> Result<Vec<PathBuf>, SnapshotError> {
    let output = repo.git().run(&IGNORED)?;
    let folders = output.split(|byte| *byte == 0).filter_map(|name| name.strip_suffix(b"/"));
    let now: Vec<PathBuf> = folders.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
    // Asked for something in them: where the rules are laid out they are no folders.
    let inside: Vec<PathBuf> = now.iter().map(|path| path.join("x")).collect();
    let stay = Rules::of(repo, commit, own)?.ignored(inside.iter())?;
    Ok(now.into_iter().filter(|path| !stay.contains(&path.join("x"))).collect())
}

/// Those of the folders around some paths that are ignored as a whole, the outermost of them: one
/// stands for thousands of files then. `ask` tells which of some paths are ignored.
pub(in crate::git) fn whole_folders(
    paths: &BTreeSet<PathBuf>,
    ask: impl Fn(&[PathBuf]) -> Result<BTreeSet<PathBuf>, GitError>,
) -> Result<BTreeSet<PathBuf>, GitError> {
    let folders: BTreeSet<&Path> = paths
        .iter()
        .flat_map(|path| path.ancestors().skip(1))
        .filter(|folder| folder.parent().is_some())
        .collect();
    let inside: Vec<PathBuf> = folders.iter().map(|folder| folder.join(ANYTHING)).collect();
    let all: BTreeSet<PathBuf> =
        ask(&inside)?.iter().filter_map(|path| Some(path.parent()?.to_owned())).collect();
    let is_outermost =
        |folder: &&PathBuf| !folder.ancestors().skip(1).any(|outer| all.contains(outer));
    Ok(all.iter().filter(is_outermost).cloned().collect())
}

/// Paths that are each ended by NUL; a folder that is a repository of its own is passed over.
pub(in crate::git) fn paths_in(output: &[u8]) -> impl Iterator<Item = PathBuf> {
    let names = output.split(|byte| *byte == 0);
    names
        .filter(|name| !name.is_empty() && !name.ends_with(b"/"))
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
}
