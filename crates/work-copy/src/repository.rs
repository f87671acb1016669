//! The two repositories over the files of a copy, both written by hand from what the project has.
//!
//! One is **the loop's own**, beside the copy, where no attempt can write: whatever the loop does
//! with git over a copy goes through it. The other one is **lent**: it stands in the copy, for the
//! agent, checks and git hooks, and the loop never works with it. It is replaced as a whole, since
//! the copy is no place in which to write file by file while programs of the attempt run there.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::fault;
use ralph_base::state::{self, read_beneath};
use ralph_core::git::Git;

use super::cache::not_made;
use super::carry::replace;
use super::git_settings::NOWHERE;
use super::remove::remove_all;
use super::{Source, Workspace};
use ralph_project::failure::Failure;

/// The folder with the submodules' repositories, kept from the lent repository before.
const MODULES: &str = "modules";

/// The file that names another object store from which a repository borrows.
const ALTERNATES: &str = "objects/info/alternates";

/// The file in the loop's own git folder with the refs that were lent.
const LENT_REFS: &str = "lent-refs";

/// Writes the loop's own git folder, with HEAD at this commit.
pub(super) fn write_own(copy: &Workspace, tip: Option<&str>) -> Result<(), Failure> {
    let (folder, source) = (&copy.own.git, &copy.source);
    let made = fs_err::create_dir_all(folder);
    made.map_err(|error| not_made(folder.parent().unwrap_or(folder), &error))?;
    let head = tip.map_or_else(|| "ref: refs/heads/none".to_owned(), str::to_owned);
    let mut files = vec![
        ("HEAD", format!("{head}\n").into_bytes()),
        ("config", copy.settings.of_own(source, &copy.doors.filters).into_bytes()),
        (ALTERNATES, format!("{}\n", source.objects().display()).into_bytes()),
    ];
    files.extend(shared_files(copy));
    Ok(write_files(folder, &files)?)
}

/// The files that are the same in both repositories.
fn shared_files(copy: &Workspace) -> [(&'static str, Vec<u8>); 3] {
    let read = |path: &Path| state::read(path).unwrap_or_default();
    let shared = |name: &str| read(&copy.source.shared.join(name));
    let mut exclude = shared("info/exclude");
    let leftovers = read(copy.own.setup_leftovers.as_std_path());
    if !leftovers.is_empty() {
        exclude.extend([b"\n", &leftovers[..]].concat());
    }
    let attributes = shared("info/attributes");
    [("info/exclude", exclude), ("info/attributes", attributes), ("shallow", shared("shallow"))]
}

/// Writes those of these files that differ; an empty one is removed.
fn write_files(folder: &Utf8Path, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    for inner in ["info", "objects/info", "refs"] {
        fs_err::create_dir_all(folder.join(inner))?;
    }
    for (name, text) in files {
        let path = folder.join(name);
        let now = state::read_if_there(&path)?;
        if text.is_empty() {
            state::remove_if_there(&path)?;
        } else if now.as_deref() != Some(text) {
            state::replace_unsynced(&path, text)?;
        }
    }
    Ok(())
}

/// Returns the project's branches and tags, as a clone would have them, for a packed-refs file.
pub(super) fn refs_to_lend(source: &Source) -> Result<String, Failure> {
    let list = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"];
    let refs = source.git().line(&list)?;
    let lent = |line: &str| line.replacen(" refs/heads/", " refs/remotes/origin/", 1) + "\n";
    Ok(refs.lines().map(lent).collect())
}

/// Returns the refs that were lent last, as lines of an id and a name.
pub(super) fn lent_refs(copy: &Workspace) -> String {
    state::read_text(copy.own.git.join(LENT_REFS)).unwrap_or_default()
}

/// Puts a new repository into the copy, with the loop's index. Its objects are the project's, so
/// this is fast and needs no space; refs, index, stash, settings and hooks are its own.
pub(super) fn lend(copy: &Workspace) -> Result<(), Failure> {
    let (source, top, own) = (&copy.source, &copy.top, &copy.own.git);
    make_top(top)?;
    let [new, old] = ["new", "old"].map(|ending| own.with_extension(ending));
    if new.join(MODULES).is_dir() && !old.join(MODULES).exists() {
        // Left from a crash in `swap`.
        fs_err::create_dir_all(&old)?;
        fs_err::rename(new.join(MODULES), old.join(MODULES))?;
    }
    remove_all(new.as_std_path())?;
    let name = format!("refs/heads/{}", copy.lent.branch);
    let tip = copy.lent.tip.as_ref().map(|tip| format!("{tip} {name}\n")).unwrap_or_default();
    let refs = format!("{}{tip}", copy.lent.refs);
    let mut files = vec![
        ("HEAD", format!("ref: {name}\n").into_bytes()),
        ("packed-refs", refs.clone().into_bytes()),
        // The project's objects, and those that are only in the loop's own store so far.
        (ALTERNATES, format!("{}\n", own.join("objects")).into_bytes()),
    ];
    files.extend(shared_files(copy));
    write_files(&new, &files)?;
    write_files(own, &[(LENT_REFS, refs.into_bytes())])?;
    let hooks = match copy.settings.hooks_in_tree(source)? {
        Some(folder) => folder,
        None => {
            let from = copy.settings.hooks_folder(source)?;
            copy_hooks(from.as_std_path(), new.join("hooks").as_std_path())?;
            top.join(".git/hooks")
        }
    };
    let settings = copy.settings.lent(source, &new, &hooks)?;
    write_files(&new, &[("config", settings.into_bytes())])?;
    if copy.own.index().exists() {
        copy_index(&copy.own.index(), new.join("index").as_std_path())?;
    }
    swap(&top.join(".git"), &new, &old)?;
    fault::point("workspace.renewed");
    Ok(())
}

/// Makes the folder of the copy, and makes it writable.
pub(super) fn make_top(top: &Utf8Path) -> Result<(), Failure> {
    let made = match top.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            let mode = found.permissions().mode() | 0o700;
            fs_err::set_permissions(top, Permissions::from_mode(mode))
        }
        _ => remove_all(top.as_std_path()).and_then(|()| fs_err::create_dir_all(top)),
    };
    made.map_err(|error| not_made(top.parent().unwrap_or(top), &error))
}

/// Replaces a repository by another one, which gets the submodules' repositories of the old one.
fn swap(place: &Utf8Path, new: &Utf8Path, old: &Utf8Path) -> io::Result<()> {
    if place.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        // Otherwise it is left from a crash just below, and has the submodules.
        remove_all(old.as_std_path())?;
        if fs_err::rename(place, old).is_err() {
            remove_all(place.as_std_path())?;
        }
    } else {
        remove_all(place.as_std_path())?;
    }
    let modules = old.join(MODULES);
    if modules.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        fs_err::rename(modules, new.join(MODULES))?;
    }
    fs_err::rename(new, place)?;
    remove_all(old.as_std_path())
}

/// Makes git in the copy ignore what the loop's own git ignores since the setup has run.
pub(super) fn lend_excludes(copy: &Workspace) -> io::Result<()> {
    let [(name, exclude), ..] = shared_files(copy);
    write_files(&copy.own.git, &[(name, exclude.clone())])?;
    let place = Path::new(".git").join(name);
    if read_beneath(copy.top.as_std_path(), &place).unwrap_or_default() == exclude {
        return Ok(());
    }
    replace(&copy.top, &place, &exclude)
}

/// Returns the folders in the loop's own store that may have objects.
fn own_objects(copy: &Workspace) -> impl Iterator<Item = Utf8PathBuf> + use<> {
    let entries = copy.own.git.join("objects").read_dir_utf8().into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name() != "info").map(|entry| entry.into_path())
}

/// Whether there may be objects that only the loop's own store has.
pub(super) fn has_own_objects(copy: &Workspace) -> bool {
    own_objects(copy).next().is_some()
}

/// Removes the objects from the loop's own store: those that are needed are in the project.
pub(super) fn empty_store(copy: &Workspace) -> io::Result<()> {
    own_objects(copy).try_for_each(|folder| remove_all(folder.as_std_path()))
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
    let name = top.file_name().unwrap_or_default();
    let own = top.with_file_name(super::own_git_name(name));
    if own.is_dir() {
        remove_all(copy.own.git.as_std_path())?;
        fs_err::rename(own, &copy.own.git)?;
    }
    let borrowed = format!("{}\n", copy.own.git.join("objects"));
    replace(&copy.top, &Path::new(".git").join(ALTERNATES), borrowed.as_bytes())
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
