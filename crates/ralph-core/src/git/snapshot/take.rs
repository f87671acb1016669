//! A snapshot: the whole work tree as a commit under `refs/ralph/`, made without touching index,
//! HEAD or files.
//!
//! The commit's tree is HEAD's tree with every changed and every new file laid over it, byte for
//! byte as they are on disk (no line-ending or other filter in between), so `git diff` and
//! `git show` work on it. Its first parent is HEAD, its last one a *record* commit with what a
//! tree cannot hold: the branch, exact file modes and what was staged.
//! All of it is written by one `git fast-import`, and then read back.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::error::SnapshotError;
use super::garbage;
use super::import::Import;
use super::inventory::{Entry, Inventory, Modes, look_at, parse_modes, render_modes};
use super::record::{SaveAs, SnapshotRecord, VERSION};
use crate::git::contents::contents_at;
use crate::git::error::GitError;
use crate::git::refs::saved_id;
use crate::git::repo::Repo;
use crate::git::staged::Staged;
use crate::git::status::Status;

/// The files of the record commit: the record, exact modes, what is staged, what is meant to be.
const RECORD_FILES: [&str; 4] = ["record.json", "modes", "staged", "intended"];

/// A snapshot must outlast a power cut, because the tree is changed right after it was taken: all of
/// it is written through, whatever the user has set, and as one pack, which takes three waits for the
/// disk however many files there are. `--done` makes a stream that breaks off an error instead of
/// half a snapshot, and without `--force` a ref that exists is never overwritten.
const IMPORT: [&str; 9] = [
    "-c",
    "core.fsync=objects,derived-metadata,reference",
    "-c",
    "core.fsyncMethod=fsync",
    "-c",
    "fastimport.unpackLimit=1",
    "fast-import",
    "--quiet",
    "--done",
];

/// A snapshot that was written or read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The ref that keeps it.
    pub name: String,
    /// The commit.
    pub commit: String,
    /// What the tree cannot hold.
    pub(in crate::git) record: SnapshotRecord,
    /// The files that were taken from disk, with their exact mode; none for a file that was known
    /// to be absent.
    pub(in crate::git) modes: Modes,
    /// What was staged.
    pub(in crate::git) staged: Staged,
    /// What was on disk when it was taken; empty for one that was read back.
    pub(in crate::git) taken: Inventory,
}

/// What a snapshot takes besides what git calls changed.
#[derive(Debug, Default)]
pub(in crate::git) struct Extra {
    /// Files to save as they are on disk, even if git ignores them or thinks them unchanged.
    pub(in crate::git) files: BTreeSet<PathBuf>,
    /// Commits that must stay reachable.
    pub(in crate::git) commits: BTreeSet<String>,
}

impl Snapshot {
    /// Saves the work tree as it is now under the ref `name`.
    pub fn take(repo: &Repo, name: &str, message: &str) -> Result<Self, SnapshotError> {
        let status = Status::read(repo)?;
        let record = SnapshotRecord::of(&status);
        Self::take_with(repo, SaveAs { name, message }, &status, record, Extra::default())
    }

    /// The same, of a status that was read just now, with more than git calls changed.
    pub(in crate::git) fn take_with(
        repo: &Repo,
        save_as: SaveAs<'_>,
        status: &Status,
        record: SnapshotRecord,
        extra: Extra,
    ) -> Result<Self, SnapshotError> {
        repo.refuse_if_busy()?;
        let changed = status.changed.iter().filter(|path| !repo.is_untouched(path));
        let taken = look_at(repo.top(), changed.chain(&extra.files))?;
        let mode = |(path, entry): (&PathBuf, &Option<Entry>)| {
            (path.clone(), entry.map(|entry| entry.mode))
        };
        let modes: Modes = taken.iter().map(mode).collect();
        let (staged, intended) = status.staged.save();
        let text = serde_json::to_vec_pretty(&record).map_err(io::Error::from)?;
        let keep: Vec<&String> =
            extra.commits.iter().filter(|commit| Some(*commit) != status.head.as_ref()).collect();
        let import = Import {
            save_as,
            top: repo.top(),
            head: status.head.as_deref(),
            keep: &keep,
            files: &taken,
            record: RECORD_FILES
                .into_iter()
                .zip([text, render_modes(&modes), staged, intended])
                .collect(),
            objects: status.staged.objects(),
        };
        let commit = write(repo, &import)?;
        let name = save_as.name.to_owned();
        let staged = status.staged.clone();
        let snapshot = Self { name, commit, record, modes, staged, taken };
        if let Err(error) = snapshot.check(repo) {
            // What cannot be read back is no snapshot.
            snapshot.forget(repo)?;
            return Err(error);
        }
        Ok(snapshot)
    }

    /// Reads back all that HEAD does not have, and compares it with its name; that its name and its
    /// content outlast a power cut is waited for as well.
    fn check(&self, repo: &Repo) -> Result<(), SnapshotError> {
        let parents = format!("{}^@", self.commit);
        let list = ["rev-list", "--quiet", "--objects", "--verify-objects", &self.commit, &parents];
        match &self.record.head {
            Some(head) => repo.git().strictly(&[&list[..], &["--not", head]].concat())?,
            None => repo.git().strictly(&list)?,
        };
        let shared = repo.shared_git_dir();
        sync_folder(&shared.join("objects/pack"))?;
        shared.join(&self.name).parent().map_or(Ok(()), sync_folder)?;
        Ok(())
    }

    /// Removes its ref, because nobody needs it any more.
    pub(in crate::git) fn forget(self, repo: &Repo) -> Result<(), GitError> {
        repo.git().run(&["update-ref", "-d", &self.name]).map(drop)
    }

    /// What a person types to get it back.
    pub fn id(&self) -> &str {
        saved_id(&self.name)
    }

    /// Reads a snapshot back by the name of its ref.
    pub fn load(repo: &Repo, name: &str) -> Result<Self, SnapshotError> {
        let foreign = |why: &str| SnapshotError::Foreign { name: name.to_owned(), why: why.into() };
        let git = repo.git();
        let found = git.line(&["rev-parse", "--quiet", "--verify", name]);
        if found.is_err_and(|error| error.exit_code() == Some(1)) {
            return Err(SnapshotError::Gone { name: name.to_owned() });
        }
        let listed = git.line(&["rev-list", "--parents", "--no-walk", name, "--"])?;
        let mut parents = listed.split(' ');
        let commit = parents.next().unwrap_or_default().to_owned();
        let record_commit = parents.next_back().ok_or_else(|| foreign("it has no record"))?;
        let names = RECORD_FILES.map(|file| file.as_bytes().to_vec());
        let mut files = contents_at(repo, record_commit, &names)?;
        let [record, modes, staged, intended] =
            RECORD_FILES.map(|file| files.remove(file.as_bytes()).unwrap_or_default());
        let record: SnapshotRecord =
            serde_json::from_slice(&record).map_err(|error| foreign(&error.to_string()))?;
        if record.version > VERSION {
            return Err(foreign("it was written by a newer version"));
        }
        let modes = parse_modes(&modes).ok_or_else(|| foreign("its list of modes is broken"))?;
        let staged = Staged::load(staged, &intended);
        let taken = Inventory::new();
        Ok(Self { name: name.to_owned(), commit, record, modes, staged, taken })
    }
}

/// Writes it, or leaves nothing behind.
fn write(repo: &Repo, import: &Import<'_>) -> Result<String, GitError> {
    let begun = SystemTime::now();
    let read = |stdout: &mut dyn io::Read| io::read_to_string(stdout);
    let written = repo.git().stream(&IMPORT, |stdin| import.write(stdin), read);
    if written.is_err() {
        garbage::remove_since(repo, begun);
    }
    Ok(written?.trim().to_owned())
}

/// So that the names in a folder outlast a power cut. Where refs are kept in another way, there is no
/// such folder.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match fs_err::File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => opened?.sync_all(),
    }
}
