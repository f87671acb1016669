//! The user's git settings in the copy: identity, hooks, filters, signing and large-file storage
//! work there as in the project.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::linux::own_program_for_others;
use ralph_base::supervised::Door;
use ralph_core::git::{Git, GitError};

use super::{Source, text_path};
use ralph_project::failure::Failure;
use ralph_project::install::quoted;
use sandbox::shareable;

/// Prefixes of settings that describe a single repository, and are not copied to another.
const OWN: &str = "\
    branch. core.bare core.filemode core.fsmonitor core.ignorecase core.logallrefupdates \
    core.precomposeunicode core.repositoryformatversion core.sparsecheckout core.splitindex \
    core.symlinks core.untrackedcache core.worktree extensions. feature. gc. include index. \
    maintenance. remote. safe. submodule. worktree.";

/// Settings of the project's own folder that hold in each folder on this machine.
const OF_MACHINE: [&str; 4] =
    ["core.filemode", "core.ignorecase", "core.precomposeunicode", "core.symlinks"];

/// Settings of the loop's own git folder. The checksum of a large index takes longer than everything
/// else, and its objects are read only once.
const OF_OWN: [(&str, &str); 4] = [
    ("core.compression", "0"),
    ("gc.auto", "0"),
    ("index.skipHash", "true"),
    ("maintenance.auto", "false"),
];

/// The setting for a folder of hooks outside the git folder.
const HOOKS_PATH: &str = "core.hookspath";

/// Settings that name files which git needs.
const PATHS: [&str; 6] = [
    "blame.ignorerevsfile",
    "commit.template",
    "core.attributesfile",
    "core.excludesfile",
    HOOKS_PATH,
    "init.templatedir",
];

/// The URL to which a copy pushes: git has no such transport, and prints this name in its error.
pub(super) const NOWHERE: &str = "copies-do-not-push::";

/// The prefix of keys that include a file for certain folders only.
const CONDITIONS: &str = "\0includeif.";

/// The settings of a project, in the format `<scope>NUL<key>LF<value>NUL`.
#[derive(Debug)]
pub struct GitSettings(String);

type Settings = BTreeMap<String, Vec<String>>;

impl GitSettings {
    pub(super) fn read(git: &Git) -> Result<Self, GitError> {
        let output = git.run(&["config", "--list", "-z", "--show-scope"])?;
        Ok(Self(String::from_utf8_lossy(&output).into_owned()))
    }

    fn all(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let mut parts = self.0.split('\0');
        std::iter::from_fn(move || {
            let (scope, setting) = (parts.next()?, parts.next()?);
            let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
            Some((scope, key, value))
        })
    }

    /// Whether objects may be missing locally and have to be fetched from the network.
    pub fn is_partial_clone(&self) -> bool {
        self.all().any(|(_, key, value)| {
            let is_promised = key.starts_with("remote.") && key.ends_with(".promisor");
            (is_promised || key == "extensions.partialclone") && value != "false"
        })
    }

    /// Returns settings that make the programs which git runs on files start through a door: an
    /// attempt may have changed what they run. Except git-lfs, which is no project code and writes
    /// to the project's store.
    pub(super) fn through(&self, door: &Door) -> Vec<(String, String)> {
        let quoted = |word: &str| quoted(word.into());
        let vars = door.vars.iter().map(|(name, value)| format!("{name}={} ", quoted(value)));
        let by = door.by.iter().map(|word| quoted(&word.to_string_lossy()) + " ");
        let by = own_program_for_others(&vars.chain(by).collect::<String>());
        let inside = |(_, key, command): (&str, &str, &str)| {
            let places: &[&str] = match key.rsplit('.').next()? {
                "clean" | "smudge" | "process" if key.starts_with("filter.") => &["%f"],
                "driver" if key.starts_with("merge.") => &["%O", "%A", "%B", "%L", "%P"],
                _ => return None,
            };
            let is_large_files = ["git-lfs ", "git lfs "].iter().any(|it| command.starts_with(it));
            let (mut command, mut names) = (command.to_owned(), String::new());
            for (n, place) in (1..).zip(places) {
                // Git quotes names itself, but not within quotes.
                command = command.replace(place, &format!("\"${n}\""));
                names.push_str(&format!(" {place}"));
            }
            let line = format!("{by}sh -c {} sh{names}", quoted(&command));
            (!is_large_files && !command.is_empty()).then(|| (key.to_owned(), line))
        };
        if by.is_empty() { Vec::new() } else { self.all().filter_map(inside).collect() }
    }

    /// Whether the user's commits are signed.
    pub fn sign_commits(&self) -> bool {
        let set = self.all().filter(|(_, key, _)| *key == "commit.gpgsign").last();
        set.is_some_and(|(.., value)| !["false", "no", "off", "0"].contains(&value))
    }

    /// Whether a commit in a copy may run the user's git hooks, or be signed.
    pub(super) fn need_full_commits(&self, source: &Source) -> bool {
        let is_set = |(scope, key, _): (&str, &str, &str)| {
            key.starts_with("hook.")
                || scope != "command" && [HOOKS_PATH, "commit.gpgsign"].contains(&key)
        };
        let hooks = fs_err::read_dir(source.shared.join("hooks")).into_iter().flatten().flatten();
        let mut hooks = hooks.map(|hook| hook.path());
        self.all().any(is_set)
            || hooks.any(|hook| hook.extension().is_none_or(|ending| ending != "sample"))
    }

    /// Returns the settings file of the loop's own git folder: all settings of the user's, because
    /// git over a copy reads no other file.
    pub(super) fn of_own(&self, source: &Source, door: &Door) -> String {
        let mut text = self.head();
        for (key, values) in self.of("system global local worktree") {
            values.iter().for_each(|value| text.push_str(&entry(&key, value)));
        }
        let ours = OF_OWN.map(|(key, value)| (key.to_owned(), value.to_owned()));
        for (key, value) in ours.iter().chain(&self.through(door)) {
            text.push_str(&entry(key, value));
        }
        text + &self.large_files(source)
    }

    /// Returns the settings file of the repository in a copy: what a git folder needs, and the
    /// settings of the project, including those from a file that is included for its folder only.
    pub(super) fn lent(
        &self,
        source: &Source,
        folder: &Utf8Path,
        hooks: &Utf8Path,
    ) -> Result<String, Failure> {
        let mut wanted = self.of("system global local worktree");
        wanted.remove(HOOKS_PATH);
        let there = if self.0.contains(CONDITIONS) {
            let git = Git::at(folder.as_std_path()).with_var("GIT_DIR", folder.as_std_path());
            Self::read(&git)?.of("system global local worktree")
        } else {
            self.of("system global")
        };
        let mut text = self.head();
        for (key, values) in &wanted {
            let known = there.get(key).map(Vec::as_slice).unwrap_or_default();
            // A setting that exists already would apply twice.
            let missing = values.strip_prefix(known).unwrap_or(values);
            missing.iter().for_each(|value| text.push_str(&entry(key, value)));
        }
        text.push_str(&self.remotes(&source.top));
        if there.contains_key(HOOKS_PATH) || !hooks.ends_with(".git/hooks") {
            text.push_str(&entry(HOOKS_PATH, hooks.as_str()));
        }
        Ok(text + &self.large_files(source))
    }

    /// Returns the settings that make a folder a repository of the project's kind.
    fn head(&self) -> String {
        let find = |name: &str| self.all().filter(|(_, key, _)| *key == name).last();
        let format = find("extensions.objectformat").map_or("sha1", |(.., value)| value);
        let mut text = entry("core.bare", "false");
        if format == "sha1" {
            text.push_str(&entry("core.repositoryformatversion", "0"));
        } else {
            text.push_str(&entry("core.repositoryformatversion", "1"));
            text.push_str(&entry("extensions.objectformat", format));
        }
        for (_, key, value) in OF_MACHINE.iter().filter_map(|key| find(key)) {
            text.push_str(&entry(key, value));
        }
        text
    }

    fn large_files(&self, source: &Source) -> String {
        let large = source.shared.join("lfs");
        let is_set = self.all().any(|(_, key, _)| key == "lfs.storage");
        if is_set || !large.is_dir() {
            return String::new();
        }
        entry("lfs.storage", &large.to_string_lossy())
    }

    /// Returns the project's remotes, for fetching only; pushing to the project's path is blocked.
    fn remotes(&self, top: &Utf8Path) -> String {
        let mut text = String::new();
        for path in [top.to_string(), format!("file://{top}")] {
            text.push_str(&entry(&format!("url.{NOWHERE}.pushinsteadof"), &path));
        }
        for (scope, key, value) in self.all() {
            let Some((remote, name @ ("url" | "fetch" | "lfsurl"))) = key.rsplit_once('.') else {
                continue;
            };
            if remote.starts_with("remote.") && matches!(scope, "local" | "worktree") {
                // A path may be relative to the project's folder.
                let path = Some(top.join(value)).filter(|path| name == "url" && path.exists());
                let value = path.map(Utf8PathBuf::into_string).or_else(|| shareable(key, value));
                text.push_str(&value.map(|value| entry(key, &value)).unwrap_or_default());
                if name == "url" {
                    text.push_str(&entry(&format!("{remote}.pushurl"), NOWHERE));
                }
            }
        }
        text
    }

    /// Returns the folder of the project's hooks.
    pub(super) fn hooks_folder(&self, source: &Source) -> Result<Utf8PathBuf, Failure> {
        let set = self.all().filter(|(scope, key, _)| *scope != "command" && *key == HOOKS_PATH);
        let Some((.., path)) = set.last() else {
            return Ok(text_path(&source.shared)?.join("hooks"));
        };
        // Expanded as git reads a path, with `~` for the home folder.
        let read = ["config", "--type=path", "--default", path, "--get", "ralph.unset"];
        Ok(source.top.join(source.git().line(&read)?))
    }

    /// Returns the folder of the project's hooks, from the top, if it is inside the work tree.
    pub(super) fn hooks_in_tree(&self, source: &Source) -> Result<Option<Utf8PathBuf>, Failure> {
        let folder = self.hooks_folder(source)?;
        let below = folder.strip_prefix(&source.top).ok();
        Ok(below.filter(|below| !below.starts_with(".git")).map(Utf8Path::to_owned))
    }

    /// Returns the user's own settings as a file for the sandbox, without credentials, and what is
    /// missing there.
    pub(crate) fn of_user(&self) -> [String; 2] {
        // Never empty: without this file, git would read the user's own.
        let (mut known, mut missing) = ("# Written by ralph-loop.\n".to_owned(), String::new());
        let own =
            self.all().filter(|(scope, key, _)| *scope == "global" && !key.starts_with("include"));
        for (_, key, value) in own {
            match shareable(key, value) {
                Some(value) => known.push_str(&entry(key, &value)),
                None => missing.push_str(&entry(key, value)),
            }
        }
        [known, missing]
    }

    /// Returns the files that settings name.
    pub(crate) fn paths(&self, home: &Utf8Path) -> Vec<Utf8PathBuf> {
        let named = self.all().filter(|(_, key, _)| PATHS.contains(key));
        named.map(|(.., value)| expanded(value, home)).collect()
    }

    /// Returns the files with the settings of a project.
    pub(crate) fn files(&self, source: &Source, home: &Utf8Path) -> Vec<Utf8PathBuf> {
        let folders = [&source.shared, &source.git_dir].map(|folder| folder.to_string_lossy());
        let own = folders.iter().flat_map(|folder| {
            ["config", "config.worktree", "FETCH_HEAD"]
                .map(|name| Utf8Path::new(&**folder).join(name))
        });
        let included =
            self.all().filter(|(_, key, _)| key.starts_with("include") && key.ends_with(".path"));
        let folder = Utf8Path::new(&*folders[0]);
        own.chain(included.map(|(.., value)| folder.join(expanded(value, home)))).collect()
    }

    /// Returns the settings of these scopes, except those that belong to a single repository.
    fn of(&self, scopes: &str) -> Settings {
        let mut settings = Settings::new();
        for (scope, key, value) in self.all() {
            let is_own = OWN.split(' ').any(|own| key.starts_with(own));
            if scopes.split(' ').any(|one| one == scope) && !is_own {
                let value = shareable(key, value);
                settings.entry(key.to_owned()).or_default().extend(value);
            }
        }
        settings
    }
}

/// Expands `~` as git does.
fn expanded(path: &str, home: &Utf8Path) -> Utf8PathBuf {
    path.strip_prefix("~/").map_or_else(|| path.into(), |below| home.join(below))
}

/// Formats a setting for git's configuration file.
fn entry(key: &str, value: &str) -> String {
    let (section, name) = key.rsplit_once('.').unwrap_or(("ralph", key));
    let head = match section.split_once('.') {
        Some((section, inner)) => format!("[{section} \"{}\"]", escaped(inner)),
        None => format!("[{section}]"),
    };
    format!("{head}\n\t{name} = \"{}\"\n", escaped(value).replace('\n', "\\n").replace('\t', "\\t"))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_specific_to_a_repository_are_not_copied() {
        let output = "system\0core.bare\nfalse\0local\0user.name\nAda\0local\0remote.origin.url\nx\0\
                      command\0core.hookspath\n/dev/null\0global\0url.a.insteadof\nb\0\
                      global\0url.a.insteadof\nc\0local\0diff.noprefix\0";
        let found = GitSettings(output.to_owned()).of("system global local");
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, ["diff.noprefix", "url.a.insteadof", "user.name"]);
        assert_eq!(found["url.a.insteadof"], ["b", "c"]);
        assert_eq!(found["diff.noprefix"], ["true"]);
    }

    #[test]
    fn a_setting_is_written_as_git_reads_it() {
        assert_eq!(entry("user.name", "A \"B\" \\"), "[user]\n\tname = \"A \\\"B\\\" \\\\\"\n");
        assert_eq!(entry("filter.a.b.clean", "x\ty"), "[filter \"a.b\"]\n\tclean = \"x\\ty\"\n");
    }
}
