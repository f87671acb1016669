//! `--allow-dirty`: the user's uncommitted work is kept aside while the loop runs, and restored
//! file by file.
//!
//! It is saved as a snapshot before anything is touched, and that snapshot is never removed, so
//! nothing is lost whatever happens in between. Clearing and restoring can both be interrupted
//! and begun again.

mod stamp;
mod version;

use std::path::{Path, PathBuf};

use ralph_core::fault;
use ralph_core::git::{
    self, GitError, OpenedFolders, Repo, SaveAs, Snapshot, SnapshotError, Status, Target,
};

use self::stamp::Stamp;
use self::version::{Version, Workshop};
use crate::exit::Failure;

/// Where the work is kept.
pub(crate) const REFS: &str = "refs/ralph/aside";

/// Stands in the names of refs that hold what was there before the work came back.
const BEFORE: &str = "-before-";

/// Whether a ref is none of work that was kept aside, but of what was there before it came back.
pub(crate) fn is_safety_copy(name: &str) -> bool {
    name.contains(BEFORE)
}

/// What a person types to get the work of a ref back.
pub(crate) fn id_of(name: &str) -> &str {
    name.strip_prefix("refs/ralph/").unwrap_or(name)
}

/// What became of the user's files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Restored {
    /// Files that are as the user left them, or merged without conflict.
    pub(crate) back: usize,
    /// Files that both the user and the loop changed; the user's version is in the snapshot.
    pub(crate) conflicts: Vec<Conflict>,
    /// What keeps the user's version of them for `ralph-loop undo`.
    pub(crate) kept: Option<Snapshot>,
    /// Files that could not be written, and why; another time they may.
    pub(crate) failed: Vec<String>,
}

/// A file that both the user and the loop changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) path: PathBuf,
    /// Whether the user had removed it.
    pub(crate) is_removal: bool,
}

/// The work that was saved: its files, as they were on disk just before.
pub(crate) struct Saved(Vec<(PathBuf, Option<Stamp>)>);

/// Saves the work under the ref `name`; the tree is not touched yet.
pub(crate) fn save(repo: &Repo, name: &str) -> Result<Saved, Failure> {
    let changed = Status::read(repo)?.changed;
    let stamped = changed.into_iter().map(|path| {
        let stamp = Stamp::of(&repo.top().join(&path));
        (path, stamp)
    });
    let mut saved = Saved(stamped.collect());
    Snapshot::take(repo, name, "uncommitted work, kept aside")?;
    // To read a file that its owner may not read leaves a trace.
    for (path, stamp) in &mut saved.0 {
        let full = repo.top().join(path);
        if stamp.is_some_and(|stamp| stamp.is_closed()) {
            *stamp = Stamp::of(&full).filter(|now| stamp.is_some_and(|was| was.is_same_file(now)));
        }
    }
    Ok(saved)
}

/// Takes the saved work out of the tree, but for the files that `keep` names and for what somebody
/// has written since it was saved.
pub(crate) fn clear(
    repo: &Repo,
    saved: &Saved,
    keep: &dyn Fn(&Path) -> bool,
) -> Result<(), Failure> {
    git::unstage_all(repo)?;
    fault::point("aside.unstaged");
    let head = repo.head()?;
    let workshop = Workshop::open(repo);
    let _opened = OpenedFolders::around(repo.top(), saved.0.iter().map(|(path, _)| path));
    let is_theirs = |(path, stamp): &&(PathBuf, Option<Stamp>)| {
        !keep(path) && Stamp::of(&repo.top().join(path)) == *stamp
    };
    let mut theirs: Vec<&(PathBuf, Option<Stamp>)> = saved.0.iter().filter(is_theirs).collect();
    // How git writes a file is to be what the commit says, not what the user is about to.
    theirs.sort_by_key(|(path, _)| !path.ends_with(".gitattributes"));
    // What the user made goes first: it may stand where the commit has a folder, or a file.
    let mut committed = Vec::new();
    for (path, stamp) in theirs {
        match &head {
            Some(head) if version::is_in(repo, head, path)? => committed.push((head, path, stamp)),
            _ if is_still(&workshop, path, stamp.as_ref())? => {
                workshop.clear(path, &Version::Absent)?;
            }
            _ => {}
        }
    }
    for (head, path, stamp) in committed {
        let version = Version::checked_out(repo, head, path)?;
        if is_still(&workshop, path, stamp.as_ref())? {
            workshop.clear(path, &version)?;
        }
    }
    Ok(())
}

/// Asked just before a file is cleared, because to ask git takes time in which somebody may write.
/// What we cleared before leaves its traces: another name of the same file is gone, or a folder has
/// become empty.
fn is_still(workshop: &Workshop<'_>, path: &Path, stamp: Option<&Stamp>) -> Result<bool, Failure> {
    let now = Stamp::of(&workshop.repo.top().join(path));
    Ok(match (stamp, &now) {
        (None, None) => true,
        (Some(was), Some(now)) if was.is_folder() && now.is_folder() => {
            workshop.on_disk(path)? == Version::Absent
        }
        (Some(was), Some(now)) => was.is_same_file(now),
        _ => false,
    })
}

/// Puts the work back.
pub(crate) fn restore(
    repo: &Repo,
    name: &str,
    keep: &dyn Fn(&Path) -> bool,
) -> Result<Restored, Failure> {
    let snapshot = Snapshot::load(repo, name)?;
    let status = Status::read(repo)?;
    let clean = status.changed.iter().all(|path| keep(path));
    if clean && status.head == snapshot.record.head {
        // Nothing happened meanwhile, so all of it comes back, what was staged included.
        let back = snapshot.modes.len();
        let saved_as = format!("{name}{BEFORE}{}", std::process::id());
        let save_as = SaveAs { name: &saved_as, message: "before uncommitted work came back" };
        git::restore(repo, &Target::Snapshot(Box::new(snapshot)), save_as)?;
        return Ok(Restored { back, ..Restored::default() });
    }
    let workshop = Workshop::open(repo);
    let mut restored = Restored::default();
    let _opened = OpenedFolders::around(repo.top(), snapshot.modes.keys());
    // What the user removed goes first: a file may stand where the commit has a folder.
    let (mut removed, mut written) = (Vec::new(), Vec::new());
    for (path, mode) in snapshot.modes.iter().filter(|(path, _)| !keep(path)) {
        let is_written = version::is_in(repo, &snapshot.commit, path)?;
        (if is_written { &mut written } else { &mut removed }).push((path, mode));
    }
    for (path, mode) in removed.into_iter().chain(written) {
        // One file that cannot be written must not keep the others away.
        match restore_file(&workshop, &snapshot, path, *mode) {
            Ok(true) => restored.back += 1,
            Ok(false) => {
                let is_removal = mode.is_none();
                restored.conflicts.push(Conflict { path: path.clone(), is_removal });
            }
            Err(failure) => restored.failed.push(format!("{}: {failure}", path.display())),
        }
        fault::point("aside.restored-file");
    }
    git::stage_again(repo, &snapshot)?;
    let mut files: Vec<PathBuf> = restored.conflicts.iter().map(|c| c.path.clone()).collect();
    if !files.is_empty() {
        files.sort();
        restored.kept = Some(git::keep_unreturned(repo, &snapshot, &files)?);
    }
    Ok(restored)
}

/// Whether the saved work is not there any more.
pub(crate) fn is_gone(failure: &Failure) -> bool {
    let Failure::Error(error) = failure else { return false };
    matches!(error.downcast_ref(), Some(SnapshotError::Gone { .. }))
}

/// Tells whether the file is as the user would have it.
fn restore_file(
    workshop: &Workshop<'_>,
    snapshot: &Snapshot,
    path: &Path,
    mode: Option<u32>,
) -> Result<bool, Failure> {
    let repo = workshop.repo;
    let base = match &snapshot.record.head {
        Some(head) => Version::checked_out(repo, head, path)?,
        None => Version::Absent,
    };
    let theirs = Version::committed(repo, &snapshot.commit, path)?;
    let ours = workshop.on_disk(path)?;
    let head = snapshot.record.head.as_deref();
    let is_base = ours == base || version::is_as_committed(repo, head, path, &ours)?;
    let wanted = if ours == theirs || is_base {
        theirs
    } else {
        match merged(workshop, [&ours, &base, &theirs])? {
            Some(merged) => merged,
            None => return Ok(false),
        }
    };
    workshop.put(path, &wanted, mode)?;
    Ok(true)
}

/// A three-way merge of texts; none if the changes touch the same lines.
fn merged(workshop: &Workshop<'_>, versions: [&Version; 3]) -> Result<Option<Version>, Failure> {
    let [
        Version::File(ours, ours_runs),
        Version::File(base, base_runs),
        Version::File(theirs, theirs_run),
    ] = versions
    else {
        return Ok(None);
    };
    let files = workshop.lay_out([ours, base, theirs])?;
    let mut args = vec!["merge-file".into(), "-p".into(), "-q".into()];
    args.extend(files.iter().map(|path| path.clone().into_os_string()));
    match workshop.repo.git().run(&args) {
        Ok(merged) => {
            let runs = if theirs_run == base_runs { ours_runs } else { theirs_run };
            Ok(Some(Version::File(merged, *runs)))
        }
        // The exit code is the number of conflicts.
        Err(GitError::Failed { code: Some(_), .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use test_support::TestRepo;

    use super::*;

    #[test]
    fn what_is_written_after_it_was_saved_stays_in_the_tree() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        test.write("a.txt", "changed\n");
        test.write("new.txt", "new\n");
        test.write("grows.txt", "saved\n");
        let saved = save(&repo, "refs/ralph/aside/test").unwrap();
        test.write("grows.txt", "saved\nwritten since\n");
        test.write("later.txt", "written since\n");
        clear(&repo, &saved, &|_| false).unwrap();
        let read = |name: &str| fs_err::read_to_string(test.root().join(name)).ok();
        assert_eq!((read("a.txt").as_deref(), read("new.txt")), (Some("a\n"), None));
        assert_eq!(read("grows.txt").as_deref(), Some("saved\nwritten since\n"));
        assert_eq!(read("later.txt").as_deref(), Some("written since\n"));
    }

    #[test]
    fn what_is_written_while_others_are_cleared_stays_in_the_tree() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        test.write(".gitattributes", "a.txt filter=slow\n");
        test.write("b.txt", "b\n");
        test.write("linked.txt", "linked\n");
        test.commit_all("files");
        // Runs when git is asked how it would write the first file.
        test.git(["config", "filter.slow.smudge", "echo written since >>b.txt; cat"]);
        test.write("a.txt", "mine\n");
        test.write("b.txt", "mine\n");
        test.write("linked.txt", "mine\n");
        fs_err::hard_link(test.root().join("linked.txt"), test.root().join("too.txt")).unwrap();
        let saved = save(&repo, "refs/ralph/aside/test").unwrap();
        clear(&repo, &saved, &|_| false).unwrap();
        let read = |name: &str| fs_err::read_to_string(test.root().join(name)).ok();
        assert_eq!(read("a.txt").as_deref(), Some("a\n"));
        assert_eq!(read("b.txt").as_deref(), Some("mine\nwritten since\n"));
        // To remove one name of a file changes the time of the other.
        assert_eq!((read("linked.txt").as_deref(), read("too.txt")), (Some("linked\n"), None));
    }

    #[test]
    fn what_is_cleared_is_as_a_checkout_writes_it() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        test.write(".gitattributes", "*.bat text eol=crlf\n");
        test.write("w.bat", "one\r\n");
        test.write("run.sh", "#!/bin/sh\n");
        test.write("is-folder-now", "a file\n");
        let run = test.root().join("run.sh");
        fs_err::set_permissions(&run, Permissions::from_mode(0o755)).unwrap();
        test.commit_all("files of all kinds");
        test.write("w.bat", "two\r\n");
        test.write("run.sh", "#!/bin/sh\nexit 1\n");
        fs_err::remove_file(test.root().join("a.txt")).unwrap();
        fs_err::remove_file(test.root().join("is-folder-now")).unwrap();
        test.write("is-folder-now/file", "new\n");
        let saved = save(&repo, "refs/ralph/aside/test").unwrap();
        clear(&repo, &saved, &|_| false).unwrap();
        assert_eq!(test.git(["status", "--porcelain"]), "");
        let read = |name: &str| fs_err::read_to_string(test.root().join(name)).unwrap();
        assert_eq!(read("w.bat"), "one\r\n");
        assert_eq!(fs_err::metadata(run).unwrap().permissions().mode() & 0o111, 0o111);
    }
}
