//! All environment variables that we read; no other module reads them.
//!
//! Variables that override a configuration key are listed with that key in
//! `ralph_project::config`; those here locate files and identify the caller.
//!
//! ```
//! use ralph_base::env::Env;
//!
//! let env = Env::of([("RALPH_ROOT", "/srv/app")]);
//! assert_eq!(env.root().unwrap(), "/srv/app");
//! assert!(env.home().is_none());
//! ```

use std::collections::BTreeMap;
use std::ffi::OsString;

use camino::Utf8PathBuf;

use crate::linux;

/// The variable behind [`Env::workspace`].
pub const WORKSPACE: &str = "RALPH_WORKSPACE";

/// The variable behind [`Env::state_dir`].
pub const STATE_DIR: &str = "RALPH_STATE_DIR";

/// The variable behind [`Env::worker`].
pub const WORKER: &str = "RALPH_WORKER";

/// The variable behind [`Env::mailbox`].
pub const MAILBOX: &str = "RALPH_INTERNAL__MAILBOX";

/// The variable behind [`Env::brings_hooks`].
pub const HOOKS: &str = "RALPH_INTERNAL__HOOKS";

/// Defines methods that return the folder named by a variable: `name: "VARIABLE";`.
macro_rules! folders {
    ($($(#[$doc:meta])* $name:ident: $variable:expr;)*) => {
        $($(#[$doc])* pub fn $name(&self) -> Option<Utf8PathBuf> { self.path($variable) })*
    };
}

/// An environment: that of this process, or a fixed one for a test or an embedding program.
#[derive(Debug, Clone)]
pub struct Env {
    /// `None` for the environment of this process.
    vars: Option<BTreeMap<String, String>>,
}

impl Env {
    /// Returns the environment of this process, read on demand: a hook needs only three or four
    /// variables and should not copy them all.
    pub fn process() -> Self {
        Self { vars: None }
    }

    /// Returns an environment of exactly these variables.
    pub fn of<K: Into<String>, V: Into<String>>(vars: impl IntoIterator<Item = (K, V)>) -> Self {
        let vars = vars.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        Self { vars: Some(vars) }
    }

    /// Returns a variable. An empty value counts as unset, because scripts clear variables that
    /// way, and so does a value that is not UTF-8.
    #[expect(clippy::disallowed_methods, reason = "this is the door for reading variables")]
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match &self.vars {
            None => std::env::var(name).ok(),
            Some(vars) => vars.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    /// Returns an environment with the wanted variables only, found in one pass: each lookup of
    /// one of many names would scan the whole environment.
    pub fn those(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let started_with = || {
            let bytes = linux::environment()?;
            let entries = bytes.split(|byte| *byte == 0).filter_map(|one| str::from_utf8(one).ok());
            let pairs = entries.filter_map(|entry| entry.split_once('='));
            let wanted = pairs.filter(|(name, _)| is_wanted(name));
            Some(wanted.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
        };
        let wanted = |(name, value): (OsString, OsString)| {
            let name = name.into_string().ok().filter(|name| is_wanted(name))?;
            Some((name, value.into_string().ok()?))
        };
        let copied = || std::env::vars_os().filter_map(wanted).collect();
        let process = || started_with().unwrap_or_else(copied);
        Self { vars: Some(self.vars.clone().unwrap_or_else(process)) }
    }

    /// Returns whether a run passed its own hooks to the client, so that installed ones stand by.
    pub fn brings_hooks(&self) -> bool {
        self.get(HOOKS).is_some()
    }

    /// Returns all variables that are valid UTF-8.
    pub fn all(&self) -> BTreeMap<String, String> {
        self.those(|_| true).vars.unwrap_or_default()
    }

    /// Returns whether this is a fixed environment without any variable.
    pub fn is_empty(&self) -> bool {
        self.vars.as_ref().is_some_and(BTreeMap::is_empty)
    }

    folders! {
        /// `RALPH_ROOT`: the project root; takes precedence over everything else.
        root: "RALPH_ROOT";
        /// `CLAUDE_PROJECT_DIR`: the project root according to the client.
        client_project: "CLAUDE_PROJECT_DIR";
        /// `CLAUDE_CONFIG_DIR`: where the client keeps a person's settings instead of `~/.claude`.
        client_config: "CLAUDE_CONFIG_DIR";
        /// `RALPH_WORKSPACE`: set by the loop to the folder in which its agent works.
        workspace: WORKSPACE;
        /// The mailbox through which the agent's stop hook asks the loop.
        mailbox: MAILBOX;
        /// `HOME`, where the state of projects without a `.ralph/` folder is kept.
        home: "HOME";
    }

    /// `CLAUDE_CODE_SESSION_ID`: the client session whose agent runs this command.
    pub fn client_session(&self) -> Option<String> {
        self.get("CLAUDE_CODE_SESSION_ID")
    }

    /// `RALPH_LOOP_DIR`: a folder with `feature_list.json`, for continuation without our loop.
    /// Defaults to the folder that other loops use, except for an agent of our own loop.
    pub fn loop_dir(&self) -> Option<Utf8PathBuf> {
        let usual = || self.run().is_none().then(|| ".claude/data/ralph-loops/current".into());
        self.path("RALPH_LOOP_DIR").or_else(usual)
    }

    /// `RALPH_RUN`: set by the loop for its agent, so that hooks recognise the run's session.
    pub fn run(&self) -> Option<String> {
        self.get("RALPH_RUN")
    }

    /// `RALPH_WORKER`: set by the loop to the worker that runs the agent, if there are several
    /// workers. Each worker has its own files.
    pub fn worker(&self) -> Option<String> {
        self.run().and_then(|_| self.get(WORKER))
    }

    /// `RALPH_STATE_DIR`: set by the loop to the folder for the files of its agent's hooks.
    pub fn state_dir(&self) -> Option<Utf8PathBuf> {
        self.run().and_then(|_| self.path(STATE_DIR))
    }

    /// `CLAUDE_CODE_STOP_HOOK_BLOCK_CAP`: the number of consecutive blocks without a tool call
    /// after which the client overrules a stop hook.
    pub fn client_block_cap(&self) -> Option<u64> {
        self.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP")?.trim().parse().ok()
    }

    /// `GIT_CEILING_DIRECTORIES`: folders that git does not enter when it searches upwards.
    pub fn git_ceilings(&self) -> Vec<Utf8PathBuf> {
        let list = self.get("GIT_CEILING_DIRECTORIES").unwrap_or_default();
        let folders = list.split(':').filter(|folder| !folder.is_empty());
        folders.map(|folder| Utf8PathBuf::from(folder.trim_end_matches('/'))).collect()
    }

    /// `TMPDIR`, or the system's usual folder for temporary files.
    pub fn temp_dir(&self) -> Utf8PathBuf {
        self.path("TMPDIR").unwrap_or_else(|| Utf8PathBuf::from("/tmp"))
    }

    fn path(&self, name: &str) -> Option<Utf8PathBuf> {
        self.get(name).map(Utf8PathBuf::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let env = Env::of([("RALPH_RUN", ""), ("HOME", "/home/dev")]);
        assert_eq!(env.run(), None);
        assert_eq!(env.home().unwrap(), "/home/dev");
        assert_eq!(env.temp_dir(), "/tmp");
    }
}
