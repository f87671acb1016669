//! Working in the project's own tree, for projects that cannot be built elsewhere.
//!
//! The tree is clean when an attempt begins, so later changes are the attempt's. Files that control
//! the run are recorded before the agent starts and restored afterwards.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use camino::{Utf8DirEntry, Utf8Path, Utf8PathBuf};
use ralph_base::state::{self, RunDir, StateDir};
use ralph_core::git::{Git, GitError, Repo, Status};

use super::carry::INCLUDE;
use super::remove::remove_all;
use super::{Source, Start, Workspace};
use ralph_project::failure::Failure;
use serde::{Deserialize, Serialize};

/// The refs under which an attempt's changes of refs are kept, and the most that are kept at once.
const DISCARDED: &str = "refs/ralph/discarded/";
const MOST_KEPT: usize = 300;

/// The most folders in which a moved git folder is searched.
const MOST_FOLDERS: usize = 50_000;

/// Returns the user's uncommitted files, except those that the loop writes.
pub fn uncommitted(repo: &Repo, ours: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
    let mut changed = Status::read(repo)?.changed;
    changed.retain(|path| !repo.is_untouched(path) && !ours.contains(path));
    Ok(changed)
}

/// Returns the files whose changes git is configured to ignore.
///
/// `ls-files -v` marks skip-worktree files with `S`, and assume-unchanged ones in lower case.
pub fn overlooked(git: &Git) -> Result<Vec<PathBuf>, GitError> {
    let listed = git.run(&["ls-files", "-v", "-z"])?;
    let lines = listed.split(|byte| *byte == 0);
    let flagged = lines
        .filter(|line| line.first().is_some_and(|mark| *mark == b'S' || mark.is_ascii_lowercase()));
    let name = |line: &[u8]| PathBuf::from(OsStr::from_bytes(line.get(2..).unwrap_or_default()));
    Ok(flagged.map(name).collect())
}

/// Returns the project's tree to the commit at which an attempt began. Other changes than the
/// loop's are saved first, unless a saved attempt already contains them.
pub(super) fn reset(source: &Source, git: Git, start: Start<'_>) -> Result<(), Failure> {
    let ours = start.books.iter().filter_map(|path| source.below_top(path)).map(Into::into);
    let repo = Repo::open(&source.top)?.using(git).sparing(ours.collect());
    let Some(restored) = repo.return_to(start.branch, start.tip, "uncommitted, in place")? else {
        return Ok(());
    };
    let kept = source.git().line(&["for-each-ref", "--format=%(tree)", "refs/ralph/attempts"])?;
    let name = restored.saved.name;
    let tree = source.git().line(&["rev-parse", &format!("{name}^{{tree}}")])?;
    if kept.lines().any(|kept| kept == tree) {
        source.git().run(&["update-ref", "-d", &name])?;
    } else {
        log::warn!("your uncommitted changes are saved; view them with `ralph-loop undo`");
    }
    Ok(())
}

/// Puts HEAD back on the branch and the branch back on the commit; files are not changed.
pub(super) fn return_head(source: &Source, start: Start<'_>) -> Result<(), Failure> {
    let git = source.git();
    Repo::open(&source.top)?.quit_operation()?;
    let name = format!("refs/heads/{}", start.branch);
    git.run(&["symbolic-ref", "-m", "ralph: return to the target", "HEAD", &name])?;
    if let Some(tip) = start.tip {
        git.run(&["update-ref", "-m", "ralph: return to the target", &name, tip])?;
    }
    Ok(())
}

/// The mode and content of files that control the run or git, from before an agent worked in place.
/// They are stored in a file of the run, and restored whenever the attempt has run something.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ProtectedFiles {
    files: BTreeMap<Utf8PathBuf, Option<(u32, Vec<u8>)>>,
    /// Files that change during normal work: restored only if they are no longer regular files.
    #[serde(default)]
    moving: BTreeMap<Utf8PathBuf, Option<(u32, Vec<u8>)>>,
    /// Folders in which new files are removed.
    folders: Vec<Utf8PathBuf>,
    /// Targets of links among these paths and their parents; `None` for what was not a link.
    #[serde(default)]
    links: BTreeMap<Utf8PathBuf, Option<PathBuf>>,
    /// The git folder, if it is one, and its inode.
    #[serde(default)]
    git_folder: Option<(Utf8PathBuf, u64)>,
    /// Values of all refs by name, except our own and the stash.
    #[serde(default)]
    refs: BTreeMap<String, String>,
    /// The branch that was checked out: the attempt's commits move it.
    #[serde(default)]
    branch: String,
    /// The commit there.
    #[serde(default)]
    tip: Option<String>,
    /// Commits and messages of stashes, newest first.
    #[serde(default)]
    stashes: Vec<(String, String)>,
}

impl ProtectedFiles {
    /// Records them: settings, templates beside the plan, progress, lessons, the user's own programs, the
    /// client's settings, and git's settings, hooks and attributes, which our own git obeys.
    pub fn remember(
        copy: &Workspace,
        (plan, progress): (&Utf8Path, Option<&Utf8PathBuf>),
    ) -> io::Result<()> {
        let (source, root) = (&copy.source, copy.root());
        let state = StateDir::of_project(root);
        let mut paths = vec![state.config(), state.guardrails(), source.top.join(INCLUDE)];
        paths.extend(progress.cloned());
        paths.extend([StateDir::prompt_beside(plan), StateDir::review_prompt_beside(plan)]);
        let client = root.join(state::CLIENT_FOLDER);
        paths.extend(["settings.json", "settings.local.json"].map(|name| client.join(name)));
        let (mut folders, mut kept) =
            (vec![state.lifecycle(), state.verifiers(), state.observers()], Vec::new());
        let mut moving = BTreeMap::from([(state.failure_context(), None)]);
        if let Ok(git) = Utf8PathBuf::from_path_buf(source.git_dir.clone()) {
            paths.extend(["config.worktree", "commondir"].map(|name| git.join(name)));
            let head = git.join("HEAD");
            moving.extend([(git.join("index"), None), (head.clone(), content(&head))]);
        }
        moving.retain(|path, _| !is_there(path) || !is_gone(path));
        if let Ok(git) = Utf8PathBuf::from_path_buf(source.shared.clone()) {
            paths.extend(
                ["config", "config.worktree", "objects/info/alternates", "shallow"]
                    .map(|name| git.join(name)),
            );
            folders.extend(["hooks", "info"].map(|name| git.join(name)));
            // The user's git also runs in submodules and in other work trees.
            for inner in repositories_in(&git.join("modules")) {
                paths.extend(["config", "config.worktree"].map(|name| inner.join(name)));
                folders.extend(["hooks", "info"].map(|name| inner.join(name)));
            }
            for other in git.join("worktrees").read_dir_utf8().into_iter().flatten().flatten() {
                let names = ["commondir", "config.worktree", "gitdir"];
                paths.extend(names.map(|name| other.path().join(name)));
            }
            kept.extend(["refs", "objects", "logs", "ralph"].map(|name| git.join(name)));
        }
        paths.extend(folders.iter().flat_map(|folder| files_below(folder)));
        let above = paths.iter().chain(moving.keys()).chain(&folders).chain(&kept);
        let above = above.flat_map(|path| path.ancestors());
        let above = above.filter(|path| !root.starts_with(path));
        let links = above.map(|path| (path.to_owned(), fs_err::read_link(path).ok())).collect();
        let files = paths.iter().map(|path| (path.clone(), content(path))).collect();
        let git = source.git();
        let refs = refs(&git).map_err(io::Error::other)?;
        let stashes = stashes(&git).map_err(io::Error::other)?;
        let branch = git.line(&["symbolic-ref", "--quiet", "HEAD"]);
        let branch = branch.unwrap_or_else(|_| "HEAD".to_owned());
        let tip = git.line(&["rev-parse", "--quiet", "--verify", "HEAD"]).ok();
        let folder = source.top.join(".git");
        let git_folder = inode_of(&folder).map(|inode| (folder, inode));
        let protected =
            Self { files, moving, folders, links, git_folder, refs, branch, tip, stashes };
        state::replace_unsynced(&copy.own.records.protected(), &serde_json::to_vec(&protected)?)
    }

    /// Returns the recorded files, if there are any.
    pub fn remembered(run_dir: &RunDir) -> Option<Self> {
        serde_json::from_slice(&state::read(run_dir.protected()).ok()?).ok()
    }

    /// Removes the record: from now on the loop changes the files itself.
    pub fn forget(run_dir: &RunDir) -> io::Result<()> {
        state::remove_if_there(run_dir.protected())
    }

    /// Adjusts the paths after the project's folder has been moved.
    pub fn move_with_project(&mut self, from: &Utf8Path, to: &Utf8Path) {
        let moved = |path: Utf8PathBuf| match path.strip_prefix(from) {
            Ok(rest) => to.join(rest),
            Err(_) => path,
        };
        let files = std::mem::take(&mut self.files).into_iter();
        self.files = files.map(|(path, before)| (moved(path), before)).collect();
        self.folders = std::mem::take(&mut self.folders).into_iter().map(moved).collect();
        let moving = std::mem::take(&mut self.moving).into_iter();
        self.moving = moving.map(|(path, before)| (moved(path), before)).collect();
        let links = std::mem::take(&mut self.links).into_iter();
        self.links = links.map(|(path, before)| (moved(path), before)).collect();
        self.git_folder = self.git_folder.take().map(|(path, inode)| (moved(path), inode));
    }

    /// Restores the files and returns a message for each. What is replaced is kept in the run's
    /// folder, as the user may have written it.
    pub fn restore(&self, git: &Git, run_dir: &RunDir) -> io::Result<Vec<String>> {
        let mut restored = Vec::new();
        let is_replaced = self.restore_git_folder()?;
        self.restore_links()?;
        let added = self.folders.iter().flat_map(|folder| files_below(folder));
        let added = added.filter(|path| !self.files.contains_key(path)).map(|path| (path, &None));
        let gone = self.moving.iter().filter(|(path, _)| is_gone(path));
        let known = self.files.iter().chain(gone).map(|(path, before)| (path.clone(), before));
        for (path, before) in known.chain(added.collect::<Vec<_>>()) {
            let now = content(&path);
            let is_new_link = before.is_none() && path.is_symlink();
            let is_odd = self.moving.contains_key(&path) && is_there(&path);
            if now == *before && !is_new_link && !is_odd {
                continue;
            }
            let mut said = format!("restored {path}, which changed during the run");
            if let Some((_, bytes)) = now {
                let name = format!("{}{}", state::now(), path.as_str().replace('/', "-"));
                let kept = run_dir.replaced().join(name);
                fs_err::create_dir_all(run_dir.replaced())?;
                fs_err::write(&kept, bytes)?;
                said.push_str(&format!("; the other version is {kept}"));
            }
            if !path.is_file() {
                remove_all(path.as_std_path())?;
            }
            match before {
                Some((mode, bytes)) => {
                    // A path that is still a link is one of the user's own.
                    let path = path.canonicalize_utf8().unwrap_or(path);
                    state::replace_users(&path, bytes)?;
                    fs_err::set_permissions(&path, Permissions::from_mode(*mode))?;
                }
                None => state::remove_if_there(&path)?,
            }
            restored.push(said);
        }
        if let Some((path, _)) = self.git_folder.as_ref().filter(|_| is_replaced) {
            if let Some(tip) = &self.tip
                && git.run(&["cat-file", "-e", tip]).is_err()
            {
                return Err(self.git_folder_is_lost(path));
            }
            restored.push(format!("restored {path}, which was replaced during the run"));
        }
        restored.extend(self.restore_refs(git));
        Ok(restored)
    }

    /// Puts the git folder back if something else is in its place; a copy of it will do, because what
    /// git obeys there is restored afterwards. Returns whether that is so.
    fn restore_git_folder(&self) -> io::Result<bool> {
        let Some((path, inode)) = &self.git_folder else { return Ok(false) };
        if inode_of(path) == Some(*inode) {
            return Ok(false);
        }
        let beside = path.parent().unwrap_or(path);
        let named = state::read_text(path).unwrap_or_default();
        let named = named.trim().strip_prefix("gitdir:").map(|named| beside.join(named.trim()));
        let named: Vec<_> = named.into_iter().chain(path.canonicalize_utf8()).collect();
        let mut places = named.iter().cloned().chain(folders_in(beside));
        let old = places.find(|place| inode_of(place) == Some(*inode));
        let is_like =
            |place: &&Utf8PathBuf| place.starts_with(beside) && place.join("HEAD").exists();
        let Some(found) = old.as_ref().or_else(|| named.iter().find(is_like)) else {
            return Err(self.git_folder_is_lost(path));
        };
        if found != path {
            set_aside(path)?;
            fs_err::rename(found, path)?;
        }
        Ok(true)
    }

    /// Sets aside what is in the place of the git folder: its hooks would run with the user's next
    /// commit.
    fn git_folder_is_lost(&self, path: &Utf8Path) -> io::Error {
        let moved = match set_aside(path) {
            Ok(Some(aside)) => format!("; it is now {aside}"),
            Ok(None) => String::new(),
            Err(error) => return error,
        };
        io::Error::other(format!(
            "{path} is not the git folder that it was when the attempt began{moved}, and that one is \
             not in the project; find it and put it back, then run `ralph-loop` again"
        ))
    }

    /// Removes new links, so that nothing is read or written through them, and restores the links
    /// that were removed or changed.
    fn restore_links(&self) -> io::Result<()> {
        for (path, before) in &self.links {
            let now = fs_err::read_link(path).ok();
            if now == *before {
                continue;
            }
            if now.is_some() {
                fs_err::remove_file(path)?;
                if matches!(path.file_name(), Some("refs" | "objects")) {
                    // Without these folders it would not be a repository.
                    fs_err::create_dir(path)?;
                }
            } else if path.exists() {
                set_aside(path)?;
            }
            if let Some(before) = before {
                fs_err::os::unix::fs::symlink(before, path)?;
            }
        }
        Ok(())
    }

    /// Restores refs and stashes, and returns messages. What a ref was set to is kept under a new name
    /// of ours, because another process of the user's may have set it.
    fn restore_refs(&self, git: &Git) -> Vec<String> {
        let mut said = Vec::new();
        let now = match refs(git) {
            Ok(now) => now,
            Err(error) => return vec![format!("the refs cannot be compared: {error}")],
        };
        let names: BTreeSet<&String> = self.refs.keys().chain(now.keys()).collect();
        let changed = names.into_iter().filter(|name| **name != self.branch);
        let changed: Vec<Change<'_>> = changed
            .map(|name| (name.as_str(), self.refs.get(name), now.get(name)))
            // An older version's record does not name the branch.
            .filter(|(_, before, now)| before != now && (now.is_none() || !self.branch.is_empty()))
            .collect();
        let head = git.line(&["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
        if changed.iter().any(|(name, ..)| *name == head) {
            // HEAD stays at its commit, which is the attempt's.
            let _ = git.run(&["update-ref", "--no-deref", "HEAD", "HEAD"]);
        }
        said.extend(changed.iter().take(MOST_KEPT).map(|change| keep_and_tell(git, change)));
        if changed.len() > MOST_KEPT {
            said.push(format!("{} more refs changed during the run", changed.len() - MOST_KEPT));
        }
        // First what is in the way of others: a folder of refs has the name of a ref.
        let new = changed.iter().filter(|(_, before, _)| before.is_none());
        let removed: String = new.map(|(name, ..)| format!("delete {name}\n")).collect();
        let old = changed.iter().filter_map(|(name, before, _)| Some((name, (*before)?)));
        let (links, ids): (Vec<_>, Vec<_>) =
            old.partition(|(_, before)| before.starts_with("refs/"));
        let set: String = ids.iter().map(|(name, id)| format!("update {name} {id}\n")).collect();
        for list in [removed, set].into_iter().filter(|list| !list.is_empty()) {
            let done = git.feed(&["update-ref", "--no-deref", "--stdin"], list.as_bytes());
            said.extend(done.err().map(|error| format!("could not restore refs: {error}")));
        }
        for (name, target) in links {
            let done = git.run(&["symbolic-ref", name, target]);
            said.extend(done.err().map(|error| format!("could not restore {name}: {error}")));
        }
        let stashes = stashes(git).unwrap_or_default();
        for stash @ (id, message) in self.stashes.iter().rev() {
            if !stashes.contains(stash) {
                let done = git.run(&["stash", "store", "--quiet", "-m", message, id]);
                let done = done.map_or_else(|error| error.to_string(), |_| "restored".into());
                said.push(format!(
                    "the stash \"{message}\", {id}, was deleted during the run: {done}"
                ));
            }
        }
        said
    }
}

/// A ref with its value before and now: an object, or the name of another ref.
type Change<'a> = (&'a str, Option<&'a String>, Option<&'a String>);

/// Keeps what a ref was set to, and says what has become of it.
fn keep_and_tell(git: &Git, (name, before, now): &Change<'_>) -> String {
    let mut said = match before {
        Some(before) => format!("restored {name} at {before}"),
        None => format!("removed {name}"),
    };
    let Some(now) = now else { return format!("{said}, which was deleted during the run") };
    said.push_str(&format!(", which was set to {now} during the run"));
    let plain = name.trim_start_matches("refs/").replace('/', "-");
    let kept = format!("{DISCARDED}{}-{plain}-{}", state::stamp(), now.get(..8).unwrap_or(now));
    // Another ref's name has nothing to keep.
    if !now.starts_with("refs/") && git.run(&["update-ref", &kept, now, ""]).is_ok() {
        said.push_str(&format!("; that is kept as {kept}"));
    }
    said
}

/// In place, restores the protected files before our own git reads them, after the attempt has run
/// something. Returns a message for each.
pub fn restore_protected(copy: &Workspace) -> Result<Vec<String>, Failure> {
    let records = &copy.own.records;
    let files = if copy.is_in_place { ProtectedFiles::remembered(records) } else { None };
    Ok(files.map_or(Ok(Vec::new()), |files| files.restore(&copy.source.git(), records))?)
}

/// Runs `act`, which runs the project's programs, and in place restores protected files afterwards.
pub fn protecting<T>(
    copy: &mut Workspace,
    [plan, progress]: [&Utf8PathBuf; 2],
    act: impl FnOnce(&mut Workspace) -> Result<T, Failure>,
) -> Result<(T, Vec<String>), Failure> {
    let is_new = copy.is_in_place && ProtectedFiles::remembered(&copy.own.records).is_none();
    if is_new {
        ProtectedFiles::remember(copy, (plan, Some(progress)))?;
    }
    let done = act(copy);
    let restored = restore_protected(copy)?;
    if is_new {
        ProtectedFiles::forget(&copy.own.records)?;
    }
    Ok((done?, restored))
}

/// Returns the refs, except our own and the stash, with their objects, or the refs that they name.
fn refs(git: &Git) -> Result<BTreeMap<String, String>, GitError> {
    let refs = git.line(&["for-each-ref", "--format=%(objectname) %(symref) %(refname)"])?;
    let parts = |line: &str| {
        let (id, rest) = line.split_once(' ')?;
        let (link, name) = rest.split_once(' ')?;
        let value = if link.is_empty() { id } else { link };
        Some((name.to_owned(), value.to_owned()))
    };
    let is_other = |name: &str| !name.starts_with("refs/ralph/") && name != "refs/stash";
    Ok(refs.lines().filter_map(parts).filter(|(name, _)| is_other(name)).collect())
}

/// Returns the stashes, newest first.
fn stashes(git: &Git) -> Result<Vec<(String, String)>, GitError> {
    let stashes = git.line(&["stash", "list", "--format=%H %gs"])?;
    let stashes = stashes.lines().filter_map(|line| line.split_once(' '));
    Ok(stashes.map(|(id, message)| (id.to_owned(), message.to_owned())).collect())
}

/// Returns the inode of a folder; `None` if there is something else.
fn inode_of(folder: &Utf8Path) -> Option<u64> {
    Some(folder.symlink_metadata().ok()?).filter(|found| found.is_dir()).map(|found| found.ino())
}

/// Renames what is at a path, if anything is; returns its new name.
fn set_aside(path: &Utf8Path) -> io::Result<Option<String>> {
    if !is_there(path) {
        return Ok(None);
    }
    let aside = format!("{path}.replaced-{}", state::now());
    fs_err::rename(path, &aside)?;
    Ok(Some(aside))
}

/// Returns the git folders of submodules, and of submodules of these.
fn repositories_in(modules: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = modules.read_dir_utf8().into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    let found = |folder: Utf8PathBuf| {
        if !folder.join("HEAD").exists() {
            return repositories_in(&folder);
        }
        let inner = repositories_in(&folder.join("modules"));
        [vec![folder], inner].concat()
    };
    folders.flat_map(|entry| found(entry.into_path())).collect()
}

/// Returns the folders below a folder, up to a number, nearer ones first.
fn folders_in(folder: &Utf8Path) -> impl Iterator<Item = Utf8PathBuf> {
    let mut waiting = VecDeque::from([folder.to_owned()]);
    let next = move || {
        let folder = waiting.pop_front()?;
        let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
        waiting.extend(folders.map(|entry| entry.into_path()));
        Some(folder)
    };
    std::iter::from_fn(next).take(MOST_FOLDERS)
}

fn is_there(path: &Utf8Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn is_gone(path: &Utf8Path) -> bool {
    !path.symlink_metadata().is_ok_and(|it| it.is_file())
}

/// Returns the mode and content of a file; `None` if there is no such file.
fn content(path: &Utf8Path) -> Option<(u32, Vec<u8>)> {
    let mode = fs_err::metadata(path).ok()?.permissions().mode();
    Some((mode, state::read(path).ok()?))
}

fn files_below(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let below = |entry: Utf8DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files_below(entry.path()),
        _ => vec![entry.into_path()],
    };
    entries.flat_map(below).collect()
}
