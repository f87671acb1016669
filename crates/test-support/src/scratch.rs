//! A folder that is deleted when the test ends.
//!
//! It is in memory if the machine has space there: git and our own programs sync to the disk, and
//! on a disk the tests would mostly wait for that.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use camino::{Utf8Path, Utf8PathBuf};

/// A temporary folder with short methods to fill it.
#[derive(Debug)]
pub struct Scratch {
    root: Utf8PathBuf,
    _guard: tempfile::TempDir,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// Creates an empty folder. Its path is free of symlinks, so that it compares equal to what
    /// programs report.
    pub fn new() -> Self {
        static PLACE: LazyLock<PathBuf> = LazyLock::new(place);
        Self::below(&PLACE)
    }

    /// Like `new`, but in the temporary folder, for data that must not be in memory.
    pub fn on_disk() -> Self {
        Self::below(&std::env::temp_dir())
    }

    pub(crate) fn below(place: &Path) -> Self {
        let guard = tempfile::tempdir_in(place).expect("a temporary folder");
        let root = guard.path().canonicalize().expect("a real path");
        let root = Utf8PathBuf::from_path_buf(root).expect("a UTF-8 temporary folder");
        Self { root, _guard: guard }
    }

    /// Returns the path of the folder.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Returns a path in the folder, whether or not it exists.
    pub fn path(&self, name: &str) -> Utf8PathBuf {
        self.root.join(name)
    }

    /// Creates a folder, and its parents.
    pub fn dir(&self, name: &str) -> Utf8PathBuf {
        let path = self.path(name);
        fs_err::create_dir_all(&path).expect("a folder");
        path
    }

    /// Writes a file, creating its parent folders.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> Utf8PathBuf {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs_err::write(&path, content).expect("a file");
        path
    }

    /// Writes an executable script.
    pub fn script(&self, name: &str, content: &str) -> Utf8PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(name, content);
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        path
    }

    /// Creates a named pipe, and its parents: whoever opens it waits for another process.
    pub fn pipe(&self, name: &str) -> Utf8PathBuf {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        let mode = nix::sys::stat::Mode::S_IRWXU;
        nix::unistd::mkfifo(path.as_std_path(), mode).expect("a named pipe");
        path
    }

    /// Reads a file as text.
    pub fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.path(name)).expect("a readable file")
    }
}

/// Returns the place for scratch folders: `TMPDIR` if set, else memory, else the system's folder.
fn place() -> PathBuf {
    if std::env::var_os("TMPDIR").is_some() {
        return std::env::temp_dir();
    }
    crate::linux::memory().unwrap_or_else(std::env::temp_dir)
}

/// Returns the workspace's `fixtures/` folder.
pub fn fixtures() -> Utf8PathBuf {
    let here = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the workspace root").join("fixtures")
}
