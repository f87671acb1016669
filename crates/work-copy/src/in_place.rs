//! Work in the project's own tree, for projects that cannot be built elsewhere.
//!
//! The tree is clean when an attempt begins, so whatever is in it afterwards is the attempt's.
//! Files that steer the run are remembered before the agent and restored after it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{self, StateDir};
use ralph_core::git::{Git, GitError, Repo, Status};

use super::remove::remove_all;
use super::{Source, Start};
use ralph_project::failure::Failure;

/// Uncommitted work of the user's: files but for those that the loop writes.
pub fn uncommitted(repo: &Repo, ours: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
    let mut changed = Status::read(repo)?.changed;
    changed.retain(|path| !repo.is_untouched(path) && !ours.contains(path));
    Ok(changed)
}

/// Files whose changes git is told to overlook.
///
/// `ls-files -v` marks what is skipped with `S` and what is assumed unchanged with a small letter.
pub fn overlooked(git: &Git) -> Result<Vec<PathBuf>, GitError> {
    let listed = git.run(&["ls-files", "-v", "-z"])?;
    let lines = listed.split(|byte| *byte == 0);
    let flagged = lines
        .filter(|line| line.first().is_some_and(|mark| *mark == b'S' || mark.is_ascii_lowercase()));
    let name = |line: &[u8]| PathBuf::from(OsStr::from_bytes(line.get(2..).unwrap_or_default()));
    Ok(flagged.map(name).collect())
}

/// Returns the project's tree to the commit that an attempt began at. Whatever is there beside the
/// loop's own files is saved first; what an attempt holds already is not saved twice.
pub(super) fn reset(source: &Source, start: Start<'_>) -> Result<(), Failure> {
    let ours = start.books.iter().filter_map(|path| source.below_top(path)).map(Into::into);
    let repo = Repo::open(&source.top)?.sparing(ours.collect());
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

/// Puts HEAD back on the branch, at the commit, whatever the agent did to it; files stay.
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

/// Files that steer the run, as they were before an agent that works in place.
#[derive(Debug, Default)]
pub struct ProtectedFiles {
    files: BTreeMap<Utf8PathBuf, Option<Vec<u8>>>,
}

impl ProtectedFiles {
    /// Remembers them: settings, template, lifecycle scripts and the client's settings.
    pub fn remember(root: &Utf8Path, state: &StateDir, plan: &Utf8Path) -> Self {
        let mut paths = vec![state.config()];
        paths.extend([StateDir::prompt_beside(plan), StateDir::review_prompt_beside(plan)]);
        paths.extend(files_below(&state.lifecycle()));
        let client = root.join(state::CLIENT_FOLDER);
        paths.extend(["settings.json", "settings.local.json"].map(|name| client.join(name)));
        let files = paths.into_iter().map(|path| (path.clone(), state::read(&path).ok()));
        Self { files: files.collect() }
    }

    /// Restores them, and names those that were changed.
    pub fn restore(&self, state: &StateDir) -> std::io::Result<Vec<Utf8PathBuf>> {
        let mut restored = Vec::new();
        for (path, before) in &self.files {
            if state::read(path).ok() == *before {
                continue;
            }
            if !path.is_file() {
                remove_all(path.as_std_path())?;
            }
            match before {
                Some(content) => state::replace_users(path, content)?,
                None => state::remove_if_there(path)?,
            }
            restored.push(path.clone());
        }
        for path in files_below(&state.lifecycle()) {
            if !self.files.contains_key(&path) && !self.files.is_empty() {
                state::remove_if_there(&path)?;
                restored.push(path);
            }
        }
        Ok(restored)
    }
}

fn files_below(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.map(|entry| entry.into_path()).collect()
}
