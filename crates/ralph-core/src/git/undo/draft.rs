//! Drafts: a plan that planning wrote and that was not taken, kept as discarded attempts are.
//!
//! A plan lies where no rollback looks, so the record of a draft names its file, and to bring it
//! back is to write that one file. Nothing else of the work tree is saved or touched.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use camino::Utf8Path;

use crate::git::repo::Repo;
use crate::git::restore::procedure::{RestoreError, Restored};
use crate::git::rollback::{Discarded, RollbackError, new_name};
use crate::git::snapshot::take::{Extra, Snapshot, SnapshotError};
use crate::git::status::Status;
use crate::secrets::mask;
use crate::state::{self, Id};

/// What the names of drafts end with.
const NAME: &str = "plan";

/// Keeps the plan as it is on disk, so that [`undo`](crate::git::undo()) can bring it back; none if it is
/// no file of this work tree.
pub fn keep_draft(
    repo: &Repo,
    plan: &Utf8Path,
    why: &str,
) -> Result<Option<Snapshot>, SnapshotError> {
    let real = plan.as_std_path().canonicalize().ok().filter(|real| real.is_file());
    let inside = real.as_deref().and_then(|real| real.strip_prefix(repo.top()).ok());
    inside.map(|inside| take(repo, inside, why)).transpose()
}

fn take(repo: &Repo, inside: &Path, why: &str) -> Result<Snapshot, SnapshotError> {
    let path = inside.to_str().ok_or_else(|| io::Error::other("the plan's path is not UTF-8"))?;
    let now = Status::read(repo)?;
    let extra = Extra {
        files: BTreeSet::from([inside.to_owned()]),
        draft: Some(path.to_owned()),
        ..Extra::default()
    };
    let only_head = Status { head: now.head, branch: now.branch, ..Status::default() };
    let story = Id::parse(NAME).ok();
    let subject = mask(why.lines().next().unwrap_or_default());
    let message: String = subject.chars().take(200).collect();
    Snapshot::take_with(repo, &new_name(story.as_ref()), &message, &only_head, &extra)
}

/// Writes the plan that a draft holds; the one that is there now becomes a draft in turn.
pub(in crate::git) fn bring_back(
    repo: &Repo,
    found: &Discarded,
    draft: &Snapshot,
    path: &str,
) -> Result<Restored, RollbackError> {
    let inside = PathBuf::from(path);
    let full = repo.top().join(&inside);
    let was_absent = draft.modes.get(&inside).is_some_and(Option::is_none);
    let wanted = match was_absent {
        true => None,
        false => {
            Some(repo.git().run(&["cat-file", "blob", &format!("{}:{path}", draft.commit)])?)
        }
    };
    if fs_err::read(&full).ok() == wanted {
        return Err(RollbackError::NothingMissing { id: found.id.clone() });
    }
    let saved =
        take(repo, &inside, &format!("undo of {}", found.id)).map_err(RestoreError::from)?;
    let written = match (wanted, Utf8Path::from_path(&full)) {
        (Some(content), Some(full)) => state::replace_users(full, &content),
        (Some(_), None) => Err(io::Error::other(format!("{} is not UTF-8", full.display()))),
        (None, _) => fs_err::remove_file(&full),
    };
    written.map_err(|source| RestoreError::Io { source, saved_as: saved.name.clone() })?;
    Ok(Restored {
        saved,
        touched: vec![inside],
        left_alone: Vec::new(),
        overwritten: Vec::new(),
        as_files: false,
    })
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;
    use crate::git::undo;
    use crate::state::StateDir;

    const PLAN: &str = ".ralph/PRD-1/plan.md";

    #[test]
    fn a_draft_comes_back_and_what_it_replaces_is_kept_in_turn() {
        let test = TestRepo::new();
        let (repo, state) = (Repo::open(test.root()).unwrap(), StateDir::of_project(test.root()));
        let plan = test.root().join(PLAN);
        test.write(PLAN, "draft\n");
        test.write("a.txt", "mine, and uncommitted\n");
        let draft = keep_draft(&repo, &plan, "not wanted").unwrap().unwrap();
        test.write(PLAN, "plan\n");
        let id = |name: &str| name.rsplit('/').next().unwrap().to_owned();
        let undone = undo(&repo, &state, &id(&draft.name)).unwrap();
        assert_eq!(fs_err::read_to_string(&plan).unwrap(), "draft\n");
        assert_eq!(undone.touched, [PathBuf::from(PLAN)]);
        let again = undo(&repo, &state, &id(&draft.name)).unwrap_err();
        assert!(matches!(again, RollbackError::NothingMissing { .. }));
        undo(&repo, &state, &id(&undone.saved.name)).unwrap();
        assert_eq!(fs_err::read_to_string(&plan).unwrap(), "plan\n");
        let mine = fs_err::read_to_string(test.root().join("a.txt")).unwrap();
        assert_eq!(mine, "mine, and uncommitted\n", "a draft is the plan alone");
    }

    #[test]
    fn a_plan_that_was_not_there_goes_again() {
        let test = TestRepo::new();
        let (repo, state) = (Repo::open(test.root()).unwrap(), StateDir::of_project(test.root()));
        let plan = test.root().join(PLAN);
        assert_eq!(keep_draft(&repo, &plan, "none").unwrap(), None);
        test.write(PLAN, "draft\n");
        let draft = keep_draft(&repo, &plan, "not wanted").unwrap().unwrap();
        fs_err::remove_file(&plan).unwrap();
        let undone = undo(&repo, &state, draft.name.rsplit('/').next().unwrap()).unwrap();
        assert!(plan.exists());
        undo(&repo, &state, undone.saved.name.rsplit('/').next().unwrap()).unwrap();
        assert!(!plan.exists());
    }
}
