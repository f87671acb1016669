//! What an attempt may access: a pure function of settings, variables and the tables.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::tables::{
    AGENTS, CACHES, GIT_SETTINGS, PROVIDERS, REMOVE, REMOVE_UNLESS_SETUP, Row, SECRETS,
    SETUP_CACHES, SETUP_SECRETS, TEMPORARY,
};

/// Git settings in the sandbox: commits and tags are not signed.
const UNSIGNED: [(&str, &str); 2] = [("commit.gpgSign", "false"), ("tag.gpgSign", "false")];

/// The most git settings that are read from variables.
const MOST_SETTINGS: usize = 1000;

/// The user's settings: `[sandbox] write`, `hide`, `show` and `env`. Paths begin with `/` or `~/`,
/// or are relative to the copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Additional paths that may be written.
    pub write: Vec<String>,
    /// Additional paths that may not be read.
    pub hide: Vec<String>,
    /// Paths that may be read although they would be hidden.
    pub show: Vec<String>,
    /// Variables that are kept; one `*` matches any text.
    pub env: Vec<String>,
}

/// The process for which a policy is made.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The user's home folder.
    pub home: &'a Utf8Path,
    /// The copy in which the attempt works.
    pub copy: &'a Utf8Path,
    /// The attempt's temporary folder.
    pub tmp: &'a Utf8Path,
    /// The attempt's state folder.
    pub state: &'a Utf8Path,
    /// Folders that no row of the tables may make writable: the project, the object store that the
    /// copy borrows from, the folder with all copies.
    pub read_only: &'a [Utf8PathBuf],
    /// The agent to start; `None` for checks, git hooks and set-up.
    pub agent: Option<&'a str>,
    /// Whether this is the set-up of an untouched copy, which keeps credentials of forges and registries.
    pub is_setup: bool,
    /// The user's settings.
    pub settings: &'a Settings,
    /// The variables that the program would be started with.
    pub env: &'a BTreeMap<String, String>,
}

/// What a process may access.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Files and folders that may be written, with everything below them.
    pub write: Vec<Utf8PathBuf>,
    /// Those of them that the user listed.
    #[serde(skip)]
    pub listed: Vec<Utf8PathBuf>,
    /// The folders in which agents keep their settings.
    #[serde(skip)]
    pub of_agents: Vec<Utf8PathBuf>,
    /// Folders that are created if they are missing and the program, if one is named, is on the `PATH`.
    #[serde(skip)]
    pub create: Vec<(String, Utf8PathBuf)>,
    /// Files that are created empty if they are missing.
    #[serde(skip)]
    pub files: Vec<Utf8PathBuf>,
    /// Folders whose entries, except for some names, are linked into another one at each start.
    pub links: Vec<(Utf8PathBuf, Utf8PathBuf, Vec<String>)>,
    /// Files and folders that may not be read; everything else may.
    pub hide: Vec<Utf8PathBuf>,
    /// What may be read although it is in a hidden folder.
    pub show: Vec<Utf8PathBuf>,
    /// Whether signals and abstract sockets reach only processes in the sandbox.
    pub scoped: bool,
    /// Variables that are removed.
    pub remove: Vec<String>,
    /// Variables that are set.
    pub set: BTreeMap<String, String>,
    /// The user's git settings in git's order of reading; empty if `GIT_CONFIG_GLOBAL` is set.
    pub git_settings: Vec<Utf8PathBuf>,
    /// The copy of them that git reads in the sandbox. `git config --global` replaces the original,
    /// and the new file has no rule: every git in the sandbox would fail.
    pub git_copy: Utf8PathBuf,
}

/// Returns whether the tables have a row for the agent of this name.
pub fn is_agent(name: &str) -> bool {
    AGENTS.iter().any(|row| row.name == name)
}

impl Policy {
    /// Returns the policy for a request.
    pub fn new(request: &Request<'_>) -> Self {
        let Request { copy, tmp, state, settings, env, .. } = *request;
        let mut policy =
            Self { scoped: true, git_copy: state.join("gitconfig"), ..Self::default() };
        for (name, value) in TEMPORARY.iter().filter_map(|row| row.split_once('=')) {
            let own = if value.starts_with('-') { env.get(name) } else { None };
            let value = value.replace('@', tmp.as_str());
            let value = own.map(|own| format!("{own} {value}")).unwrap_or(value);
            policy.set.insert(name.to_owned(), value);
        }
        policy.set.retain(|name, _| !settings.env.contains(name));
        policy.write.extend([copy, tmp, state].map(Utf8Path::to_owned));
        // The signing keys are hidden; landed commits are signed outside of the sandbox.
        policy.set.extend(request.git_variables());
        for row in AGENTS.iter().filter(|row| request.is_for(row)) {
            policy.let_write(request, row, "");
            let folder = state.join(row.name);
            policy.set.extend(row.env.iter().map(|&name| (name.to_owned(), folder.to_string())));
            let (variable, below) = row.links.split_once('/').unwrap_or((row.links, ""));
            if let Some(at) = request.places(row.at).next()
                && !variable.is_empty()
            {
                let unlinked = row.unlinked.iter().map(|&name| name.to_owned()).collect();
                policy.links.push((at, folder.join(below), unlinked));
                policy.set.insert(variable.to_owned(), folder.into_string());
            }
        }
        policy.of_agents = AGENTS.iter().flat_map(|row| request.places(row.at)).collect();
        let for_setup: &[Row] = if request.is_setup { SETUP_CACHES } else { &[] };
        let caches = CACHES.iter().chain(for_setup);
        caches.for_each(|row| policy.let_write(request, row, row.name));
        policy.listed = request.listed(&settings.write).collect();
        policy.write.extend(policy.listed.iter().cloned());
        policy.drop_nested();
        let provider: Vec<&Row> = PROVIDERS.iter().filter(|row| request.is_for(row)).collect();
        policy.show = provider.iter().flat_map(|row| request.listed(row.secrets)).collect();
        policy.show.extend(request.listed(&settings.show));
        policy.hide = request.secrets();
        policy.hide.retain(|hidden| !policy.show.iter().any(|shown| hidden.starts_with(shown)));
        // What the user hides is hidden in a shown folder as well.
        let hidden: Vec<_> =
            settings.hide.iter().flat_map(|path| request.everywhere(path)).collect();
        policy.show.retain(|shown| !hidden.iter().any(|hidden| hidden.starts_with(shown)));
        policy.hide.extend(hidden);
        policy.remove = request.leading_to_secrets(&provider);
        if !env.contains_key("GIT_CONFIG_GLOBAL") {
            let files = GIT_SETTINGS.iter().filter_map(|file| request.places(file).next());
            policy.git_settings = files.collect();
        }
        policy
    }

    /// Drops folders inside of other ones: an attempt could replace the inner one with a link, and
    /// the next attempt would get a rule for the link's target.
    fn drop_nested(&mut self) {
        let all = self.write.clone();
        self.write
            .retain(|path| !path.ancestors().skip(1).any(|above| all.iter().any(|it| it == above)));
    }

    /// Makes the paths of a row writable, unless that would open the project or another folder.
    fn let_write(&mut self, request: &Request<'_>, row: &Row, program: &str) {
        let Some(at) = request.places(row.at).next() else { return };
        self.files.extend(row.files.iter().map(|file| at.join(file)));
        for path in row.paths.iter().chain(row.secrets).chain(row.files) {
            let place = below(&at, path);
            let is_closed = request.read_only.iter().any(|folder| place.starts_with(folder));
            if is_closed || request.is_own(&place) || request.is_above_a_folder(&place) {
                continue;
            }
            if path.ends_with('/') {
                self.create.push((program.to_owned(), place.clone()));
            }
            self.write.push(place);
        }
    }
}

impl Request<'_> {
    fn is_for(&self, row: &Row) -> bool {
        let is_set = row.when.is_empty() || self.env.contains_key(row.when);
        Some(row.name) == self.agent && is_set
    }

    /// Whether a path is in a folder of the attempt: it needs no rule, and may be a link that the
    /// attempt created to get one.
    fn is_own(&self, path: &Utf8Path) -> bool {
        [self.copy, self.tmp, self.state].iter().any(|folder| path.starts_with(folder))
    }

    /// Whether a path contains the home folder, the copy or a read-only folder.
    fn is_above_a_folder(&self, path: &Utf8Path) -> bool {
        let folders = self.read_only.iter().map(Utf8PathBuf::as_path);
        folders.chain([self.home, self.copy]).any(|folder| folder.starts_with(path))
    }

    /// Expands `~/x`, `$VARIABLE/x`, `/x`, or `x` below the copy; `None` without an absolute path.
    fn expand(&self, text: &str) -> Option<Utf8PathBuf> {
        let (start, rest) = text.split_once('/').unwrap_or((text, ""));
        let start = match start.strip_prefix('$') {
            Some(name) => Utf8PathBuf::from(self.env.get(name)?),
            None if start == "~" => self.home.to_owned(),
            None => return Some(self.copy.join(text)),
        };
        start.is_absolute().then(|| below(&start, rest))
    }

    /// Like `expand`, but also expands `x` to paths below the read-only folders.
    fn everywhere<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Utf8PathBuf> + 'a {
        let is_below = !text.starts_with(['~', '$', '/']);
        let folders = self.read_only.iter().filter(move |_| is_below);
        self.expand(text).into_iter().chain(folders.map(move |folder| folder.join(text)))
    }

    /// Returns the alternatives of a place whose variables are set.
    fn places<'a>(&'a self, at: &'a str) -> impl Iterator<Item = Utf8PathBuf> + 'a {
        at.split(" | ").filter_map(|place| self.expand(place))
    }

    /// Expands the paths of a list and skips those that need no rule.
    fn listed<'a, T: AsRef<str>>(
        &'a self,
        list: &'a [T],
    ) -> impl Iterator<Item = Utf8PathBuf> + 'a {
        let paths = list.iter().filter_map(|path| self.expand(path.as_ref()));
        paths.filter(|path| !self.is_own(path))
    }

    /// Returns the credentials that may not be read.
    fn secrets(&self) -> Vec<Utf8PathBuf> {
        let shared: &[Row] = if self.is_setup { &[] } else { SETUP_SECRETS };
        let rows = SECRETS.iter().chain(shared).map(|row| (row.at, row.paths));
        let others = AGENTS.iter().filter(|row| !self.is_for(row)).map(|row| (row.at, row.secrets));
        let hidden = rows.chain(others).flat_map(|(at, paths)| {
            self.places(at).flat_map(|place| paths.iter().map(move |path| below(&place, path)))
        });
        hidden.filter(|path| !self.is_above_a_folder(path)).collect()
    }

    /// Returns the variables with git's settings: the user's, except for credentials, and ours.
    /// They replace all such variables of the user.
    fn git_variables(&self) -> BTreeMap<String, String> {
        let names =
            |number: usize| ["KEY", "VALUE"].map(|what| format!("GIT_CONFIG_{what}_{number}"));
        let get = |name: &String| self.env.get(name).cloned().unwrap_or_default();
        let count = self.env.get("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok());
        let count: usize = count.unwrap_or(0).min(MOST_SETTINGS);
        let mut settings: Vec<[String; 2]> =
            (0..count).map(|number| names(number).each_ref().map(get)).collect();
        settings.retain(|[key, _]| self.is_setup || !leads_to_credentials(&key.to_lowercase()));
        settings.extend(UNSIGNED.map(|(key, value)| [key.to_owned(), value.to_owned()]));
        let mut all = BTreeMap::from([("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string())]);
        let empty = (settings.len()..count).map(|_| <[String; 2]>::default());
        let values = settings.iter().cloned().chain(empty).enumerate();
        all.extend(values.flat_map(|(number, values)| names(number).into_iter().zip(values)));
        all
    }

    /// Returns the variables that lead to credentials and have to be removed.
    fn leading_to_secrets(&self, provider: &[&Row]) -> Vec<String> {
        let shared: &[&str] = if self.is_setup { &[] } else { REMOVE_UNLESS_SETUP };
        let is_secret = |name: &str| fits(name, REMOVE) || fits(name, shared);
        let is_needed = |name: &str| provider.iter().any(|row| fits(name, row.env));
        let is_kept = |name: &str| is_needed(name) || fits(name, &self.settings.env);
        self.env.keys().filter(|name| is_secret(name) && !is_kept(name)).cloned().collect()
    }
}

/// Whether a git setting holds credentials or leads to them.
fn leads_to_credentials(key: &str) -> bool {
    key.starts_with("credential.") || key.ends_with(".extraheader") || key == "core.sshcommand"
}

/// Returns a path of a row below its place; `/` is the place itself.
fn below(place: &Utf8Path, path: &str) -> Utf8PathBuf {
    let path = path.trim_end_matches('/');
    if path.is_empty() { place.to_owned() } else { place.join(path) }
}

/// Returns whether a name matches one of the patterns, in which one `*` stands for any text.
fn fits<T: AsRef<str>>(name: &str, patterns: &[T]) -> bool {
    patterns.iter().map(AsRef::as_ref).any(|pattern| match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
    })
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
