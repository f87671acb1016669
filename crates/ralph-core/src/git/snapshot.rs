//! A snapshot: the whole work tree as a commit under `refs/ralph/`, made without touching index,
//! HEAD or files.
//!
//! The commit's tree is HEAD's tree with all changed and new files on top, byte for byte as on disk
//! (without line-ending or other filters), so `git diff` and `git show` work on it. Its first
//! parent is HEAD, the last one a commit of the index. Its message records what a tree cannot hold.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_base::linux;
use ralph_base::state::stamp;
use serde::{Deserialize, Serialize};

use super::diff::{self, Change};
use super::files::{Entry, Inventory, inventory};
use super::import::Import;
use super::{Git, GitError, Repo, SnapshotError, Status};

/// A snapshot must survive a power cut, because the tree is changed right after it was taken: it is
/// synced to disk despite the user's settings, and as one pack, which takes three syncs for any
/// number of files. `--done` makes a truncated stream an error, and without `--force` an existing
/// ref is never overwritten.
const IMPORT: &str = "\
    -c core.fsync=objects,derived-metadata,reference -c core.fsyncMethod=fsync -c \
    fastimport.unpackLimit=1 fast-import --quiet --done";

/// A snapshot that was written or loaded, or a bare commit to return to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The ref of the snapshot; for a bare commit, its id.
    pub name: String,
    /// The commit.
    pub commit: String,
    /// The commit of the index.
    pub(super) index: String,
    pub(super) record: Record,
}

/// Metadata that a tree cannot hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The checked-out commit.
    pub(super) head: Option<String>,
    /// The checked-out branch; `None` if HEAD was detached.
    pub(super) branch: Option<String>,
    /// The permission bits of the files taken from disk whose names are UTF-8.
    pub(super) modes: BTreeMap<String, u32>,
    /// The run of the loop that made it; only that loop's sessions may be rolled back to it.
    pub(super) run: Option<String>,
    /// The commit that replaced these files, and others that must stay reachable.
    pub(super) replaced_by: Vec<String>,
}

impl Snapshot {
    /// Creates the target for a commit recorded by another loop: tracked files and HEAD return to
    /// it. The commit does not show which new files are the user's, so all untracked files stay.
    pub(super) fn bare(commit: &str) -> Self {
        let record = Record { head: Some(commit.to_owned()), ..Record::default() };
        let [name, commit, index] = [commit; 3].map(str::to_owned);
        Self { name, commit, index, record }
    }

    pub(super) fn is_bare(&self) -> bool {
        self.name == self.commit
    }

    /// Returns the run of the loop that made it, if any.
    pub fn run(&self) -> Option<&str> {
        self.record.run.as_deref()
    }

    /// Saves the tree: HEAD's tree, with the files on disk wherever the given status, just read,
    /// says changed. Also returns the state of those files.
    pub(super) fn save(
        repo: &Repo,
        name: &str,
        subject: &str,
        status: &Status,
        record: Record,
    ) -> Result<(Self, Inventory), SnapshotError> {
        repo.refuse_if_busy()?;
        let paths = status.changed.iter().filter(|path| !repo.is_untouched(path));
        let (taken, _) = inventory(repo.top(), paths.cloned());
        let mode = |(path, entry): (&PathBuf, &Option<Entry>)| {
            Some((path.to_str()?.to_owned(), entry.as_ref()?.mode))
        };
        let record = Record {
            head: status.head.clone(),
            branch: status.branch.clone(),
            modes: taken.iter().filter_map(mode).collect(),
            ..record
        };
        let text = serde_json::to_string(&record).map_err(io::Error::from)?;
        let import = Import {
            name,
            message: &format!("{subject}\n\n{text}\n"),
            top: repo.top(),
            head: status.head.as_deref(),
            keep: &record.replaced_by,
            files: &taken,
            staged: &status.staged,
        };
        let read = |stdout: &mut (dyn io::Read + Send)| io::read_to_string(stdout);
        let begun = SystemTime::now();
        let args: Vec<&str> = IMPORT.split(' ').collect();
        let streamed = repo.git().stream(&args, |stdin| import.write(stdin), read);
        let (printed, _) = streamed.inspect_err(|_| remove_since(repo, begun))?;
        let mut ids = printed.lines().map(str::to_owned);
        let (index, commit) = (ids.next().unwrap_or_default(), ids.next().unwrap_or_default());
        // Also sync the folders, so that the pack and the ref survive a power cut.
        let shared = repo.shared_git_dir();
        sync_folder(&shared.join("objects/pack"))?;
        shared.join(name).parent().map_or(Ok(()), sync_folder)?;
        Ok((Self { name: name.to_owned(), commit, index, record }, taken))
    }

    /// Creates a commit with the files of a folder byte for byte, without git's filters, on top of
    /// `head`. `paths` are the files that may differ, relative to `top`. Also returns the
    /// unreadable files, which stay as committed.
    pub fn as_is(
        git: &Git,
        top: &Path,
        head: Option<&str>,
        paths: impl IntoIterator<Item = PathBuf>,
    ) -> Result<(String, Vec<PathBuf>), SnapshotError> {
        let (files, unreadable) = inventory(top, paths);
        let name = &format!("{OWN}as-it-is/{}", stamp());
        let import = Import {
            name,
            message: "files as they are",
            top,
            head,
            keep: &[],
            files: &files,
            staged: &[],
        };
        let args: Vec<&str> = IMPORT.split(' ').collect();
        git.stream(&args, |stdin| import.write(stdin), |stdout| io::read_to_string(stdout))?;
        let commit = git.line(&["rev-parse", name])?;
        git.run(&["update-ref", "-d", name])?;
        Ok((commit, unreadable))
    }

    /// Verifies all objects that HEAD does not have, before any saved file is removed. A snapshot
    /// that cannot be read is forgotten.
    pub(super) fn read_back(&self, repo: &Repo) -> Result<(), GitError> {
        let mut list =
            vec!["rev-list", "--quiet", "--objects", "--verify-objects", self.commit.as_str()];
        if let Some(head) = &self.record.head {
            list.extend(["--not", head]);
        }
        if let Err(error) = repo.git().strictly(&list) {
            self.forget(repo)?;
            return Err(error);
        }
        Ok(())
    }

    /// Deletes the ref of a snapshot that is no longer needed.
    pub(super) fn forget(&self, repo: &Repo) -> Result<(), GitError> {
        repo.git().run(&["update-ref", "-d", &self.name]).map(drop)
    }

    /// Loads a snapshot by the name of its ref.
    pub fn load(repo: &Repo, name: &str) -> Result<Self, SnapshotError> {
        let name = name.to_owned();
        let Some(commit) = repo.resolve(&name)? else {
            return Err(SnapshotError::Gone(name));
        };
        let text = repo.git().line(&["cat-file", "commit", &name])?;
        let (headers, message) = text.split_once("\n\n").unwrap_or_default();
        let (_, record) = message.rsplit_once("\n\n").unwrap_or_default();
        let Ok(record) = serde_json::from_str::<Record>(record) else {
            let why = format!("{name} is not a snapshot that this version of ralph can read");
            return Err(SnapshotError::Refused(why));
        };
        let mut parents = headers.lines().filter_map(|line| line.strip_prefix("parent "));
        let index = parents.next_back().unwrap_or_default().to_owned();
        Ok(Self { name, commit, index, record })
    }

    /// Returns the files that were taken from disk, that is, those that differ from the checked-out
    /// commit.
    pub(super) fn uncommitted(&self, repo: &Repo) -> Result<Vec<Change>, GitError> {
        diff::between(repo.git(), &repo.base(self.record.head.as_deref())?, &self.commit)
    }
}

/// Syncs a folder, so that its entries survive a power cut. With another ref storage there is no
/// such folder.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match fs_err::File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => opened?.sync_all(),
    }
}

/// File timestamps may lag behind the clock.
const LAG: Duration = Duration::from_millis(20);

/// Removes temporary files left since `begun`, unless a process has them open: they may belong to
/// another git. Where open files cannot be listed, `git gc` removes them some day.
fn remove_since(repo: &Repo, begun: SystemTime) {
    let packs = repo.shared_git_dir().join("objects/pack");
    let places = [(packs, "tmp_"), (repo.git_dir().to_owned(), "fast_import_crash_")];
    let since = begun.checked_sub(LAG).unwrap_or(begun);
    let mut left: Vec<PathBuf> = Vec::new();
    for (folder, start) in places {
        for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
            let is_new =
                entry.metadata().and_then(|found| found.modified()).is_ok_and(|at| at >= since);
            if is_new && entry.file_name().as_encoded_bytes().starts_with(start.as_bytes()) {
                left.push(entry.path());
            }
        }
    }
    let Some(processes) = linux::processes() else { return };
    let is_left = |path: &PathBuf| left.contains(path);
    if !processes.iter().any(|process| linux::open_files(process.pid).iter().any(is_left)) {
        for path in left {
            let _ = fs_err::remove_file(path);
        }
    }
}

/// The namespace of all our refs.
pub(super) const OWN: &str = "refs/ralph/";

/// The namespace of checkpoint snapshots.
pub(super) const CHECKPOINTS: &str = "refs/ralph/checkpoint/";

/// The namespace of discarded attempts; only the user ever removes them.
pub(super) const DISCARDED: &str = "refs/ralph/discarded/";

/// Returns the id that a person types to restore a ref's content: the last part of its name.
pub fn saved_id(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
