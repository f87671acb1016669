//! Git's own lock on the index of the project, held for a moment while its files follow their branch.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::state;

/// How long another process may hold the index before the work waits instead.
const PATIENCE: Duration = Duration::from_secs(5);
const PULSE: Duration = Duration::from_millis(10);

/// Git's lock on the index; dropped, it is free again.
pub(super) struct IndexLock {
    path: PathBuf,
    file: Option<File>,
}

impl IndexLock {
    /// Takes it; none if another process keeps it.
    pub(super) fn take(path: PathBuf) -> io::Result<Option<Self>> {
        let begun = Instant::now();
        loop {
            let opened = fs_err::OpenOptions::new().write(true).create_new(true).open(&path);
            match opened {
                Ok(file) => {
                    let file = Some(file.into_parts().0);
                    return Ok(Some(Self { path, file }));
                }
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) if begun.elapsed() >= PATIENCE => return Ok(None),
                Err(_) => std::thread::sleep(PULSE),
            }
        }
    }

    /// Makes this the index, and frees it.
    pub(super) fn commit(mut self, content: &[u8], index: &Path) -> io::Result<()> {
        if let Some(mut file) = self.file.take() {
            let written = file.write_all(content).and_then(|()| file.sync_all());
            if let Err(error) = written {
                state::remove_if_there(&self.path)?;
                return Err(error);
            }
            fs_err::rename(&self.path, index)?;
        }
        Ok(())
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = state::remove_if_there(&self.path);
        }
    }
}
