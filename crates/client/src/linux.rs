//! Functions that need Linux, in addition to those in `ralph_base::linux`. Each documents what it
//! does on other systems.

use std::process::Command;

use ralph_base::linux::{IS_LINUX, IS_MACOS};

/// Returns whether our parent set a signal to be ignored, as `nohup` does; then we must not handle
/// it. On other systems a shell, which inherits that, tries the signal on itself.
#[expect(clippy::disallowed_methods, reason = "the shell runs no program")]
pub fn is_ignored(signal: i32) -> bool {
    if !IS_LINUX {
        let tried = Command::new("/bin/sh").args(["-c", &format!("kill -{signal} $$")]).status();
        return tried.is_ok_and(|status| status.success());
    }
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

/// The client's settings by the machine's administrator.
pub(crate) const MANAGED: &str = if IS_MACOS {
    "/Library/Application Support/ClaudeCode/managed-settings.json"
} else {
    "/etc/claude-code/managed-settings.json"
};
