//! The only module that starts git.
//!
//! Every call names its folder, ignores variables that point git elsewhere, takes file names
//! literally, uses untranslated messages, never prompts, and runs no git hooks (except for commits
//! made on the user's behalf). Running a call to completion is in `run.rs`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_base::supervised::Door;

/// Environment variables that locate a repository or change how paths are read: those printed by
/// `git rev-parse --local-env-vars`, and a few that change git's behaviour or output. The user's
/// identity, credentials, configuration and `GIT_CEILING_DIRECTORIES` are kept.
const SCRUBBED_VARS: &str = "\
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_ATTR_SOURCE GIT_COMMON_DIR GIT_DIFF_OPTS GIT_DIR \
    GIT_EXTERNAL_DIFF GIT_GLOB_PATHSPECS GIT_GRAFT_FILE GIT_ICASE_PATHSPECS GIT_IMPLICIT_WORK_TREE \
    GIT_INDEX_FILE GIT_INTERNAL_SUPER_PREFIX GIT_LITERAL_PATHSPECS GIT_NAMESPACE \
    GIT_NO_REPLACE_OBJECTS GIT_NOGLOB_PATHSPECS GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_QUARANTINE_PATH \
    GIT_REPLACE_REF_BASE GIT_SHALLOW_FILE GIT_TRACE GIT_WORK_TREE";

/// Settings for every call: no file system monitor, because its daemon would outlive us; and large
/// files and packs are processed in pieces, so that memory use stays bounded.
const SETTINGS: &str = "\
    -c core.fsmonitor=false -c advice.addEmbeddedRepo=false -c core.bigFileThreshold=16m -c \
    core.packedGitWindowSize=32m -c core.packedGitLimit=256m";

/// Time limits for waiting on git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// The limit for waiting on another process's lock of the index or a ref.
    pub locks: Duration,
    /// The limit without a sign of life: moving gigabytes may take any time, hanging may not.
    pub idle: Duration,
    /// The limit even for a busy git, which an interrupt shortens: for files of an attempt.
    pub busy: Option<Duration>,
}

impl Default for Patience {
    fn default() -> Self {
        Self { locks: Duration::from_secs(10), idle: Duration::from_secs(300), busy: None }
    }
}

/// A runner of git in one folder; by default in the current directory of the process.
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
    /// Creates a runner for this folder.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), ..Self::default() }
    }

    /// Returns a copy that uses another index file than the repository's own.
    pub fn on_index(&self, index_file: PathBuf) -> Self {
        self.with_var("GIT_INDEX_FILE", index_file)
    }

    /// Returns a copy that sets an environment variable for git.
    pub fn with_var(&self, name: &str, value: impl Into<OsString>) -> Self {
        let mut git = self.clone();
        git.vars.insert(name.to_owned(), value.into());
        git
    }

    /// Returns a copy with these settings added; they override the repository's.
    pub fn with_settings(&self, settings: &[(String, String)]) -> Self {
        Self { settings: [&self.settings, settings].concat(), ..self.clone() }
    }

    /// Returns a copy that starts git through a door.
    pub fn through(&self, door: &Door) -> Self {
        Self { door: door.clone(), ..self.clone() }
    }

    /// Whether git is started below a keeper.
    pub(super) fn is_kept(&self) -> bool {
        !self.door.by.is_empty()
    }

    /// Returns a copy with other time limits.
    pub fn with_patience(&self, patience: Patience) -> Self {
        Self { patience, ..self.clone() }
    }

    /// Returns a copy that runs in a subfolder.
    pub fn within(&self, folder: &str) -> Self {
        Self { dir: self.dir.join(folder), ..self.clone() }
    }

    /// Returns the folder in which git runs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.door.command("git");
        for name in SCRUBBED_VARS.split(' ') {
            command.env_remove(name);
        }
        command
            // Not with `Command::current_dir`: a statically linked program would have to fork for
            // that.
            .arg("-C")
            .arg(&self.dir)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            // `git status` must not take the index lock just to refresh its cache: the user or the
            // agent may be running git at the same time.
            .env("GIT_OPTIONAL_LOCKS", "0");
        if self.user_hooks {
            // Hooks would inherit GIT_LITERAL_PATHSPECS but may use patterns. Maintenance after a
            // commit would leave a process behind, and its lock after a crash; the user's next
            // commit does it.
            command.args(["-c", "maintenance.auto=false"]);
        } else {
            // The user's hooks are for the user's commits, not for our bookkeeping. File names may
            // look like patterns, such as `*` or `:!x`.
            command.env("GIT_LITERAL_PATHSPECS", "1").args(["-c", "core.hooksPath=/dev/null"]);
        }
        for (key, value) in &self.settings {
            command.arg("-c").arg(format!("{key}={value}"));
        }
        command.envs(&self.vars).args(SETTINGS.split(' ')).args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Returns the command, shortened, and its folder, for messages.
    pub(super) fn named<S: AsRef<OsStr>>(&self, args: &[S]) -> (String, String) {
        let words: Vec<OsString> = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
        let command = words.join(OsStr::new(" ")).to_string_lossy().chars().take(200).collect();
        (command, self.dir.display().to_string())
    }
}
