//! Ends what a session left running: the client's tools have process groups of their own, so they
//! are found by the home folder in their environment.

use camino::Utf8Path;

use crate::run;

/// Ends every process whose home is this scratch folder, and returns how many there were.
pub(super) fn end_all_of(home: &Utf8Path) -> usize {
    let wanted = format!("HOME={home}");
    let Ok(entries) = fs_err::read_dir("/proc") else { return 0 };
    let mut ended = 0;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
        let Ok(variables) = fs_err::read(entry.path().join("environ")) else { continue };
        let ours = variables.split(|byte| *byte == 0).any(|part| part == wanted.as_bytes());
        if is_process && ours {
            let _ = run::command("kill").args(["-KILL", &name]).status();
            ended += 1;
        }
    }
    ended
}
