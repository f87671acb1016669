//! A snapshot: the whole work tree as a commit under `refs/ralph/`, made without touching index,
//! HEAD or files.
//!
//! The commit's tree is HEAD's tree with every changed and every new file laid over it, byte for
//! byte as they are on disk (no line-ending or other filter in between), so `git diff` and
//! `git show` work on it. Its first parent is HEAD, its last one a *record* commit with what a
//! tree cannot hold: the branch, exact file modes and, if anything was staged, the index file.
//! All of it is written by one `git fast-import`. Where nothing is changed, `clean.rs` does without.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::access::OpenedFolders;
use super::clean;
use super::import::Import;
use super::index::RawIndex;
use super::inventory::{Inventory, Modes, parse_modes, render_modes};
use super::ledger;
use crate::git::command::GitError;
use crate::git::ignore::own_rules::OwnRules;
use crate::git::position::Position;
use crate::git::repo::{Repo, RepoError};
use crate::git::restore::diff;
use crate::git::restore::nested::{self, Inner};
use crate::git::restore::procedure::SaveAs;
use crate::git::status::Status;

/// The version of the record's format.
const VERSION: u32 = 1;

/// The files of the record commit.
const RECORD_FILE: &str = "record.json";
const MODES_FILE: &str = "modes";
const INDEX_FILE: &str = "index";

/// A snapshot must outlast a power cut, because the tree is changed right after it was taken.
/// `--done` makes a stream that breaks off an error instead of half a snapshot, and without
/// `--force` a ref that exists is never overwritten.
const IMPORT: [&str; 7] = [
    "-c",
    "core.fsync=objects,reference",
    "-c",
    "core.fsyncMethod=batch",
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
    pub record: Record,
    /// The files that were taken from disk, with their exact mode; none for a file that was known
    /// to be absent.
    pub modes: BTreeMap<PathBuf, Option<u32>>,
}

/// What a tree cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this format.
    pub version: u32,
    /// The commit that was checked out.
    pub head: Option<String>,
    /// The branch that was checked out; none if HEAD was detached.
    pub branch: Option<String>,
    /// When the index file was last written, if it is part of the record.
    pub index_time: Option<(i64, u32)>,
    /// Submodules and inner repositories that were left alone, for messages.
    pub left_alone: Vec<String>,
    /// Repositories inside that can be returned to their state.
    #[serde(default)]
    pub inner: BTreeMap<String, Inner>,
    /// The loop's run that made it; only that loop's sessions may be rolled back to it.
    #[serde(default)]
    pub run: Option<String>,
    /// Branches that were not checked out and were moved afterwards, with their tips; none for a
    /// branch that was not there.
    #[serde(default)]
    pub branches: BTreeMap<String, Option<String>>,
    /// The commit whose files took the place of these, for showing the difference.
    #[serde(default)]
    pub replaced_by: Option<String>,
    /// Where HEAD was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_at: Option<Position>,
    /// Whose files took the place of these, if it was no commit that did: those of an attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub laid_over: Option<LaidOver>,
    /// The ignore rules of the repository itself (`info/exclude`), if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_rules: Option<String>,
    /// Where the repository's own settings looked for further rules (`core.excludesFile`), empty if
    /// nowhere; none if neither this nor the rules of the repository itself are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excludes_file: Option<String>,
    /// The plan, if the snapshot is a draft of it and of nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
}

/// The files of an attempt that an undo laid over others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaidOver {
    /// What the attempt began with.
    pub from: String,
    /// The attempt.
    pub to: String,
}

impl Record {
    /// The ignore rules of the repository itself as they were; as they are now where that is not
    /// known.
    pub(in crate::git) fn own_rules(&self, repo: &Repo) -> OwnRules {
        let exclude = self.own_rules.clone();
        match &self.excludes_file {
            Some(file) => {
                OwnRules { exclude, excludes_file: Some(file.clone()).filter(|f| !f.is_empty()) }
            }
            None => {
                let now = OwnRules::read(repo);
                OwnRules { exclude: exclude.or(now.exclude), excludes_file: now.excludes_file }
            }
        }
    }
}

/// Why a snapshot could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The repository is not usable now.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A bare commit is not in the history of what is checked out: to return to it would move a
    /// branch that has nothing to do with it.
    #[error(
        "the checkpoint {commit} is not in the history of {branch}, so nothing was rolled back"
    )]
    Elsewhere {
        /// The commit.
        commit: String,
        /// What is checked out.
        branch: String,
    },
    /// A file could not be read.
    #[error("could not save the work tree: {0}; nothing was changed")]
    Io(#[from] io::Error),
    /// Neither the ref is there, nor the commit that it held.
    #[error(
        "{name} was removed, and the commit that it held cannot be found; what only it held is lost"
    )]
    Gone {
        /// The ref.
        name: String,
    },
    /// The ref is there, but it is not one of our snapshots.
    #[error("{name} is not a snapshot that this version can read ({why}); it was left as it is")]
    Foreign {
        /// The ref.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What to take besides what git calls changed.
#[derive(Debug, Default)]
pub(in crate::git) struct Extra {
    /// Files to save as they are on disk, even if git ignores them or thinks them unchanged.
    pub(in crate::git) files: BTreeSet<PathBuf>,
    /// Commits that must stay reachable.
    pub(in crate::git) commits: Vec<String>,
    /// The loop's run that asks for it.
    pub(in crate::git) run: Option<String>,
    /// Branches that are about to be moved, with their tips.
    pub(in crate::git) branches: BTreeMap<String, Option<String>>,
    /// The commit whose files are about to take the place of these.
    pub(in crate::git) replaced_by: Option<String>,
    /// Where HEAD will be then.
    pub(in crate::git) left_at: Option<Position>,
    /// The attempt whose files are about to be laid over these.
    pub(in crate::git) laid_over: Option<LaidOver>,
    /// Keep the index file although nothing is staged.
    pub(in crate::git) with_index: bool,
    /// What is known of the repositories inside.
    pub(in crate::git) inner: BTreeMap<String, Inner>,
    /// Those of them that are left alone.
    pub(in crate::git) left_alone: Vec<String>,
    /// The plan, if it alone is to be saved.
    pub(in crate::git) draft: Option<String>,
}

impl Snapshot {
    /// Saves the work tree as it is now under the ref `name`.
    pub fn take(repo: &Repo, name: &str, message: &str) -> Result<Self, SnapshotError> {
        Self::take_of(repo, name, message, &Status::read(repo)?, None)
    }

    /// The same, of a status that was read just now; for a run of the loop, whose sessions alone
    /// may be rolled back to it.
    pub(in crate::git) fn take_of(
        repo: &Repo,
        name: &str,
        message: &str,
        status: &Status,
        run: Option<&str>,
    ) -> Result<Self, SnapshotError> {
        repo.refuse_if_busy()?;
        let extra = Extra {
            run: run.map(str::to_owned),
            inner: nested::at_checkpoint(repo, status)?,
            left_alone: nested::names(&status.nested),
            files: repo.overlooked().clone(),
            ..Extra::default()
        };
        Self::take_with(repo, name, message, status, &extra)
    }

    /// The same, with more than git calls changed.
    pub(in crate::git) fn take_with(
        repo: &Repo,
        name: &str,
        message: &str,
        status: &Status,
        extra: &Extra,
    ) -> Result<Self, SnapshotError> {
        let index = if status.staged || extra.with_index { RawIndex::read(repo)? } else { None };
        let changed = status.changed.iter().filter(|path| !repo.is_untouched(path));
        let paths = changed.chain(extra.files.iter());
        let _opened = OpenedFolders::around(repo.top(), paths.clone());
        let files = Inventory::take(repo.top(), paths)?;
        let modes = files.modes();
        let own = OwnRules::read(repo);
        let record = Record {
            version: VERSION,
            head: status.head.clone(),
            branch: status.branch.clone(),
            index_time: index.as_ref().map(|index| index.time),
            left_alone: extra.left_alone.clone(),
            inner: extra.inner.clone(),
            run: extra.run.clone(),
            branches: extra.branches.clone(),
            replaced_by: extra.replaced_by.clone(),
            left_at: extra.left_at.clone(),
            laid_over: extra.laid_over.clone(),
            own_rules: own.exclude,
            excludes_file: Some(own.excludes_file.unwrap_or_default()),
            draft: extra.draft.clone(),
        };
        let import = Import {
            name,
            message,
            top: repo.top(),
            head: status.head.as_deref(),
            keep: &extra.commits,
            files: &files,
            stored: &[],
            record: index.map(|index| (INDEX_FILE, index.content)).into_iter().collect(),
            objects: &status.staged_objects,
        };
        Self::write(repo, import, record, modes)
    }

    /// A part of a snapshot as one of its own: of all that was uncommitted, these paths alone, laid
    /// over the commit `head`.
    pub(in crate::git) fn part_of(
        &self,
        repo: &Repo,
        save_as: SaveAs<'_>,
        paths: &[PathBuf],
        head: Option<&str>,
    ) -> Result<Self, SnapshotError> {
        let SaveAs { name, message } = save_as;
        let base = repo.base(head)?;
        let mut stored = diff::between(repo.git(), &base, &self.commit)?;
        stored.retain(|change| paths.contains(&change.path));
        let mut modes = self.modes.clone();
        modes.retain(|path, _| paths.contains(path));
        let mut record = Self::of_commit(&base, self.record.branch.clone()).record;
        record.head = head.map(str::to_owned);
        record.replaced_by = head.map(str::to_owned);
        let import = Import {
            name,
            message,
            top: repo.top(),
            head,
            keep: &[],
            files: &Inventory::default(),
            stored: &stored,
            record: Vec::new(),
            objects: &[],
        };
        Self::write(repo, import, record, modes)
    }

    fn write(
        repo: &Repo,
        mut import: Import<'_>,
        record: Record,
        modes: Modes,
    ) -> Result<Self, SnapshotError> {
        let text = serde_json::to_vec_pretty(&record).map_err(io::Error::from)?;
        import.record.extend([(RECORD_FILE, text), (MODES_FILE, render_modes(&modes))]);
        let commit = repo.git().stream(&IMPORT, |stdin| import.write(stdin), read_text)?;
        let commit = commit.trim().to_owned();
        ledger::note(repo, import.name, &commit);
        Ok(Self { name: import.name.to_owned(), commit, record, modes })
    }

    /// Removes its ref, because nobody needs it any more.
    pub(in crate::git) fn forget(self, repo: &Repo) -> Result<(), GitError> {
        ledger::forget(repo, &self.name);
        repo.git().run(&["update-ref", "-d", &self.name]).map(drop)
    }

    /// What a person types to get it back.
    pub fn id(&self) -> &str {
        saved_id(&self.name)
    }

    /// Stands for a commit on a branch with nothing uncommitted; there is no ref of it.
    pub(in crate::git) fn of_commit(commit: &str, branch: Option<String>) -> Self {
        let record = Record {
            version: VERSION,
            head: Some(commit.to_owned()),
            branch,
            index_time: None,
            left_alone: Vec::new(),
            inner: BTreeMap::new(),
            run: None,
            branches: BTreeMap::new(),
            replaced_by: None,
            left_at: None,
            laid_over: None,
            own_rules: None,
            excludes_file: None,
            draft: None,
        };
        Self { name: String::new(), commit: commit.to_owned(), record, modes: BTreeMap::new() }
    }

    /// Reads a snapshot back by the name of its ref, which is made again if somebody removed it.
    pub fn load(repo: &Repo, name: &str) -> Result<Self, SnapshotError> {
        let foreign = |why: &str| SnapshotError::Foreign { name: name.to_owned(), why: why.into() };
        let git = repo.git();
        let list = || git.line(&["rev-list", "--parents", "--no-walk", name, "--"]);
        let listed = match list() {
            Err(_) if is_gone(repo, name) => {
                let gone = || SnapshotError::Gone { name: name.to_owned() };
                ledger::put_back(repo, name).then(list).ok_or_else(gone)??
            }
            other => other?,
        };
        let mut parents = listed.split(' ');
        let commit = parents.next().unwrap_or_default().to_owned();
        if let Some(snapshot) = clean::parse(name, &commit) {
            return Ok(snapshot);
        }
        let record_commit = parents.next_back().ok_or_else(|| foreign("it has no record"))?;
        let record = git.run(&["cat-file", "blob", &format!("{record_commit}:{RECORD_FILE}")])?;
        let record: Record =
            serde_json::from_slice(&record).map_err(|error| foreign(&error.to_string()))?;
        if record.version > VERSION {
            return Err(foreign("it was written by a newer version"));
        }
        let modes = git.run(&["cat-file", "blob", &format!("{record_commit}:{MODES_FILE}")])?;
        let modes = parse_modes(&modes).ok_or_else(|| foreign("its list of modes is broken"))?;
        Ok(Self { name: name.to_owned(), commit, record, modes })
    }

    /// The index as it was, if anything was staged.
    pub(in crate::git) fn index(&self, repo: &Repo) -> Result<Option<RawIndex>, SnapshotError> {
        let Some(time) = self.record.index_time else { return Ok(None) };
        let parents = repo.git().line(&["rev-parse", &format!("{}^@", self.commit)])?;
        let record_commit = parents.lines().last().unwrap_or_default();
        let content =
            repo.git().run(&["cat-file", "blob", &format!("{record_commit}:{INDEX_FILE}")])?;
        Ok(Some(RawIndex { content, time }))
    }
}

/// What a person types to get back what a ref keeps: the last part of its name.
pub fn saved_id(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn is_gone(repo: &Repo, name: &str) -> bool {
    let found = repo.git().run(&["rev-parse", "--quiet", "--verify", name]);
    found.is_err_and(|error| error.exit_code() == Some(1))
}

fn read_text(mut stdout: impl io::Read) -> io::Result<String> {
    let mut text = String::new();
    stdout.read_to_string(&mut text)?;
    Ok(text)
}
