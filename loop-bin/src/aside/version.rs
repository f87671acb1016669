//! One version of a file: as it is on disk, or as a commit has it; and how it is put on disk so
//! that a crash leaves the old or the new one.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use ralph_core::fault;
use ralph_core::git::{self, GitError, Repo};

/// Files in the git folder that a restore needs for a moment.
const TEMPORARY: [&str; 4] =
    ["ralph-aside-file", "ralph-merge-ours", "ralph-merge-base", "ralph-merge-theirs"];

/// A version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Version {
    /// There is none.
    Absent,
    /// Its content, and whether it can be executed.
    File(Vec<u8>, bool),
    /// A symlink, and where it leads.
    Link(Vec<u8>),
    /// A folder, or something stranger.
    Other,
}

impl Version {
    /// As a commit has it.
    pub(super) fn committed(repo: &Repo, commit: &str, path: &Path) -> Result<Self, GitError> {
        Self::read(repo, commit, path, &|object| repo.git().run(&["cat-file", "blob", object]))
    }

    /// As a checkout of a commit writes it: with line endings, encoding and filters of the user's.
    pub(super) fn checked_out(repo: &Repo, commit: &str, path: &Path) -> Result<Self, GitError> {
        let mut named = OsString::from("--path=");
        named.push(path);
        Self::read(repo, commit, path, &|object| {
            let args = ["cat-file".as_ref(), "--filters".as_ref(), &*named, object.as_ref()];
            // A filter that is not installed has not written the file either.
            repo.git().run(&args).or_else(|_| repo.git().run(&["cat-file", "blob", object]))
        })
    }

    fn read(
        repo: &Repo,
        commit: &str,
        path: &Path,
        content: &dyn Fn(&str) -> Result<Vec<u8>, GitError>,
    ) -> Result<Self, GitError> {
        let Some((mode, kind, object)) = entry(repo, commit, path)? else {
            return Ok(Self::Absent);
        };
        Ok(match (kind.as_str(), mode.as_str()) {
            ("blob", "120000") => Self::Link(repo.git().run(&["cat-file", "blob", &object])?),
            ("blob", mode) => Self::File(content(&object)?, mode == "100755"),
            // The files in it are seen one by one.
            ("tree", _) => Self::Absent,
            _ => Self::Other,
        })
    }

    /// As it is on disk.
    pub(super) fn on_disk(path: &Path) -> io::Result<Self> {
        let metadata = match fs_err::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Absent),
            // Its folder has become a file.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Self::Other),
            Err(error) => return Err(error),
        };
        Ok(if metadata.is_symlink() {
            Self::Link(fs_err::read_link(path)?.into_os_string().into_vec())
        } else if metadata.is_file() {
            let mut content = Vec::new();
            git::open_to_read(path)?.read_to_end(&mut content)?;
            Self::File(content, metadata.permissions().mode() & 0o100 != 0)
        } else if metadata.is_dir() && is_without_files(path) {
            Self::Absent
        } else {
            Self::Other
        })
    }
}

/// Mode, kind and object of a path in a commit: `<mode> <kind> <object>\t<path>`.
fn entry(
    repo: &Repo,
    commit: &str,
    path: &Path,
) -> Result<Option<(String, String, String)>, GitError> {
    let args = ["ls-tree", "--full-tree", "-z", commit, "--"].map(OsStr::new);
    let found = repo.git().run(&[&args[..], &[path.as_os_str()]].concat())?;
    let found = String::from_utf8_lossy(&found);
    let mut words = found.split([' ', '\t']).map(str::to_owned);
    Ok(words.next().zip(words.next()).zip(words.next()).map(|((mode, kind), id)| (mode, kind, id)))
}

/// Whether a commit has a file or link of this name.
pub(super) fn is_in(repo: &Repo, commit: &str, path: &Path) -> Result<bool, GitError> {
    Ok(entry(repo, commit, path)?.is_some_and(|(_, kind, _)| kind != "tree"))
}

/// Whether git would store the file on disk as a commit has it, whatever its filters made of it.
pub(super) fn is_as_committed(
    repo: &Repo,
    commit: Option<&str>,
    path: &Path,
    on_disk: &Version,
) -> Result<bool, GitError> {
    let (Some(commit), Version::File(_, runs)) = (commit, on_disk) else { return Ok(false) };
    let Some((mode, kind, object)) = entry(repo, commit, path)? else { return Ok(false) };
    if kind != "blob" || mode != if *runs { "100755" } else { "100644" } {
        return Ok(false);
    }
    let hashed = repo.git().line(&["hash-object".as_ref(), "--".as_ref(), path.as_os_str()]);
    Ok(hashed.is_ok_and(|hashed| hashed == object))
}

/// A repository, and a place for temporary files in it, which are gone again with this.
pub(super) struct Workshop<'a> {
    pub(super) repo: &'a Repo,
}

impl<'a> Workshop<'a> {
    pub(super) fn open(repo: &'a Repo) -> Self {
        Self { repo }
    }

    /// A file as it is on disk; what is only reached through a link is not it.
    pub(super) fn on_disk(&self, path: &Path) -> io::Result<Version> {
        let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        match folders.map(|folder| self.repo.top().join(folder)).any(|folder| folder.is_symlink()) {
            true => Ok(Version::Other),
            false => Version::on_disk(&self.repo.top().join(path)),
        }
    }

    /// Lays out three texts for a merge.
    pub(super) fn lay_out(&self, texts: [&[u8]; 3]) -> io::Result<Vec<PathBuf>> {
        let [_, names @ ..] = TEMPORARY;
        let write = |(name, text): (&str, &[u8])| {
            let path = self.repo.git_dir().join(name);
            fs_err::write(&path, text).map(|()| path)
        };
        names.into_iter().zip(texts).map(write).collect()
    }

    /// Puts the committed version in the place of the user's. Not by git, which removes a file and
    /// then writes it: if it is killed in between, nobody can tell that the user did not remove it.
    pub(super) fn clear(&self, path: &Path, committed: &Version) -> io::Result<()> {
        self.put(path, committed, None)?;
        fault::point("aside.cleared-file");
        Ok(())
    }

    /// Puts a version in its place, unless it is there, with its exact mode or that of new files.
    pub(super) fn put(&self, path: &Path, version: &Version, mode: Option<u32>) -> io::Result<()> {
        let full = self.repo.top().join(path);
        let temporary = self.repo.git_dir().join(TEMPORARY.first().copied().unwrap_or_default());
        let there = Version::on_disk(&full)? == *version;
        match version {
            Version::Absent => return remove(&full),
            Version::Other => return Err(io::Error::other("neither a file nor a link")),
            Version::Link(_) | Version::File(..) if there => {}
            Version::Link(target) => {
                remove(&temporary)?;
                fs_err::os::unix::fs::symlink(OsString::from_vec(target.clone()), &temporary)?;
                move_to(&temporary, &full)?;
            }
            Version::File(content, runs) => {
                remove(&temporary)?;
                let mut options = fs_err::OpenOptions::new();
                options.write(true).create_new(true).mode(if *runs { 0o777 } else { 0o666 });
                let mut file = options.open(&temporary)?;
                file.write_all(content)?;
                move_to(&temporary, &full)?;
            }
        }
        match (version, mode) {
            (Version::File(..), Some(mode)) => {
                fs_err::set_permissions(&full, std::fs::Permissions::from_mode(mode & 0o7777))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Workshop<'_> {
    fn drop(&mut self) {
        for name in TEMPORARY {
            let _ = remove(&self.repo.git_dir().join(name));
        }
    }
}

/// Folders without files are nothing to git.
fn is_without_files(folder: &Path) -> bool {
    fs_err::read_dir(folder).is_ok_and(|entries| {
        entries.into_iter().all(|entry| {
            entry.is_ok_and(|entry| {
                entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_without_files(&entry.path())
            })
        })
    })
}

/// The git folder may be on another file system than the files: then by way of a copy.
fn move_to(temporary: &Path, full: &Path) -> io::Result<()> {
    full.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    if full.is_dir() && !full.is_symlink() && is_without_files(full) {
        fs_err::remove_dir_all(full)?;
    }
    match fs_err::rename(temporary, full) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let beside = full.with_file_name(".ralph-restore-aside");
            remove(&beside)?;
            match Version::on_disk(temporary)? {
                Version::Link(target) => {
                    fs_err::os::unix::fs::symlink(OsString::from_vec(target), &beside)?;
                }
                _ => drop(fs_err::copy(temporary, &beside)?),
            }
            fs_err::rename(beside, full)
        }
        other => other,
    }
}

/// Removes a file, if there is one; a folder is none.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() && !path.is_symlink() {
        return Ok(());
    }
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
