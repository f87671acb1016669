//! Every environment variable that we read, and the only place that reads them.
//!
//! Variables that stand for a configuration key are listed with that key in
//! `ralph_project::config`; those here say where things are and who called us.
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

/// The variable of [`Env::workspace`].
pub const WORKSPACE: &str = "RALPH_WORKSPACE";

/// The variable of [`Env::state_dir`].
pub const STATE_DIR: &str = "RALPH_STATE_DIR";

/// The variable of [`Env::worker`].
pub const WORKER: &str = "RALPH_WORKER";

/// The variable of [`Env::mailbox`].
pub const MAILBOX: &str = "RALPH_INTERNAL__MAILBOX";

/// Methods that give the folder that a variable names: `name: "VARIABLE";`.
macro_rules! folders {
    ($($(#[$doc:meta])* $name:ident: $variable:expr;)*) => {
        $($(#[$doc])* pub fn $name(&self) -> Option<Utf8PathBuf> { self.path($variable) })*
    };
}

/// The environment: that of this process, or one made up for a test or an embedding program.
#[derive(Debug, Clone)]
pub struct Env {
    /// None for those of this process.
    vars: Option<BTreeMap<String, String>>,
}

impl Env {
    /// The environment of this process, read on demand: a hook asks for three or four variables
    /// and should not copy them all.
    pub fn process() -> Self {
        Self { vars: None }
    }

    /// An environment of exactly these variables.
    pub fn of<K: Into<String>, V: Into<String>>(vars: impl IntoIterator<Item = (K, V)>) -> Self {
        let vars = vars.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        Self { vars: Some(vars) }
    }

    /// One variable; empty counts as unset, because scripts clear variables that way, and so does
    /// a value that is not UTF-8.
    #[expect(clippy::disallowed_methods, reason = "this is the door for reading variables")]
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match &self.vars {
            None => std::env::var(name).ok(),
            Some(vars) => vars.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    /// An environment of those variables only whose names are wanted, read at once: each question for
    /// one of many names would go through the whole environment.
    pub fn those(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let wanted = |(name, value): (OsString, OsString)| {
            let name = name.into_string().ok().filter(|name| is_wanted(name))?;
            Some((name, value.into_string().ok()?))
        };
        let process = || std::env::vars_os().filter_map(wanted).collect();
        Self { vars: Some(self.vars.clone().unwrap_or_else(process)) }
    }

    /// All variables that are text.
    pub fn all(&self) -> BTreeMap<String, String> {
        self.those(|_| true).vars.unwrap_or_default()
    }

    /// Whether it is one without any variable.
    pub fn is_empty(&self) -> bool {
        self.vars.as_ref().is_some_and(BTreeMap::is_empty)
    }

    folders! {
        /// `RALPH_ROOT`: the project, whatever else suggests another one.
        root: "RALPH_ROOT";
        /// `CLAUDE_PROJECT_DIR`: the project as the client sees it.
        client_project: "CLAUDE_PROJECT_DIR";
        /// `CLAUDE_CONFIG_DIR`: where the client keeps a person's settings instead of `~/.claude`.
        client_config: "CLAUDE_CONFIG_DIR";
        /// `RALPH_WORKSPACE`: set by the loop for its agent, the folder in which that works.
        workspace: WORKSPACE;
        /// Where the stop hook of the loop's agent asks the loop.
        mailbox: MAILBOX;
        /// `HOME`, where the state of projects without a `.ralph/` folder is kept.
        home: "HOME";
    }

    /// `CLAUDE_CODE_SESSION_ID`: the client's session around a command of its agent.
    pub fn client_session(&self) -> Option<String> {
        self.get("CLAUDE_CODE_SESSION_ID")
    }

    /// `RALPH_LOOP_DIR`: a folder with `feature_list.json`, for continuation without our loop. Where
    /// it is not set, the folder in which other loops keep theirs; an agent of our own loop has our
    /// loop to answer to.
    pub fn loop_dir(&self) -> Option<Utf8PathBuf> {
        let usual = || self.run().is_none().then(|| ".claude/data/ralph-loops/current".into());
        self.path("RALPH_LOOP_DIR").or_else(usual)
    }

    /// `RALPH_RUN`: set by the loop for its agent, so that hooks know whose session it is.
    pub fn run(&self) -> Option<String> {
        self.get("RALPH_RUN")
    }

    /// `RALPH_WORKER`: set by the loop for its agent where several work at once, the one whose agent it
    /// is. Its files are apart from the others'.
    pub fn worker(&self) -> Option<String> {
        self.run().and_then(|_| self.get(WORKER))
    }

    /// `RALPH_STATE_DIR`: set by the loop for its agent, the folder into which hooks and commands write.
    pub fn state_dir(&self) -> Option<Utf8PathBuf> {
        self.run().and_then(|_| self.path(STATE_DIR))
    }

    /// `CLAUDE_CODE_STOP_HOOK_BLOCK_CAP`: after how many blocks in a row without a tool call the
    /// client overrules a stop hook.
    pub fn client_block_cap(&self) -> Option<u64> {
        self.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP")?.trim().parse().ok()
    }

    /// `GIT_CEILING_DIRECTORIES`: folders into which git does not go up to look for a repository.
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
    fn empty_means_unset() {
        let env = Env::of([("RALPH_RUN", ""), ("HOME", "/home/dev")]);
        assert_eq!(env.run(), None);
        assert_eq!(env.home().unwrap(), "/home/dev");
        assert_eq!(env.temp_dir(), "/tmp");
    }
}
