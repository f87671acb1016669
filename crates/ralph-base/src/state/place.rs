//! Where a file is looked up. In a folder that an attempt writes, a file may become a link or a pipe
//! at any moment, so a name there is never checked first and used later: the folders on the way are
//! opened one by one, no link is followed, nothing is waited for, and what was opened is judged.

use std::error::Error;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::{fmt, io};

use super::PROJECT_MARKER;
use super::dir::belongs_to_the_user;
use crate::linux::go_to;

/// What is done about a folder on the way that is missing, or has something else in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTheWay {
    /// Both are errors.
    Expect,
    /// Missing folders are created; anything else in their place is an error.
    Make,
    /// Anything else in their place is replaced.
    Replace,
}

/// The place of a file.
pub(super) struct Place {
    /// The path by which the file is accessed.
    pub(super) at: PathBuf,
    /// The path that people know.
    pub(super) path: PathBuf,
    /// Whether the file itself may be a link.
    follows: bool,
    /// Whether other users may read what is created.
    is_shared: bool,
    is_written: bool,
    /// Kept open, because `at` goes through it.
    _folder: Option<File>,
}

impl Place {
    /// Finds the place of a file that is read. In a state folder only what is the user's own, such
    /// as a plan, may be a link.
    pub(super) fn to_read(path: &Path) -> io::Result<Self> {
        // Most files that a hook asks for are missing, and finding that out needs no care.
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(naming(path, "open", error))
            }
            _ => Self::found(path),
        }
    }

    fn found(path: &Path) -> io::Result<Self> {
        match split(path) {
            Some((top, below)) if !belongs_to_the_user(below) => {
                Self::beneath(top, below, OnTheWay::Expect)
            }
            _ => Ok(Self::anywhere(path)),
        }
    }

    /// Finds the place of a file that is written or removed.
    pub(super) fn to_write(path: &Path, way: OnTheWay) -> io::Result<Self> {
        let (top, below) = split(path).unzip();
        if let (OnTheWay::Make, Some(folder)) = (way, top.or(path.parent())) {
            fs_err::create_dir_all(folder)?;
        }
        let found = match below {
            Some(below) => Self::beneath(top.unwrap_or(path), below, way),
            None => Ok(Self::anywhere(path)),
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Err(refusal(path, &error.to_string()))
            }
            found => found.map(|place| Self { is_written: true, ..place }),
        }
    }

    fn anywhere(path: &Path) -> Self {
        let (at, path) = (path.to_owned(), path.to_owned());
        Self { at, path, follows: true, is_shared: true, is_written: false, _folder: None }
    }

    /// Finds the place of a file below a folder that is itself trusted.
    pub(super) fn beneath(top: &Path, below: &Path, way: OnTheWay) -> io::Result<Self> {
        let mut parts: Vec<Component<'_>> = below.components().collect();
        let is_below = parts.iter().all(|part| matches!(part, Component::Normal(_)));
        let Some(name) = parts.pop().filter(|_| is_below) else {
            return Err(io::Error::other(format!("{} leads elsewhere", below.display())));
        };
        let is_shared = way == OnTheWay::Replace || belongs_to_the_user(below);
        // Every file of a hook comes through here, so nothing is allocated twice.
        let begin = || {
            let length = top.as_os_str().len() + below.as_os_str().len();
            // Room for the number of an open folder, too.
            let mut path = PathBuf::with_capacity(length + 32);
            path.push(top);
            path
        };
        let (mut folder, mut at, mut path) = (None, begin(), begin());
        path.push(below);
        for (index, part) in parts.iter().enumerate() {
            at.push(part);
            let next = match open_folder(&at) {
                Err(_) if way == OnTheWay::Replace => make_anew(&at),
                Err(error) if error.kind() == io::ErrorKind::NotFound && way == OnTheWay::Make => {
                    make(&at, is_shared)
                }
                found => found,
            };
            let next = next.map_err(|error| {
                let path: PathBuf =
                    top.components().chain(parts.iter().take(index + 1).copied()).collect();
                match error.raw_os_error() {
                    Some(libc::ENOTDIR | libc::ELOOP) => {
                        let text = format!("{} is a symlink or a file", path.display());
                        io::Error::new(io::ErrorKind::NotADirectory, text)
                    }
                    _ => naming(&path, "open", error),
                }
            })?;
            go_to(&next, &mut at);
            folder = Some(next);
        }
        at.push(name);
        Ok(Self { at, path, follows: false, is_shared, is_written: false, _folder: folder })
    }

    /// Opens the file, which must be a regular one.
    pub(super) fn open(&self, options: &mut OpenOptions) -> io::Result<File> {
        let flags =
            if self.follows { libc::O_NONBLOCK } else { libc::O_NONBLOCK | libc::O_NOFOLLOW };
        let mode = if self.is_shared { 0o666 } else { 0o600 };
        let file = match options.custom_flags(flags).mode(mode).open(&self.at) {
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
                return Err(self.refused("is a symlink"));
            }
            other => other.map_err(|error| naming(&self.path, "open", error))?,
        };
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(self.refused("is not a regular file"))
        }
    }

    /// Fails if something other than a regular file is there, so that nothing of the user's is
    /// replaced; what comes there later is replaced, but not followed.
    pub(super) fn refuse_others(&self) -> io::Result<()> {
        let metadata = if self.follows { std::fs::metadata } else { std::fs::symlink_metadata };
        match metadata(&self.at) {
            Ok(found) if found.is_symlink() => Err(self.refused("is a symlink")),
            Ok(found) if !found.is_file() => Err(self.refused("is not a regular file")),
            _ => Ok(()),
        }
    }

    /// Returns the place in the same folder of a temporary file, which must not exist.
    pub(super) fn temporary(&self, name: &str) -> Self {
        let [at, path] = [&self.at, &self.path].map(|path| path.with_file_name(name));
        Self { at, path, follows: false, _folder: None, ..*self }
    }

    /// Does something with the path by which the file is accessed; errors name the one that people know.
    pub(super) fn act<T>(&self, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        act(&self.at).map_err(|error| {
            let [at, path] = [&self.at, &self.path].map(|path| path.display().to_string());
            io::Error::new(error.kind(), error.to_string().replace(&at, &path))
        })
    }

    fn refused(&self, what: &str) -> io::Error {
        if self.is_written {
            return refusal(&self.path, &format!("it {what}"));
        }
        io::Error::other(format!("{} {what}", self.path.display()))
    }
}

fn refusal(path: &Path, why: &str) -> io::Error {
    let text = format!("refusing to write {}: {why}; remove it and try again", path.display());
    io::Error::other(text)
}

/// Splits a path at the state folder, which may be a link itself: the user may have moved it. Hooks do this
/// for each of their files, so it compares bytes, which is much faster than components.
pub(super) fn split(path: &Path) -> Option<(&Path, &Path)> {
    let (bytes, marker) = (path.as_os_str().as_bytes(), PROJECT_MARKER.as_bytes());
    let is_marker = |end: usize| {
        let before = bytes.get(..end).and_then(|top| top.strip_suffix(marker));
        before.is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
    };
    let ends = (0..bytes.len()).rev().filter(|&at| bytes.get(at) == Some(&b'/'));
    let (top, below) =
        ends.filter(|&at| is_marker(at)).find_map(|at| bytes.split_at_checked(at))?;
    let slashes = below.iter().take_while(|byte| **byte == b'/').count();
    let below = below.get(slashes..).unwrap_or_default();
    let [top, below] = [top, below].map(|part| Path::new(OsStr::from_bytes(part)));
    (!below.as_os_str().is_empty()).then_some((top, below))
}

fn open_folder(path: &Path) -> io::Result<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn make(path: &Path, is_shared: bool) -> io::Result<File> {
    match DirBuilder::new().mode(if is_shared { 0o777 } else { 0o700 }).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => open_folder(path),
    }
}

fn make_anew(path: &Path) -> io::Result<File> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => make(path, true),
    }
}

/// Adds to an error what was done and to which file. The text is only made if somebody asks for it: most
/// of these errors say that a file is missing, which is no news.
pub(super) fn naming(path: &Path, doing: &'static str, error: io::Error) -> io::Error {
    let path = path.to_owned();
    io::Error::new(error.kind(), Named { doing, path, error })
}

/// An error with a file's name.
#[derive(Debug)]
struct Named {
    doing: &'static str,
    path: PathBuf,
    error: io::Error,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {} {}: {}", self.doing, self.path.display(), self.error)
    }
}

impl Error for Named {}

/// Runs `act` on a file named relative to a folder that others may change; the path that it is given
/// leads to no other folder, whatever happens to the names on the way.
pub fn beneath<T>(
    top: &Path,
    below: &Path,
    way: OnTheWay,
    act: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    Place::beneath(top, below, way)?.act(act)
}

/// Returns the names in a folder, sorted; none if it is missing or not a folder.
pub fn names(folder: impl AsRef<Path>) -> Vec<std::ffi::OsString> {
    let Ok(inside) = Place::found(&folder.as_ref().join("any")) else { return Vec::new() };
    let entries = inside.at.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let mut names: Vec<_> =
        entries.into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use fs_err::os::unix::fs::symlink;
    use test_support::Scratch;

    use super::*;
    use crate::linux::IS_LINUX;
    use crate::state;

    /// What an attempt finds in its way to play with.
    const SECRET: &str = "the secret of another folder\n";

    /// Works on a file of a state folder while it is exchanged with another one all the time.
    fn race(name: &str, other: impl FnOnce(&Scratch, &Path)) {
        let scratch = Scratch::new();
        let secret = scratch.file("keys/key", SECRET);
        let kept = scratch.file(&format!("state-1/.ralph/{name}"), "{}\n");
        let first = scratch.path("state-1/.ralph").join(name.split('/').next().unwrap());
        let odd = scratch.path("state-1/.ralph/odd");
        other(&scratch, odd.as_std_path());
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    test_support::exchange(&first, &odd);
                }
            });
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(1) {
                let step = Instant::now();
                let read = state::read(&kept).unwrap_or_default();
                assert_ne!(read, SECRET.as_bytes(), "{name}");
                let _ = state::drain(&kept, |lines| {
                    assert_ne!(lines, SECRET.as_bytes(), "{name}");
                    Ok(())
                });
                let _ = state::remove_beginning(&kept, b"{}\n");
                let _ = state::append_line(&kept, b"{}");
                let _ = state::Lock::take(&kept, "x");
                let _ = state::names(kept.parent().unwrap()).iter().map(|name| {
                    assert_ne!(name, "key");
                });
                // Keeps the exchange going.
                if first == kept && state::replace_unsynced(&kept, b"{}\n").is_ok() {
                    let _ = state::replace_unsynced(&kept, b"{}\n");
                }
                assert!(step.elapsed() < Duration::from_secs(20), "{name}: hung");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(scratch.read("keys/key"), SECRET, "{secret}");
        let around: Vec<_> = state::names(secret.parent().unwrap());
        assert_eq!(around, ["key"], "created outside");
    }

    #[test]
    fn a_file_and_on_linux_a_folder_that_is_exchanged_all_the_time_leads_nowhere() {
        let key = |scratch: &Scratch, odd: &Path| symlink(scratch.path("keys/key"), odd).unwrap();
        let dangling =
            |scratch: &Scratch, odd: &Path| symlink(scratch.path("keys/new"), odd).unwrap();
        let folder = |scratch: &Scratch, odd: &Path| symlink(scratch.path("keys"), odd).unwrap();
        let pipe = |scratch: &Scratch, _: &Path| drop(scratch.pipe("state-1/.ralph/odd"));
        std::thread::scope(|scope| {
            scope.spawn(|| race("claim.json", key));
            scope.spawn(|| race("sessions.log", dangling));
            scope.spawn(|| race("sessions.log", pipe));
            // Elsewhere a folder is found anew by its path at each step; docs/shortcomings.md says so.
            if IS_LINUX {
                scope.spawn(|| race("merge-requests/key", folder));
                scope.spawn(|| race("merge-requests/new", folder));
            }
        });
    }

    #[test]
    fn links_are_replaced_and_never_followed() {
        let scratch = Scratch::new();
        let (top, kept) = (scratch.dir("top"), scratch.file("elsewhere/a", "kept"));
        symlink(kept.parent().unwrap(), top.join("x")).unwrap();
        let top = top.as_std_path();
        let read = |name: &str| {
            beneath(top, Path::new(name), OnTheWay::Expect, |path| fs_err::read_to_string(path))
        };
        let write = |name: &str| {
            beneath(top, Path::new(name), OnTheWay::Replace, |path| fs_err::write(path, "new"))
        };
        let error = read("x/a").unwrap_err().to_string();
        assert!(error.contains(&top.join("x").display().to_string()), "{error}");
        write("x/a").unwrap();
        write("y/z/a").unwrap();
        assert_eq!(read("x/a").unwrap() + &read("y/z/a").unwrap(), "newnew");
        assert_eq!(scratch.read("elsewhere/a"), "kept");
        for name in ["../elsewhere/a", "/etc/passwd", "", "x/../../elsewhere/a"] {
            assert!(write(name).is_err(), "{name}");
        }
    }
}
