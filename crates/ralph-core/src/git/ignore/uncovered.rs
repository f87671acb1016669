//! Files that ignore rules hid, and that other rules would show: a secret among them must not
//! become part of a commit because somebody changed a `.gitignore`.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::own_rules::{self, OwnRules};
use super::rules::{self, Rules};
use crate::git::command::GitError;
use crate::git::repo::Repo;
use crate::git::snapshot::take::SnapshotError;
use crate::git::snapshot::target::Target;
use crate::git::status::Status;

/// What is ignored now and would not be with the rules of the commit that is checked out: what the
/// uncommitted ones among `changed` hide. Costs nothing where no rules are among them.
pub fn uncovered_without(repo: &Repo, changed: &[PathBuf]) -> Result<Vec<PathBuf>, SnapshotError> {
    if !changed.iter().any(|path| rules::holds_rules(path)) {
        return Ok(Vec::new());
    }
    let head = repo.base(repo.head()?.as_deref())?;
    let own = OwnRules::read(repo);
    let now = rules::ignored_now(repo)?;
    let rules = Rules::of(repo, &head, &own)?;
    // Those that hide themselves are in no commit, and stay where they are.
    rules.add_from_disk(now.iter().filter(|path| rules::holds_rules(path)))?;
    let stay = rules.ignored(now.iter())?;
    let mut found: Vec<PathBuf> = now.into_iter().filter(|path| !stay.contains(path)).collect();
    found.extend(rules::hidden_repositories(repo, &head, &own)?);
    found.retain(|path| !repo.is_untouched(path));
    Ok(found)
}

/// Those of the files that are older than an instant and that the rules of the target ignore. The
/// time that counts is that of the last change of any kind, which nobody can set by hand.
pub(crate) fn uncovered_since(
    repo: &Repo,
    target: &Target,
    began: (i64, i64),
    files: &[PathBuf],
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let is_older = |path: &&PathBuf| {
        fs_err::symlink_metadata(repo.top().join(path))
            .is_ok_and(|found| (found.ctime(), found.ctime_nsec()) < began)
    };
    let old: Vec<&PathBuf> = files.iter().filter(is_older).collect();
    if old.is_empty() {
        return Ok(BTreeSet::new());
    }
    Ok(Rules::of(repo, target.tree(), &target.own_rules(repo))?.ignored(old.into_iter())?)
}

/// Has git ignore such files again, by rules of the repository itself, and takes them out of the
/// index. Returns the state of the tree afterwards: rules of a commit may still show them.
pub(crate) fn cover_again(
    repo: &Repo,
    target: &Target,
    uncovered: &BTreeSet<PathBuf>,
    status: &Status,
    why: &str,
) -> Result<Status, SnapshotError> {
    let whole = whole_folders(repo, target, uncovered, status)?;
    let is_in_one = |path: &&PathBuf| !path.ancestors().any(|folder| whole.contains(folder));
    let mut paths: Vec<PathBuf> = uncovered.iter().filter(is_in_one).cloned().collect();
    paths.extend(whole.iter().map(|folder| folder.join("")));
    own_rules::add(repo, why, &paths)?;
    if status.staged {
        let names = rules::joined(uncovered.iter());
        repo.git().feed(&["update-index", "--force-remove", "-z", "--stdin"], &names)?;
    }
    Ok(Status::read(repo)?)
}

/// Folders that were ignored as a whole and in which nothing is new.
fn whole_folders(
    repo: &Repo,
    target: &Target,
    uncovered: &BTreeSet<PathBuf>,
    status: &Status,
) -> Result<BTreeSet<PathBuf>, GitError> {
    let fresh = status.new.iter().filter(|path| !uncovered.contains(*path));
    let mixed: BTreeSet<&Path> = fresh.flat_map(|path| path.ancestors().skip(1)).collect();
    let rules = Rules::of(repo, target.tree(), &target.own_rules(repo));
    let Ok(rules) = rules else { return Ok(BTreeSet::new()) };
    rules::whole_folders(uncovered, |inside| {
        let is_whole = |path: &&PathBuf| path.parent().is_some_and(|p| !mixed.contains(p));
        rules.ignored(inside.iter().filter(is_whole))
    })
}
