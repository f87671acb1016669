//! Repositories and work trees that an agent creates inside the copy: not committed, but saved.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use ralph_base::state;
use ralph_core::git::{Git, GitError, Snapshot};
use ralph_project::failure::Failure;

use super::git_output::{RAW, base_of, differences, paths, written_files};
use super::import::bring_pack;
use super::remove::remove_all;
use super::{Staged, Workspace};

/// The refs in a submodule of the project for the commits that stories made there.
const SUBMODULES: &str = "refs/ralph/commits";

/// Returns the folders of these new files that are repositories or work trees, except submodules. A
/// folder with tracked files is part of the project, even if a repository was created in it.
pub(super) fn repositories(
    top: &Utf8Path,
    git: &Git,
    others: &BTreeSet<PathBuf>,
) -> Result<BTreeSet<PathBuf>, Failure> {
    let folders: BTreeSet<&Path> = others.iter().flat_map(|path| path.ancestors()).collect();
    let mut found = BTreeSet::new();
    for folder in folders.into_iter().filter(|folder| !folder.as_os_str().is_empty()) {
        let mark = top.as_std_path().join(folder).join(".git");
        if mark.symlink_metadata().is_ok()
            && !declares_submodule(top, folder)
            && git.run(&[OsStr::new("ls-files"), OsStr::new("--"), folder.as_os_str()])?.is_empty()
        {
            found.insert(folder.to_owned());
        }
    }
    Ok(found)
}

/// Saves the contents of repositories and work trees that the agent created, and uncommitted
/// changes in submodules. If they hold all of its work, it becomes the saved attempt, which is
/// refused. They are deleted from the copy: no commit contains them, so no check may see them.
pub(super) fn set_aside(
    copy: &Workspace,
    staged: &mut Staged,
    tip: Option<&str>,
    inner: &BTreeSet<PathBuf>,
) -> Result<(), Failure> {
    let git = copy.store();
    let base = base_of(&git, tip)?;
    let mut found = Vec::new();
    let dirty = staged.dirty_submodules.clone();
    for folder in inner.iter().chain(&dirty) {
        let commit = match commit_of(copy, folder, tip) {
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => {
                log::warn!("could not keep what is in {}: {error}", folder.display());
                continue;
            }
            Ok(commit) => commit,
        };
        let files = paths(&git.run(&["diff-tree", "-r", "-z", "--name-only", &base, &commit])?);
        if dirty.contains(folder) {
            staged.aside.push(commit);
            continue;
        }
        // The agent chooses the paths of its work trees, and may choose any folder.
        let place = copy.top.as_std_path().join(folder).canonicalize();
        if place.is_ok_and(|place| is_inside(&place, folder, copy)) {
            remove_all(&copy.top.as_std_path().join(folder))?;
        }
        if !files.is_empty() {
            found.push((folder.clone(), files));
            staged.aside.push(commit);
        }
    }
    let names = found.iter().map(|(folder, _)| folder.clone());
    match (found.first(), staged.aside.first()) {
        (Some((_, files)), Some(commit)) if staged.files.is_empty() => {
            staged.embedded = names.collect();
            staged.files.clone_from(files);
            staged.tree = git.line(&["rev-parse", &format!("{commit}^{{tree}}")])?;
        }
        _ => staged.refused.extend(names),
    }
    Ok(())
}

/// Whether a folder is below the copy and not reached through links.
fn is_inside(place: &Path, folder: &Path, copy: &Workspace) -> bool {
    let top = copy.top.canonicalize().unwrap_or_default();
    folder.file_name().is_some() && place == top.join(folder) && place.starts_with(&top)
}

/// Commits the contents of a repository or work tree of the agent: a work tree as a new version of
/// the project's files, a repository in its folder beside them.
fn commit_of(copy: &Workspace, folder: &Path, tip: Option<&str>) -> Result<String, Failure> {
    let path = copy.top.as_std_path().join(folder);
    let mark = state::read_text(path.join(".git")).unwrap_or_default();
    let ours = format!("gitdir: {}/.git/worktrees/", copy.top.canonicalize_utf8()?);
    let index = copy.own.index().with_extension("aside");
    remove_all(&index)?;
    let git = copy.git_over(&path).on_index(index.clone());
    let is_work_tree = mark.starts_with(&ours);
    if is_work_tree {
        let store = copy.store();
        store.on_index(index).run(&["read-tree", &base_of(&store, tip)?])?;
    }
    let (tracked, new) = written_files(&git)?;
    let mut changed = [tracked, new].concat();
    let too_long = copy.too_long(Utf8Path::from_path(&path).unwrap_or(&copy.top), changed.iter());
    changed.retain(|file| !path.join(file).is_dir() && !too_long.contains(file));
    let top = if is_work_tree { &path } else { copy.top.as_std_path() };
    if !is_work_tree {
        changed.iter_mut().for_each(|file| *file = folder.join(&*file));
    }
    Ok(Snapshot::as_is(&copy.store(), top, tip, changed)?.0)
}

/// Returns the submodules with uncommitted changes.
pub(super) fn dirty_submodules(git: &Git) -> Result<Vec<PathBuf>, Failure> {
    let output = git.run(&[&["diff-files", "--ignore-submodules=none"], &RAW[..]].concat())?;
    let dirty = differences(&output).into_iter().filter(|found| found.old.is_link());
    Ok(dirty.map(|found| found.path).collect())
}

/// Brings what was committed in a submodule of the copy, since the commit `old`, into that of the
/// project: the commit of a story only contains its id.
pub(super) fn bring_submodule(
    copy: &Workspace,
    path: &Path,
    (old, new): (&str, &str),
) -> Result<(), GitError> {
    let name = format!("{SUBMODULES}/{new}");
    let ours = Git::at(copy.source.top.as_std_path().join(path));
    let theirs = Git::at(copy.top.as_std_path().join(path)).through(&copy.doors.checks);
    bring_pack(&theirs, &ours, &format!("{new}\n^{old}\n"), &[])?;
    ours.run(&["update-ref", &name, new]).map(drop)
}

fn declares_submodule(top: &Utf8Path, path: &Path) -> bool {
    let text = state::read_text(top.join(".gitmodules")).unwrap_or_default();
    let is_it = |line: &str| {
        let value = line.trim().strip_prefix("path")?.trim_start().strip_prefix('=')?;
        Some(Path::new(value.trim()) == path)
    };
    text.lines().filter_map(is_it).any(|is_it| is_it)
}
