//! What `linux.rs` has, for other systems, as far as they have it. Orphans do not come to the keeper
//! there: [`system`] remembers which processes are whose.

use std::path::PathBuf;

use crate::Policy;

/// Returns the version of the kernel's interface: there is none.
pub(crate) fn kernel_abi() -> i32 {
    0
}

pub(crate) fn restrict(_: &Policy, _: &[PathBuf]) -> Result<(), String> {
    Err("only Linux has Landlock".to_owned())
}

/// Signals of this process and its descendants reach others.
pub(crate) fn confine_signals() -> bool {
    false
}

/// Does nothing.
pub fn adopt_orphans() {}

/// Does nothing: a keeper that is killed does not take its program with it.
pub(crate) fn end_with_parent() {}

/// Does nothing.
pub(crate) fn limit_processes(_: u64) {}

/// Does nothing.
pub(crate) fn rename_process(_: &str) {}

/// Returns the name that a keeper gave itself: none.
pub(crate) fn process_name(_: u32) -> Option<String> {
    None
}

/// The processes of this machine, listed by `sysinfo`. Whose they are has to be remembered: a process that
/// leaves its parent is known by the mark in its environment, and by having been seen below the keeper
/// before.
pub mod system {
    use std::collections::{HashMap, HashSet};
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::sync::{Mutex, PoisonError};

    use ralph_base::linux::Process;
    use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

    use crate::door::KEPT;

    /// The processes that were seen below each keeper.
    static SEEN: Mutex<Option<HashMap<i32, HashSet<(i32, u64)>>>> = Mutex::new(None);

    /// What is listed of each process, so that no list reads what an earlier one has read.
    static SYSTEM: Mutex<Option<System>> = Mutex::new(None);

    /// Asks the system about all processes, or about one.
    fn ask<T>(
        pid: Option<i32>,
        kind: ProcessRefreshKind,
        answer: impl FnOnce(&System) -> Option<T>,
    ) -> Option<T> {
        let mut system = SYSTEM.lock().unwrap_or_else(PoisonError::into_inner);
        let system = match &mut *system {
            Some(system) => system,
            none => none.insert(System::new().ok()?),
        };
        let pids = pid.map(id);
        let which = match &pids {
            Some(pid) => ProcessesToUpdate::Some(std::slice::from_ref(pid)),
            None => ProcessesToUpdate::All,
        };
        system.refresh_processes_specifics(which, true, kind.without_tasks());
        answer(system)
    }

    fn id(pid: i32) -> Pid {
        Pid::from_u32(pid.cast_unsigned())
    }

    fn one<T>(
        pid: i32,
        kind: ProcessRefreshKind,
        answer: impl FnOnce(&sysinfo::Process) -> Option<T>,
    ) -> Option<T> {
        ask(Some(pid), kind, |system| answer(system.process(id(pid))?))
    }

    fn nothing() -> ProcessRefreshKind {
        ProcessRefreshKind::nothing()
    }

    /// Returns all processes. Whether one has a terminal is not known, so each may have one.
    pub fn processes() -> Option<Vec<Process>> {
        let parse = |found: &sysinfo::Process| Process {
            pid: found.pid().as_u32().cast_signed(),
            parent: found.parent().map_or(0, |pid| pid.as_u32().cast_signed()),
            started: found.start_time(),
            is_dead: matches!(found.status(), ProcessStatus::Zombie | ProcessStatus::Dead),
            is_stopped: matches!(
                found.status(),
                ProcessStatus::Stop
                    | ProcessStatus::Tracing
                    | ProcessStatus::UninterruptibleDiskSleep
            ),
            has_terminal: true,
        };
        ask(None, nothing(), |system| Some(system.processes().values().map(parse).collect()))
    }

    /// Returns the executable of a process.
    pub fn program(pid: i32) -> Option<PathBuf> {
        let kind = nothing().with_exe(UpdateKind::Always);
        one(pid, kind, |found| found.exe().map(Path::to_owned))
    }

    /// Returns the arguments of a process, its own name first.
    pub fn arguments(pid: i32) -> Vec<Vec<u8>> {
        let kind = nothing().with_cmd(UpdateKind::Always);
        one(pid, kind, |found| Some(bytes(found.cmd()))).unwrap_or_default()
    }

    /// Returns the environment that a process was started with, as `NAME=value`.
    pub fn variables(pid: i32) -> Vec<Vec<u8>> {
        let kind = nothing().with_environ(UpdateKind::Always);
        one(pid, kind, |found| Some(bytes(found.environ()))).unwrap_or_default()
    }

    fn bytes(texts: &[OsString]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    fn folder(pid: i32) -> Option<PathBuf> {
        let kind = nothing().with_cwd(UpdateKind::Always);
        one(pid, kind, |found| found.cwd().map(Path::to_owned))
    }

    /// Returns the working directory of a process, if its program has this name.
    pub fn folder_of(pid: i32, name: &str) -> Option<PathBuf> {
        let has_name = one(pid, nothing(), |found| Some(found.name() == name));
        if has_name == Some(true) { folder(pid) } else { None }
    }

    /// Returns whether a process uses a folder: as its cwd, by its program or an argument.
    pub fn is_at_work_in(pid: i32, place: &Path) -> bool {
        let name = place.as_os_str().as_encoded_bytes();
        let mut paths = [folder(pid), program(pid)].into_iter().flatten();
        let names_it = |text: &Vec<u8>| text.windows(name.len()).any(|part| part == name);
        paths.any(|path| path.starts_with(place)) || arguments(pid).iter().any(names_it)
    }

    /// Returns how many processes this machine has.
    pub fn threads() -> u64 {
        ask(None, nothing(), |system| Some(system.processes().len() as u64)).unwrap_or(0)
    }

    /// Returns the memory of this machine and what is available of it, in kilobytes.
    pub fn memory() -> Option<(u64, u64)> {
        let mut system = System::new().ok()?;
        system.refresh_memory();
        Some((system.total_memory() / 1024, system.available_memory() / 1024))
    }

    /// Returns the memory that a process uses, in kilobytes; what it shares is counted in full.
    pub fn memory_of(pid: i32) -> u64 {
        let found = one(pid, nothing().with_memory(), |found| Some(found.memory() / 1024));
        found.unwrap_or(0)
    }

    /// Returns those of these processes that are a keeper's although their parents do not say so.
    pub(crate) fn left_by(keeper: i32, all: &[Process]) -> Vec<i32> {
        let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.as_ref().and_then(|seen| seen.get(&keeper));
        let is_seen =
            |one: &&Process| seen.is_some_and(|seen| seen.contains(&(one.pid, one.started)));
        let mut found: Vec<i32> = all.iter().filter(is_seen).map(|one| one.pid).collect();
        // What a process has once had in its environment it does not lose by another program.
        let kind = nothing().with_environ(UpdateKind::OnlyIfNotSet);
        let is_marked = |one: &&sysinfo::Process| {
            let mut values = one.environ().iter().filter_map(|it| it.to_str()?.strip_prefix(KEPT));
            values.any(|value| value.split(['=', ' ']).any(|pid| pid.parse() == Ok(keeper)))
        };
        let marked = ask(None, kind, |system| {
            let marked = system.processes().values().filter(is_marked);
            Some(marked.map(|one| one.pid().as_u32().cast_signed()).collect::<Vec<_>>())
        });
        found.extend(marked.unwrap_or_default());
        found
    }

    /// Remembers that these processes are a keeper's.
    pub(crate) fn remember(keeper: i32, found: &[Process]) {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.get_or_insert_default().entry(keeper).or_default();
        seen.extend(found.iter().map(|one| (one.pid, one.started)));
    }
}
