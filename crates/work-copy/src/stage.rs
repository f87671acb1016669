//! The changes of an attempt as a tree: every file that git does not ignore, except those that the
//! agent must not change; and applying such a tree to another commit.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::listing::named_files;
use ralph_base::names;
use ralph_base::state::{CLIENT_FOLDER, FOREIGN_LIFECYCLE_DIR, PROJECT_MARKER};
use ralph_core::git::{Git, GitError, Snapshot};

use super::aside::{bring_submodule, dirty_submodules, repositories, set_aside};
use super::carry::{INCLUDE, replace};
use super::known::Files;
use super::remove::{make_readable, remove_all};
use super::repository::copy_index;
use super::{Imported, Start, Workspace};
use crate::git_output::{
    Difference, FileEntry, base_of, differences_between, edited_of, file_of, index_entries, listed,
    naming, paths, written_files,
};
use ralph_project::failure::Failure;

/// The file in which a project declares its submodules.
const MODULES: &str = ".gitmodules";

/// The mode of a symbolic link.
const LINK_MODE: &str = "120000";

/// The changes of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staged {
    /// The tree; that of the start if nothing changed.
    pub tree: String,
    /// The files that differ, from the top.
    pub files: Vec<PathBuf>,
    /// Files that the agent changed but must not change; the tree has their previous version.
    pub refused: Vec<PathBuf>,
    /// Repositories and work trees that the agent created, if all of its work is in them.
    pub embedded: Vec<PathBuf>,
    /// Why git cannot add the files, if so; the tree then has them as they are on disk.
    pub refusal: Option<String>,
    /// Commits with the contents of such repositories, of submodules, other branches and stashes.
    pub aside: Vec<String>,
    /// Whether the tree has no file of the project: the agent may have deleted the copy itself.
    pub leaves_nothing: bool,
    /// Submodules with uncommitted changes, which no commit can contain.
    pub dirty_submodules: Vec<PathBuf>,
    /// Files that were written while the checks ran, which may have seen something else.
    pub rewritten: Vec<PathBuf>,
}

/// Paths that differ from the index.
#[derive(Default)]
struct Changed {
    /// Files that the agent may change.
    files: BTreeSet<PathBuf>,
    /// Files that it must not change.
    left: Vec<PathBuf>,
    /// Repositories that it created.
    inner: BTreeSet<PathBuf>,
    /// Files that are too long to be read; if there are any, nothing else is known.
    too_long: BTreeSet<PathBuf>,
}

impl Changed {
    fn refuse_too_long(&self, most: u64) -> Result<(), Failure> {
        if self.too_long.is_empty() {
            return Ok(());
        }
        let files = named_files(&self.too_long);
        let limit = format!("the limit is {most} MB: [limits] changes");
        Err(Failure::because(format!("{files}: too long to be saved; {limit}")))
    }
}

impl Staged {
    /// Whether git can commit it.
    pub fn is_committable(&self) -> bool {
        let is_clean = self.embedded.is_empty() && self.dirty_submodules.is_empty();
        is_clean && self.refusal.is_none() && !self.leaves_nothing
    }
}

impl Workspace {
    /// Stages the changes since `start`, and what the agent left elsewhere. `ours` are files that
    /// the loop writes, such as the plan, from the top.
    pub fn stage(
        &mut self,
        start: Start<'_>,
        ours: &[PathBuf],
        imported: &Imported,
    ) -> Result<Staged, Failure> {
        self.open(start)?;
        let git = self.git();
        let base = base_of(&self.store(), start.tip)?;
        let tried = || self.add(&git, &base, ours, &imported.forced);
        let tried = match tried() {
            Err(_) if self.make_readable(&git) => tried(),
            tried => tried,
        };
        let (mut staged, mut inner) = match tried {
            // A later attempt may succeed, and the files still exist.
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => self.keep_as_it_is(&git, start.tip, ours, &error)?,
            Ok((staged, Changed { inner, left, files, .. })) => {
                self.known.files = Files::StagedBut(left);
                self.staged_as = files.into_iter().map(|path| (path, None)).collect();
                (staged, inner)
            }
        };
        let held_back = ours.iter().chain(self.carried.keys()).chain(&staged.refused);
        self.left_out.0 = held_back.cloned().collect();
        if !self.is_in_place {
            inner.extend(imported.work_trees.iter().cloned());
            set_aside(self, &mut staged, start.tip, &inner)?;
        }
        // Their refs are gone once another repository is lent, so staging again cannot find them.
        self.left_out.1.extend(imported.others.iter().cloned());
        let known = self.left_out.1.iter().filter(|commit| !staged.aside.contains(commit));
        let known: Vec<String> = known.cloned().collect();
        staged.aside.extend(known);
        self.left_out.1.extend(staged.aside.iter().cloned());
        Ok(staged)
    }

    /// Adds every file that git does not ignore, and those that the agent added by force, except
    /// repositories that it created. Also returns the paths that it found.
    fn add(
        &self,
        git: &Git,
        base: &str,
        ours: &[PathBuf],
        forced: &[PathBuf],
    ) -> Result<(Staged, Changed), Failure> {
        let mut staged = Staged::default();
        let mut all = self.changed(git, ours, forced, &mut staged.refused)?;
        all.refuse_too_long(self.most_changes)?;
        // Git accepts no path below a link, not even to remove it.
        let top = self.top.as_std_path();
        let is_below_link =
            |path: &PathBuf| path.ancestors().skip(1).any(|folder| top.join(folder).is_symlink());
        let (gone, changed): (BTreeSet<_>, _) =
            std::mem::take(&mut all.files).into_iter().partition(is_below_link);
        all.files = changed;
        let changed = &all.files;
        if !gone.is_empty() {
            git.feed(&["update-index", "--force-remove", "-z", "--stdin"], &listed(&gone))?;
        }
        if !changed.is_empty() {
            let update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            let said = git.feed_and_hear(&update, &listed(changed))?;
            // The checks see the line endings that a checkout has.
            if said.contains(" will be replaced by ") {
                self.check_out(git, changed)?;
            }
        }
        let store = self.store();
        staged.tree = self.write_tree(base)?;
        let found = differences_between(&store, base, &staged.tree)?;
        // An earlier commit may contain its own version of a file that the agent must not change.
        let is_held = |one: &Difference| {
            !changed.contains(&one.path)
                && (ours.contains(&one.path) || is_protected(&self.source.inside, &one.path))
        };
        let (held, found): (Vec<_>, Vec<_>) = found.into_iter().partition(is_held);
        if !held.is_empty() {
            let lines: Vec<u8> = held.iter().flat_map(|one| one.old.line(&one.path)).collect();
            store.feed(&["update-index", "-z", "--index-info"], &lines)?;
            staged.tree = store.line(&["write-tree"])?;
            all.left.extend(held.into_iter().map(|one| one.path));
        }
        if found.iter().any(|one| one.new.is_absent()) {
            let left = paths(&store.run(&["ls-files", "-z"])?);
            let is_ours =
                |path: &PathBuf| ours.contains(path) || is_protected(&self.source.inside, path);
            staged.leaves_nothing = left.iter().all(is_ours);
        }
        if self.top.join(MODULES).exists() {
            git.run(&["config", "--file", MODULES, "--list"])?;
            // Their own settings hold there, so the loop's git folder may not be written.
            staged.dirty_submodules = dirty_submodules(&git.through(&self.doors.checks))?;
            let is_moved = |one: &&Difference| one.old.is_link() && one.new.is_link();
            let is_stuck = |one: &&Difference| {
                bring_submodule(self, &one.path, (&one.old.id, &one.new.id)).is_err()
            };
            let stuck = found.iter().filter(is_moved).filter(is_stuck);
            staged.dirty_submodules.extend(stuck.map(|one| one.path.clone()));
        }
        let links = found.iter().filter(|one| one.new.mode == LINK_MODE).map(|one| &*one.path);
        if let Some(link) = self.link_out(links) {
            staged.refusal = Some(format!(
                "{} is a link to a place that is no part of the commit; put the file itself there",
                link.display()
            ));
        }
        staged.files = found.into_iter().map(|one| one.path).collect();
        Ok((staged, all))
    }

    /// Makes files readable again, in place only changed ones; returns whether any was unreadable.
    fn make_readable(&self, git: &Git) -> bool {
        let top = self.top.as_std_path();
        if !self.is_in_place {
            return make_readable(top);
        }
        let (tracked, new) = written_files(git).unwrap_or_default();
        let files =
            tracked.iter().chain(&new).map(|path| top.join(path)).filter(|path| !path.is_dir());
        files.filter(|file| make_readable(file)).count() > 0
    }

    /// Saves what git cannot add, as it is and as far as it can be read; it cannot be committed.
    fn keep_as_it_is(
        &self,
        git: &Git,
        tip: Option<&str>,
        ours: &[PathBuf],
        error: &Failure,
    ) -> Result<(Staged, BTreeSet<PathBuf>), Failure> {
        let store = &self.store();
        let base = base_of(store, tip)?;
        self.remove_own_lock()?;
        // Without attributes no filter runs on a file.
        let plain = git.with_var("GIT_ATTR_SOURCE", base_of(store, None)?);
        let plain = plain.with_var("GIT_CONFIG_PARAMETERS", "'core.attributesfile=/dev/null'");
        store.run(&["read-tree", &base])?;
        let (tracked, new) = written_files(&plain)?;
        let too_long = self.too_long(&self.top, tracked.iter().chain(&new));
        // Git reads a file that was empty before whenever it lists what was edited.
        too_long.iter().try_for_each(|path| self.remove(path))?;
        let Changed { mut files, inner, .. } = self.changed(&plain, ours, &[], &mut Vec::new())?;
        let is_folder = |path: &PathBuf| self.top.as_std_path().join(path).is_dir();
        files.retain(|path| !is_folder(path) && !too_long.contains(path));
        let (commit, unreadable) = Snapshot::as_is(store, self.top.as_std_path(), tip, files)?;
        let tree = store.line(&["rev-parse", &format!("{commit}^{{tree}}")])?;
        let files = paths(&store.run(&["diff-tree", "-r", "-z", "--name-only", &base, &tree])?);
        let mut why = format!("git cannot add the files: {error}");
        if !unreadable.is_empty() {
            why.push_str(&format!(
                "; not saved, because they cannot be read: {}",
                named_files(&unreadable)
            ));
        }
        Ok((Staged { tree, files, refusal: Some(why), ..Staged::default() }, inner))
    }

    /// Returns the files that are new or differ from the index. Adds those that the agent changed
    /// but must not change to `refused`.
    fn changed(
        &self,
        git: &Git,
        ours: &[PathBuf],
        forced: &[PathBuf],
        refused: &mut Vec<PathBuf>,
    ) -> Result<Changed, Failure> {
        let (mut tracked, mut new) = written_files(git)?;
        let is_there =
            |path: &&PathBuf| self.top.as_std_path().join(path).symlink_metadata().is_ok();
        new.extend(forced.iter().filter(is_there).cloned());
        let too_long = self.too_long(&self.top, tracked.iter().chain(&new));
        if !too_long.is_empty() {
            return Ok(Changed { too_long, ..Changed::default() });
        }
        let is_steering = |path: &PathBuf| is_protected(&self.source.inside, path);
        // Such a file is only refused if its content differs.
        let steering: Vec<PathBuf> = tracked.iter().filter(|it| is_steering(it)).cloned().collect();
        let edited = edited_of(git, &steering)?;
        tracked.retain(|path| !is_steering(path) || edited.contains(path));
        // Git lists a repository as a folder, with a trailing slash.
        let all = tracked.into_iter().chain(new).map(|path| path.components().collect());
        let all: BTreeSet<PathBuf> = all.collect();
        let inner = repositories(&self.top, git, &all)?;
        let (files, left) = all.into_iter().partition(|path: &PathBuf| {
            let is_ours = ours.contains(path)
                || self.is_only_carried(path)
                || path.ancestors().any(|folder| inner.contains(folder));
            // A planning agent is supposed to write the draft of a plan.
            let is_steering = !self.is_planning && is_steering(path);
            if is_steering && !is_ours {
                refused.push(path.clone());
            }
            !is_ours && !is_steering
        });
        Ok(Changed { files, left: Vec::from_iter::<BTreeSet<_>>(left), inner, too_long })
    }

    /// Returns the longest of these files, without which the others are within the limit. It is
    /// their length that counts, not their size on disk: git reads every zero of a sparse file.
    pub(super) fn too_long<'a>(
        &self,
        top: &Utf8Path,
        files: impl Iterator<Item = &'a PathBuf>,
    ) -> BTreeSet<PathBuf> {
        let top = top.as_std_path();
        let length = |path: &PathBuf| top.join(path).symlink_metadata().map_or(0, |it| it.len());
        let mut found: Vec<_> = files.map(|path| (u128::from(length(path)), path)).collect();
        found.sort_unstable();
        let mut total: u128 = found.iter().map(|(length, _)| length).sum();
        let mut left = BTreeSet::new();
        while self.most_changes > 0 && total > u128::from(self.most_changes) << 20 {
            let Some((length, path)) = found.pop() else { break };
            total -= length;
            left.insert(path.clone());
        }
        left
    }

    /// Whether anything except carried files has changed.
    pub fn looks_changed(&self, tip: Option<&str>, ours: &[PathBuf]) -> bool {
        let git = self.git();
        let tracked = ["diff-index", "-z", "--name-only", tip.unwrap_or("HEAD")];
        let new = ["ls-files", "-z", "--others", "--exclude-standard"];
        [&tracked[..], &new].into_iter().any(|args| {
            let Ok(listed) = git.run(args) else { return tip.is_some() };
            let mut found = paths(&listed).into_iter();
            found.any(|path| !ours.contains(&path) && !self.is_only_carried(&path))
        })
    }

    /// Returns the staged files that were written while checks ran; new ones do not count. A file
    /// with the same content as before counts as rewritten, because the checks may have seen another
    /// one.
    pub fn after_checks(&mut self, ours: &[PathBuf]) -> Result<AfterChecks, Failure> {
        let git = self.git();
        let (mut tracked, new) = written_files(&git)?;
        // Git compares times by the second.
        let top = self.top.as_std_path();
        let is_other = |(path, then): &(&PathBuf, &FileState)| state_of(&top.join(path)) != **then;
        let others = self.staged_as.iter().filter(is_other).map(|(path, _)| path.clone());
        tracked.extend(others.collect::<Vec<_>>());
        tracked.sort_unstable();
        tracked.dedup();
        self.known.files = Files::StagedBut([tracked.clone(), new].concat());
        tracked.retain(|path| {
            let is_steering = is_protected(&self.source.inside, path);
            !is_steering && !ours.contains(path) && !self.is_only_carried(path)
        });
        let too_long = self.too_long(&self.top, tracked.iter());
        if !too_long.is_empty() {
            return Ok(AfterChecks { changed: tracked, too_long, ..AfterChecks::default() });
        }
        let edited = edited_of(&git, &tracked)?;
        let (changed, rewritten) = tracked.into_iter().partition(|path| edited.contains(path));
        Ok(AfterChecks { changed, rewritten, too_long })
    }

    /// Stages these tracked files again.
    pub fn stage_again(&mut self, files: Vec<PathBuf>) -> Result<(), GitError> {
        let add = ["add", "--update", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.git().feed(&add, &listed(&files))?;
        self.staged_as.extend(files.into_iter().map(|path| (path, None)));
        Ok(())
    }

    /// Writes the tree of the index with these texts of loop files, from the top. The files in a
    /// copy get the text that the commit will have; in place, the user's own files are not changed.
    pub fn with_files<'a>(
        &self,
        files: impl Iterator<Item = (&'a Path, &'a [u8])>,
    ) -> Result<String, Failure> {
        let git = self.store();
        let mut entries = Vec::new();
        for (path, content) in files {
            entries.extend(file_of(&git, content)?.line(path));
            if !self.is_in_place {
                replace(&self.top, path, content)?;
            }
        }
        if !entries.is_empty() {
            git.feed(&["update-index", "-z", "--index-info"], &entries)?;
        }
        Ok(git.line(&["write-tree"])?)
    }

    /// Writes the staged tree with another text in one of its files.
    pub fn tree_with(&self, path: &Path, content: &[u8]) -> Result<String, Failure> {
        let index = self.own.index().with_extension("trial");
        copy_index(&self.own.index(), &index)?;
        let git = self.store().on_index(index);
        let name = path.to_string_lossy();
        let listed = git.run(&["ls-files", "-z", "-v", "--stage", "--", &name])?;
        let known = index_entries(&listed).into_values().next().map(|(entry, _)| entry.mode);
        let entry = file_of(&git, content)?;
        let entry = FileEntry { mode: known.unwrap_or_else(|| entry.mode.clone()), ..entry };
        git.feed(&["update-index", "-z", "--index-info"], &entry.line(path))?;
        Ok(git.line(&["write-tree"])?)
    }

    /// Shows the work as staged to the checks, so that `git diff` shows only their own changes, and
    /// removes pipes, which no commit can contain: a check that reads one would block.
    pub fn show_staged(&mut self) -> Result<(), Failure> {
        for (path, state) in &mut self.staged_as {
            *state = state_of(&self.top.as_std_path().join(path));
        }
        if self.is_in_place {
            return Ok(());
        }
        self.known.pipes.remove(&self.top, true);
        self.lend_index()?;
        // Plan and progress, which the loop's own index has in their committed version. What git
        // cannot add is shown as changed.
        let git = self.git_inside();
        let shown = git.run(&naming(&["diff-files", "-z", "--name-only"], &self.left_out.0));
        let shown = shown.and_then(|held_back| {
            git.feed(&["update-index", "--remove", "-z", "--stdin"], &held_back)
        });
        if let Err(error) = shown {
            log::info!("not shown as staged: {error}");
        }
        Ok(())
    }

    /// Writes what is staged as plain files to a separate folder without a repository, where a
    /// reviewer can do no harm. Returns the project's folder in it.
    pub fn lay_out(&self) -> Result<Utf8PathBuf, Failure> {
        let room = &self.own.reading_room;
        remove_all(room.as_std_path())?;
        fs_err::create_dir_all(room.join(&self.source.inside))?;
        self.git().run(&["checkout-index", "--all", &format!("--prefix={room}/")])?;
        Ok(room.join(&self.source.inside))
    }

    /// Deletes that folder.
    pub fn clear_away(&self) {
        let _ = remove_all(self.own.reading_room.as_std_path());
    }

    /// Applies the changes between a saved attempt and its first parent to the files, uncommitted.
    /// If they conflict, returns why, and the files are those of the commit.
    pub fn overlay(&mut self, attempt: &str, start: Start<'_>) -> Result<Option<String>, Failure> {
        self.known.files = Files::Any;
        let git = self.git();
        let Some(tip) = start.tip else {
            git.run(&["read-tree", "--reset", "-u", attempt])?;
            self.store().run(&["read-tree", "--empty"])?;
            self.lend_index()?;
            return Ok(None);
        };
        let parent = format!("{attempt}^1");
        let parent = self.store().line(&["rev-parse", "--quiet", "--verify", &parent]);
        let pick = ["cherry-pick", "--no-commit", "--mainline", "1", attempt];
        // In place, files that the attempt does not touch are the user's.
        if !self.is_in_place && parent.is_ok_and(|parent| parent == tip) {
            git.run(&["read-tree", "--reset", "-u", attempt])?;
        } else if let Err(error) = git.run(&pick) {
            let unmerged = ["diff", "--name-only", "--diff-filter=U", "-z"];
            let why = match paths(&git.run(&unmerged).unwrap_or_default()) {
                files if files.is_empty() => error.to_string(),
                files => format!("both changed {}", named_files(&files)),
            };
            // A conflict leaves files of the operation in the git folder.
            let _ = git.run(&["cherry-pick", "--quit"]);
            self.reset(start)?;
            return Ok(Some(why));
        }
        self.store().run(&["read-tree", "--reset", tip])?;
        // Refreshes the stamps in the index; it is no error if some files differ.
        let _ = git.run(&["update-index", "-q", "--refresh"]);
        self.lend_index()?;
        Ok(None)
    }
}

/// The staged files that were written while checks ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AfterChecks {
    /// Those with another content.
    pub changed: Vec<PathBuf>,
    /// Those with the same content.
    pub rewritten: Vec<PathBuf>,
    /// Those that are now too long to be read; then all that were written count as changed.
    pub too_long: BTreeSet<PathBuf>,
}

/// What shows that a file was written or replaced: its inode and change time, which no program can
/// set. `None` if it cannot be read.
pub(super) type FileState = Option<(u64, i64, i64)>;

fn state_of(path: &Path) -> FileState {
    let found = path.symlink_metadata().ok()?;
    Some((found.ino(), found.ctime(), found.ctime_nsec()))
}

/// Whether a file controls the run or the client: the project's version of it counts, and an
/// agent's version is never committed.
fn is_protected(inside: &Utf8Path, path: &Path) -> bool {
    // It says which of the user's ignored files the next copy gets.
    if path == Path::new(INCLUDE) {
        return true;
    }
    let Ok(path) = path.strip_prefix(inside.as_std_path()) else { return false };
    // Where the user's file system ignores case, another spelling is the same file.
    let path: String = names::folded(&path.to_string_lossy()).collect();
    let path = Path::new(&path);
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let in_client = path.parent() == Some(Path::new(CLIENT_FOLDER));
    let is_settings = name.starts_with("settings") && name.ends_with(".json");
    // A file or link with the name of such a folder would point to other settings.
    let is_link =
        path == Path::new(CLIENT_FOLDER) || Path::new(FOREIGN_LIFECYCLE_DIR).starts_with(path);
    let is_script = path.starts_with(PROJECT_MARKER) || path.starts_with(FOREIGN_LIFECYCLE_DIR);
    let is_of_client = in_client && (is_settings || name == "scheduled_tasks.json");
    is_link || is_script || is_of_client
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_control_the_run_are_protected() {
        let inside = Utf8Path::new("app");
        for (path, expected) in [
            ("app/.ralph/config.toml", true),
            ("app/.claude/settings.json", true),
            ("app/.claude/settings.local.json", true),
            ("app/.claude/scheduled_tasks.json", true),
            ("app/.claude", true),
            ("app/.fresher/hooks/started", true),
            ("app/.fresher", true),
            (".worktreeinclude", true),
            ("app/.fresher/notes.md", false),
            ("app/.claude/commands/x.md", false),
            ("app/src/main.rs", false),
            (".ralph/config.toml", false),
            ("app/.RALPH/config.toml", true),
            ("app/.Claude/SETTINGS.json", true),
            ("app/.git\u{17f}", false),
        ] {
            assert_eq!(is_protected(inside, Path::new(path)), expected, "{path}");
        }
    }
}
