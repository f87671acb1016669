//! What an attempt changed, as a tree: every file that git does not ignore, but for those that are
//! not the agent's to change.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use ralph_base::state::{CLIENT_FOLDER, PROJECT_MARKER};
use ralph_core::git::{Git, GitError};

use super::remove::remove_all;
use super::{Start, Workspace};
use crate::exit::Failure;
use crate::git_output::{Difference, RAW, base_of, differences, file_of, listed, paths};

/// Where a submodule of the project keeps what stories have committed there.
const SUBMODULES: &str = "refs/ralph/commits";

/// Repositories that an agent may leave inside the copy, at most.
const MOST_EMBEDDED: usize = 50;

/// What an attempt changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Staged {
    /// The tree; the same as that of the start if nothing changed.
    pub(crate) tree: String,
    /// The files that differ, from the top.
    pub(crate) files: Vec<PathBuf>,
    /// What the agent changed although it is not its to change; left as it was.
    pub(crate) refused: Vec<PathBuf>,
    /// Repositories that the agent made inside the work tree. A commit would hold nothing of them.
    pub(crate) embedded: Vec<PathBuf>,
    /// Whether it leaves no file of the project: the agent may have removed the copy itself.
    pub(crate) leaves_nothing: bool,
    /// Submodules with uncommitted work, which no commit can hold.
    pub(crate) dirty_submodules: Vec<PathBuf>,
}

impl Workspace {
    /// Stages what is there, against `start`. `ours` are files that the loop writes, such as the
    /// plan, from the top.
    pub(crate) fn stage(&mut self, start: Start<'_>, ours: &[PathBuf]) -> Result<Staged, Failure> {
        self.renew(start)?;
        let git = self.git();
        let mut staged = Staged::default();
        self.add_all(&git, ours, &mut staged)?;
        let forced = self.forced.iter().filter(|path| self.top.as_std_path().join(path).exists());
        let forced = listed(forced);
        if !forced.is_empty() {
            let add = ["add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"];
            git.feed(&add, &forced)?;
        }
        let base = base_of(&git, start.tip)?;
        let differing = [&["diff-index", "--cached"], &RAW[..], &[&base]].concat();
        let mut found = differences(&git.run(&differing)?);
        while let Some(inner) = found.iter().find(|one| self.is_embedded(one)) {
            self.dissolve(&git, &inner.path, &mut staged)?;
            self.add_all(&git, ours, &mut staged)?;
            found = differences(&git.run(&differing)?);
        }
        let is_moved = |one: &&Difference| one.old.is_link() && one.new.is_link();
        let moved: Vec<(PathBuf, String)> = found
            .iter()
            .filter(is_moved)
            .map(|one| (one.path.clone(), one.new.id.clone()))
            .collect();
        let is_removal = found.iter().any(|one| one.new.is_absent());
        let mut restored = Vec::new();
        for found in found {
            // The draft of a plan is what a planning agent is there for.
            let is_steering = !self.is_planning && is_protected(&self.source.inside, &found.path);
            if is_steering || self.is_only_carried(&found.path) {
                restored.extend(found.old.line(&found.path));
                if !self.is_only_carried(&found.path) {
                    staged.refused.push(found.path);
                }
            } else {
                staged.files.push(found.path);
            }
        }
        if !restored.is_empty() {
            git.feed(&["update-index", "-z", "--index-info"], &restored)?;
        }
        if is_removal {
            let left = paths(&git.run(&["ls-files", "-z"])?);
            let is_ours =
                |path: &PathBuf| ours.contains(path) || is_protected(&self.source.inside, path);
            staged.leaves_nothing = left.iter().all(is_ours);
        }
        if self.top.join(".gitmodules").exists() {
            staged.dirty_submodules = dirty_submodules(&git)?;
            let moved = moved.iter().filter(|(path, id)| self.bring_submodule(path, id).is_err());
            staged.dirty_submodules.extend(moved.map(|(path, _)| path.clone()));
        }
        staged.tree = git.line(&["write-tree"])?;
        Ok(staged)
    }

    /// Whether anything but what was carried is not as it was, as far as the agent's own repository
    /// can tell.
    pub(crate) fn looks_changed(&self, tip: Option<&str>, ours: &[PathBuf]) -> bool {
        let git = self.git();
        let tracked = ["diff-index", "-z", "--name-only", tip.unwrap_or("HEAD")];
        let new = ["ls-files", "-z", "--others", "--exclude-standard"];
        [&tracked[..], &new].into_iter().any(|args| {
            let Ok(listed) = git.run(args) else { return tip.is_some() };
            let mut found = paths(&listed).into_iter();
            found.any(|path| !ours.contains(&path) && !self.is_only_carried(&path))
        })
    }

    /// Adds every file but the loop's own.
    fn add_all(&self, git: &Git, ours: &[PathBuf], staged: &mut Staged) -> Result<(), Failure> {
        let mut add =
            ["--no-literal-pathspecs", "add", "--all", "--", "."].map(OsString::from).to_vec();
        for path in ours {
            let mut but = OsString::from(":(exclude,literal)");
            but.push(path);
            add.push(but);
        }
        for _ in 0..MOST_EMBEDDED {
            match git.run(&add) {
                Err(GitError::Failed { stderr, .. }) if without_commit(&stderr).is_some() => {
                    let path = PathBuf::from(without_commit(&stderr).unwrap_or_default());
                    self.dissolve(git, &path, staged)?;
                }
                other => return other.map(drop).map_err(Into::into),
            }
        }
        Ok(git.run(&add).map(drop)?)
    }

    /// Makes plain files of a repository that an agent made inside the work tree, so that they can be
    /// saved with the attempt.
    fn dissolve(&self, git: &Git, path: &Path, staged: &mut Staged) -> Result<(), Failure> {
        remove_all(&self.top.as_std_path().join(path).join(".git"))?;
        let name = listed([&path.to_owned()]);
        git.feed(&["update-index", "--force-remove", "-z", "--stdin"], &name)?;
        staged.embedded.push(path.to_owned());
        Ok(())
    }

    /// Brings what was committed in a submodule of the copy to that of the project: a commit here
    /// holds only its name.
    fn bring_submodule(&self, path: &Path, id: &str) -> Result<(), GitError> {
        let (from, head) = (self.top.as_std_path().join(path), format!("+HEAD:{SUBMODULES}/{id}"));
        let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"].map(OsStr::new);
        let args = [&fetch[..], &[from.as_os_str(), OsStr::new(&head)]].concat();
        Git::at(self.source.top.as_std_path().join(path)).run(&args).map(drop)
    }

    /// Whether a new entry is a repository that nothing declares as a submodule.
    fn is_embedded(&self, found: &Difference) -> bool {
        found.new.is_link() && !found.old.is_link() && !declares_submodule(&self.top, &found.path)
    }

    /// Files that were staged and are different by now; new ones do not count.
    pub(crate) fn changed_since_staged(&self, ours: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        let listed = self.git().run(&["diff-files", "-z", "--name-only", "--ignore-submodules"])?;
        let mut paths = paths(&listed);
        paths.retain(|path| {
            let is_steering = is_protected(&self.source.inside, path);
            !is_steering && !ours.contains(path) && !self.is_only_carried(path)
        });
        Ok(paths)
    }

    /// The tree of what is in the index, with these texts in the place of files of the loop's, from
    /// the top; none for a file that is not to be there.
    pub(crate) fn with_files(&self, files: &[(PathBuf, Vec<u8>)]) -> Result<String, Failure> {
        let git = self.git();
        let mut entries = Vec::new();
        for (path, content) in files {
            entries.extend(file_of(&git, content)?.line(path));
        }
        if !entries.is_empty() {
            git.feed(&["update-index", "-z", "--index-info"], &entries)?;
        }
        Ok(git.line(&["write-tree"])?)
    }
}

/// Files that steer the run and the client: the project's own count, and what an agent makes of its
/// own is no part of a commit.
fn is_protected(inside: &Utf8Path, path: &Path) -> bool {
    let Ok(path) = path.strip_prefix(inside.as_std_path()) else { return false };
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let in_client = path.parent() == Some(Path::new(CLIENT_FOLDER));
    let is_settings = name.starts_with("settings") && name.ends_with(".json");
    path.starts_with(PROJECT_MARKER) || in_client && (is_settings || name == "scheduled_tasks.json")
}

fn declares_submodule(top: &Utf8Path, path: &Path) -> bool {
    let text = fs_err::read_to_string(top.join(".gitmodules")).unwrap_or_default();
    let is_it = |line: &str| {
        let value = line.trim().strip_prefix("path")?.trim_start().strip_prefix('=')?;
        Some(Path::new(value.trim()) == path)
    };
    text.lines().filter_map(is_it).any(|is_it| is_it)
}

/// The repository of which git says that it has no commit.
fn without_commit(stderr: &str) -> Option<&str> {
    let line = stderr.lines().find(|line| line.contains("does not have a commit checked out"))?;
    let start = line.find('\'')? + 1;
    let name = line.get(start..)?.split('\'').next()?;
    Some(name.trim_end_matches('/'))
}

/// Submodules in which something is uncommitted.
fn dirty_submodules(git: &Git) -> Result<Vec<PathBuf>, Failure> {
    let output = git.run(&[&["diff-files"], &RAW[..]].concat())?;
    let dirty = differences(&output).into_iter().filter(|found| found.old.is_link());
    Ok(dirty.map(|found| found.path).collect())
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
            ("app/.claude/commands/x.md", false),
            ("app/src/main.rs", false),
            (".ralph/config.toml", false),
        ] {
            assert_eq!(is_protected(inside, Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_repository_without_a_commit_is_named() {
        let said = "error: 'sub/' does not have a commit checked out\nfatal: adding files failed\n";
        assert_eq!(without_commit(said), Some("sub"));
        assert_eq!(without_commit("fatal: x"), None);
    }
}
