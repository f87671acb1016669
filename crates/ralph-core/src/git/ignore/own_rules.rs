//! The ignore rules that a repository has for itself alone and that no commit holds: the file
//! `info/exclude` in its git folder, and one that its own settings name.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::git::repo::Repo;
use crate::git::settings;

/// Where they are, in the git folder that all work trees share.
const FILE: &str = "info/exclude";

/// Rules of that many bytes were written by a program that lost its way.
const LARGEST: u64 = 1024 * 1024;

/// The key of the repository's own settings that names a file with further rules.
const KEY: &str = "core.excludesFile";

/// Stands for bytes that are no text; rules with such a name cannot be written again from it.
const NO_TEXT: char = '\u{fffd}';

/// The rules that a repository has for itself alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::git) struct OwnRules {
    /// The text of `info/exclude`; none if there are only comments.
    pub(in crate::git) exclude: Option<String>,
    /// Where the repository's own settings look for further rules.
    pub(in crate::git) excludes_file: Option<String>,
}

impl OwnRules {
    /// As they are now.
    pub(in crate::git) fn read(repo: &Repo) -> Self {
        Self { exclude: exclude(repo), excludes_file: excludes_file(repo) }
    }

    /// Whether there are none at all.
    pub(in crate::git) fn are_none(&self) -> bool {
        self.exclude.is_none() && self.excludes_file.is_none()
    }

    /// The rules that others do not have, for a person to read.
    pub(in crate::git) fn besides(&self, others: &Self) -> String {
        let lines = |rules: &Self| rules.exclude.clone().unwrap_or_default();
        let (own, others_lines) = (lines(self), lines(others));
        let known: BTreeSet<&str> = others_lines.lines().collect();
        let mut text = String::new();
        for rule in own.lines().filter(|line| is_rule(line.as_bytes()) && !known.contains(line)) {
            text.push_str(&format!("\n.git/{FILE}: +{rule}"));
        }
        if let Some(file) =
            self.excludes_file.as_ref().filter(|_| self.excludes_file != others.excludes_file)
        {
            text.push_str(&format!("\n{KEY}: {file}"));
        }
        text
    }

    /// Makes them count again. Comments are no rules, and stay where nothing else is known.
    pub(in crate::git) fn put_back(&self, repo: &Repo) -> io::Result<()> {
        let now = Self::read(repo);
        match &self.exclude {
            same if *same == now.exclude => {}
            Some(text) if !text.contains(NO_TEXT) => write(repo, text.as_bytes())?,
            Some(_) => {}
            None => write(repo, &comments(&fs_err::read(path_in(repo))?))?,
        }
        // Settings that somebody else holds must not keep a rollback from its end.
        let _ = match &self.excludes_file {
            same if *same == now.excludes_file => return Ok(()),
            Some(file) => repo.git().run(&["config", "--local", "--replace-all", KEY, file]),
            None => repo.git().run(&["config", "--local", "--unset-all", KEY]),
        };
        Ok(())
    }
}

fn exclude(repo: &Repo) -> Option<String> {
    let path = path_in(repo);
    fs_err::metadata(&path).ok().filter(|metadata| metadata.len() <= LARGEST)?;
    let text = String::from_utf8_lossy(&fs_err::read(path).ok()?).into_owned();
    text.lines().any(|line| is_rule(line.as_bytes())).then_some(text)
}

/// Git is asked only where the settings mention it at all.
fn excludes_file(repo: &Repo) -> Option<String> {
    let text = fs_err::read(repo.settings_file()).ok()?.to_ascii_lowercase();
    let is_mentioned = text.windows(12).any(|word| word == b"excludesfile");
    let file = is_mentioned.then(|| repo.git().line(&["config", "--local", "--get", KEY]).ok());
    file.flatten().filter(|file| !file.is_empty())
}

fn is_rule(line: &[u8]) -> bool {
    !line.trim_ascii().is_empty() && !line.starts_with(b"#")
}

fn comments(text: &[u8]) -> Vec<u8> {
    text.split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !is_rule(line))
        .flatten()
        .copied()
        .collect()
}

/// Whether somebody has written, made or removed one of the files since an instant.
pub(in crate::git) fn changed_since(repo: &Repo, instant: (i64, i64)) -> bool {
    let path = path_in(repo);
    let is_newer = |path: &Path| {
        fs_err::metadata(path).is_ok_and(|found| (found.ctime(), found.ctime_nsec()) > instant)
    };
    is_newer(&path)
        || path.parent().is_some_and(is_newer)
        || (is_newer(&repo.settings_file()) && excludes_file(repo).is_some())
}

/// Adds one rule for each path, below a line that tells why. A name that no rule can hold is passed
/// over.
pub(in crate::git) fn add(repo: &Repo, why: &str, paths: &[PathBuf]) -> io::Result<()> {
    let mut text = match fs_err::read(path_in(repo)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other?,
    };
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend_from_slice(format!("# {why}\n").as_bytes());
    for rule in paths.iter().filter_map(|path| rule_for(path)) {
        text.extend_from_slice(&rule);
        text.push(b'\n');
    }
    write(repo, &text)
}

fn write(repo: &Repo, text: &[u8]) -> io::Result<()> {
    let path = path_in(repo);
    path.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    settings::replace(&path, text)
}

/// The rule for this path and no other; a rule ends with its line.
fn rule_for(path: &Path) -> Option<Vec<u8>> {
    let mut rule = vec![b'/'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'\n' => return None,
            b'\\' | b'*' | b'?' | b'[' | b' ' => rule.extend([b'\\', *byte]),
            other => rule.push(*other),
        }
    }
    Some(rule)
}

fn path_in(repo: &Repo) -> PathBuf {
    repo.shared_git_dir().join(FILE)
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    #[test]
    fn a_rule_hides_the_file_of_any_name_and_no_other() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        let names = ["[a]*?.env", "two words ", "back\\slash", "!not", "#hash", "in/a/folder"];
        let others = ["aX.env", "two words", "folder"];
        names.iter().chain(&others).for_each(|name| test.write(name, "x\n"));
        add(&repo, "a test", &names.map(PathBuf::from)).unwrap();
        let status = test.git(["status", "--porcelain", "--untracked-files=all", "-z"]);
        assert_eq!(status, "?? aX.env\0?? folder\0?? two words\0");
        let rules = OwnRules::read(&repo).exclude;
        assert!(rules.is_some_and(|rules| rules.contains("# a test\n")));
    }

    #[test]
    fn comments_are_no_rules() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        test.write(".git/info/exclude", "# nothing\n\n");
        assert!(OwnRules::read(&repo).are_none());
        test.write(".git/info/exclude", "# one\n.env");
        assert_eq!(OwnRules::read(&repo).exclude.as_deref(), Some("# one\n.env"));
    }

    #[test]
    fn rules_are_put_back_byte_for_byte_and_where_there_were_none_comments_stay() {
        for before in ["# mine\n\n.env\n *.key", "# only a comment\n", ""] {
            let test = TestRepo::new();
            let repo = Repo::open(test.root()).unwrap();
            test.write(".git/info/exclude", before);
            let rules = OwnRules::read(&repo);
            test.write(".git/info/exclude", format!("{before}\n*.rs\n"));
            test.git(["config", "core.excludesFile", "/elsewhere"]);
            assert_ne!(OwnRules::read(&repo), rules);
            rules.put_back(&repo).unwrap();
            assert_eq!(OwnRules::read(&repo), rules);
            let after = fs_err::read_to_string(test.root().join(".git/info/exclude")).unwrap();
            assert_eq!(after.trim_end(), before.trim_end());
            fs_err::remove_file(test.root().join(".git/info/exclude")).unwrap();
            rules.put_back(&repo).unwrap();
            assert_eq!(OwnRules::read(&repo), rules);
        }
    }

    #[test]
    fn a_file_that_the_settings_name_is_named_again() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        test.git(["config", "core.excludesFile", "~/mine"]);
        let rules = OwnRules::read(&repo);
        assert_eq!(rules.excludes_file.as_deref(), Some("~/mine"));
        test.git(["config", "core.excludesFile", "/elsewhere"]);
        rules.put_back(&repo).unwrap();
        assert_eq!(OwnRules::read(&repo), rules);
    }
}
