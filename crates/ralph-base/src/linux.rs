//! What only Linux tells about processes, in `/proc`. Elsewhere nothing is known of them: there are none
//! to be found, and one that somebody names counts as living, so that nothing is taken from it.

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Where the system tells it.
const PROCESSES: &str = "/proc";

/// Opens a pipe without waiting for whoever is to write into it.
pub const O_NONBLOCK: i32 = if cfg!(target_os = "linux") { 0o4000 } else { 4 };

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// The number of its parent.
    pub parent: i32,
    /// Ended, but nobody has asked for its exit code yet.
    pub is_dead: bool,
    /// Whether it belongs to a terminal.
    pub has_terminal: bool,
}

/// All of them; none where the system does not tell.
pub fn processes() -> Option<Vec<Process>> {
    let entries = fs_err::read_dir(PROCESSES).ok()?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Some(pids.filter_map(process).collect())
}

fn process(pid: i32) -> Option<Process> {
    parse_stat(pid, &fs_err::read_to_string(file(pid, "stat")).ok()?)
}

/// `<pid> (<name>) <state> <parent> <group> <session> <terminal> …`; the name may hold spaces and parentheses.
fn parse_stat(pid: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let (state, parent) = (words.next()?, words.next()?.parse().ok()?);
    let has_terminal = words.nth(2)? != "0";
    Some(Process { pid, parent, is_dead: matches!(state, "Z" | "X" | "x"), has_terminal })
}

/// Whether a process is there. One that has ended but was not waited for does nothing any more; where
/// the system does not tell, every one is.
pub fn is_alive(pid: i32) -> bool {
    match process(pid) {
        Some(process) => !process.is_dead,
        None => process(std::process::id().cast_signed()).is_none(),
    }
}

/// The file that it runs, also if that was replaced meanwhile.
pub fn program(pid: i32) -> Option<PathBuf> {
    let path = fs_err::read_link(file(pid, "exe")).ok()?;
    let replaced = path.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    Some(replaced.map(PathBuf::from).unwrap_or(path))
}

/// What it was started with, its own name first.
pub fn arguments(pid: i32) -> Vec<Vec<u8>> {
    texts(&file(pid, "cmdline"))
}

/// The variables that it was started with, as `NAME=value`.
pub fn variables(pid: i32) -> Vec<Vec<u8>> {
    texts(&file(pid, "environ"))
}

/// The folder that it works in, if its program has this name.
pub fn folder_of(pid: i32, name: &str) -> Option<PathBuf> {
    let found = fs_err::read(file(pid, "comm")).ok()?;
    if found.trim_ascii_end() == name.as_bytes() {
        fs_err::read_link(file(pid, "cwd")).ok()
    } else {
        None
    }
}

/// The files that it has open.
pub fn open_files(pid: i32) -> Vec<PathBuf> {
    let opened = fs_err::read_dir(file(pid, "fd")).into_iter().flatten().flatten();
    opened.filter_map(|entry| fs_err::read_link(entry.path()).ok()).collect()
}

/// Whether it works in a folder, runs a program or has a file open there, or was started with its name.
pub fn is_at_work_in(pid: i32, folder: &Path) -> bool {
    let name = folder.as_os_str().as_encoded_bytes();
    let links = ["cwd", "exe"].map(|link| fs_err::read_link(file(pid, link)).ok());
    let mut paths = links.into_iter().flatten().chain(open_files(pid));
    let names_it = |text: &Vec<u8>| text.windows(name.len()).any(|part| part == name);
    paths.any(|path| path.starts_with(folder)) || arguments(pid).iter().any(names_it)
}

/// What it read and wrote, and the time and memory that it used so far: as long as this changes, it is
/// at work. Always the same where the system does not tell.
pub fn signs_of_life(pid: i32) -> Vec<u8> {
    let read = ["io", "stat"].map(|name| fs_err::read(file(pid, name)));
    read.into_iter().flatten().flatten().collect()
}

fn file(pid: i32, name: &str) -> PathBuf {
    Path::new(PROCESSES).join(pid.to_string()).join(name)
}

fn texts(path: &Path) -> Vec<Vec<u8>> {
    let all = fs_err::read(path).unwrap_or_default();
    all.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// An open folder as a path that leads to it and nowhere else. Elsewhere it is the path by which it was opened.
pub fn opened(folder: &impl AsRawFd, path: &Path) -> PathBuf {
    let open = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
    if cfg!(target_os = "linux") { open } else { path.to_owned() }
}

/// This very program, also after its file was replaced by a newer one. Elsewhere it is the newer one.
pub fn own_program() -> io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() }
}

/// The same for a command line that another program runs.
pub fn own_program_for_others(name: &str) -> String {
    name.replace("/proc/self/", &format!("/proc/{}/", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_do_not_confuse() {
        let found = parse_stat(7, "7 (a) b) (c) Z 42 7 7 34816 7");
        let (is_dead, has_terminal) = (true, true);
        assert_eq!(found, Some(Process { pid: 7, parent: 42, is_dead, has_terminal }));
        assert_eq!(parse_stat(7, "7 (sh"), None);
    }

    #[test]
    fn this_process_lives_and_one_that_cannot_be_does_not() {
        let here = std::process::id().cast_signed();
        assert!(is_alive(here));
        assert_eq!(is_alive(i32::MAX), processes().is_none());
    }
}
