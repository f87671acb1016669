//! What only Linux tells or does, beside what `ralph_base::linux` tells about other processes. Each
//! says what holds elsewhere.

use std::io;
use std::path::{Path, PathBuf};

/// Where the system shows control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// Makes us the parent of descendants whose own parent has ended. Elsewhere a daemon of the agent's could
/// escape; nothing else depends on it.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Gives this process another name, for those who look at it. Elsewhere it keeps its own.
pub fn rename_process(name: &str) {
    let _ = fs_err::write("/proc/self/comm", name);
}

/// The name of a process; not known elsewhere.
pub fn process_name(pid: u32) -> Option<String> {
    let name = fs_err::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// The children of a process that have ended and that nobody has taken note of; none elsewhere.
pub fn children_that_ended(parent: i32) -> Vec<i32> {
    let all = ralph_base::linux::processes().unwrap_or_default().into_iter();
    let ended = all.filter(|process| process.parent == parent && process.is_dead);
    ended.map(|process| process.pid).collect()
}

/// Whether whoever started us wants a signal ignored, as `nohup` does; then it is not ours to hear.
/// Elsewhere we hear them all.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

/// This very program, also after its file was replaced by a newer one. Elsewhere it is the newer one.
pub fn own_program() -> io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() }
}

/// The free memory in bytes, of the machine or of what a container, a job or a service may use of it; not
/// known elsewhere.
pub fn free_memory() -> Option<u64> {
    let read = |path: &Path| fs_err::read_to_string(path).unwrap_or_default();
    let free = free_of(&read("/proc/meminfo".as_ref()));
    let limits = limits_of(&read("/proc/self/cgroup".as_ref()));
    let limits = limits.iter().filter_map(|path| read(path).trim().parse::<u64>().ok());
    free.into_iter().chain(limits).min()
}

fn free_of(told: &str) -> Option<u64> {
    let free = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib = free.trim().trim_end_matches(" kB").parse::<u64>().ok()?;
    Some(kib << 10)
}

/// Where memory is limited: in our control group, or above it.
fn limits_of(told: &str) -> Vec<PathBuf> {
    let Some(group) = told.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return Vec::new();
    };
    let folders = Path::new(group).ancestors();
    folders.map(|folder| Path::new(GROUPS).join(folder).join("memory.max")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_by_the_system_and_by_every_group_above_us() {
        assert_eq!(free_of("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(free_of(""), None);
        let limits = limits_of("1:name=systemd:/x\n0::/job/step\n");
        let at = |folder: &str| PathBuf::from(format!("/sys/fs/cgroup{folder}/memory.max"));
        assert_eq!(limits, [at("/job/step"), at("/job"), at("")]);
        assert_eq!(limits_of("0::/\n"), [at("")]);
        assert!(limits_of("4:memory:/x\n").is_empty());
    }
}
