//! A snapshot: the whole work tree as a commit under `refs/ralph/`, made without touching index,
//! HEAD or files.
//!
//! The commit's tree is HEAD's tree with every changed and every new file laid over it, byte for
//! byte as they are on disk (no line-ending or other filter in between), so `git diff` and
//! `git show` work on it. Its first parent is HEAD, its last one a commit of the index. What a
//! tree cannot hold stands in its message.

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

/// A snapshot must outlast a power cut, because the tree is changed right after it was taken: all of
/// it is written through, whatever the user has set, and as one pack, which takes three waits for the
/// disk however many files there are. `--done` makes a stream that breaks off an error instead of
/// half a snapshot, and without `--force` a ref that exists is never overwritten.
const IMPORT: &str = "\
    -c core.fsync=objects,derived-metadata,reference -c core.fsyncMethod=fsync -c \
    fastimport.unpackLimit=1 fast-import --quiet --done";

/// A snapshot that was written or read back, or a bare commit to return to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The ref that keeps it; for a bare commit its id.
    pub name: String,
    /// The commit.
    pub commit: String,
    /// The commit of what was staged.
    pub(super) index: String,
    pub(super) record: Record,
}

/// What a tree cannot hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The commit that was checked out.
    pub(super) head: Option<String>,
    /// The branch that was checked out; none if HEAD was detached.
    pub(super) branch: Option<String>,
    /// The permission bits of the files that were taken from disk, as far as their names are text.
    pub(super) modes: BTreeMap<String, u32>,
    /// The loop's run that made it; only that loop's sessions may be rolled back to it.
    pub(super) run: Option<String>,
    /// The commit whose files took the place of these, and others that must stay reachable.
    pub(super) replaced_by: Vec<String>,
}

impl Snapshot {
    /// A commit that another loop wrote down: tracked files and HEAD go back to it. Which new files
    /// are the user's cannot be known, so files that git does not track stay.
    pub(super) fn bare(commit: &str) -> Self {
        let record = Record { head: Some(commit.to_owned()), ..Record::default() };
        let [name, commit, index] = [commit; 3].map(str::to_owned);
        Self { name, commit, index, record }
    }

    pub(super) fn is_bare(&self) -> bool {
        self.name == self.commit
    }

    /// The loop's run that made it, if one did.
    pub fn run(&self) -> Option<&str> {
        self.record.run.as_deref()
    }

    /// Saves the tree, of which the status was read just now: HEAD's, with what is on disk wherever the
    /// status says changed. What that was is returned as well.
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
        let read = |stdout: &mut dyn io::Read| io::read_to_string(stdout);
        let begun = SystemTime::now();
        let args: Vec<&str> = IMPORT.split(' ').collect();
        let streamed = repo.git().stream(&args, |stdin| import.write(stdin), read);
        let (printed, _) = streamed.inspect_err(|_| remove_since(repo, begun))?;
        let mut ids = printed.lines().map(str::to_owned);
        let (index, commit) = (ids.next().unwrap_or_default(), ids.next().unwrap_or_default());
        // That its name and its content outlast a power cut is waited for as well.
        let shared = repo.shared_git_dir();
        sync_folder(&shared.join("objects/pack"))?;
        shared.join(name).parent().map_or(Ok(()), sync_folder)?;
        Ok((Self { name: name.to_owned(), commit, index, record }, taken))
    }

    /// A commit with the files of a folder as they are, whatever git's filters would make of them, over
    /// those of another one. `paths` are those that may differ, from the top. Names what cannot be read, and
    /// is left as it was committed.
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

    /// Reads back all that HEAD does not have, before anything is removed because it is saved. What
    /// cannot be read is no snapshot, and forgotten.
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

    /// Removes its ref, because nobody needs it any more.
    pub(super) fn forget(&self, repo: &Repo) -> Result<(), GitError> {
        repo.git().run(&["update-ref", "-d", &self.name]).map(drop)
    }

    /// Reads a snapshot back by the name of its ref.
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

    /// The files that were taken from disk: those in which it differs from the commit that was
    /// checked out.
    pub(super) fn uncommitted(&self, repo: &Repo) -> Result<Vec<Change>, GitError> {
        diff::between(repo.git(), &repo.base(self.record.head.as_deref())?, &self.commit)
    }
}

/// So that the names in a folder outlast a power cut. Where refs are kept in another way, there is no
/// such folder.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match fs_err::File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => opened?.sync_all(),
    }
}

/// The clock of files lags behind.
const LAG: Duration = Duration::from_millis(20);

/// Removes what was left since an instant and what no process has open: it may belong to another
/// git. Where the system does not tell who has what open, `git gc` removes it some day.
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

/// Where everything is kept that is ours.
pub(super) const OWN: &str = "refs/ralph/";

/// Where the snapshots of checkpoints are.
pub(super) const CHECKPOINTS: &str = "refs/ralph/checkpoint/";

/// Where discarded attempts are kept; nothing ever removes them but the user.
pub(super) const DISCARDED: &str = "refs/ralph/discarded/";

/// What a person types to get back what a ref keeps: the last part of its name.
pub fn saved_id(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
