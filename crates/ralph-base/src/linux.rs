//! Process information from `/proc`, which only Linux has. Other systems report no processes, and
//! any given process counts as alive there, so that nothing is taken from it. The loop, which may link
//! more than hooks, lists processes there by another library: `sandbox::system`.

use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether this program was built for Linux. With `--cfg ralph_portable` it is built as for another
/// Unix, so that this code can be tested on Linux as well.
pub const IS_LINUX: bool = cfg!(all(target_os = "linux", not(ralph_portable)));

/// Whether this program was built for macOS.
pub const IS_MACOS: bool = cfg!(target_os = "macos");

/// The file system with the process information. Other systems may have one of another format.
const PROCESSES: &str = if IS_LINUX { "/proc" } else { "/dev/null" };

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// The process id.
    pub pid: i32,
    /// The parent's process id.
    pub parent: i32,
    /// When it was started: no other process has the same id and the same time.
    pub started: u64,
    /// Whether it has exited, but its exit code was not collected yet.
    pub is_dead: bool,
    /// Whether it is stopped, or waits in the kernel and does not return from there when it was
    /// asked to stop.
    pub is_stopped: bool,
    /// Whether it has a controlling terminal.
    pub has_terminal: bool,
}

/// Returns all processes; `None` without `/proc`.
pub fn processes() -> Option<Vec<Process>> {
    let entries = fs_err::read_dir(PROCESSES).ok()?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Some(pids.filter_map(process).collect())
}

fn process(pid: i32) -> Option<Process> {
    parse_stat(pid, &fs_err::read_to_string(file(pid, "stat")).ok()?)
}

/// Parses `<pid> (<name>) <state> <parent> <group> <session> <terminal> …`; names may hold `)`.
fn parse_stat(pid: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let (state, parent) = (words.next()?, words.next()?.parse().ok()?);
    let has_terminal = words.nth(2)? != "0";
    let started = words.nth(14)?.parse().ok()?;
    let (is_dead, is_stopped) =
        (matches!(state, "Z" | "X" | "x"), matches!(state, "T" | "t" | "D"));
    Some(Process { pid, parent, started, is_dead, is_stopped, has_terminal })
}

/// Returns whether a process is alive, which a zombie is not. Without `/proc`, every process counts
/// as alive.
pub fn is_alive(pid: i32) -> bool {
    match process(pid) {
        Some(process) => !process.is_dead,
        None => process(std::process::id().cast_signed()).is_none(),
    }
}

/// Returns the executable of a process, even if that file was replaced in the meantime.
pub fn program(pid: i32) -> Option<PathBuf> {
    let path = fs_err::read_link(file(pid, "exe")).ok()?;
    let replaced = path.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    Some(replaced.map(PathBuf::from).unwrap_or(path))
}

/// Returns the arguments of a process, its own name first.
pub fn arguments(pid: i32) -> Vec<Vec<u8>> {
    texts(&file(pid, "cmdline"))
}

/// Returns the environment that a process was started with, as `NAME=value`.
pub fn variables(pid: i32) -> Vec<Vec<u8>> {
    texts(&file(pid, "environ"))
}

/// Returns the working directory of a process, if its program has this name.
pub fn folder_of(pid: i32, name: &str) -> Option<PathBuf> {
    let found = fs_err::read(file(pid, "comm")).ok()?;
    if found.trim_ascii_end() == name.as_bytes() {
        fs_err::read_link(file(pid, "cwd")).ok()
    } else {
        None
    }
}

/// Returns the files that a process has open.
pub fn open_files(pid: i32) -> Vec<PathBuf> {
    let opened = fs_err::read_dir(file(pid, "fd")).into_iter().flatten().flatten();
    opened.filter_map(|entry| fs_err::read_link(entry.path()).ok()).collect()
}

/// Returns whether a process uses a folder: as its cwd, or by program, open file or argument.
pub fn is_at_work_in(pid: i32, folder: &Path) -> bool {
    let name = folder.as_os_str().as_encoded_bytes();
    let links = ["cwd", "exe"].map(|link| fs_err::read_link(file(pid, link)).ok());
    let mut paths = links.into_iter().flatten().chain(open_files(pid));
    let names_it = |text: &Vec<u8>| text.windows(name.len()).any(|part| part == name);
    paths.any(|path| path.starts_with(folder)) || arguments(pid).iter().any(names_it)
}

/// Returns the I/O, CPU time and memory counters of a process: while they change, it is working.
/// Without `/proc`, those that `ps` shows of it and its children.
pub fn signs_of_life(pid: i32) -> Vec<u8> {
    if !IS_LINUX {
        return counters(pid);
    }
    let read = ["io", "stat"].map(|name| fs_err::read(file(pid, name)));
    read.into_iter().flatten().flatten().collect()
}

#[expect(clippy::disallowed_methods, reason = "no agent can put another program there")]
fn counters(pid: i32) -> Vec<u8> {
    let listed = Command::new("/bin/ps").args(["-A", "-o", "pid=,ppid=,time=,vsz="]).output();
    let listed =
        String::from_utf8_lossy(&listed.map(|it| it.stdout).unwrap_or_default()).into_owned();
    let is_its = |line: &&str| line.split_whitespace().take(2).any(|id| id.parse() == Ok(pid));
    listed.lines().filter(is_its).collect::<String>().into_bytes()
}

/// Returns the first child of a process, if it has one.
pub fn first_child(pid: i32) -> Option<i32> {
    let children = file(pid, "task").join(pid.to_string()).join("children");
    fs_err::read_to_string(children).ok()?.split_whitespace().next()?.parse().ok()
}

/// Returns how many threads this machine has; 0 without `/proc`.
pub fn threads() -> u64 {
    let load = fs_err::read_to_string(Path::new(PROCESSES).join("loadavg")).unwrap_or_default();
    let of_all = load.split_whitespace().nth(3).and_then(|word| word.split_once('/'));
    of_all.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}

/// Returns the memory of this machine and what is available of it, in kilobytes; `None` without
/// `/proc`.
pub fn memory() -> Option<(u64, u64)> {
    let facts = fs_err::read_to_string(Path::new(PROCESSES).join("meminfo")).ok()?;
    Some((kilobytes(&facts, "MemTotal:")?, kilobytes(&facts, "MemAvailable:")?))
}

/// Returns the memory that a process uses, in kilobytes; it has its part of what is shared.
pub fn memory_of(pid: i32) -> u64 {
    let facts = fs_err::read_to_string(file(pid, "smaps_rollup")).unwrap_or_default();
    kilobytes(&facts, "Pss:").unwrap_or(0)
}

fn kilobytes(facts: &str, name: &str) -> Option<u64> {
    let amount = facts.lines().find_map(|line| line.strip_prefix(name))?;
    amount.split_whitespace().next()?.parse().ok()
}

fn file(pid: i32, name: &str) -> PathBuf {
    Path::new(PROCESSES).join(pid.to_string()).join(name)
}

fn texts(path: &Path) -> Vec<Vec<u8>> {
    let all = fs_err::read(path).unwrap_or_default();
    all.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// Returns the variables that this process was started with, each followed by a zero byte: copying all of
/// them to find a few takes ten times as long. `None` on other systems.
pub(crate) fn environment() -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(16 * 1024);
    let path = Path::new(PROCESSES).join("self/environ");
    let mut file = std::fs::OpenOptions::new().read(true).open(path).ok()?;
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns a path that always leads to this open folder; outside of Linux, `path` itself.
pub fn opened(folder: &impl AsRawFd, path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    go_to(folder, &mut path);
    path
}

/// Replaces the path of an open folder by one that always leads to it; not outside of Linux.
pub(crate) fn go_to(folder: &impl AsRawFd, path: &mut PathBuf) {
    if IS_LINUX {
        path.push("/proc/self/fd");
        path.push(folder.as_raw_fd().to_string());
    }
}

/// Returns how many programs want each processor: 1 on a machine that is not busy.
pub fn busy() -> u32 {
    let load = fs_err::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    (load / processors).ceil().max(1.0) as u32
}

/// Returns the running program, even if its file was replaced (outside of Linux: the new file).
pub fn own_program() -> io::Result<PathBuf> {
    let running = Path::new(PROCESSES).join("self/exe");
    if running.exists() { Ok(running) } else { std::env::current_exe() }
}

/// Replaces `/proc/self/exe` in a command line, so that other processes can run the program, even
/// those that may not look at this one.
pub fn own_program_for_others(name: &str) -> String {
    match program(std::process::id().cast_signed()) {
        Some(path) => name.replace("/proc/self/exe", &path.to_string_lossy()),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_process_names_are_parsed() {
        let found = parse_stat(7, "7 (a) b) (c) Z 42 7 7 34816 7 0 0 0 0 0 0 0 0 0 20 0 1 0 99 5");
        let (started, is_dead, is_stopped, has_terminal) = (99, true, false, true);
        let expected = Process { pid: 7, parent: 42, started, is_dead, is_stopped, has_terminal };
        assert_eq!(found, Some(expected));
        assert_eq!(parse_stat(7, "7 (sh"), None);
    }

    #[test]
    fn only_existing_processes_are_alive() {
        let here = std::process::id().cast_signed();
        assert!(is_alive(here));
        assert_eq!(is_alive(i32::MAX), processes().is_none());
    }
}
