//! What a git that failed to save leaves in the repository: half a pack can be gigabytes.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ralph_base::linux;

use super::repo::Repo;

/// The clock of files lags behind.
const LAG: Duration = Duration::from_millis(20);

/// Removes what was left since an instant and what no process has open: it may belong to another
/// git. Where the system does not tell who has what open, `git gc` removes it some day.
pub(super) fn remove_since(repo: &Repo, begun: SystemTime) {
    let packs = repo.shared_git_dir().join("objects/pack");
    let places = [(packs, "tmp_"), (repo.git_dir().to_owned(), "fast_import_crash_")];
    let since = begun.checked_sub(LAG).unwrap_or(begun);
    let mut left: Vec<PathBuf> = Vec::new();
    for (folder, start) in places {
        for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
            let is_new =
                entry.metadata().and_then(|found| found.modified()).is_ok_and(|at| at >= since);
            if is_new && entry.file_name().as_encoded_bytes().starts_with(start.as_bytes()) {
                left.push(entry.path());
            }
        }
    }
    let Some(processes) = linux::processes() else { return };
    let is_left = |path: &PathBuf| left.contains(path);
    if !processes.iter().any(|process| linux::open_files(process.pid).iter().any(is_left)) {
        for path in left {
            let _ = fs_err::remove_file(path);
        }
    }
}
