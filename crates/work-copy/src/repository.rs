//! Recreating the repository around the files of the copy, by git's own local clone.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::{fault, state};
use ralph_core::git::Git;

use super::cache::not_made;
use super::git_settings::{GitSettings, NOWHERE};
use super::remove::remove_all;
use super::{Source, Start, Workspace};
use ralph_project::failure::Failure;

/// The folder with the submodules' repositories, kept from the old repository of the copy.
const MODULES: &str = "modules";

/// The files of a repository, with the inode and change time that show whether they were written or
/// replaced since.
pub(super) type Stamps = BTreeMap<Utf8PathBuf, (u64, i64, i64)>;

/// Returns the stamps of the copy's repository, if it can be read. Omits the index, which is also
/// written by `git status`, and the repositories of submodules, which are kept.
pub(super) fn stamps(top: &Utf8Path) -> Option<Stamps> {
    let (folder, mut found) = (top.join(".git"), Stamps::new());
    let mut folders = vec![folder.clone()];
    while let Some(next) = folders.pop() {
        for entry in next.read_dir_utf8().ok()? {
            let path = entry.ok()?.into_path();
            let metadata = path.symlink_metadata().ok()?;
            if metadata.is_dir() {
                folders.extend(Some(path).filter(|path| *path != folder.join(MODULES)));
            } else {
                let stamp = (metadata.ino(), metadata.ctime(), metadata.ctime_nsec());
                found.insert(path, stamp);
            }
        }
    }
    found.remove(&folder.join("index"));
    Some(found)
}

/// Recreates the repository of the copy. Its objects are the project's, so this is fast and needs
/// no space; refs, index, stash, settings and hooks are its own.
pub(super) fn renew(
    source: &Source,
    top: &Utf8Path,
    settings: &GitSettings,
) -> Result<(), Failure> {
    let folder = top.parent().unwrap_or(top);
    let trouble = |error: io::Error| not_made(folder, &error);
    fs_err::create_dir_all(folder).map_err(trouble)?;
    if let Some(metadata) = top.symlink_metadata().ok().filter(|metadata| metadata.is_dir()) {
        let mode = metadata.permissions().mode();
        fs_err::set_permissions(top, Permissions::from_mode(mode | 0o700)).map_err(trouble)?;
    } else {
        remove_all(top.as_std_path()).map_err(trouble)?;
        fs_err::create_dir(top).map_err(trouble)?;
    }
    let new = top.with_extension("new");
    let (old, new_git) = (top.join(".git"), new.join(".git"));
    if !old.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        // A link may point into the project.
        remove_all(old.as_std_path())?;
    }
    // A crash may have interrupted moving them.
    move_modules(&new_git, &old)?;
    let clone = ["clone", "--quiet", "--shared", "--no-checkout", "--template="];
    let from_to = [source.top.as_str(), new.as_str()];
    let clone = || -> Result<(), Failure> {
        remove_all(new.as_std_path()).map_err(trouble)?;
        Git::at(folder.as_std_path()).run(&[&clone[..], &from_to].concat()).map(drop)?;
        Ok(())
    };
    // A branch may be deleted while git reads it, for instance when another story lands.
    clone().or_else(|_| clone()).or_else(|_| clone())?;
    fault::point("workspace.cloned");
    // A clone of a shallow repository has its own objects, and would not see those added later.
    Git::at(new.as_std_path()).run(&["config", "--remove-section", "remote.origin"])?;
    let objects = new.join(".git/objects/info/alternates");
    if !objects.is_file() {
        let shared = source.shared.join("objects");
        fs_err::write(objects, format!("{}\n", shared.display()))?;
    }
    let hooks = match settings.hooks_in_tree(source)? {
        Some(folder) => folder,
        None => {
            let from = settings.hooks_folder(source)?;
            copy_hooks(from.as_std_path(), new_git.join("hooks").as_std_path())?;
            old.join("hooks")
        }
    };
    carry_settings(source, &new, &settings.missing(source, &new, &hooks)?)?;
    move_modules(&old, &new_git)?;
    remove_all(old.as_std_path())?;
    fs_err::rename(new_git, old)?;
    fault::point("workspace.renewed");
    Ok(remove_all(new.as_std_path())?)
}

/// Adopts the copy of an attempt made while the project was in another folder; `root` is the
/// project's folder in it. Anything in the place of the new copy is deleted.
pub fn adopt(copy: &Workspace, root: &Utf8Path) -> io::Result<()> {
    let top = root.ancestors().nth(copy.source.inside.components().count()).unwrap_or(root);
    let place = |top: &Utf8Path| top.canonicalize_utf8().unwrap_or_else(|_| top.to_owned());
    if copy.is_in_place || top.as_str().is_empty() || place(top) == place(&copy.top) {
        return Ok(());
    }
    remove_all(copy.top.as_std_path())?;
    if !top.join(".git").exists() {
        return Ok(());
    }
    copy.top.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    fs_err::rename(top, &copy.top)?;
    let objects = format!("{}\n", copy.source.shared.join("objects").display());
    fs_err::write(copy.top.join(".git/objects/info/alternates"), objects)
}

/// Moves the repositories of submodules to another git folder that has none.
fn move_modules(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    let (from, there) = (from.join(MODULES), to.join(MODULES));
    if !from.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) || there.exists() {
        return Ok(());
    }
    fs_err::create_dir_all(to)?;
    fs_err::rename(from, there)
}

/// Copies hooks, so that installing or changing hooks in the copy does not affect the project. A
/// link relative to their folder then points into the copy.
fn copy_hooks(from: &Path, to: &Path) -> io::Result<()> {
    fs_err::create_dir_all(to)?;
    for entry in fs_err::read_dir(from).into_iter().flatten() {
        let (path, link) = (entry?.path(), fs_err::read_link);
        let target = to.join(path.file_name().unwrap_or_default());
        if let Some(link) = link(&path).ok().filter(|link| link.is_relative()) {
            symlink(link, target)?;
        } else if path.is_dir() {
            copy_hooks(&path, &target)?;
        } else if path.is_file() && path.extension() != Some(OsStr::new("sample")) {
            fs_err::copy(path, target)?;
        }
    }
    Ok(())
}

fn carry_settings(source: &Source, copy: &Utf8Path, settings: &str) -> io::Result<()> {
    let mut config = fs_err::OpenOptions::new().append(true).open(copy.join(".git/config"))?;
    config.write_all(settings.as_bytes())?;
    let exclude = source.shared.join("info/exclude");
    if exclude.is_file() {
        fs_err::create_dir_all(copy.join(".git/info"))?;
        fs_err::copy(exclude, copy.join(".git/info/exclude"))?;
    }
    Ok(())
}

/// Puts HEAD on the branch, and the branch on the commit.
pub(super) fn check_out(top: &Utf8Path, start: Start<'_>) -> Result<(), Failure> {
    let git = Git::at(top.as_std_path());
    let name = format!("refs/heads/{}", start.branch);
    let says = |file: &str, text: &str| {
        let there = state::read_text(top.join(".git").join(file)).unwrap_or_default();
        there.trim_end() == text
    };
    if let Some(tip) = start.tip.filter(|tip| !says(&name, tip)) {
        git.run(&["update-ref", &name, tip])?;
    }
    if !says("HEAD", &format!("ref: {name}")) {
        git.run(&["symbolic-ref", "HEAD", &name])?;
    }
    Ok(())
}

/// Updates the submodules that the project has fetched, from its own repositories: no network.
pub(super) fn update_submodules(source: &Source, git: &Git) -> Result<(), Failure> {
    let (top, folder) = (git.dir(), source.shared.join(MODULES));
    if !top.join(".gitmodules").is_file() || !folder.is_dir() {
        return Ok(());
    }
    let listed = git.run(&["config", "--file", ".gitmodules", "--list", "-z", "--name-only"])?;
    let mut wanted = Vec::new();
    for key in listed.split(|byte| *byte == 0) {
        let key = String::from_utf8_lossy(key);
        let Some(name) = key.strip_prefix("submodule.").and_then(|rest| rest.strip_suffix(".path"))
        else {
            continue;
        };
        let kept = folder.join(name);
        if kept.join("HEAD").is_file() {
            let url = format!("submodule.{name}.url");
            git.run(&["config".as_ref(), url.as_ref(), kept.as_os_str()])?;
            let active = format!("submodule.{name}.active");
            git.run(&["config", &active, "true"])?;
            let path = format!("submodule.{name}.path");
            let path = git.line(&["config", "--file", ".gitmodules", "--get", &path])?;
            // A submodule may be declared but not exist.
            if git.run(&["ls-files", "--error-unmatch", "--", &path]).is_ok() {
                wanted.push(path);
            }
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let update = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--force"];
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    git.run(&[&update[..], &["--"], &wanted].concat())?;
    for path in wanted {
        let git = git.within(path);
        git.run(&["clean", "-ffdq"])?;
        git.run(&["config", "remote.origin.pushurl", NOWHERE])?;
    }
    Ok(())
}

/// Copies an index with its modification time. By that time git finds files that may have changed
/// in the same second as they were checked; with a newer one it would assume them unchanged.
pub fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let mut index = state::open_regular(from)?;
    let new = to.with_extension("new");
    remove_all(&new)?;
    let mut copy = fs_err::File::create_new(&new)?;
    io::copy(&mut index, &mut copy)?;
    copy.file().set_modified(index.metadata()?.modified()?)?;
    // The target may be a link.
    fs_err::rename(new, to)
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::stamps;

    #[test]
    fn stamps_change_only_if_git_state_changes() {
        let repo = TestRepo::new();
        let before = stamps(repo.root());
        assert!(before.is_some());
        repo.write("a.txt", "b\n");
        repo.git(["status"]);
        repo.git(["diff"]);
        assert_eq!(stamps(repo.root()), before);
        for change in ["config user.name Other", "add a.txt", "branch new", "commit -qm x"] {
            let before = stamps(repo.root());
            repo.git(change.split(' '));
            assert_ne!(stamps(repo.root()), before, "{change}");
        }
        assert_eq!(stamps(&repo.root().join("src")), None);
    }
}
