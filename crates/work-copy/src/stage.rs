//! What an attempt changed, as a tree: every file that git does not ignore, but for those that are
//! not the agent's to change; and such a tree laid over another commit.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::listing::named_files;
use ralph_base::state::{CLIENT_FOLDER, FOREIGN_LIFECYCLE_DIR, PROJECT_MARKER};
use ralph_core::git::{Git, Snapshot};

use super::aside::{bring_submodule, dirty_submodules, repositories, set_aside};
use super::carry::replace;
use super::known::Files;
use super::remove::{make_readable, remove_all};
use super::{Imported, Start, Workspace};
use crate::git_output::{
    Difference, base_of, changed_files, differences_between, file_of, listed, naming, paths,
};
use ralph_project::failure::Failure;

/// Where a project declares its submodules.
const MODULES: &str = ".gitmodules";

/// What an attempt changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staged {
    /// The tree; the same as that of the start if nothing changed.
    pub tree: String,
    /// The files that differ, from the top.
    pub files: Vec<PathBuf>,
    /// What the agent changed although it is not its to change; left as it was.
    pub refused: Vec<PathBuf>,
    /// Repositories and work trees that the agent made, if all of its work is there.
    pub embedded: Vec<PathBuf>,
    /// Why git cannot add the files; the tree holds them as they are on disk.
    pub refusal: Option<String>,
    /// Commits that hold what is in such ones, in submodules, and on other branches and stashes.
    pub aside: Vec<String>,
    /// Whether it leaves no file of the project: the agent may have removed the copy itself.
    pub leaves_nothing: bool,
    /// Submodules with uncommitted work, which no commit can hold.
    pub dirty_submodules: Vec<PathBuf>,
}

/// What is not as it is in the index.
struct Changed {
    /// What the agent may have changed.
    files: BTreeSet<PathBuf>,
    /// What is not its to change.
    left: Vec<PathBuf>,
    /// Repositories that it made.
    inner: BTreeSet<PathBuf>,
}

impl Staged {
    /// Whether git can make a commit of it.
    pub fn is_committable(&self) -> bool {
        let is_clean = self.embedded.is_empty() && self.dirty_submodules.is_empty();
        is_clean && self.refusal.is_none() && !self.leaves_nothing
    }
}

impl Workspace {
    /// Stages what is there, against `start`, and what the agent left elsewhere. `ours` are files that
    /// the loop writes, such as the plan, from the top.
    pub fn stage(
        &mut self,
        start: Start<'_>,
        ours: &[PathBuf],
        imported: &Imported,
    ) -> Result<Staged, Failure> {
        self.renew(start)?;
        let git = self.git();
        let base = base_of(&git, start.tip)?;
        let tried = || self.add(&git, &base, ours, &imported.forced);
        let tried = match tried() {
            Err(_) if self.make_readable(&git) => tried(),
            tried => tried,
        };
        let (mut staged, mut inner) = match tried {
            // It may work later, and the files are there.
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => self.keep_as_it_is(&git, start.tip, ours, &error)?,
            Ok((staged, Changed { inner, left, .. })) => {
                self.known.files = Files::StagedBut(left);
                (staged, inner)
            }
        };
        let held_back = ours.iter().chain(self.carried.keys()).chain(&staged.refused);
        self.left_out.0 = held_back.cloned().collect();
        if !self.is_in_place {
            inner.extend(imported.work_trees.iter().cloned());
            set_aside(self, &mut staged, start.tip, &inner)?;
        }
        // Where they were has been made anew: whoever stages again does not find them there.
        self.left_out.1.extend(imported.others.iter().cloned());
        let known = self.left_out.1.iter().filter(|commit| !staged.aside.contains(commit));
        let known: Vec<String> = known.cloned().collect();
        staged.aside.extend(known);
        self.left_out.1.extend(staged.aside.iter().cloned());
        Ok(staged)
    }

    /// Adds every file that git does not ignore, and those that the agent `forced` in, but for
    /// repositories that it made. What it found is returned as well.
    fn add(
        &self,
        git: &Git,
        base: &str,
        ours: &[PathBuf],
        forced: &[PathBuf],
    ) -> Result<(Staged, Changed), Failure> {
        let mut staged = Staged::default();
        let mut all = self.changed(git, ours, &mut staged.refused)?;
        let is_there =
            |path: &&PathBuf| self.top.as_std_path().join(path).symlink_metadata().is_ok();
        let mut changed = std::mem::take(&mut all.files);
        changed.extend(forced.iter().filter(is_there).cloned());
        // Git takes no path below a link, not even to remove it.
        let top = self.top.as_std_path();
        let is_below_link =
            |path: &PathBuf| path.ancestors().skip(1).any(|folder| top.join(folder).is_symlink());
        let (gone, rest) = changed.into_iter().partition(is_below_link);
        changed = rest;
        if !gone.is_empty() {
            git.feed(&["update-index", "--force-remove", "-z", "--stdin"], &listed(&gone))?;
        }
        if !changed.is_empty() {
            let update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            git.feed(&update, &listed(&changed))?;
        }
        staged.tree = git.line(&["write-tree"])?;
        let found = differences_between(git, base, &staged.tree)?;
        // An earlier commit may have left its own version of a file there that is not the agent's to change.
        let is_held = |one: &Difference| {
            !changed.contains(&one.path)
                && (ours.contains(&one.path) || is_protected(&self.source.inside, &one.path))
        };
        let (held, found): (Vec<_>, Vec<_>) = found.into_iter().partition(is_held);
        if !held.is_empty() {
            let lines: Vec<u8> = held.iter().flat_map(|one| one.old.line(&one.path)).collect();
            git.feed(&["update-index", "-z", "--index-info"], &lines)?;
            staged.tree = git.line(&["write-tree"])?;
            all.left.extend(held.into_iter().map(|one| one.path));
        }
        if found.iter().any(|one| one.new.is_absent()) {
            let left = paths(&git.run(&["ls-files", "-z"])?);
            let is_ours =
                |path: &PathBuf| ours.contains(path) || is_protected(&self.source.inside, path);
            staged.leaves_nothing = left.iter().all(is_ours);
        }
        if self.top.join(MODULES).exists() {
            git.run(&["config", "--file", MODULES, "--list"])?;
            // Their repositories are not made anew.
            staged.dirty_submodules = dirty_submodules(&git.through(&self.doors.checks))?;
            let is_moved = |one: &&Difference| one.old.is_link() && one.new.is_link();
            let is_stuck =
                |one: &&Difference| bring_submodule(self, &one.path, &one.new.id).is_err();
            let stuck = found.iter().filter(is_moved).filter(is_stuck);
            staged.dirty_submodules.extend(stuck.map(|one| one.path.clone()));
        }
        staged.files = found.into_iter().map(|one| one.path).collect();
        Ok((staged, all))
    }

    /// Makes readable what an agent closed; whether there was any. In place only what it changed is its own.
    fn make_readable(&self, git: &Git) -> bool {
        let top = self.top.as_std_path();
        if !self.is_in_place {
            return make_readable(top);
        }
        let changed = changed_files(git).unwrap_or_default();
        let files = changed.iter().map(|path| top.join(path)).filter(|path| !path.is_dir());
        files.filter(|file| make_readable(file)).count() > 0
    }

    /// What git cannot add is no commit, but it is kept as it is, as far as it can be read.
    fn keep_as_it_is(
        &self,
        git: &Git,
        tip: Option<&str>,
        ours: &[PathBuf],
        error: &Failure,
    ) -> Result<(Staged, BTreeSet<PathBuf>), Failure> {
        let base = base_of(git, tip)?;
        self.remove_own_lock()?;
        // Without attributes no file goes through a filter.
        let plain = git.with_var("GIT_ATTR_SOURCE", base_of(git, None)?);
        let plain = plain.with_var("GIT_CONFIG_PARAMETERS", "'core.attributesfile=/dev/null'");
        plain.run(&["read-tree", &base])?;
        let Changed { mut files, inner, .. } = self.changed(&plain, ours, &mut Vec::new())?;
        files.retain(|path| !self.top.as_std_path().join(path).is_dir());
        let (commit, unreadable) = Snapshot::as_is(git, self.top.as_std_path(), tip, files)?;
        let tree = git.line(&["rev-parse", &format!("{commit}^{{tree}}")])?;
        let files = paths(&git.run(&["diff-tree", "-r", "-z", "--name-only", &base, &tree])?);
        let mut why = format!("git cannot add the files: {error}");
        if !unreadable.is_empty() {
            why.push_str(&format!(
                "; not saved, because they cannot be read: {}",
                named_files(&unreadable)
            ));
        }
        Ok((Staged { tree, files, refusal: Some(why), ..Staged::default() }, inner))
    }

    /// The files that are not as they are in the index, or new. Names those that are not the agent's to change
    /// and that it changed all the same.
    fn changed(
        &self,
        git: &Git,
        ours: &[PathBuf],
        refused: &mut Vec<PathBuf>,
    ) -> Result<Changed, Failure> {
        // A repository is listed as a folder, with a slash.
        let all = changed_files(git)?.into_iter().map(|path| path.components().collect());
        let all: BTreeSet<PathBuf> = all.collect();
        let inner = repositories(&self.top, git, &all)?;
        let (files, left) = all.into_iter().partition(|path: &PathBuf| {
            let is_ours = ours.contains(path)
                || self.is_only_carried(path)
                || path.ancestors().any(|folder| inner.contains(folder));
            // The draft of a plan is what a planning agent is there for.
            let is_steering = !self.is_planning && is_protected(&self.source.inside, path);
            if is_steering && !is_ours {
                refused.push(path.clone());
            }
            !is_ours && !is_steering
        });
        Ok(Changed { files, left: Vec::from_iter::<BTreeSet<_>>(left), inner })
    }

    /// Whether anything but what was carried is not as it was, as far as the agent's own repository
    /// can tell.
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

    /// Files that were staged and are different by now; new ones do not count.
    pub fn changed_since_staged(&mut self, ours: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        let look = ["--no-optional-locks", "status", "--porcelain", "-z", "--no-renames"];
        let found = self.git().run(&[&look[..], &["--ignore-submodules", "-unormal"]].concat())?;
        // `XY path`: how it differs from what is staged is the second letter.
        let differ = paths(&found).into_iter().filter_map(|line| {
            let (state, path) = line.as_os_str().as_bytes().split_at_checked(3)?;
            Some((*state.get(1)?, PathBuf::from(OsStr::from_bytes(path))))
        });
        let differ: Vec<_> = differ.filter(|(how, _)| *how != b' ').collect();
        let mut paths: Vec<PathBuf> =
            differ.iter().filter(|(how, _)| *how != b'?').map(|(_, path)| path.clone()).collect();
        self.known.files = Files::StagedBut(differ.into_iter().map(|(_, path)| path).collect());
        paths.retain(|path| {
            let is_steering = is_protected(&self.source.inside, path);
            !is_steering && !ours.contains(path) && !self.is_only_carried(path)
        });
        Ok(paths)
    }

    /// The tree of what is in the index, with these texts in the place of files of the loop's, from the
    /// top. The files of the copy show them as the commit will have them; the user's own are not touched.
    pub fn with_files<'a>(
        &self,
        files: impl Iterator<Item = (&'a Path, &'a [u8])>,
    ) -> Result<String, Failure> {
        let git = self.git();
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

    /// The checks find the work staged, so that `git diff` shows them what they change themselves, and no pipes, which
    /// no commit can hold: a check that reads one would wait.
    pub fn show_staged(&mut self) -> Result<(), Failure> {
        if self.is_in_place {
            return Ok(());
        }
        self.known.pipes.remove(&self.top, true);
        self.lend_index()?;
        // Plan and progress, which the loop's own index leaves as they are committed. What git cannot add is
        // shown as changed.
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

    /// What is staged as plain files in a folder of their own, without a repository: whoever works there
    /// can do no harm. Returns the project's folder in it.
    pub fn lay_out(&self) -> Result<Utf8PathBuf, Failure> {
        let room = &self.own.reading_room;
        remove_all(room.as_std_path())?;
        fs_err::create_dir_all(room.join(&self.source.inside))?;
        self.git().run(&["checkout-index", "--all", &format!("--prefix={room}/")])?;
        Ok(room.join(&self.source.inside))
    }

    /// Nobody reads any more.
    pub fn clear_away(&self) {
        let _ = remove_all(self.own.reading_room.as_std_path());
    }

    /// Lays the changes between a saved attempt and its first parent over the files, uncommitted. Where
    /// they do not fit, it says why, and the files are those of the commit.
    pub fn overlay(&mut self, attempt: &str, start: Start<'_>) -> Result<Option<String>, Failure> {
        self.known.files = Files::Any;
        let git = self.git();
        let Some(tip) = start.tip else {
            git.run(&["read-tree", "--reset", "-u", attempt])?;
            git.run(&["read-tree", "--empty"])?;
            self.lend_index()?;
            return Ok(None);
        };
        let parent = git.line(&["rev-parse", "--quiet", "--verify", &format!("{attempt}^1")]);
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
            // A conflict leaves marks of the operation in the git folder.
            let _ = git.run(&["cherry-pick", "--quit"]);
            self.reset(start)?;
            return Ok(Some(why));
        }
        git.run(&["read-tree", "--reset", tip])?;
        // Tells which files are as they were; that some are not is no failure.
        let _ = git.run(&["update-index", "-q", "--refresh"]);
        self.lend_index()?;
        Ok(None)
    }
}

/// Files that steer the run and the client: the project's own count, and what an agent makes of its
/// own is no part of a commit.
fn is_protected(inside: &Utf8Path, path: &Path) -> bool {
    let Ok(path) = path.strip_prefix(inside.as_std_path()) else { return false };
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let in_client = path.parent() == Some(Path::new(CLIENT_FOLDER));
    let is_settings = name.starts_with("settings") && name.ends_with(".json");
    // A folder of this name is no file; what is one would be a link to other settings.
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
    fn what_steers_the_run_is_protected() {
        let inside = Utf8Path::new("app");
        for (path, expected) in [
            ("app/.ralph/config.toml", true),
            ("app/.claude/settings.json", true),
            ("app/.claude/settings.local.json", true),
            ("app/.claude/scheduled_tasks.json", true),
            ("app/.claude", true),
            ("app/.fresher/hooks/started", true),
            ("app/.fresher", true),
            ("app/.fresher/notes.md", false),
            ("app/.claude/commands/x.md", false),
            ("app/src/main.rs", false),
            (".ralph/config.toml", false),
        ] {
            assert_eq!(is_protected(inside, Path::new(path)), expected, "{path}");
        }
    }
}
