//! What only Linux tells or does, beside what `ralph_base::linux` tells about other processes. Each
//! says what holds elsewhere.

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
