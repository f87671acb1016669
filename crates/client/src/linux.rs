//! Functions that need Linux, in addition to those in `ralph_base::linux`. Each documents what it
//! does on other systems.

/// Returns whether our parent set a signal to be ignored, as `nohup` does; then we must not handle
/// it. Always false on other systems.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}
