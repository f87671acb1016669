//! The project's checkout follows its branch, as `git merge --ff-only` would let it.
//!
//! First it is made sure that no file which is to change holds anything of the user's; then the
//! branch is moved by compare-and-swap, at once the index with it, and then the files. All of it
//! happens under git's own lock on the index, and a note says what is going on: bringing index and
//! files along can be done again after a crash, as often as it takes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use ralph_core::fault;
use ralph_core::git::{Git, GitError};
use ralph_core::listing::named_files;
use ralph_core::state;
use serde::{Deserialize, Serialize};

use super::index_lock::{self, IndexLock};
use super::loop_files::{Change, LoopFile};
use super::target::{look_at, resolve};
use crate::exit::Failure;
use crate::git_output::{
    Difference, FileEntry, RAW, differences, empty_tree, listed as list_of, paths,
};
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
    loop_files: Vec<PathBuf>,
}

/// Moves a branch; where it is checked out in the project, index and files follow.
pub(super) fn follow(
    source: &Source,
    branch: &str,
    old: Option<&str>,
    new: &str,
    files: &[LoopFile],
) -> Result<Followed, Failure> {
    let place = Checkout::of(source);
    // No git that was at work here before can still move HEAD, and none that starts now gets far.
    let lock = IndexLock::take(&place.git_dir, &place.top)?;
    let (tip, is_here) = look_at(&place.git, branch)?;
    if tip.as_deref() != old {
        return Ok(Followed::Moved);
    }
    let note = Note {
        branch: branch.to_owned(),
        old: old.map(str::to_owned),
        new: new.to_owned(),
        loop_files: files.iter().map(|file| file.path.clone()).collect(),
    };
    let next = match (is_here, &lock) {
        (false, _) => None,
        (true, None) => {
            let path = index_lock::path_in(&place.git_dir);
            let why = format!("{} is held by another process", path.display());
            return Ok(Followed::InTheWay(why));
        }
        (true, Some(_)) => {
            let step = Step::of(&place, &note, files)?;
            let in_the_way = step.in_the_way()?;
            if !in_the_way.is_empty() {
                let files = named_files(&in_the_way);
                let why = format!("it would overwrite uncommitted work in {files}");
                return Ok(Followed::InTheWay(why));
            }
            Some((step.index()?, step))
        }
    };
    place.save(&note)?;
    fault::point("follow.noted");
    if let Some(refused) = place.swap(&note)? {
        place.forget()?;
        return Ok(refused);
    }
    if let Some((index, step)) = next {
        step.bring(&index)?;
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
/// What is the user's own by now stays as it is.
pub(crate) fn finish_interrupted(source: &Source) -> Result<(), Failure> {
    let place = Checkout::of(source);
    let left = IndexLock::left(&place.git_dir);
    let Ok(text) = fs_err::read(place.note_path()) else { return Ok(()) };
    let Ok(note) = serde_json::from_slice::<Note>(&text) else { return Ok(place.forget()?) };
    if look_at(&place.git, &note.branch)? == (Some(note.new.clone()), true) {
        let lock = match left {
            Some(lock) => Some(lock),
            None => IndexLock::take(&place.git_dir, &place.top)?,
        };
        if lock.is_some() {
            let files = place.loop_files(&note);
            let mut step = Step::of(&place, &note, &files)?;
            let in_the_way = step.in_the_way()?;
            step.changed.retain(|one| !in_the_way.contains(&one.path));
            step.bring(&step.index()?)?;
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

    /// What the new commit is compared with.
    fn base(&self, note: &Note) -> Result<String, GitError> {
        match &note.old {
            Some(old) => Ok(old.clone()),
            None => empty_tree(&self.git),
        }
    }

    /// What is staged, as far as it is not as in the old commit.
    fn staged(&self, note: &Note) -> Result<Vec<Difference>, Failure> {
        let base = self.base(note)?;
        let args = [&["diff-index", "--cached"], &RAW[..], &[&base]].concat();
        Ok(differences(&self.git.run(&args)?))
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

    /// What the user has staged of a file of the loop's, with the loop's change. One that the user
    /// took out of the index stays out.
    fn with_change(&self, file: &LoopFile, staged: &FileEntry) -> Result<FileEntry, Failure> {
        if staged.is_absent() {
            return Ok(staged.clone());
        }
        let text = file.change.apply(&self.git.run(&["cat-file", "blob", &staged.id])?);
        let id = self.git.feed(&["hash-object", "-w", "--stdin"], &text)?;
        Ok(FileEntry::file(String::from_utf8_lossy(&id).trim().to_owned()))
    }

    fn copy_of_index(&self, name: &str) -> io::Result<PathBuf> {
        let (index, copy) = (self.git_dir.join("index"), self.scratch(name));
        state::remove_if_there(&copy)?;
        if index.exists() {
            copy_index(&index, &copy)?;
        }
        Ok(copy)
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
        note.loop_files.iter().filter_map(file).collect()
    }
}

/// One move of the checkout along its branch.
struct Step<'a> {
    place: &'a Checkout,
    note: &'a Note,
    files: &'a [LoopFile],
    /// The paths that differ between the two commits.
    changed: Vec<Difference>,
    /// The paths at which files or index may not be as in the old commit.
    users: BTreeSet<PathBuf>,
}

impl<'a> Step<'a> {
    fn of(place: &'a Checkout, note: &'a Note, files: &'a [LoopFile]) -> Result<Self, Failure> {
        let base = place.base(note)?;
        let between = [&["diff-tree", "-r"], &RAW[..], &[&base, &note.new]].concat();
        let changed = differences(&place.git.run(&between)?);
        let users = place.git.run(&["diff-index", "-z", "--name-only", &base])?;
        let users = paths(&users).into_iter().collect();
        Ok(Self { place, note, files, changed, users })
    }

    /// Plan and progress are brought along by a change to the user's own text, which they may be
    /// writing at this moment.
    fn is_loop_file(&self, one: &Difference) -> bool {
        self.note.loop_files.contains(&one.path)
    }

    /// Paths that are to change and hold something of the user's: where the file or what is staged
    /// is neither as it was nor as it is to be.
    fn in_the_way(&self) -> Result<Vec<PathBuf>, Failure> {
        let is_suspect = |one: &&Difference| {
            let is_taken = one.old.is_absent() && self.is_taken(&one.path);
            (is_taken || self.users.contains(&one.path)) && !self.is_loop_file(one)
        };
        let suspects: Vec<&Difference> = self.changed.iter().filter(is_suspect).collect();
        if suspects.is_empty() {
            return Ok(Vec::new());
        }
        let mut staged = self.place.staged(self.note)?;
        staged.retain(|one| !suspects.iter().any(|s| s.path == one.path && s.new == one.new));
        let not_old = self.differing(&suspects, |one| &one.old)?;
        let not_new = self.differing(&suspects, |one| &one.new)?;
        let is_held = |path: &PathBuf| {
            staged.iter().any(|one| one.path == *path)
                || not_old.contains(path) && not_new.contains(path)
        };
        Ok(suspects.iter().map(|one| one.path.clone()).filter(is_held).collect())
    }

    /// Those of the paths whose files are not what one side says.
    fn differing(
        &self,
        suspects: &[&Difference],
        side: impl Fn(&Difference) -> &FileEntry,
    ) -> Result<BTreeSet<PathBuf>, Failure> {
        let index = self.place.scratch("index-look");
        state::remove_if_there(&index)?;
        let git = self.place.git.on_index(index.clone());
        let (absent, there): (Vec<&Difference>, Vec<&Difference>) =
            suspects.iter().partition(|one| side(one).is_absent());
        let entries: Vec<u8> = there.iter().flat_map(|one| side(one).line(&one.path)).collect();
        git.feed(&["update-index", "-z", "--index-info"], &entries)?;
        // Which entries are stale is the question; that some are is no failure.
        let _ = git.run(&["update-index", "-q", "--refresh"]);
        let mut found: BTreeSet<PathBuf> =
            paths(&git.run(&["diff-files", "-z", "--name-only"])?).into_iter().collect();
        state::remove_if_there(&index)?;
        let taken = absent.iter().filter(|one| self.is_taken(&one.path));
        found.extend(taken.map(|one| one.path.clone()));
        Ok(found)
    }

    /// Whether something is where no file is to be, apart from what goes.
    fn is_taken(&self, path: &Path) -> bool {
        let goes = |other: &Path| {
            other != path && self.changed.iter().any(|one| one.path == other && one.new.is_absent())
        };
        if self.place.holds_more(path, &goes) {
            return true;
        }
        let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        folders.any(|folder| {
            let metadata = self.place.top.join(folder).symlink_metadata();
            metadata.is_ok_and(|metadata| !metadata.is_dir()) && !goes(folder)
        })
    }

    /// The index as it is to be, ready to take the place of the user's.
    fn index(&self) -> Result<PathBuf, Failure> {
        let is_users = self.files.iter().any(|file| self.users.contains(&file.path));
        let staged = if is_users { self.place.staged(self.note)? } else { Vec::new() };
        let mut entries = Vec::new();
        for one in &self.changed {
            let file = self.files.iter().find(|file| file.path == one.path);
            let staged = staged.iter().find(|staged| staged.path == one.path);
            let entry = match (file, staged) {
                (Some(file), Some(staged)) if staged.new != one.new => {
                    self.place.with_change(file, &staged.new)?
                }
                _ => one.new.clone(),
            };
            entries.extend(entry.line(&one.path));
        }
        let index = self.place.copy_of_index("index-next")?;
        let git = self.place.git.on_index(index.clone());
        git.feed(&["update-index", "-z", "--index-info"], &entries)?;
        Ok(index)
    }

    /// Brings index and files along. The index first: a git that reads the branch and the index
    /// between the two would take our change for one that the user has taken back.
    fn bring(&self, next: &Path) -> Result<(), Failure> {
        let index = self.place.git_dir.join("index");
        index_lock::make_index(next, &index)?;
        fault::point("follow.moved");
        let copy = self.place.copy_of_index("index-files")?;
        self.bring_files(&self.place.git.on_index(copy.clone()))?;
        self.bring_loop_files()?;
        fault::point("follow.files");
        Ok(index_lock::make_index(&copy, &index)?)
    }

    fn bring_files(&self, git: &Git) -> Result<(), Failure> {
        let changed = || self.changed.iter().filter(|one| !self.is_loop_file(one));
        let gone = changed().filter(|one| one.new.is_absent() && !one.old.is_link());
        for gone in gone {
            state::remove_if_there(self.place.top.join(&gone.path))?;
            self.place.remove_empty_folders(&gone.path);
        }
        let written = changed().filter(|one| !one.new.is_absent() && !one.new.is_link());
        let (added, modified): (Vec<&Difference>, Vec<&Difference>) =
            written.partition(|one| one.old.is_absent());
        let checkout = ["checkout-index", "-q", "-u", "-z", "--stdin"];
        if !modified.is_empty() {
            let names = list_of(modified.iter().map(|one| &one.path));
            git.feed(&[&checkout[..], &["-f"]].concat(), &names)?;
        }
        if !added.is_empty() {
            // Never over a file that the user has made just now.
            let _ = git.feed(&checkout, &list_of(added.iter().map(|one| &one.path)));
        }
        Ok(())
    }

    /// The user's own text of plan and progress gets the same change.
    fn bring_loop_files(&self) -> io::Result<()> {
        for file in self.files {
            let path = self.place.top.join(&file.path);
            let Ok(path) = camino::Utf8PathBuf::from_path_buf(path) else { continue };
            file.bring_to(&path)?;
        }
        Ok(())
    }
}
