//! Information that only Linux provides. Elsewhere no process is found or known to be alive, and no
//! folder is in memory: tests that need this fail there.

use std::path::PathBuf;

/// Whether a process exists and is not a zombie.
pub fn is_alive(pid: &str) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Returns the ids of all processes.
pub(crate) fn pids() -> Vec<u32> {
    let Ok(entries) = fs_err::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the variables that a process was started with, as `NAME=value`.
pub(crate) fn environment(pid: u32) -> Vec<String> {
    let all = fs_err::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let each = all.split(|byte| *byte == 0);
    each.map(|variable| String::from_utf8_lossy(variable).into_owned()).collect()
}

/// Returns a folder in memory, if programs can be written and started there, and there is space.
#[cfg(target_os = "linux")]
pub(crate) fn memory() -> Option<PathBuf> {
    use nix::sys::statvfs::{FsFlags, statvfs};
    const ROOM: u64 = 1 << 30;
    let folder = std::path::Path::new("/dev/shm");
    let facts = statvfs(folder).ok()?;
    let is_closed = facts.flags().intersects(FsFlags::ST_RDONLY | FsFlags::ST_NOEXEC);
    let has_room = facts.blocks_available().saturating_mul(facts.fragment_size()) >= ROOM;
    let is_usable = !is_closed && has_room && tempfile::tempdir_in(folder).is_ok();
    is_usable.then(|| folder.to_owned())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn memory() -> Option<PathBuf> {
    None
}

/// Exchanges two files at once, so that neither is ever missing; as nearly as the system can.
#[cfg(target_os = "linux")]
pub fn exchange(one: &camino::Utf8Path, other: &camino::Utf8Path) {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    let (one, other) = (one.as_std_path(), other.as_std_path());
    let _ = renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE);
}

#[cfg(not(target_os = "linux"))]
pub fn exchange(one: &camino::Utf8Path, other: &camino::Utf8Path) {
    let aside = other.with_extension("aside");
    for (from, to) in [(one, aside.as_path()), (other, one), (aside.as_path(), other)] {
        let _ = fs_err::rename(from, to);
    }
}
