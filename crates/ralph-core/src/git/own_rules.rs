//! The ignore rules that a repository has for itself alone: the file `info/exclude` in its git
//! folder, which no commit holds.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::repo::Repo;

/// Where they are, in the git folder that all work trees share.
const FILE: &str = "info/exclude";

/// Rules of that many bytes were written by a program that lost its way.
const LARGEST: u64 = 1024 * 1024;

/// The rules; none if there are only comments.
pub(super) fn read(repo: &Repo) -> Option<String> {
    let path = path_in(repo);
    fs_err::metadata(&path).ok().filter(|metadata| metadata.len() <= LARGEST)?;
    let text = String::from_utf8_lossy(&fs_err::read(path).ok()?).into_owned();
    let is_rule = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
    text.lines().any(is_rule).then_some(text)
}

/// Whether somebody has written, made or removed the file since an instant.
pub(super) fn changed_since(repo: &Repo, instant: (i64, i64)) -> bool {
    let path = path_in(repo);
    let is_newer = |path: &Path| {
        fs_err::metadata(path).is_ok_and(|found| (found.ctime(), found.ctime_nsec()) > instant)
    };
    is_newer(&path) || path.parent().is_some_and(is_newer)
}

/// Adds one rule for each path, below a line that tells why. A name that no rule can hold is passed
/// over.
pub(super) fn add(repo: &Repo, why: &str, paths: &[PathBuf]) -> io::Result<()> {
    let path = path_in(repo);
    path.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    let mut text = match fs_err::read(&path) {
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
    let temporary = path.with_extension("ralph.tmp");
    fs_err::write(&temporary, text)?;
    fs_err::rename(temporary, path)
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
        assert!(read(&repo).is_some_and(|rules| rules.contains("# a test\n")));
    }

    #[test]
    fn comments_are_no_rules() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        test.write(".git/info/exclude", "# nothing\n\n");
        assert_eq!(read(&repo), None);
        test.write(".git/info/exclude", "# one\n.env");
        assert_eq!(read(&repo).as_deref(), Some("# one\n.env"));
    }
}
