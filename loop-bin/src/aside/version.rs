//! One version of a file: as it is on disk, or as a commit has it; and how it is put on disk so
//! that a crash leaves the old or the new one.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_core::git::{GitError, Repo};

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
        let top = OsStr::new("--full-tree");
        let args = [
            OsStr::new("ls-tree"),
            top,
            OsStr::new("-z"),
            OsStr::new(commit),
            OsStr::new("--"),
            path.as_os_str(),
        ];
        let entry = repo.git().run(&args)?;
        let entry = String::from_utf8_lossy(&entry);
        // `<mode> <kind> <object>\t<path>`
        let mut words = entry.split([' ', '\t']);
        let (Some(mode), Some(kind), Some(object)) = (words.next(), words.next(), words.next())
        else {
            return Ok(Self::Absent);
        };
        if kind != "blob" {
            return Ok(Self::Other);
        }
        let content = repo.git().run(&["cat-file", "blob", object])?;
        Ok(match mode {
            "120000" => Self::Link(content),
            mode => Self::File(content, mode == "100755"),
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
            Self::File(fs_err::read(path)?, metadata.permissions().mode() & 0o100 != 0)
        } else {
            Self::Other
        })
    }
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

    /// Puts a version in its place, unless it is there, with its exact mode.
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
            Version::File(content, _) => {
                remove(&temporary)?;
                let mut file =
                    fs_err::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
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

/// The git folder may be on another file system than the files: then by way of a copy.
fn move_to(temporary: &Path, full: &Path) -> io::Result<()> {
    full.parent().map_or(Ok(()), fs_err::create_dir_all)?;
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

/// Removes a file, if there is one.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
