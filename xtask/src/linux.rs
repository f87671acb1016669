//! What only Linux tells about processes. Elsewhere none is found.

use std::os::unix::fs::MetadataExt;

/// A process: its id, its owner, its command line and its variables as one text, its state.
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) uid: u32,
    pub(crate) line: String,
    pub(crate) variables: String,
    pub(crate) state: char,
}

/// Returns the processes that this one may look at.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(entries) = fs_err::read_dir("/proc") else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| process(name.parse().ok()?)).collect()
}

/// Returns a process, if it is there.
pub(crate) fn process(pid: u32) -> Option<Process> {
    let folder = format!("/proc/{pid}");
    let uid = fs_err::metadata(&folder).ok()?.uid();
    let read = |name: &str| {
        let bytes = fs_err::read(format!("{folder}/{name}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    let state = read("stat").rsplit(") ").next().and_then(|rest| rest.chars().next());
    Some(Process {
        pid,
        uid,
        line: read("cmdline"),
        variables: read("environ"),
        state: state.unwrap_or('?'),
    })
}
