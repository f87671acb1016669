//! Files that a fresh clone lacks and the agent needs: the plan and the specifications from disk,
//! the client's files, and ignored files that match `.worktreeinclude`.
//!
//! Carried files are not part of the attempt's work: no commit contains them unless the agent
//! changes them.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{OnTheWay, PROJECT_MARKER, beneath, read_beneath};

use super::known::Files;
use super::remove::{is_absent, remove_all};
use super::{Source, Workspace};
use crate::git_output::paths;
use ralph_project::failure::Failure;
use run_history::words::counted;

/// Patterns of ignored files to copy, in gitignore syntax: a convention of the clients.
pub(super) const INCLUDE: &str = ".worktreeinclude";

/// The maximum total size of these files; more is assumed to be a mistake.
const LARGEST_INCLUDE: u64 = 1_000_000_000;

/// What the client reads in a project, often ignored by git.
const CLIENT_FILES: &str = "\
    .claude/agents .claude/commands .claude/hooks .claude/output-styles .claude/rules \
    .claude/settings.json .claude/settings.local.json .claude/skills .mcp.json CLAUDE.local.md \
    CLAUDE.md";

/// Files that tests read and that are often ignored by git.
const OFTEN_NEEDED: &str = "\
    .env .env.local .env.test .env.development config/master.key config/credentials/test.key \
    local.properties local.settings.json";

/// The length and modification time of a file, which show whether it was written.
pub(super) type Stamp = (u64, Option<SystemTime>);

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs_err::symlink_metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

impl Workspace {
    /// Writes a file of the loop into the workspace, in place of a project file.
    pub fn give(&mut self, path: &Utf8Path, content: &[u8]) -> io::Result<()> {
        let Some(below) = self.source.below_top(path) else { return Ok(()) };
        if self.is_in_place {
            return Ok(());
        }
        if self.left(path).as_deref() != Some(content) {
            if !below.starts_with(self.source.inside.join(PROJECT_MARKER)) {
                self.known.files = Files::Any;
            }
            replace(&self.top, below.as_std_path(), content)?;
        }
        self.note_carried(below.into());
        Ok(())
    }

    /// Copies what a fresh clone lacks. `specs` is the folder of the specifications in the project.
    pub fn carry(&mut self, specs: &str) -> Result<(), Failure> {
        self.carried.clear();
        if self.is_in_place {
            return Ok(());
        }
        let mut wanted = included(&self.source)?;
        let size = size_of(&self.source, &wanted);
        if size > LARGEST_INCLUDE {
            return Err(Failure::because(format!(
                "{INCLUDE} matches {} MB in {}, more than the limit of {} MB; narrow its patterns",
                size / 1_000_000,
                counted(wanted.len(), "file", "files"),
                LARGEST_INCLUDE / 1_000_000
            )));
        }
        let hooks = self.settings.hooks_in_tree(&self.source)?;
        wanted.extend(untracked(&self.source, hooks)?);
        wanted.extend(uncommitted_below(&self.source, &self.source.inside.join(specs))?);
        for below in wanted {
            let from = self.source.top.as_std_path().join(&below);
            if from.symlink_metadata().is_ok() {
                self.known.files = Files::Any;
                beneath(self.top.as_std_path(), &below, OnTheWay::Replace, |to| copy(&from, to))?;
                self.note_carried(below);
            }
        }
        Ok(())
    }

    fn note_carried(&mut self, path: PathBuf) {
        let stamp = stamp(&self.top.as_std_path().join(&path));
        self.carried.insert(path, stamp);
    }

    /// Whether a file of the workspace, named from its top, was carried and is unchanged.
    pub(super) fn is_only_carried(&self, path: &Path) -> bool {
        let now = || stamp(&self.top.as_std_path().join(path));
        self.carried.get(path).is_some_and(|then| *then == now())
    }
}

/// Replaces a file without writing through it: it may be a link into the project, or a pipe.
pub(super) fn replace(top: &Utf8Path, below: &Path, content: &[u8]) -> io::Result<()> {
    beneath(top.as_std_path(), below, OnTheWay::Replace, |path| {
        remove_all(path)?;
        fs_err::File::create_new(path)?.write_all(content)
    })
}

fn size_of(source: &Source, files: &[PathBuf]) -> u64 {
    let size = |file: &PathBuf| fs_err::symlink_metadata(source.top.as_std_path().join(file));
    files.iter().filter_map(|file| size(file).ok()).map(|metadata| metadata.len()).sum()
}

/// Returns the ignored files that match `.worktreeinclude`, from the top.
fn included(source: &Source) -> Result<Vec<PathBuf>, Failure> {
    if !source.top.join(INCLUDE).is_file() {
        return Ok(Vec::new());
    }
    let git = source.git();
    let list = ["ls-files", "-z", "--others", "--ignored"];
    let from = format!("--exclude-from={INCLUDE}");
    let mut named = paths(&git.run(&[&list[..], &[&from]].concat())?);
    if named.is_empty() {
        return Ok(named);
    }
    // Files that git does not ignore are the user's uncommitted work, and are not copied.
    let ignored = paths(&git.run(&[&list[..], &["--exclude-standard"]].concat())?);
    let ignored: BTreeSet<PathBuf> = ignored.into_iter().collect();
    named.retain(|path| ignored.contains(path));
    Ok(named)
}

/// Returns ignored files that checks often need and that a copy lacks.
pub fn lacking(source: &Source) -> Result<Vec<String>, Failure> {
    let names = OFTEN_NEEDED.split(' ').map(|name| source.inside.join(name));
    let there: Vec<_> = names.filter(|name| source.top.join(name).is_file()).collect();
    if there.is_empty() {
        return Ok(Vec::new());
    }
    let list = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"];
    let args: Vec<&str> = list.into_iter().chain(there.iter().map(|name| name.as_str())).collect();
    let (ignored, included) = (paths(&source.git().run(&args)?), included(source)?);
    let lacking = ignored.into_iter().filter(|path| !included.contains(path));
    Ok(lacking.map(|path| path.display().to_string()).collect())
}

/// Returns the client's files and hooks that git does not track: the agent gets them like tracked
/// ones.
fn untracked(source: &Source, hooks: Option<Utf8PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let wanted = CLIENT_FILES.split(' ').map(|path| source.inside.join(path)).chain(hooks);
    let is_there = |path: &Utf8PathBuf| source.top.join(path).symlink_metadata().is_ok();
    let there: Vec<Utf8PathBuf> = wanted.filter(is_there).collect();
    if there.is_empty() {
        return Ok(Vec::new());
    }
    let list = ["--literal-pathspecs", "ls-files", "-z", "--others", "--"].map(Utf8Path::new);
    let args: Vec<&Utf8Path> = list.into_iter().chain(there.iter().map(|path| &**path)).collect();
    Ok(paths(&source.git().run(&args)?))
}

/// Returns the files below a folder that differ from the last commit.
fn uncommitted_below(source: &Source, folder: &Utf8Path) -> Result<Vec<PathBuf>, Failure> {
    if folder.as_str().is_empty() || !source.top.join(folder).is_dir() {
        return Ok(Vec::new());
    }
    let list = ["ls-files", "-z", "--modified", "--others", "--exclude-standard", "--"];
    let listed = source.git().run(&[&list[..], &[folder.as_str()]].concat())?;
    Ok(paths(&listed))
}

/// Copies a file or a link unless it is up to date. The copy gets the same modification time, so
/// that comparing stamps is enough to find that out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs_err::symlink_metadata(from)?;
    if metadata.is_symlink() {
        let target = fs_err::read_link(from)?;
        if fs_err::read_link(to).ok().as_ref() == Some(&target) {
            return Ok(());
        }
        remove_all(to)?;
        return symlink(target, to);
    }
    if !metadata.is_file() || stamp(from) == stamp(to) {
        return Ok(());
    }
    remove_all(to)?;
    // A new file: what comes there meanwhile is not written through.
    let mut file = fs_err::File::create_new(to)?;
    io::copy(&mut fs_err::File::open(from)?, &mut file)?;
    file.set_permissions(metadata.permissions())?;
    match metadata.modified() {
        Ok(time) => file.file().set_modified(time),
        Err(_) => Ok(()),
    }
}

impl Workspace {
    /// Removes a file of the workspace, if it exists, without following a link.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = beneath(self.top.as_std_path(), path, OnTheWay::Expect, remove_all);
        match removed {
            Err(error) if is_absent(&error) => Ok(()),
            other => other,
        }
    }

    /// Reads what the agent left at the path of a project file; `None` if it is not a regular file.
    pub fn left(&self, path: &Utf8Path) -> Option<Vec<u8>> {
        read_beneath(self.top.as_std_path(), self.source.below_top(path)?.as_std_path()).ok()
    }

    /// Returns the path at which the agent finds a file of the project.
    pub fn shown_path(&self, path: &Utf8Path) -> Utf8PathBuf {
        self.counterpart(path).unwrap_or_else(|| path.to_owned())
    }
}
