//! The only place that starts git.
//!
//! Every call names its folder, is free of variables that point git elsewhere, takes names of files
//! literally, speaks untranslated messages, never prompts and runs none of the user's git hooks (but
//! for a commit that is made for the user). How a call is run to its end is `run.rs`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_base::supervised::Door;

/// Variables that say where a repository is or how paths are read: those that
/// `git rev-parse --local-env-vars` prints, and a few that change what git does or prints.
/// The user's identity, credentials and configuration variables stay, and so do the folders above
/// which git is not to look for a repository.
const MISLEADING: &str = "\
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_ATTR_SOURCE GIT_COMMON_DIR GIT_DIFF_OPTS GIT_DIR \
    GIT_EXTERNAL_DIFF GIT_GLOB_PATHSPECS GIT_GRAFT_FILE GIT_ICASE_PATHSPECS GIT_IMPLICIT_WORK_TREE \
    GIT_INDEX_FILE GIT_INTERNAL_SUPER_PREFIX GIT_LITERAL_PATHSPECS GIT_NAMESPACE \
    GIT_NO_REPLACE_OBJECTS GIT_NOGLOB_PATHSPECS GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_QUARANTINE_PATH \
    GIT_REPLACE_REF_BASE GIT_SHALLOW_FILE GIT_TRACE GIT_WORK_TREE";

/// Settings of every call: no file system monitor, which would be a daemon of ours that outlives
/// us; and large files go through git in pieces, and packs are looked at in pieces, however much
/// memory there is.
const SETTINGS: &str = "\
    -c core.fsmonitor=false -c advice.addEmbeddedRepo=false -c core.bigFileThreshold=16m -c \
    core.packedGitWindowSize=32m -c core.packedGitLimit=256m";

/// How long git is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For another process's lock on the index or a ref.
    pub locks: Duration,
    /// For a sign of life: a git that moves gigabytes may take any time, one that hangs may not.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { locks: Duration::from_secs(10), idle: Duration::from_secs(300) }
    }
}

/// Git in one folder; by default in that of the process.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Git {
    dir: PathBuf,
    vars: BTreeMap<String, OsString>,
    settings: Vec<(String, String)>,
    door: Door,
    pub(super) user_hooks: bool,
    pub(super) patience: Patience,
}

impl Git {
    /// Git in this folder.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), ..Self::default() }
    }

    /// The same, on another index file than the repository's own.
    pub fn on_index(&self, index_file: PathBuf) -> Self {
        self.with_var("GIT_INDEX_FILE", index_file)
    }

    /// The same with a variable of git's.
    pub fn with_var(&self, name: &str, value: impl Into<OsString>) -> Self {
        let mut git = self.clone();
        git.vars.insert(name.to_owned(), value.into());
        git
    }

    /// The same with these settings too, whatever the repository's are.
    pub fn with_settings(&self, settings: &[(String, String)]) -> Self {
        Self { settings: [&self.settings, settings].concat(), ..self.clone() }
    }

    /// The same, started through a door.
    pub fn through(&self, door: &Door) -> Self {
        Self { door: door.clone(), ..self.clone() }
    }

    /// The same with another patience.
    pub fn with_patience(&self, patience: Patience) -> Self {
        Self { patience, ..self.clone() }
    }

    /// The same in a folder below.
    pub fn within(&self, folder: &str) -> Self {
        Self { dir: self.dir.join(folder), ..self.clone() }
    }

    /// The folder in which it runs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.door.command("git");
        for name in MISLEADING.split(' ') {
            command.env_remove(name);
        }
        command
            // Not by a change of folder before git is started: a statically linked program would
            // have to make a copy of itself for that.
            .arg("-C")
            .arg(&self.dir)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            // A status must not take the index lock only to refresh its cache: the user or the
            // agent may be running git at the same moment.
            .env("GIT_OPTIONAL_LOCKS", "0");
        if self.user_hooks {
            // The hooks would inherit a variable for literal names, and may well use patterns. A commit
            // would leave a process behind that looks after the repository, and with it a lock if the
            // machine goes down; the next commit by hand does that as well.
            command.args(["-c", "maintenance.auto=false"]);
        } else {
            // Hooks of the user's are for the user's commits, not for our bookkeeping. A file may be
            // called `*` or `:!x`.
            command.env("GIT_LITERAL_PATHSPECS", "1").args(["-c", "core.hooksPath=/dev/null"]);
        }
        for (key, value) in &self.settings {
            command.arg("-c").arg(format!("{key}={value}"));
        }
        command.envs(&self.vars).args(SETTINGS.split(' ')).args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The command and its folder, for messages: short.
    pub(super) fn named<S: AsRef<OsStr>>(&self, args: &[S]) -> (String, String) {
        let words: Vec<OsString> = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
        let command = words.join(OsStr::new(" ")).to_string_lossy().chars().take(200).collect();
        (command, self.dir.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_literally_and_the_users_hooks_do_not_run() {
        let git = Git::at("/");
        let is_literal = |git: &Git| {
            let command = git.command(&["status"]);
            command.get_envs().any(|(name, value)| {
                name == "GIT_LITERAL_PATHSPECS" && value.is_some_and(|value| value == "1")
            })
        };
        assert!(is_literal(&git) && is_literal(&git.on_index("/index".into())));
        assert!(!is_literal(&Git { user_hooks: true, ..git.clone() }));
    }
}
