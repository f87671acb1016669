//! What an attempt may access: a pure function of settings, variables and the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::linux::IS_LINUX;
use serde::{Deserialize, Serialize};

use crate::found::{Found, shareable, without_user};
use crate::readable;
use crate::tables::{
    AGENTS, ANY_PROVIDER, CACHES, JUDGED, PROVIDERS, REMOVE, Row, SECRETS, SETUP_CACHES,
    SETUP_KEEPS, SETUP_SECRETS, SHOWN, STAYS, TEMPORARY, WITHHELD,
};

/// Git settings in the sandbox: commits and tags are not signed.
const UNSIGNED: [(&str, &str); 2] = [("commit.gpgSign", "false"), ("tag.gpgSign", "false")];

/// The variables that move folders of the home folder.
const MOVED: [(&str, &str); 4] = [
    (".cache", "XDG_CACHE_HOME"),
    (".config", "XDG_CONFIG_HOME"),
    (".local/share", "XDG_DATA_HOME"),
    (".local/state", "XDG_STATE_HOME"),
];

/// The most characters of a project's name at an agent; longer ones end in a hash.
const LONGEST_NAME: usize = 200;

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
    /// The folders in which agents are started, by their real names.
    pub starts: &'a [Utf8PathBuf],
    /// The agent to start; `None` for checks, git hooks and set-up.
    pub agent: Option<&'a str>,
    /// Whether this is a set-up that keeps credentials of forges and registries.
    pub is_setup: bool,
    /// What the programs on this machine need, and git's settings.
    pub found: &'a Found,
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
    /// Folders of theirs that no attempt needs, so that refusing them is no news.
    #[serde(skip)]
    pub withheld: Vec<Utf8PathBuf>,
    /// Folders that are created if they are missing and the program, if one is named, is on the `PATH`.
    #[serde(skip)]
    pub create: Vec<(String, Utf8PathBuf)>,
    /// Files that are created empty if they are missing.
    #[serde(skip)]
    pub files: Vec<Utf8PathBuf>,
    /// Folders whose entries, except for some names, are linked into another one at each start.
    pub links: Vec<(Utf8PathBuf, Utf8PathBuf, Vec<String>)>,
    /// What may not be read, with everything below it; `*` in the last name stands for any text.
    /// The longest of these paths and those in `show` decides; everything else may be read.
    pub hide: Vec<Utf8PathBuf>,
    /// What may be read although it is in a hidden folder.
    pub show: Vec<Utf8PathBuf>,
    /// Files that are shown or hidden by what is in them.
    pub judged: Vec<Utf8PathBuf>,
    /// The paths that follow from those, if they were looked up before.
    pub readable: Vec<PathBuf>,
    /// Whether signals and abstract sockets reach only processes in the sandbox.
    pub scoped: bool,
    /// Variables that are removed.
    pub remove: Vec<String>,
    /// Variables that are set.
    pub set: BTreeMap<String, String>,
    /// The user's git settings.
    pub git_settings: String,
    /// The file with them that git reads in the sandbox.
    pub git_copy: Utf8PathBuf,
}

/// Returns whether the tables have a row for the agent of this name.
pub fn is_agent(name: &str) -> bool {
    AGENTS.iter().any(|row| row.name == name)
}

impl Policy {
    /// Returns the same policy with what can be read now, so that no program that is started with
    /// it has to look for that. What changes its name later is not readable by such programs.
    pub fn looked_up(&self) -> Self {
        if !IS_LINUX {
            // A profile names what is hidden.
            return self.clone();
        }
        // Where new files appear beside hidden ones, each start has to look.
        let grows = |path: &Utf8PathBuf| self.write.iter().any(|folder| path.starts_with(folder));
        if self.hide.iter().chain(&self.judged).any(grows) {
            return self.clone();
        }
        let readable = readable::paths(self);
        if readable.iter().any(|path| path.to_str().is_none()) {
            // A policy is handed on as text.
            return self.clone();
        }
        let (hide, show, judged) = Default::default();
        Self { readable, hide, show, judged, ..self.clone() }
    }

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
        policy.withheld = request.all(WITHHELD).collect();
        let for_setup: &[Row] = if request.is_setup { SETUP_CACHES } else { &[] };
        let caches = CACHES.iter().chain(for_setup);
        caches.for_each(|row| policy.let_write(request, row, row.name));
        policy.listed = request.listed(&settings.write).collect();
        policy.write.extend(policy.listed.iter().cloned());
        policy.drop_nested();
        let provider: Vec<&Row> = PROVIDERS.iter().filter(|row| request.is_for(row)).collect();
        policy.let_read(request, &provider);
        policy.remove = request.leading_to_secrets(&provider);
        let Found { git_settings, git_credentials, .. } = request.found;
        policy.git_settings = git_settings.clone();
        if request.is_setup {
            policy.git_settings.push_str(git_credentials);
        }
        policy
    }

    /// Hides credentials, and shows what programs need beside them.
    fn let_read(&mut self, request: &Request<'_>, provider: &[&Row]) {
        let for_agent: Vec<_> =
            provider.iter().flat_map(|row| request.listed(row.secrets)).collect();
        let listed: Vec<_> = request.listed(&request.settings.show).collect();
        self.hide = request.secrets();
        self.hide.retain(|hidden| {
            let is_shown = for_agent.iter().chain(&listed).any(|shown| hidden.starts_with(shown));
            !is_shown && !self.write.contains(hidden)
        });
        self.show = request.shown();
        // A program that was found, or a folder of the agent, may be a secret as well.
        self.show.retain(|shown| !self.hide.iter().any(|hidden| shown.starts_with(hidden)));
        self.show.extend(self.write.iter().cloned().chain(for_agent));
        self.judged = request.all(JUDGED).chain(request.found.judged.iter().cloned()).collect();
        // What the user hides is hidden in a shown folder as well.
        let hidden: Vec<_> =
            request.settings.hide.iter().flat_map(|path| request.everywhere(path)).collect();
        for paths in [&mut self.show, &mut self.judged] {
            paths.retain(|path| !hidden.iter().any(|hidden| path.starts_with(hidden)));
        }
        let own = [request.copy, request.tmp, request.state].map(Utf8Path::to_owned);
        self.show.extend(own.into_iter().chain(request.read_only.iter().cloned()).chain(listed));
        self.judged.retain(|path| !self.show.contains(path));
        self.hide.extend(hidden);
    }

    /// Returns what would have to be shown for a path to be readable; `None` if it is readable.
    pub fn hides(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        for above in path.ancestors() {
            if self.hide.iter().any(|hidden| hidden == above) {
                return Some(path.to_owned());
            }
            if self.show.iter().any(|shown| shown == above) {
                return None;
            }
            if self.hide.iter().any(|hidden| is_entry(above.as_std_path(), hidden.as_std_path())) {
                return Some(above.to_owned());
            }
        }
        None
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
        let paths = row.paths.iter().chain(row.secrets).chain(row.files);
        let named = |path: &&str| {
            if !path.contains('@') {
                return vec![(*path).to_owned()];
            }
            request.starts.iter().map(|it| path.replace('@', &project_name(it))).collect()
        };
        for path in &paths.flat_map(named).collect::<Vec<_>>() {
            let place = below(&at, path);
            let is_closed = request.read_only.iter().any(|folder| place.starts_with(folder));
            if is_closed
                || request.is_own(&place)
                || request.is_above_a_folder(&place)
                || request.holds_programs(&place)
            {
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
        let is_any = |agent| !is_agent(agent) || ANY_PROVIDER.contains(&agent);
        let is_named = |agent| row.name == agent || row.name == "*" && is_any(agent);
        is_set && self.agent.is_some_and(is_named)
    }

    /// Whether a path is in a folder of the attempt: it needs no rule, and may be a link that the
    /// attempt created to get one.
    fn is_own(&self, path: &Utf8Path) -> bool {
        [self.copy, self.tmp, self.state].iter().any(|folder| path.starts_with(folder))
    }

    /// Whether a path contains a folder of the `PATH`: what an attempt puts there, others would run.
    fn holds_programs(&self, path: &Utf8Path) -> bool {
        let folders = self.env.get("PATH").map(String::as_str).unwrap_or_default().split(':');
        folders.map(Utf8Path::new).any(|folder| folder.starts_with(path))
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

    /// Returns the paths of rows, for every alternative of their places. Those in folders that a
    /// variable moves are named twice, as not every program heeds it.
    fn all<'a>(&'a self, rows: &'a [Row]) -> impl Iterator<Item = Utf8PathBuf> + 'a {
        let paths = rows.iter().flat_map(|row| {
            self.places(row.at)
                .flat_map(|place| row.paths.iter().map(move |path| below(&place, path)))
        });
        let moved = |path: &Utf8PathBuf| {
            MOVED.iter().find_map(|(folder, variable)| {
                let rest = path.strip_prefix(self.home.join(folder)).ok()?;
                let at = Utf8PathBuf::from(self.env.get(*variable)?);
                (at.is_absolute() && !rest.as_str().is_empty()).then(|| at.join(rest))
            })
        };
        paths.flat_map(move |path| [moved(&path), Some(path)]).flatten()
    }

    /// Returns what may not be read: hidden folders, credentials, and what belongs to other agents.
    fn secrets(&self) -> Vec<Utf8PathBuf> {
        let shared: &[Row] = if self.is_setup { &[] } else { SETUP_SECRETS };
        let others = AGENTS.iter().filter(|row| !self.is_for(row));
        let hidden = self.all(SECRETS).chain(self.all(shared));
        let hidden = hidden.chain(others.flat_map(|row| self.places(row.at)));
        // Only names hide entries of the home folder.
        let is_home = |path: &Utf8PathBuf| match path.file_name() {
            Some("*") => path.parent().is_some_and(|folder| self.home.starts_with(folder)),
            _ => self.home.starts_with(path),
        };
        // What is in a file decides, where it is judged.
        let judged: BTreeSet<_> = self.all(JUDGED).collect();
        hidden.filter(|path| !is_home(path) && !judged.contains(path)).collect()
    }

    /// Returns what the tables show in hidden folders.
    fn shown(&self) -> Vec<Utf8PathBuf> {
        let shared: &[Row] = if self.is_setup { SETUP_SECRETS } else { &[] };
        let own = AGENTS.iter().filter(|row| self.is_for(row)).flat_map(|row| self.places(row.at));
        let mut shown: Vec<_> = self.all(SHOWN).chain(self.all(shared)).chain(own).collect();
        // An agent without a row keeps its files in folders of its name.
        if let Some(name) = self.agent.filter(|agent| !is_agent(agent)) {
            let folders = [".", ".config/", ".local/share/", ".cache/"];
            shown.extend(folders.map(|folder| self.home.join(format!("{folder}{name}"))));
        }
        shown.extend(self.found.shown.iter().cloned());
        shown.retain(|path| path.is_absolute() && !self.is_above_a_folder(path));
        shown
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
        if !self.is_setup {
            let known = settings.into_iter();
            let known = known.filter_map(|[key, value]| Some([shareable(&key, &value)?, key]));
            settings = known.map(|[value, key]| [key, value]).collect();
        }
        settings.extend(UNSIGNED.map(|(key, value)| [key.to_owned(), value.to_owned()]));
        let mut all = BTreeMap::from([("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string())]);
        let empty = (settings.len()..count).map(|_| <[String; 2]>::default());
        let values = settings.iter().cloned().chain(empty).enumerate();
        all.extend(values.flat_map(|(number, values)| names(number).into_iter().zip(values)));
        all
    }

    /// Returns the variables that lead to credentials and have to be removed.
    fn leading_to_secrets(&self, provider: &[&Row]) -> Vec<String> {
        let shared: &[&str] = if self.is_setup { SETUP_KEEPS } else { &[] };
        // A URL with a password; a user's name alone is none, except in those of the web.
        let tells = |value: &str| !self.is_setup && without_user(value) != value;
        let is_secret = |(name, value): &(&String, &String)| {
            names_a_secret(name) && !fits(name, shared) || tells(value)
        };
        let proxies: &[&str] = if self.agent.is_some() { &["*_PROXY"] } else { &[] };
        let is_needed = |name: &str| provider.iter().any(|row| fits(name, row.env));
        let is_kept =
            |name: &str| is_needed(name) || fits(name, &self.settings.env) || fits(name, proxies);
        let found = self.env.iter().filter(|found| is_secret(found) && !is_kept(found.0));
        found.map(|(name, _)| name.clone()).collect()
    }
}

/// Returns the name under which an agent keeps the data of a project, made as Claude Code does.
fn project_name(folder: &Utf8Path) -> String {
    let units = || folder.as_str().encode_utf16();
    let plain = |unit: u16| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric);
    let name: String = units().map(|unit| plain(unit).map_or('-', char::from)).collect();
    let Some(start) = name.get(..LONGEST_NAME).filter(|_| name.len() > LONGEST_NAME) else {
        return name;
    };
    let hash = units().fold(0_i32, |hash, unit| {
        hash.wrapping_shl(5).wrapping_sub(hash).wrapping_add(unit.into())
    });
    let (mut rest, mut digits) = (hash.unsigned_abs(), Vec::new());
    while rest > 0 || digits.is_empty() {
        digits.extend(char::from_digit(rest % 36, 36));
        rest /= 36;
    }
    format!("{start}-{}", digits.iter().rev().collect::<String>())
}

/// Returns a path of a row below its place; `/` is the place itself.
fn below(place: &Utf8Path, path: &str) -> Utf8PathBuf {
    let path = path.trim_end_matches('/');
    if path.is_empty() { place.to_owned() } else { place.join(path) }
}

/// Returns whether a variable of this name is taken to hold a secret.
pub(crate) fn names_a_secret(name: &str) -> bool {
    fits(name, REMOVE) && !fits(name, STAYS)
}

/// Returns whether a name matches one of the patterns, in which `*` stands for any text.
fn fits<T: AsRef<str>>(name: &str, patterns: &[T]) -> bool {
    let name = name.to_ascii_uppercase();
    patterns.iter().any(|pattern| matches(&name, &pattern.as_ref().to_ascii_uppercase()))
}

fn matches(name: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(name) = name.strip_prefix(start) else { return false };
    let mut ends = (0..=name.len()).filter_map(|from| name.get(from..));
    ends.any(|end| matches(end, rest))
}

/// Returns whether a path is one of the entries that a pattern such as `~/.*` hides.
pub(crate) fn is_entry(path: &Path, pattern: &Path) -> bool {
    let [Some(name), Some(wanted)] = [path, pattern].map(Path::file_name) else { return false };
    let [name, wanted] = [name, wanted].map(|name| name.to_string_lossy());
    path.parent() == pattern.parent() && wanted.contains('*') && matches(&name, &wanted)
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
