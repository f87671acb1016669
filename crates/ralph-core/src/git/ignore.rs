//! The ignore rules of a tree that is not checked out.
//!
//! Rules decide what a restore may touch: what the target's rules ignore was never part of the
//! target and stays, and what only the present rules hide is new and goes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::blobs;
use super::command::GitError;
use super::diff::{self, Change, Content};
use super::repo::Repo;
use super::snapshot::SnapshotError;

/// The name of the files that hold rules.
const RULES_FILE: &str = ".gitignore";

/// The `.gitignore` files of a tree, laid out in a folder of their own.
#[derive(Debug)]
pub(super) struct Rules<'a> {
    repo: &'a Repo,
    folder: PathBuf,
}

impl<'a> Rules<'a> {
    /// Lays out the rules of a commit's tree. Those that the repository has for itself may have been
    /// changed since; as they were (`own`), they come first, so that all others prevail over them.
    pub(super) fn of(
        repo: &'a Repo,
        commit: &str,
        own: Option<&str>,
    ) -> Result<Self, SnapshotError> {
        let folder = repo.git_dir().join(format!("ralph-rules-{}", std::process::id()));
        fs_err::create_dir_all(&folder)?;
        let rules = Self { repo, folder };
        let own = own.map(|own| format!("{own}\n")).unwrap_or_default();
        fs_err::write(rules.folder.join(RULES_FILE), &own)?;
        let files: Vec<Change> = diff::all_of(repo.git(), commit)?
            .into_iter()
            .filter(|file| holds_rules(&file.path) && matches!(file.to, Content::File { .. }))
            .collect();
        let files: Vec<&Change> = files.iter().collect();
        blobs::read(repo, &files, |file, content| {
            let path = rules.folder.join(&file.path);
            path.parent().map_or(Ok(()), fs_err::create_dir_all)?;
            let first = if file.path == Path::new(RULES_FILE) { own.as_str() } else { "" };
            fs_err::write(path, [first.as_bytes(), content].concat())
        })?;
        Ok(rules)
    }

    /// Those of the paths that these rules, the repository's own and the user's ignore.
    pub(super) fn ignored<'p>(
        &self,
        paths: impl Iterator<Item = &'p PathBuf>,
    ) -> Result<BTreeSet<PathBuf>, GitError> {
        let mut names = Vec::new();
        for path in paths {
            names.extend_from_slice(path.as_os_str().as_bytes());
            names.push(0);
        }
        if names.is_empty() {
            return Ok(BTreeSet::new());
        }
        let work_tree = [OsStr::new("--work-tree="), self.folder.as_os_str()].join(OsStr::new(""));
        let git_dir =
            [OsStr::new("--git-dir="), self.repo.git_dir().as_os_str()].join(OsStr::new(""));
        let check = ["check-ignore", "-z", "--stdin", "--no-index"].map(OsStr::new);
        let args = [&[git_dir.as_os_str(), work_tree.as_os_str()], &check[..]].concat();
        match self.repo.git().within(&self.folder).feed(&args, &names) {
            Ok(ignored) => Ok(paths_in(&ignored).collect()),
            // Exit code 1: none of them is ignored.
            Err(error) if error.exit_code() == Some(1) => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Rules<'_> {
    fn drop(&mut self) {
        let _ = fs_err::remove_dir_all(&self.folder);
    }
}

/// Whether a path is one of the files that hold rules.
pub(super) fn holds_rules(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new(RULES_FILE))
}

const IGNORED: [&str; 6] =
    ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--full-name"];

/// The files on disk that the rules now in place ignore.
pub(super) fn ignored_now(repo: &Repo) -> Result<Vec<PathBuf>, GitError> {
    Ok(paths_in(&repo.git().run(&IGNORED)?).collect())
}

/// Repositories inside this one that only the present rules hide: those of a commit's tree do not.
pub(super) fn hidden_repositories(
    repo: &Repo,
    commit: &str,
    own: Option<&str>,
) -> Result<Vec<PathBuf>, SnapshotError> {
    let output = repo.git().run(&IGNORED)?;
    let folders = output.split(|byte| *byte == 0).filter_map(|name| name.strip_suffix(b"/"));
    let now: Vec<PathBuf> = folders.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
    // Asked for something in them: where the rules are laid out they are no folders.
    let inside: Vec<PathBuf> = now.iter().map(|path| path.join("x")).collect();
    let stay = Rules::of(repo, commit, own)?.ignored(inside.iter())?;
    Ok(now.into_iter().filter(|path| !stay.contains(&path.join("x"))).collect())
}

/// Paths that are each ended by NUL; a folder that is a repository of its own is passed over.
pub(super) fn paths_in(output: &[u8]) -> impl Iterator<Item = PathBuf> {
    let names = output.split(|byte| *byte == 0);
    names
        .filter(|name| !name.is_empty() && !name.ends_with(b"/"))
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
}
