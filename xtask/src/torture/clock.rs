//! A wall clock that can be set while programs run, by way of libfaketime. The clock that deadlines
//! are counted by is left alone, as it is when somebody sets the time.
//!
//! Only programs that are linked dynamically look at it.

use camino::{Utf8Path, Utf8PathBuf};
use test_support::is_alive;

/// The clock of a stage; every program that is started there looks at it whenever it asks the time.
#[derive(Debug)]
pub(super) struct Clock {
    library: Utf8PathBuf,
    file: Utf8PathBuf,
}

impl Clock {
    /// A clock that goes right.
    pub(super) fn new(library: &Utf8Path, file: Utf8PathBuf) -> Self {
        let clock = Self { library: library.to_owned(), file };
        clock.set("+0");
        clock
    }

    /// Sets it: so many seconds, hours (`h`) or years (`y`) before or after the true time.
    pub(super) fn set(&self, offset: &str) {
        let temporary = self.file.with_extension("new");
        // In one step, so that nobody reads half an offset; one that is lost is no harm.
        let _ = fs_err::write(&temporary, format!("{offset}\n"))
            .and_then(|()| fs_err::rename(&temporary, &self.file));
    }

    /// What a program needs in its environment.
    pub(super) fn variables(&self) -> [(&str, &str); 5] {
        [
            ("LD_PRELOAD", self.library.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.as_str()),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("NO_FAKE_STAT", "1"),
        ]
    }
}

/// A program that is killed leaves memory behind that the library shares with its children, by its
/// process id; the next process of that id would not start.
impl Drop for Clock {
    fn drop(&mut self) {
        for entry in Utf8Path::new("/dev/shm").read_dir_utf8().into_iter().flatten().flatten() {
            let name = entry.file_name();
            let process =
                ["faketime_shm_", "sem.faketime_sem_"].iter().find_map(|of| name.strip_prefix(of));
            if process.is_some_and(|pid| !is_alive(pid)) {
                let _ = fs_err::remove_file(entry.path());
            }
        }
    }
}

/// The library for programs with several threads, where a distribution puts it.
pub(super) fn library() -> Option<Utf8PathBuf> {
    let name = "faketime/libfaketimeMT.so.1";
    let mut folders = vec![Utf8PathBuf::from("/usr/lib"), Utf8PathBuf::from("/usr/lib64")];
    let below = Utf8Path::new("/usr/lib").read_dir_utf8().into_iter().flatten().flatten();
    folders.extend(below.map(|entry| entry.path().to_owned()));
    folders.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Whether a program can be made to look at such a clock.
pub(super) fn is_dynamic(binary: &Utf8Path) -> bool {
    let loader = b"/ld-linux";
    let content = fs_err::read(binary).unwrap_or_default();
    content.windows(loader.len()).any(|part| part == loader)
}
