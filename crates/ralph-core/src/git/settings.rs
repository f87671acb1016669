//! The repository's own settings, `config` in its git folder, and its git hooks there. An agent may
//! add a remote, a submodule or a hook; where the files are, which hooks run and who commits is the
//! user's to say.

use std::fs::{Metadata, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::command::Git;
use super::hooks::hooks_in;
use super::repo::Repo;

/// Settings of this work tree alone, and hooks of all.
const OWN: &str = "config.worktree";
const HOOKS: &str = "hooks";

/// Settings that are the user's, and the sections that are.
const USERS: [&str; 6] = [
    "core.worktree",
    "core.bare",
    "core.hookspath",
    "core.attributesfile",
    "commit.gpgsign",
    "extensions.worktreeconfig",
];
const USERS_SECTIONS: [&str; 6] =
    ["user.", "author.", "committer.", "hook.", "include.", "includeif."];

/// The settings at an instant.
#[derive(Debug, Clone)]
pub struct Settings {
    files: Vec<(PathBuf, Option<Vec<u8>>)>,
    hooks: Vec<Hook>,
}

/// A git hook of the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hook {
    path: PathBuf,
    content: Vec<u8>,
    mode: u32,
}

/// A file of settings that was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsChange {
    /// The file.
    pub path: PathBuf,
    /// What was in it; none if it was gone.
    pub found: Option<Vec<u8>>,
    /// What was done to it, in words.
    pub what: String,
}

impl Settings {
    /// The settings as they are.
    pub fn remember(repo: &Repo) -> Self {
        let paths = [repo.settings_file(), repo.git_dir().join(OWN)];
        let files = paths.map(|path| (path.clone(), fs_err::read(path).ok())).into();
        let hooks = hooks_in(&repo.shared_git_dir().join(HOOKS)).filter_map(Hook::read).collect();
        Self { files, hooks }
    }

    /// Puts a file back in which a setting of the user's was changed. Git is only asked about files
    /// that were changed at all.
    pub fn put_back(&self) -> io::Result<Vec<SettingsChange>> {
        let mut changes = Vec::new();
        for (path, before) in &self.files {
            // A git folder that is gone is somebody else's concern.
            if !path.parent().is_some_and(Path::exists) {
                continue;
            }
            let found = fs_err::read(path).ok();
            if found == *before {
                continue;
            }
            let keys = changed_keys(before.as_deref(), found.as_deref())?;
            if keys.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            match before {
                Some(content) => replace(path, content)?,
                None => fs_err::remove_file(path)?,
            }
            let what = match keys {
                Some(keys) => format!("changed {} in it", keys.join(", ")),
                None => "made it unreadable".to_owned(),
            };
            changes.push(SettingsChange { path: path.clone(), found, what });
        }
        for hook in self.hooks.iter().filter(|hook| hook.path.parent().is_some_and(Path::exists)) {
            changes.extend(hook.put_back()?);
        }
        Ok(changes)
    }

    /// Hooks that were made since.
    pub fn added_hooks(&self, repo: &Repo) -> Vec<PathBuf> {
        let is_known = |path: &PathBuf| self.hooks.iter().any(|hook| hook.path == *path);
        let folder = repo.shared_git_dir().join(HOOKS);
        hooks_in(&folder).filter(|path| !is_known(path)).collect()
    }
}

impl Hook {
    fn read(path: PathBuf) -> Option<Self> {
        let metadata = fs_err::symlink_metadata(&path).ok().filter(Metadata::is_file)?;
        let content = fs_err::read(&path).ok()?;
        Some(Self { path, content, mode: metadata.permissions().mode() & 0o7777 })
    }

    fn put_back(&self) -> io::Result<Option<SettingsChange>> {
        if Self::read(self.path.clone()).as_ref() == Some(self) {
            return Ok(None);
        }
        let found = fs_err::read(&self.path).ok();
        replace(&self.path, &self.content)?;
        fs_err::set_permissions(&self.path, Permissions::from_mode(self.mode))?;
        let what = "changed, removed or disabled this hook of yours".to_owned();
        Ok(Some(SettingsChange { path: self.path.clone(), found, what }))
    }
}

/// Replaces a file of git's own, as a whole or not at all.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("ralph.tmp");
    fs_err::write(&temporary, content)?;
    fs_err::rename(temporary, path)
}

/// The user's settings that differ; none if one of the two cannot be read.
fn changed_keys(before: Option<&[u8]>, now: Option<&[u8]>) -> io::Result<Option<Vec<String>>> {
    let (Some(before), Some(now)) = (users(before)?, users(now)?) else { return Ok(None) };
    let missing = |one: &[(String, String)], other: &[(String, String)]| {
        one.iter().filter(|entry| !other.contains(entry)).map(|(key, _)| key.clone()).collect()
    };
    let mut keys: Vec<String> = missing(&before, &now);
    keys.extend(missing(&now, &before));
    keys.sort();
    keys.dedup();
    Ok(Some(keys))
}

/// Those of the user's settings that a text holds, with their values.
fn users(text: Option<&[u8]>) -> io::Result<Option<Vec<(String, String)>>> {
    let Some(text) = text else { return Ok(Some(Vec::new())) };
    // Outside of the repository, which may not be usable with such settings.
    let listed = Git::at(Path::new("/")).feed(&["config", "--file", "-", "--null", "--list"], text);
    let Ok(listed) = listed else { return Ok(None) };
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let entries = listed.split_terminator('\0').map(|entry| {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        (key.to_lowercase(), value.to_owned())
    });
    Ok(Some(entries.filter(|(key, _)| is_users(key)).collect()))
}

fn is_users(key: &str) -> bool {
    USERS.contains(&key) || USERS_SECTIONS.iter().any(|section| key.starts_with(section))
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    fn check(change: &[&str], expected: &[&str]) {
        let test = TestRepo::new();
        test.git(["config", "user.name", "Me"]);
        let repo = Repo::open(test.root()).unwrap();
        let path = repo.git_dir().join("config");
        let (settings, before) = (Settings::remember(&repo), fs_err::read(&path).unwrap());
        test.git(change);
        let changed = fs_err::read(&path).unwrap();
        let told: Vec<String> =
            settings.put_back().unwrap().into_iter().map(|change| change.what).collect();
        let expected: Vec<String> =
            expected.iter().map(|key| format!("changed {key} in it")).collect();
        assert_eq!(told, expected);
        let is_back = fs_err::read(&path).unwrap() == before;
        assert_eq!(is_back, !expected.is_empty() || changed == before);
    }

    #[test]
    fn what_is_the_users_to_say_is_put_back_and_other_settings_stay() {
        check(&["config", "core.worktree", "/"], &["core.worktree"]);
        check(&["config", "core.bare", "true"], &["core.bare"]);
        check(&["config", "--unset", "user.name"], &["user.name"]);
        check(&["config", "--add", "user.name", "Other"], &["user.name"]);
        check(&["config", "hook.x.command", "true"], &["hook.x.command"]);
        check(&["remote", "add", "origin", "elsewhere"], &[]);
        check(&["config", "core.bare", "false"], &[]);
    }

    #[test]
    fn a_file_that_git_cannot_read_is_put_back() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        let (settings, path) = (Settings::remember(&repo), repo.git_dir().join("config"));
        let before = fs_err::read(&path).unwrap();
        fs_err::write(&path, "[core\n").unwrap();
        let changes = settings.put_back().unwrap();
        assert_eq!((changes.len(), changes[0].found.as_deref()), (1, Some(&b"[core\n"[..])));
        assert_eq!(fs_err::read(&path).unwrap(), before);
        fs_err::remove_file(&path).unwrap();
        assert_eq!(settings.put_back().unwrap().len(), 1);
        assert_eq!(fs_err::read(&path).unwrap(), before);
    }

    #[test]
    fn a_hook_that_was_changed_removed_or_disabled_is_put_back() {
        let test = TestRepo::new();
        test.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
        test.chmod(".git/hooks/pre-commit", 0o755);
        let repo = Repo::open(test.root()).unwrap();
        let settings = Settings::remember(&repo);
        let path = repo.git_dir().join("hooks/pre-commit");
        let changes: [&dyn Fn(); 3] = [
            &|| fs_err::remove_file(&path).unwrap(),
            &|| fs_err::write(&path, "#!/bin/sh\n").unwrap(),
            &|| test.chmod(".git/hooks/pre-commit", 0o644),
        ];
        for change in changes {
            change();
            assert_eq!(settings.put_back().unwrap().len(), 1);
            let hook = Hook::read(path.clone()).unwrap();
            assert_eq!((hook.content.as_slice(), hook.mode), (&b"#!/bin/sh\nexit 1\n"[..], 0o755));
        }
        test.write(".git/hooks/post-merge", "#!/bin/sh\n");
        assert_eq!(settings.put_back().unwrap(), []);
        assert_eq!(settings.added_hooks(&repo), [repo.git_dir().join("hooks/post-merge")]);
    }
}
