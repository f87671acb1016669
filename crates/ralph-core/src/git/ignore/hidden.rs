//! Files that only new ignore rules hide: those of an attempt that wrote them into a `.gitignore`,
//! into the repository's own rules, or into a `.gitignore` that hides itself.
//!
//! A rollback takes such files away with the rest, and a commit leaves them out, of which somebody
//! should know.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::own_rules::{self, OwnRules};
use super::rules::{self, Rules};
use crate::git::command::GitError;
use crate::git::repo::Repo;
use crate::git::snapshot::take::SnapshotError;
use crate::git::snapshot::target::Target;
use crate::state::StateDir;

/// The time of a file's last change of any kind, which nobody can set by hand.
type Instant = (i64, i64);

/// Whether other rules than those of the target may count now, where these files are `written`.
pub(in crate::git) fn are_rules_other<'p>(
    repo: &Repo,
    target: &Target,
    mut written: impl Iterator<Item = &'p PathBuf>,
) -> Result<bool, GitError> {
    Ok(written.any(|path| rules::holds_rules(path))
        || target.own_rules(repo) != OwnRules::read(repo)
        || has_rules_that_hide_themselves(repo, target)?)
}

/// Whether a folder with files in git has got rules that are not in git. Elsewhere such rules hide
/// nothing but their own folder, as the caches of many tools do.
fn has_rules_that_hide_themselves(repo: &Repo, target: &Target) -> Result<bool, GitError> {
    let Some(saved_at) = target.saved_at() else { return Ok(false) };
    let listed = repo.git().run(&["ls-files", "-z", "--full-name"])?;
    let tracked: BTreeSet<PathBuf> = rules::paths_in(&listed).collect();
    let folders: BTreeSet<&Path> = tracked.iter().filter_map(|path| path.parent()).collect();
    let mut rules = folders.into_iter().map(|folder| folder.join(rules::RULES_FILE));
    Ok(rules.any(|path| {
        !tracked.contains(&path) && !repo.is_untouched(&path) && is_since(repo, &path, saved_at)
    }))
}

/// Files that are ignored now and were not there when the target was saved: its rules do not
/// ignore them, so it would have held them.
pub(in crate::git) fn hidden(repo: &Repo, target: &Target) -> Result<Vec<PathBuf>, SnapshotError> {
    let now = rules::ignored_now(repo)?;
    let stay = rules_of(repo, target, &now)?.ignored(now.iter())?;
    Ok(now.into_iter().filter(|path| !stay.contains(path)).collect())
}

/// The target's rules, with those that are on disk since before it and hide themselves.
fn rules_of<'r>(
    repo: &'r Repo,
    target: &Target,
    ignored: &[PathBuf],
) -> Result<Rules<'r>, SnapshotError> {
    let rules = Rules::of(repo, target.tree(), &target.own_rules(repo))?;
    if let Some(saved_at) = target.saved_at() {
        let is_old = |path: &&PathBuf| rules::holds_rules(path) && !is_since(repo, path, saved_at);
        rules.add_from_disk(ignored.iter().filter(is_old))?;
    }
    Ok(rules)
}

/// Whether a file is there that was changed after an instant. The clock of files lags behind.
fn is_since(repo: &Repo, path: &Path, instant: Timestamp) -> bool {
    let lag = jiff::SignedDuration::from_millis(10);
    let instant = instant.checked_sub(lag).unwrap_or(instant);
    let instant = (instant.as_second(), i64::from(instant.subsec_nanosecond()));
    changed_at(repo, path).is_some_and(|changed| changed >= instant)
}

fn changed_at(repo: &Repo, path: &Path) -> Option<Instant> {
    let found = fs_err::symlink_metadata(repo.top().join(path)).ok()?;
    Some((found.ctime(), found.ctime_nsec()))
}

/// Whether an attempt that began at an instant and changed these files changed ignore rules.
pub(crate) fn are_rules_changed(repo: &Repo, files: &[PathBuf], began: Instant) -> bool {
    let folders: BTreeSet<&Path> =
        files.iter().flat_map(|path| path.ancestors().skip(1)).chain([Path::new("")]).collect();
    let is_new = |folder: &Path| {
        changed_at(repo, &folder.join(rules::RULES_FILE)).is_some_and(|changed| changed >= began)
    };
    files.iter().any(|path| rules::holds_rules(path))
        || own_rules::changed_since(repo, began)
        || folders.into_iter().any(is_new)
}

/// Whether ignore rules may have changed since the checkpoint though no file did. Starts no git.
pub fn may_have_new_rules(repo: &Repo, state: &StateDir) -> bool {
    fs_err::metadata(state.checkpoint())
        .is_ok_and(|written| are_rules_changed(repo, &[], (written.ctime(), written.ctime_nsec())))
}

/// New files that only rules made since an instant hide, so that no commit holds them; a folder
/// that is ignored as a whole stands for all that is in it.
pub(crate) fn hidden_since(
    repo: &Repo,
    target: &Target,
    began: Instant,
) -> Result<Vec<PathBuf>, SnapshotError> {
    let now = rules::ignored_now(repo)?;
    let stay = rules_of(repo, target, &now)?.ignored(now.iter())?;
    let is_new = |path: &PathBuf| changed_at(repo, path).is_some_and(|changed| changed >= began);
    let mut found: BTreeSet<PathBuf> = now
        .into_iter()
        .filter(|path| !stay.contains(path) && !repo.is_untouched(path) && is_new(path))
        .collect();
    let whole = rules::whole_folders(&found, |paths| rules::those_ignored(repo, paths))?;
    found.retain(|path| !path.ancestors().any(|folder| whole.contains(folder)));
    found.extend(whole.into_iter().map(|folder| folder.join("")));
    Ok(found.into_iter().collect())
}
