//! What only Linux tells or does, beside what `ralph_base::linux` tells about other processes. Each
//! says what holds elsewhere.

use std::io;
use std::path::{Path, PathBuf};

/// Makes us the parent of descendants whose own parent has ended. Elsewhere a daemon of the agent's could
/// escape; nothing else depends on it.
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Whether whoever started us wants a signal ignored, as `nohup` does; then it is not ours to hear.
/// Elsewhere we hear them all.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

/// This very program, also after its file was replaced by a newer one. Elsewhere it is the newer one.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() }
}

/// The free memory in bytes; not known elsewhere.
pub(crate) fn free_memory() -> Option<u64> {
    let told = fs_err::read_to_string("/proc/meminfo").ok()?;
    let free = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = free.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib << 10)
}
