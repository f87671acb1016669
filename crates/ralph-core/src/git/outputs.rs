//! Files in the work tree that a process prints into: `ralph-loop > nohup.out`. They grow all the
//! time and are nobody's work.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files that standard output and standard error of a process are, relative to the top of the
/// work tree; none where the system does not tell.
pub(super) fn outputs_in(top: &Path, process: u32) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = [1, 2]
        .into_iter()
        .filter_map(|number| {
            let opened = PathBuf::from(format!("/proc/{process}/fd/{number}"));
            let path = fs_err::read_link(&opened).ok()?;
            let below = path.strip_prefix(top).ok()?.to_owned();
            // The name may have been given to another file since.
            let (file, named) = (fs_err::metadata(&opened).ok()?, fs_err::metadata(&path).ok()?);
            let is_same = (file.dev(), file.ino()) == (named.dev(), named.ino());
            (file.is_file() && is_same).then_some(below)
        })
        .collect();
    found.dedup();
    found
}
