//! Working in the project's own tree, for projects that cannot be built elsewhere.
//!
//! The tree is clean when an attempt begins, so later changes are the attempt's. Files that control
//! the run are recorded before the agent starts and restored afterwards.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use camino::{Utf8DirEntry, Utf8Path, Utf8PathBuf};
use ralph_base::state::{self, RunDir, StateDir};
use ralph_core::git::{Git, GitError, Repo, Status};

use super::remove::remove_all;
use super::{Source, Start, Workspace};
use ralph_project::failure::Failure;
use serde::{Deserialize, Serialize};

/// The refs that make git show one object as another.
const REPLACED: &str = "refs/replace/";

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
    /// Objects of all refs by name, except our own, the stash and the checked-out branch.
    #[serde(default)]
    refs: BTreeMap<String, String>,
    /// Commits and messages of stashes, newest first.
    #[serde(default)]
    stashes: Vec<(String, String)>,
}

impl ProtectedFiles {
    /// Records them: settings, templates beside the plan, progress, lessons, lifecycle scripts, the
    /// client's settings, and git's settings, hooks and attributes, which our own git obeys.
    pub fn remember(
        copy: &Workspace,
        (plan, progress): (&Utf8Path, Option<&Utf8PathBuf>),
    ) -> io::Result<()> {
        let (source, root) = (&copy.source, copy.root());
        let state = StateDir::of_project(root);
        let mut paths = vec![state.config(), state.guardrails()];
        paths.extend(progress.cloned());
        paths.extend([StateDir::prompt_beside(plan), StateDir::review_prompt_beside(plan)]);
        let client = root.join(state::CLIENT_FOLDER);
        paths.extend(["settings.json", "settings.local.json"].map(|name| client.join(name)));
        let (mut folders, mut kept) = (vec![state.lifecycle()], Vec::new());
        let mut moving = BTreeMap::from([(state.failure_context(), None)]);
        if let Ok(git) = Utf8PathBuf::from_path_buf(source.git_dir.clone()) {
            paths.extend(["config.worktree", "commondir"].map(|name| git.join(name)));
            let head = git.join("HEAD");
            moving.extend([(git.join("index"), None), (head.clone(), content(&head))]);
        }
        moving.retain(|path, _| !is_there(path) || !is_gone(path));
        if let Ok(git) = Utf8PathBuf::from_path_buf(source.shared.clone()) {
            paths.extend(
                ["config", "config.worktree", "objects/info/alternates"].map(|name| git.join(name)),
            );
            folders.extend(["hooks", "info"].map(|name| git.join(name)));
            kept.extend(["refs", "objects", "logs", "ralph"].map(|name| git.join(name)));
        }
        paths.extend(folders.iter().flat_map(|folder| files_below(folder)));
        let above = paths.iter().chain(moving.keys()).chain(&folders).chain(&kept);
        let above = above.flat_map(|path| path.ancestors());
        let above = above.filter(|path| !root.starts_with(path));
        let links = above.map(|path| (path.to_owned(), fs_err::read_link(path).ok())).collect();
        let files = paths.iter().map(|path| (path.clone(), content(path))).collect();
        let git = source.git();
        let (mut refs, stashes) = refs(&git).map_err(io::Error::other)?;
        refs.remove(&git.line(&["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default());
        let folder = source.top.join(".git");
        let git_folder = inode_of(&folder).map(|inode| (folder, inode));
        let protected = Self { files, moving, folders, links, git_folder, refs, stashes };
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
        let mut restored: Vec<String> = self.restore_git_folder()?.into_iter().collect();
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
        restored.extend(self.restore_refs(git));
        Ok(restored)
    }

    /// Puts the git folder back if something else is in its place.
    fn restore_git_folder(&self) -> io::Result<Option<String>> {
        let Some((path, inode)) = &self.git_folder else { return Ok(None) };
        if inode_of(path) == Some(*inode) {
            return Ok(None);
        }
        let beside = path.parent().unwrap_or(path);
        let named = state::read_text(path).unwrap_or_default();
        let named = named.trim().strip_prefix("gitdir:").map(|named| beside.join(named.trim()));
        let entries = beside.read_dir_utf8()?.flatten().map(|entry| entry.into_path());
        let mut places = named.into_iter().chain(path.read_link_utf8()).chain(entries);
        let Some(found) = places.find(|place| inode_of(&beside.join(place)) == Some(*inode)) else {
            return Err(io::Error::other(format!(
                "{path} is not the git folder that it was when the attempt began, and that one is \
                 not beside it; find it and put it back, then run `ralph-loop` again"
            )));
        };
        if is_there(path) {
            fs_err::rename(path, format!("{path}.replaced-{}", state::now()))?;
        }
        fs_err::rename(beside.join(found), path)?;
        Ok(Some(format!("restored {path}, which was replaced during the run")))
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
                fs_err::rename(path, format!("{path}.replaced-{}", state::now()))?;
            }
            if let Some(before) = before {
                fs_err::os::unix::fs::symlink(before, path)?;
            }
        }
        Ok(())
    }

    /// Restores deleted refs and stashes, and returns messages. A ref that has moved is only
    /// reported, because other processes may have moved it; those that show an object as another
    /// one are restored in any case.
    fn restore_refs(&self, git: &Git) -> Vec<String> {
        let Ok((refs, stashes)) = refs(git) else { return Vec::new() };
        let mut said = Vec::new();
        let mut restore = |name: &str, id: &str, args: &[&str]| {
            said.push(match git.run(args) {
                Ok(_) => {
                    format!("restored {name} at {id}, which was deleted during the run")
                }
                Err(error) => format!("could not restore {name}, which was at {id}: {error}"),
            });
        };
        for (name, id) in self.refs.iter().filter(|(name, _)| !refs.contains_key(*name)) {
            restore(name, id, &["update-ref", name, id, ""]);
        }
        for (name, id) in refs.iter().filter(|(name, _)| name.starts_with(REPLACED)) {
            let before = self.refs.get(name);
            if before != Some(id) {
                let args = match before {
                    Some(before) => vec!["update-ref", name, before, id],
                    None => vec!["update-ref", "-d", name, id],
                };
                let done =
                    git.run(&args).map_or_else(|error| error.to_string(), |_| "undone".into());
                said.push(format!("{name} was set to {id} during the run: {done}"));
            }
        }
        let mut restore = |name: &str, id: &str, args: &[&str]| {
            said.push(match git.run(args) {
                Ok(_) => format!("restored {name} at {id}, which was deleted during the run"),
                Err(error) => format!("could not restore {name}, which was at {id}: {error}"),
            });
        };
        for stash @ (id, message) in self.stashes.iter().rev() {
            if !stashes.contains(stash) {
                let what = format!("the stash \"{message}\"");
                restore(&what, id, &["stash", "store", "--quiet", "-m", message, id]);
            }
        }
        for (name, id) in &self.refs {
            if let Some(now) =
                refs.get(name).filter(|now| *now != id && !name.starts_with(REPLACED))
            {
                said.push(format!("{name} moved from {id} to {now} during the run"));
            }
        }
        said
    }
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

/// Returns the refs with their objects, except our own, and the stashes, newest first.
#[expect(clippy::type_complexity, reason = "as they are remembered")]
fn refs(git: &Git) -> Result<(BTreeMap<String, String>, Vec<(String, String)>), GitError> {
    let refs = git.line(&["for-each-ref", "--format=%(objectname) %(refname)"])?;
    let is_other = |name: &str| !name.starts_with("refs/ralph/") && name != "refs/stash";
    let refs = refs.lines().filter_map(|line| line.split_once(' '));
    let refs = refs.filter(|(_, name)| is_other(name));
    let stashes = git.line(&["stash", "list", "--format=%H %gs"])?;
    let stashes = stashes.lines().filter_map(|line| line.split_once(' '));
    let stashes = stashes.map(|(id, message)| (id.to_owned(), message.to_owned())).collect();
    Ok((refs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect(), stashes))
}

/// Returns the inode of a folder; `None` if there is something else.
fn inode_of(folder: &Utf8Path) -> Option<u64> {
    Some(folder.symlink_metadata().ok()?).filter(|found| found.is_dir()).map(|found| found.ino())
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
