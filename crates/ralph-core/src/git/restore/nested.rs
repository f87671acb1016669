//! Repositories inside this one, submodules and those that an attempt made: returned to a saved
//! state together with it.
//!
//! A submodule is a repository like this one, so it is restored in the same way: what is there is
//! saved in it, under the same ref. A repository that the target does not know is moved into the
//! git folder as it is, and an undo moves it back. What had work of its own when the target was
//! saved is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::diff::{Change, Content};
use super::moved::{self, Part};
use super::procedure::{RestoreError, SaveAs, restore};
use crate::fault;
use crate::git::command::GitError;
use crate::git::ignore::own_rules::OwnRules;
use crate::git::ignore::rules;
use crate::git::position::Position;
use crate::git::repo::Repo;
use crate::git::snapshot::take::{Record, Snapshot, SnapshotError};
use crate::git::snapshot::target::Target;
use crate::git::status::Status;

/// Where git notes which submodules there are.
const SUBMODULES_FILE: &str = ".gitmodules";

/// What a snapshot knows of a repository inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inner {
    /// A submodule without work of its own, at the commit that the tree names, on this branch.
    Clean {
        /// The branch; none if HEAD was detached.
        branch: Option<String>,
    },
    /// A submodule whose state is saved in it, under the name of the snapshot.
    Saved,
    /// A repository that was moved into the git folder.
    Moved,
    /// A submodule that is not there.
    Absent,
}

/// Whether the project says that it has submodules.
pub(in crate::git) fn has_submodules(repo: &Repo) -> bool {
    repo.top().join(SUBMODULES_FILE).is_file()
}

/// The submodules at the time of a checkpoint, but for those that have work of their own. Where
/// nobody uses submodules this costs one look at a file.
pub(in crate::git) fn at_checkpoint(
    repo: &Repo,
    status: &Status,
) -> Result<BTreeMap<String, Inner>, GitError> {
    if !has_submodules(repo) {
        return Ok(BTreeMap::new());
    }
    let listed = repo.git().run(&["ls-files", "--stage", "-z"])?;
    let listed = String::from_utf8_lossy(&listed);
    let links = listed.split('\0').filter(|entry| entry.starts_with("160000 "));
    let paths = links.filter_map(|entry| Some(entry.split_once('\t')?.1));
    let has_work: BTreeSet<&Path> = status.nested.iter().map(PathBuf::as_path).collect();
    let clean = paths.filter(|path| !has_work.contains(Path::new(path))).filter_map(|path| {
        let inner = Repo::inside(&repo.top().join(path))?;
        inner.refuse_if_busy().ok()?;
        Some((path.to_owned(), Inner::Clean { branch: Position::of(&inner)?.branch }))
    });
    Ok(clean.collect())
}

/// What is to become of the repositories inside.
#[derive(Debug, Default)]
pub(in crate::git) struct Nested {
    /// The target does not know them, or not that they are there.
    away: Vec<(String, Part)>,
    /// Submodules, and their state in the target.
    returned: Vec<(String, Wanted)>,
    /// Moved when the target was saved.
    back: Vec<String>,
    /// Not touched, for messages.
    pub(in crate::git) left_alone: Vec<String>,
}

/// Repositories that are there now, of those that are to be returned.
fn is_there(repo: &Repo, path: &str) -> bool {
    Repo::inside(&repo.top().join(path)).is_some()
}

/// A submodule's state in the target.
#[derive(Debug)]
enum Wanted {
    /// What was saved in it.
    Saved,
    /// A commit and nothing else; on a branch, detached, or on whatever branch it is now.
    Commit { commit: String, branch: Option<Option<String>> },
}

impl Nested {
    /// Looks at what differs from the target. `committed` is what differs between the commits.
    pub(in crate::git) fn plan(
        repo: &Repo,
        target: &Target,
        status: &Status,
        committed: &[Change],
    ) -> Result<Self, SnapshotError> {
        let Target::Snapshot(snapshot) = target else {
            return Ok(Self { left_alone: names(&status.nested), ..Self::default() });
        };
        let record = &snapshot.record;
        let mut seen: BTreeSet<PathBuf> = status.nested.iter().map(|path| bare(path)).collect();
        seen.extend(in_commits(repo, committed));
        let own = record.own_rules(repo);
        if status.changed.iter().any(|path| rules::holds_rules(path))
            || committed.iter().any(|change| rules::holds_rules(&change.path))
            || own != OwnRules::read(repo)
        {
            seen.extend(rules::hidden_repositories(repo, &snapshot.commit, &own)?);
        }
        seen.extend(
            record
                .inner
                .iter()
                .filter(|(path, inner)| is_other(repo, path, inner))
                .map(|(path, _)| PathBuf::from(path)),
        );
        let alone: BTreeSet<PathBuf> =
            record.left_alone.iter().map(|path| bare(Path::new(path))).collect();
        let (alone, seen): (Vec<PathBuf>, Vec<PathBuf>) = seen
            .into_iter()
            .filter(|path| !repo.is_untouched(path))
            .partition(|path| alone.contains(path) || path.to_str().is_none());
        let mut nested = Self { left_alone: names(&alone), ..Self::default() };
        if seen.is_empty() {
            return Ok(nested);
        }
        let links = links_in(repo, &snapshot.commit, &seen)?;
        for path in names(&seen) {
            nested.decide(repo, record, links.get(&path), path)?;
        }
        Ok(nested)
    }

    fn decide(
        &mut self,
        repo: &Repo,
        record: &Record,
        link: Option<&String>,
        path: String,
    ) -> Result<(), SnapshotError> {
        let inner = Repo::inside(&repo.top().join(&path));
        match (record.inner.get(&path), link) {
            (Some(Inner::Saved), _) => {
                inner.map_or(Ok(()), |inner| inner.refuse_if_busy())?;
                self.returned.push((path, Wanted::Saved));
            }
            (Some(Inner::Moved), _) => {
                if inner.is_some() {
                    self.away.push((path.clone(), Part::All));
                }
                self.back.push(path);
            }
            // What git keeps of a submodule without a folder stays where it is.
            (Some(Inner::Absent), _) => {
                self.away.extend(inner.map(|_| (path, Part::Tree)));
            }
            (known, Some(commit)) => {
                let branch = match known {
                    Some(Inner::Clean { branch }) => Some(branch.clone()),
                    _ => None,
                };
                self.returned.push((path, Wanted::Commit { commit: commit.clone(), branch }));
            }
            (_, None) => self.away.extend(inner.map(|_| (path, Part::All))),
        }
        Ok(())
    }

    /// The repositories that are not as they were.
    pub(in crate::git) fn changed(&self) -> impl Iterator<Item = PathBuf> {
        let returned = self.returned.iter().map(|(path, _)| path);
        let away = self.away.iter().map(|(path, _)| path);
        away.chain(returned).chain(&self.back).map(PathBuf::from)
    }

    /// What a snapshot of the present state notes, so that it can be returned to.
    pub(in crate::git) fn record(&self, repo: &Repo) -> BTreeMap<String, Inner> {
        let moved = self.away.iter().map(|(path, _)| (path.clone(), Inner::Moved));
        let saved = self.returned.iter().map(|(path, _)| match is_there(repo, path) {
            true => (path.clone(), Inner::Saved),
            false => (path.clone(), Inner::Absent),
        });
        moved.chain(saved).collect()
    }

    /// Before the files of this repository: makes way for them, and returns the submodules that are
    /// there.
    pub(in crate::git) fn take_away(
        &mut self,
        repo: &Repo,
        target: &Target,
        save_as: SaveAs<'_>,
    ) -> Result<(), SnapshotError> {
        for (path, part) in std::mem::take(&mut self.away) {
            match moved::keep(repo, save_as.name, &path, part) {
                // Nothing is lost where it is, and the user is told.
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    self.left_alone.push(path);
                }
                other => other?,
            }
            fault::point("nested.moved");
        }
        for (path, wanted) in std::mem::take(&mut self.returned) {
            match Repo::inside(&repo.top().join(&path)) {
                Some(inner) => self.return_one(&inner, &path, &wanted, (target, save_as))?,
                None => self.returned.push((path, wanted)),
            }
        }
        Ok(())
    }

    /// After the files, HEAD and index of this repository: what was missing comes back.
    pub(in crate::git) fn bring_back(
        &mut self,
        repo: &Repo,
        target: &Target,
        save_as: SaveAs<'_>,
    ) -> Result<(), SnapshotError> {
        for path in std::mem::take(&mut self.back) {
            if !moved::put_back(repo, target.name(), &path)? {
                self.left_alone.push(path);
            }
        }
        for (path, wanted) in std::mem::take(&mut self.returned) {
            make_folder(&repo.top().join(&path))?;
            let was_there = !matches!(wanted, Wanted::Commit { branch: None, .. });
            match was_there.then(|| populated(repo, &path)) {
                None => {}
                Some(Some(inner)) => self.return_one(&inner, &path, &wanted, (target, save_as))?,
                Some(None) => self.left_alone.push(path),
            }
            fault::point("nested.brought-back");
        }
        Ok(())
    }

    fn return_one(
        &mut self,
        inner: &Repo,
        path: &str,
        wanted: &Wanted,
        (target, save_as): (&Target, SaveAs<'_>),
    ) -> Result<(), SnapshotError> {
        let known = match wanted {
            Wanted::Saved => inner.git().line(&["rev-parse", "--verify", "-q", target.name()]),
            Wanted::Commit { commit, .. } => {
                inner.git().line(&["rev-parse", "--verify", "-q", &format!("{commit}^{{commit}}")])
            }
        };
        if known.is_err() {
            self.left_alone.push(path.to_owned());
            return Ok(());
        }
        let inner_target = match wanted {
            Wanted::Saved => Target::load(inner, target.name())?,
            Wanted::Commit { commit, branch } => {
                inner.quit_operation()?;
                let now = Status::read(inner)?;
                let branch = branch.clone().unwrap_or_else(|| now.branch.clone());
                let is_there = now.head.as_ref() == Some(commit)
                    && now.branch == branch
                    && now.changed.is_empty()
                    && now.nested.is_empty()
                    && !now.staged;
                if is_there {
                    return Ok(());
                }
                Target::Snapshot(Box::new(Snapshot::of_commit(commit, branch)))
            }
        };
        let restored = restore(inner, &inner_target, save_as).map_err(as_of_inner)?;
        self.left_alone
            .extend(restored.left_alone.into_iter().map(|name| format!("{path}/{name}")));
        fault::point("nested.returned");
        Ok(())
    }
}

/// The failure belongs to the restore around it, which names what it saved.
fn as_of_inner(error: RestoreError) -> SnapshotError {
    match error {
        RestoreError::Save(error) => error,
        RestoreError::Git { source, .. } => source.into(),
        RestoreError::Io { source, .. } => source.into(),
    }
}

/// Whether a repository that the target knows is not as it was, as far as it can be seen at once.
fn is_other(repo: &Repo, path: &str, inner: &Inner) -> bool {
    match inner {
        Inner::Saved | Inner::Moved => true,
        Inner::Absent => is_there(repo, path),
        Inner::Clean { branch } => {
            let now = Repo::inside(&repo.top().join(path)).and_then(|inner| Position::of(&inner));
            let now = now.map(|now| now.branch);
            now.as_ref() != Some(branch)
        }
    }
}

/// Submodules that commits changed, and those that only the present commit has.
fn in_commits(repo: &Repo, committed: &[Change]) -> Vec<PathBuf> {
    let concerns = |change: &&Change| match change.to {
        Content::Submodule => true,
        Content::Absent => repo.top().join(&change.path).join(".git").exists(),
        _ => false,
    };
    committed.iter().filter(concerns).map(|change| change.path.clone()).collect()
}

/// The commits of those paths that are submodules in a tree.
fn links_in(
    repo: &Repo,
    tree: &str,
    paths: &[PathBuf],
) -> Result<BTreeMap<String, String>, GitError> {
    let args = ["ls-tree", "--full-tree", "-z", tree, "--"].map(OsStr::new);
    let args: Vec<&OsStr> = args.into_iter().chain(paths.iter().map(|p| p.as_os_str())).collect();
    let listed = repo.git().run(&args)?;
    // `160000 commit <object>\t<path>`
    let links = listed.split(|byte| *byte == 0).filter_map(|entry| {
        let entry = std::str::from_utf8(entry).ok()?.strip_prefix("160000 commit ")?;
        let (commit, path) = entry.split_once('\t')?;
        Some((path.to_owned(), commit.to_owned()))
    });
    Ok(links.collect())
}

/// A submodule that is not checked out has an empty folder.
fn make_folder(full: &Path) -> io::Result<()> {
    if full.is_symlink() || full.is_file() {
        // It was saved as a file of this repository.
        fs_err::remove_file(full)?;
    }
    fs_err::create_dir_all(full)
}

/// A submodule whose folder was removed is checked out anew from what git keeps of it, without
/// any network; none if git keeps nothing of it.
fn populated(repo: &Repo, path: &str) -> Option<Repo> {
    let update = ["-c", "protocol.allow=never", "submodule", "--quiet", "update", "--init"];
    let args = [&update[..], &["--no-fetch", "--", path]].concat();
    repo.git().run(&args).ok()?;
    Repo::inside(&repo.top().join(path))
}

/// Without the slash that marks a folder.
fn bare(path: &Path) -> PathBuf {
    path.components().collect()
}

/// For messages and records.
pub(in crate::git) fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}
