//! Functions that need Linux, in addition to those in `ralph_base::linux`. Each documents what it
//! does on other systems.

/// Makes this process the parent of orphaned descendants. On other systems, a daemon of the agent
/// could escape; nothing else depends on it.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Renames this process for observers; does nothing on other systems.
pub fn rename_process(name: &str) {
    let _ = fs_err::write("/proc/self/comm", name);
}

/// Returns the name of a process; `None` on other systems.
pub fn process_name(pid: u32) -> Option<String> {
    let name = fs_err::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// Returns the children of a process that exited and were not reaped; empty on other systems.
pub fn children_that_ended(parent: i32) -> Vec<i32> {
    let all = ralph_base::linux::processes().unwrap_or_default().into_iter();
    let ended = all.filter(|process| process.parent == parent && process.is_dead);
    ended.map(|process| process.pid).collect()
}

/// Returns whether our parent set a signal to be ignored, as `nohup` does; then we must not handle
/// it. Always false on other systems.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}
