//! `--allow-dirty`: the user's uncommitted work is kept aside while the loop runs, and restored
//! file by file.
//!
//! It is saved as a snapshot before anything is touched, and that snapshot is never removed, so
//! nothing is lost whatever happens in between.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_core::git::{self, GitError, Repo, SaveAs, Snapshot, Status, Target};

use crate::exit::Failure;

/// What became of the user's files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Restored {
    /// Files that are as the user left them, or merged without conflict.
    pub(crate) back: usize,
    /// Files that both the user and the loop changed; the user's version is in the snapshot.
    pub(crate) conflicts: Vec<PathBuf>,
}

/// Saves the work under the ref `name`; the tree is not touched yet.
pub(crate) fn save(repo: &Repo, name: &str) -> Result<Snapshot, Failure> {
    Ok(Snapshot::take(repo, name, "uncommitted work, kept aside")?)
}

/// Takes the saved work out of the tree, but for the files that `keep` names.
pub(crate) fn clear(repo: &Repo, keep: &dyn Fn(&Path) -> bool) -> Result<(), Failure> {
    let status = Status::read(repo)?;
    let reset: &[&str] =
        if status.head.is_some() { &["reset", "--quiet"] } else { &["read-tree", "--empty"] };
    repo.git().run(reset)?;
    let changed = status.changed.iter().filter(|path| !keep(path));
    for path in changed {
        let known = blob(repo, "HEAD", path)?;
        match known {
            Some(_) => {
                let name = path.as_os_str();
                repo.git().run(&[
                    "checkout-index".as_ref(),
                    "--force".as_ref(),
                    "--".as_ref(),
                    name,
                ])?;
            }
            None => remove(&repo.top().join(path))?,
        }
    }
    Ok(())
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
        let saved_as = format!("{name}-before");
        let save_as = SaveAs { name: &saved_as, message: "before uncommitted work came back" };
        git::restore(repo, &Target::Snapshot(Box::new(snapshot)), save_as)?;
        return Ok(Restored { back, conflicts: Vec::new() });
    }
    let mut restored = Restored::default();
    for (path, mode) in snapshot.modes.iter().filter(|(path, _)| !keep(path)) {
        match restore_file(repo, &snapshot, path, *mode)? {
            true => restored.back += 1,
            false => restored.conflicts.push(path.clone()),
        }
    }
    Ok(restored)
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Thing {
    File(Vec<u8>),
    /// A symlink, and where it leads.
    Link(PathBuf),
    /// A folder, a submodule or a pipe: nothing that we would overwrite.
    Other,
}

/// Tells whether the file is as the user would have it.
fn restore_file(
    repo: &Repo,
    snapshot: &Snapshot,
    path: &Path,
    mode: Option<u32>,
) -> Result<bool, Failure> {
    let full = repo.top().join(path);
    let base = match &snapshot.record.head {
        Some(head) => committed(repo, head, path)?,
        None => None,
    };
    let theirs = committed(repo, &snapshot.commit, path)?;
    let ours = on_disk(&full)?;
    if ours == theirs {
        return Ok(true);
    }
    let wanted = match (&ours, &base, &theirs) {
        (ours, base, theirs) if ours == base => theirs.clone(),
        (Some(Thing::File(ours)), Some(Thing::File(base)), Some(Thing::File(theirs))) => {
            match merged(repo, ours, base, theirs)? {
                Some(merged) => Some(Thing::File(merged)),
                None => return Ok(false),
            }
        }
        _ => return Ok(false),
    };
    if wanted == Some(Thing::Other) || !is_below_folders(repo.top(), path) {
        return Ok(false);
    }
    // What is there goes first, so that nothing is written through a link.
    remove(&full)?;
    let Some(wanted) = wanted else { return Ok(true) };
    if let Some(parent) = full.parent() {
        fs_err::create_dir_all(parent)?;
    }
    match wanted {
        Thing::Link(target) => fs_err::os::unix::fs::symlink(target, &full)?,
        Thing::File(content) => {
            fs_err::write(&full, content)?;
            if let Some(mode) = mode {
                fs_err::set_permissions(&full, std::fs::Permissions::from_mode(mode & 0o7777))?;
            }
        }
        Thing::Other => {}
    }
    Ok(true)
}

/// What a commit has at a path.
fn committed(repo: &Repo, commit: &str, path: &Path) -> Result<Option<Thing>, GitError> {
    // `ls-tree` takes a path as it is, without wildcards.
    let args =
        ["ls-tree".as_ref(), "-z".as_ref(), commit.as_ref(), "--".as_ref(), path.as_os_str()];
    let listed = repo.git().run(&args)?;
    let Some(mode) = listed.split(|byte| *byte == b' ').next().filter(|mode| !mode.is_empty())
    else {
        return Ok(None);
    };
    let content = || blob(repo, commit, path).map(Option::unwrap_or_default);
    Ok(Some(match mode {
        b"120000" => Thing::Link(OsString::from_vec(content()?).into()),
        b"100644" | b"100755" => Thing::File(content()?),
        _ => Thing::Other,
    }))
}

fn on_disk(path: &Path) -> std::io::Result<Option<Thing>> {
    let metadata = match fs_err::symlink_metadata(path) {
        Ok(metadata) => metadata,
        // A file may stand where a folder of the path was.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    Ok(Some(match metadata.file_type() {
        kind if kind.is_symlink() => Thing::Link(fs_err::read_link(path)?),
        kind if kind.is_file() => Thing::File(fs_err::read(path)?),
        _ => Thing::Other,
    }))
}

/// Whether all that a path leads through is a real folder, or not there yet.
fn is_below_folders(top: &Path, path: &Path) -> bool {
    let mut parents = path.ancestors().skip(1).filter(|parent| parent.parent().is_some());
    parents.all(|parent| {
        let there = fs_err::symlink_metadata(top.join(parent));
        there.map_or(true, |metadata| metadata.is_dir())
    })
}

/// A three-way merge; none if the changes touch the same lines.
fn merged(
    repo: &Repo,
    ours: &[u8],
    base: &[u8],
    theirs: &[u8],
) -> Result<Option<Vec<u8>>, Failure> {
    let write = |name: &str, content: &[u8]| {
        let path = repo.git_dir().join(format!("ralph-merge-{name}"));
        fs_err::write(&path, content).map(|()| path)
    };
    let files = [write("ours", ours)?, write("base", base)?, write("theirs", theirs)?];
    let mut args = vec!["merge-file".into(), "-p".into(), "-q".into()];
    args.extend(files.iter().map(|path| path.clone().into_os_string()));
    let result = repo.git().run(&args);
    for file in &files {
        remove(file)?;
    }
    match result {
        Ok(merged) => Ok(Some(merged)),
        // The exit code is the number of conflicts.
        Err(GitError::Failed { code: Some(_), .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn blob(repo: &Repo, commit: &str, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    let mut name = OsString::from(format!("{commit}:"));
    name.push(path);
    let args = ["cat-file".as_ref(), "blob".as_ref(), name.as_os_str()];
    match repo.git().run(&args) {
        Ok(content) => Ok(Some(content)),
        Err(GitError::Failed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> std::io::Result<()> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
