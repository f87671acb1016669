//! The project's checkout follows its branch, as `git merge --ff-only` would let it.
//!
//! First it is made sure that no file which is to change holds anything of the user's; then the
//! branch is moved by compare-and-swap, and only then the files and the index. All of it happens
//! under git's own lock on the index, and a note says what is going on: bringing the files along can
//! be done again after a crash, as often as it takes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::fault;
use ralph_core::git::{Git, GitError};
use ralph_core::listing::named_files;
use ralph_core::state;
use serde::{Deserialize, Serialize};

use super::index_lock::{self, IndexLock};
use super::loop_files::{Change, LoopFile};
use super::target::{checked_out, resolve};
use crate::exit::Failure;
use crate::git_output::{empty_tree, paths};
use crate::workspace::{Source, copy_index};

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Followed {
    Yes,
    /// The branch is not where it was.
    Moved,
    /// Files of the user's would be overwritten, or the index is locked.
    InTheWay(String),
    /// Git or a hook refused to move the branch.
    Refused(String),
}

/// What is going on, for whoever comes after a crash.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Note {
    branch: String,
    old: Option<String>,
    new: String,
    /// The loop's own files, which are brought along by themselves.
    spared: Vec<PathBuf>,
}

/// A path that two commits do not agree about.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Changed {
    path: PathBuf,
    /// Mode and id in the new commit; zeros if it is removed.
    mode: String,
    id: String,
    is_added: bool,
    /// Whether it is or was a submodule, whose folder git leaves alone as well.
    is_link: bool,
}

/// The mode of what is not there.
const ABSENT: &str = "000000";

/// The mode of a submodule.
const LINK: &str = "160000";

/// How long a `git switch` may take from its look at a branch to its move of HEAD.
const SWITCHING: Duration = Duration::from_millis(30);

/// Moves a branch; where it is checked out in the project, its files follow.
pub(super) fn follow(
    source: &Source,
    branch: &str,
    old: Option<&str>,
    new: &str,
    files: &[LoopFile],
) -> Result<Followed, Failure> {
    let place = Checkout::of(source);
    let lock = IndexLock::take(&place.git_dir, &place.top)?;
    let is_here = || checked_out(&place.git).as_deref() == Some(branch);
    if resolve(&place.git, branch)?.as_deref() != old {
        return Ok(Followed::Moved);
    }
    let was_here = is_here();
    if was_here && lock.is_none() {
        let path = index_lock::path_in(&place.git_dir);
        let why = format!("{} is held by another process", path.display());
        return Ok(Followed::InTheWay(why));
    }
    let note = Note {
        branch: branch.to_owned(),
        old: old.map(str::to_owned),
        new: new.to_owned(),
        spared: files.iter().map(|file| file.path.clone()).collect(),
    };
    let changed = place.changed(&note)?;
    if was_here {
        let in_the_way = place.in_the_way(&note, &changed)?;
        if !in_the_way.is_empty() {
            let files = named_files(&in_the_way);
            return Ok(Followed::InTheWay(format!(
                "it would overwrite uncommitted work in {files}"
            )));
        }
        // A `git switch` frees the index a moment before it moves HEAD.
        if !is_here() {
            return Ok(Followed::Moved);
        }
    }
    place.save(&note)?;
    fault::point("follow.noted");
    if let Some(refused) = place.swap(&note)? {
        place.forget()?;
        return Ok(refused);
    }
    fault::point("follow.moved");
    if was_here {
        if let Some(lock) = lock {
            place.bring(lock, &note, &changed, files)?;
        }
    } else {
        // A `git switch` to the branch may have looked at it before it moved: then the files are to
        // be brought along after all.
        std::thread::sleep(SWITCHING);
        if let (true, Some(lock)) = (is_here(), lock) {
            place.bring_free(lock, &note, changed, files)?;
        }
    }
    place.forget()?;
    Ok(Followed::Yes)
}

/// Whether a crash left the project's files behind their branch, or its index locked.
pub(crate) fn is_interrupted(source: &Source) -> bool {
    let place = Checkout::of(source);
    place.note_path().is_file() || index_lock::is_left(&place.git_dir)
}

/// Finishes what a crash interrupted, under the lock that was held then: nobody comes in between.
pub(crate) fn finish_interrupted(source: &Source) -> Result<(), Failure> {
    let place = Checkout::of(source);
    let left = IndexLock::left(&place.git_dir);
    let Ok(text) = fs_err::read(place.note_path()) else { return Ok(()) };
    let Ok(note) = serde_json::from_slice::<Note>(&text) else { return Ok(place.forget()?) };
    let is_moved = resolve(&place.git, &note.branch)?.as_deref() == Some(note.new.as_str());
    if is_moved && checked_out(&place.git).as_deref() == Some(note.branch.as_str()) {
        let lock = match left {
            Some(lock) => Some(lock),
            None => IndexLock::take(&place.git_dir, &place.top)?,
        };
        if let Some(lock) = lock {
            let changed = place.changed(&note)?;
            place.bring_free(lock, &note, changed, &place.loop_files(&note))?;
        }
    }
    Ok(place.forget()?)
}

/// The project's checkout.
struct Checkout {
    git: Git,
    top: PathBuf,
    git_dir: PathBuf,
}

impl Checkout {
    fn of(source: &Source) -> Self {
        let top = source.top.clone().into_std_path_buf();
        Self { git: source.git(), top, git_dir: source.git_dir.clone() }
    }

    fn note_path(&self) -> PathBuf {
        self.git_dir.join("ralph/following.json")
    }

    fn scratch(&self, name: &str) -> PathBuf {
        self.git_dir.join("ralph").join(name)
    }

    fn save(&self, note: &Note) -> io::Result<()> {
        let path = camino::Utf8PathBuf::from_path_buf(self.note_path())
            .map_err(|path| io::Error::other(format!("{} is not UTF-8", path.display())))?;
        state::replace(&path, &serde_json::to_vec(note)?)
    }

    fn forget(&self) -> io::Result<()> {
        state::remove_if_there(self.note_path())
    }

    /// Moves the branch by compare-and-swap; says why, if it was not moved.
    fn swap(&self, note: &Note) -> Result<Option<Followed>, Failure> {
        let Note { branch, old, new, .. } = note;
        let from = old.as_deref().unwrap_or_default();
        match self.git.run(&["update-ref", "-m", "ralph: land a story", branch, new, from]) {
            Ok(_) => Ok(None),
            Err(GitError::Failed { stderr, .. }) if resolve(&self.git, branch)? == *old => {
                Ok(Some(Followed::Refused(stderr)))
            }
            Err(GitError::Failed { .. }) => Ok(Some(Followed::Moved)),
            Err(error) => Err(error.into()),
        }
    }

    /// Brings files and index along; what is the user's own stays.
    fn bring_free(
        &self,
        lock: IndexLock,
        note: &Note,
        mut changed: Vec<Changed>,
        files: &[LoopFile],
    ) -> Result<(), Failure> {
        let in_the_way = self.in_the_way(note, &changed)?;
        changed.retain(|one| !in_the_way.contains(&one.path));
        self.bring(lock, note, &changed, files)
    }

    fn bring(
        &self,
        lock: IndexLock,
        note: &Note,
        changed: &[Changed],
        files: &[LoopFile],
    ) -> Result<(), Failure> {
        self.bring_files(note, changed)?;
        self.bring_loop_files(files)?;
        fault::point("follow.files");
        self.bring_index(lock, note, changed, files)
    }

    /// The paths that differ between the two commits, but for the loop's own.
    fn changed(&self, note: &Note) -> Result<Vec<Changed>, Failure> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"];
        let output = self.git.run(&[&args[..], &[&self.base(note)?, &note.new]].concat())?;
        let mut changed = parse(&output);
        changed.retain(|one| !note.spared.contains(&one.path));
        Ok(changed)
    }

    /// What the new commit is compared with.
    fn base(&self, note: &Note) -> Result<String, GitError> {
        match &note.old {
            Some(old) => Ok(old.clone()),
            None => empty_tree(&self.git),
        }
    }

    /// Paths that are to change and hold something of the user's: staged, changed or untracked. What
    /// is already as it is to be is in nobody's way.
    fn in_the_way(&self, note: &Note, changed: &[Changed]) -> Result<Vec<PathBuf>, Failure> {
        let copy = self.scratch("index-look");
        let git = self.git_on(&copy)?;
        // Which entries are stale is the question; that some are is no failure.
        let _ = git.run(&["update-index", "-q", "--refresh"]);
        let mut users = names(&git.run(&["diff-files", "-z", "--name-only"])?);
        let base = self.base(note)?;
        users.extend(names(&git.run(&["diff-index", "--cached", "-z", "--name-only", &base])?));
        let is_new = |one: &&Changed| one.is_added && self.is_taken(&one.path, changed);
        let tracked = match changed.iter().any(|one| is_new(&one)) {
            true => names(&git.run(&["ls-files", "-z"])?),
            false => BTreeSet::new(),
        };
        state::remove_if_there(&copy)?;
        let is_held = |one: &&Changed| {
            users.contains(&one.path) || is_new(one) && !tracked.contains(&one.path)
        };
        let mut held: Vec<&Changed> = changed.iter().filter(is_held).collect();
        if !held.is_empty() {
            let arrived = self.arrived(changed)?;
            held.retain(|one| !arrived.contains(&one.path));
        }
        Ok(held.into_iter().map(|one| one.path.clone()).collect())
    }

    /// Whether something that git does not know is where a new file is to be.
    fn is_taken(&self, path: &Path, changed: &[Changed]) -> bool {
        let is_removed =
            |path: &Path| changed.iter().any(|one| one.path == path && one.is_removed());
        if self.holds_more(path, &is_removed) {
            return true;
        }
        let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        folders.any(|folder| {
            let metadata = self.top.join(folder).symlink_metadata();
            metadata.is_ok_and(|metadata| !metadata.is_dir()) && !is_removed(folder)
        })
    }

    /// Whether a file is there, or a folder with any, that does not go.
    fn holds_more(&self, path: &Path, goes: &dyn Fn(&Path) -> bool) -> bool {
        match self.top.join(path).symlink_metadata() {
            Err(_) => false,
            Ok(metadata) if !metadata.is_dir() => !goes(path),
            Ok(_) => {
                let entries = fs_err::read_dir(self.top.join(path)).into_iter().flatten().flatten();
                let mut inside = entries.map(|entry| path.join(entry.file_name()));
                inside.any(|path| self.holds_more(&path, goes))
            }
        }
    }

    /// Those of the paths whose files are what the new commit says.
    fn arrived(&self, changed: &[Changed]) -> Result<BTreeSet<PathBuf>, Failure> {
        let index = self.scratch("index-new");
        state::remove_if_there(&index)?;
        let git = self.git.on_index(index.clone());
        let wanted = changed.iter().filter(|one| !one.is_removed());
        let wanted: Vec<u8> = wanted.flat_map(Changed::entry).collect();
        if !wanted.is_empty() {
            git.feed(&["update-index", "-z", "--index-info"], &wanted)?;
        }
        let _ = git.run(&["update-index", "-q", "--refresh"]);
        let differ = names(&git.run(&["diff-files", "-z", "--name-only"])?);
        state::remove_if_there(&index)?;
        let is_there = |one: &&Changed| {
            let is_gone = || self.top.join(&one.path).symlink_metadata().is_err();
            if one.is_removed() { is_gone() } else { !differ.contains(&one.path) }
        };
        Ok(changed.iter().filter(is_there).map(|one| one.path.clone()).collect())
    }

    /// Git on a copy of the user's index.
    fn git_on(&self, copy: &Path) -> io::Result<Git> {
        let index = self.git_dir.join("index");
        state::remove_if_there(copy)?;
        if index.exists() {
            copy_index(&index, copy)?;
        }
        Ok(self.git.on_index(copy.to_owned()))
    }

    fn bring_files(&self, note: &Note, changed: &[Changed]) -> Result<(), Failure> {
        for gone in changed.iter().filter(|one| one.is_removed() && !one.is_link) {
            state::remove_if_there(self.top.join(&gone.path))?;
            self.remove_empty_folders(&gone.path);
        }
        let index = self.scratch("index-new");
        state::remove_if_there(&index)?;
        let git = self.git.on_index(index.clone());
        git.run(&["read-tree", &note.new])?;
        let paths = |is_added: bool| -> Vec<u8> {
            let is_wanted =
                |one: &&Changed| one.is_added == is_added && !one.is_removed() && !one.is_link;
            let wanted = changed.iter().filter(is_wanted);
            wanted.flat_map(|one| [one.path.as_os_str().as_bytes(), b"\0"].concat()).collect()
        };
        let checkout = ["checkout-index", "-q", "-z", "--stdin"];
        if !paths(false).is_empty() {
            git.feed(&[&checkout[..], &["-f"]].concat(), &paths(false))?;
        }
        if !paths(true).is_empty() {
            // Never over a file that the user has made just now.
            let _ = git.feed(&checkout, &paths(true));
        }
        Ok(state::remove_if_there(&index)?)
    }

    fn remove_empty_folders(&self, path: &Path) {
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            if fs_err::remove_dir(self.top.join(folder)).is_err() {
                return;
            }
        }
    }

    /// The loop's files as the two commits have them. A text that is the user's own gets its change
    /// from whoever finishes the landing.
    fn loop_files(&self, note: &Note) -> Vec<LoopFile> {
        let text = |commit: &str, path: &Path| {
            self.git
                .run(&["cat-file", "blob", &format!("{commit}:{}", path.to_string_lossy())])
                .ok()
        };
        let file = |path: &PathBuf| {
            let before = note.old.as_deref().and_then(|old| text(old, path));
            let after = text(&note.new, path)?;
            Some(LoopFile { path: path.clone(), before, after, change: Change::AsOnDisk })
        };
        note.spared.iter().filter_map(file).collect()
    }

    /// The user's own text of plan and progress gets the same change.
    fn bring_loop_files(&self, files: &[LoopFile]) -> io::Result<()> {
        for file in files {
            let path = self.top.join(&file.path);
            let Ok(path) = camino::Utf8PathBuf::from_path_buf(path) else { continue };
            file.bring_to(&path)?;
        }
        Ok(())
    }

    fn bring_index(
        &self,
        lock: IndexLock,
        note: &Note,
        changed: &[Changed],
        files: &[LoopFile],
    ) -> Result<(), Failure> {
        let copy = self.scratch("index-next");
        let git = self.git_on(&copy)?;
        let mut entries: Vec<u8> = changed.iter().flat_map(Changed::entry).collect();
        for file in files {
            entries.extend(self.loop_entry(&git, note, file)?);
        }
        if !entries.is_empty() {
            git.feed(&["update-index", "-z", "--index-info"], &entries)?;
        }
        let _ = git.run(&["update-index", "-q", "--refresh"]);
        Ok(lock.commit(&copy, &self.git_dir.join("index"))?)
    }

    /// What is staged of a file of the loop's: that of the commit, or the user's own with the change.
    fn loop_entry(&self, git: &Git, note: &Note, file: &LoopFile) -> Result<Vec<u8>, Failure> {
        let name = file.path.to_string_lossy();
        let staged = git.run(&["cat-file", "blob", &format!(":{name}")]).ok();
        let is_users = staged.is_some() && staged != file.before;
        let text = match (is_users, &staged) {
            (true, Some(staged)) => file.change.apply(staged),
            _ if file.before.is_some() && staged.is_none() && note.old.is_some() => {
                return Ok(Vec::new());
            }
            _ => file.after.clone(),
        };
        let id = git.feed(&["hash-object", "-w", "--stdin"], &text)?;
        let id = String::from_utf8_lossy(&id).trim().to_owned();
        Ok([format!("100644 {id}\t").as_bytes(), file.path.as_os_str().as_bytes(), b"\0"].concat())
    }
}

impl Changed {
    fn is_removed(&self) -> bool {
        self.mode == ABSENT
    }

    /// The line for `update-index`.
    fn entry(&self) -> Vec<u8> {
        let mode = if self.is_removed() { "0" } else { &self.mode };
        [format!("{mode} {}\t", self.id).as_bytes(), self.path.as_os_str().as_bytes(), b"\0"]
            .concat()
    }
}

fn names(listed: &[u8]) -> BTreeSet<PathBuf> {
    paths(listed).into_iter().collect()
}

/// `:<old mode> <new mode> <old id> <new id> <state>NUL<path>NUL`, again and again.
fn parse(output: &[u8]) -> Vec<Changed> {
    let mut parts = output.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, mode, _, id, ..] = words.as_slice() else { continue };
        let path = PathBuf::from(OsStr::from_bytes(path));
        let (mode, id) = ((*mode).to_owned(), (*id).to_owned());
        let is_link = [*old_mode, mode.as_str()].contains(&LINK);
        found.push(Changed { path, mode, id, is_added: *old_mode == ABSENT, is_link });
    }
    found
}
