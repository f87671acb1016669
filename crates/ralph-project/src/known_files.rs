//! Which files has the agent seen in this session? Recorded as lines of the session's log.
//!
//! ```
//! use ralph_project::known_files::KnownFiles;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("ralph-known-{}", std::process::id()));
//! # let log = camino::Utf8PathBuf::from_path_buf(folder).unwrap();
//! let known = KnownFiles::new(Some(log.clone()), vec![]);
//! known.record("/srv/app/main.py".into())?;
//! assert!(known.contains("/srv/app/main.py".into()));
//! assert!(!known.contains("/srv/app/other.py".into()));
//! # std::fs::remove_file(log)?;
//! # Ok(())
//! # }
//! ```

use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use ralph_base::state;

/// The logs of a session: its own is written, all are read.
#[derive(Debug, Clone)]
pub struct KnownFiles {
    own: Option<Utf8PathBuf>,
    others: Vec<Utf8PathBuf>,
}

impl KnownFiles {
    /// Uses the session's own log, if it has one, and the logs of other tools.
    pub fn new(own: Option<Utf8PathBuf>, others: Vec<Utf8PathBuf>) -> Self {
        Self { own, others }
    }

    /// Returns the contents of the logs; an unreadable one counts as empty.
    fn logs(&self) -> impl Iterator<Item = Vec<u8>> {
        let paths = self.own.iter().chain(&self.others);
        paths.map(|path| state::read(path).unwrap_or_default())
    }

    /// Records that a file is known, because it was read or written, unless that is recorded
    /// already.
    pub fn record(&self, path: &Utf8Path) -> io::Result<()> {
        let Some(log) = self.own.as_ref().filter(|_| is_one_line(path)) else { return Ok(()) };
        let path = resolved(path);
        if self.contains(&path) {
            return Ok(());
        }
        state::append_line(log, format!("Read: {path}").as_bytes())
    }

    /// Returns whether a file is known by this path, which must be [`resolved`].
    pub fn contains(&self, path: &Utf8Path) -> bool {
        self.logs().any(|log| names(&log).any(|name| name == path.as_str().as_bytes()))
    }

    /// Records the new paths of known files when a file or folder is moved or copied: `to` is its
    /// new name, or the folder that it goes into, which the same command line may create first.
    pub fn follow(&self, from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
        let (from, is_taken_in) = (resolved(from), to.is_dir());
        let inside = to.join(from.file_name().unwrap_or_default());
        let is_below = |name: &Utf8PathBuf| name.starts_with(&from);
        let to_path = |name: &[u8]| Some(Utf8PathBuf::from(str::from_utf8(name).ok()?));
        let known = self.logs().flat_map(|log| names(&log).filter_map(to_path).collect::<Vec<_>>());
        for known in known.filter(is_below).collect::<Vec<_>>() {
            let rest = known.strip_prefix(&from).unwrap_or(&known);
            self.record(&inside.join(rest))?;
            if !is_taken_in {
                self.record(&to.join(rest))?;
            }
        }
        Ok(())
    }
}

/// Returns the files that a log names, newest first.
fn names(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = log.rsplit(|byte| *byte == b'\n');
    lines.filter_map(|line| Some(line.strip_prefix(b"Read: ")?.trim_ascii_end()))
}

/// Resolves links and `..` in a path, even if the file does not exist yet, so that two names of one
/// file compare equal.
pub fn resolved(path: &Utf8Path) -> Utf8PathBuf {
    resolved_within(path, MOST_LINKS)
}

/// The most consecutive links that are followed.
const MOST_LINKS: usize = 40;

fn resolved_within(path: &Utf8Path, links: usize) -> Utf8PathBuf {
    if let Ok(real) = path.canonicalize_utf8() {
        return real;
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let parent = resolved_within(parent, links);
    let here = parent.join(name);
    match here.read_link_utf8() {
        // A link to a missing file: writing through it creates that file.
        Ok(target) if links > 0 => resolved_within(&parent.join(target), links - 1),
        _ => here,
    }
}

/// A name with a newline could forge a line; such a file has to be read again each time.
fn is_one_line(path: &Utf8Path) -> bool {
    !path.as_str().contains(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn other_names_of_the_same_file_are_known() {
        let scratch = Scratch::new();
        let file = scratch.file("src/a.rs", "x");
        fs_err::os::unix::fs::symlink(scratch.path("src"), scratch.path("link")).unwrap();
        let known = KnownFiles::new(Some(scratch.path("log")), vec![]);
        known.record(&scratch.path("link/../src/a.rs")).unwrap();
        assert!(known.contains(&file) && known.contains(&resolved(&scratch.path("link/a.rs"))));
        assert_eq!(scratch.read("log"), format!("Read: {file}\n"));
        known.record(&file).unwrap();
        assert_eq!(scratch.read("log").lines().count(), 1);
    }

    #[test]
    fn known_files_stay_known_when_they_are_moved() {
        let scratch = Scratch::new();
        let known = KnownFiles::new(Some(scratch.path("log")), vec![]);
        for file in ["a.rs", "src/x/b.rs", "src2/c.rs"] {
            known.record(&scratch.file(file, "x")).unwrap();
        }
        scratch.dir("old");
        let follow = |from: &str, to: &str| {
            known.follow(&scratch.path(from), &scratch.path(to)).unwrap();
        };
        follow("a.rs", "new.rs");
        follow("a.rs", "old");
        follow("src", "lib");
        follow("unread.rs", "unread2.rs");
        let knows = |file: &str| known.contains(&scratch.path(file));
        for file in ["new.rs", "old/a.rs", "lib/x/b.rs", "lib/src/x/b.rs"] {
            assert!(knows(file), "{file}");
        }
        for file in ["old", "lib/c.rs", "unread2.rs", "lib/x"] {
            assert!(!knows(file), "{file}");
        }
    }

    #[test]
    fn a_dangling_symlink_resolves_to_its_target() {
        let scratch = Scratch::new();
        fs_err::os::unix::fs::symlink("later/file", scratch.path("link")).unwrap();
        fs_err::os::unix::fs::symlink("circle", scratch.path("circle")).unwrap();
        assert_eq!(resolved(&scratch.path("link")), scratch.path("later/file"));
        assert_eq!(resolved(&scratch.path("circle")), scratch.path("circle"));
    }

    #[test]
    fn logs_of_other_tools_are_read_too() {
        let scratch = Scratch::new();
        let other = scratch.file("other.log", "junk\r\nRead: /x/a.rs\r\nRead: /x/b.rs");
        let known = KnownFiles::new(None, vec![other]);
        assert!(known.contains("/x/a.rs".into()) && known.contains("/x/b.rs".into()));
        assert!(!known.contains("/x".into()));
        // A file name cannot forge a line.
        let known = KnownFiles::new(Some(scratch.path("log")), vec![]);
        known.record("/x/a\nRead: /etc/passwd".into()).unwrap();
        assert!(!known.contains("/etc/passwd".into()));
    }
}
