//! What only Linux has: Landlock, without which nothing can be restricted, and ways to keep processes.
//! `elsewhere.rs` has the same functions for other systems.

#[cfg(all(target_os = "linux", not(ralph_portable)))]
pub use here::{adopt_orphans, system};
#[cfg(all(target_os = "linux", not(ralph_portable)))]
pub(crate) use here::{
    confine_signals, end_with_parent, kernel_abi, limit_processes, process_name, rename_process,
    restrict,
};

#[cfg(not(all(target_os = "linux", not(ralph_portable))))]
pub use elsewhere::{adopt_orphans, system};
#[cfg(not(all(target_os = "linux", not(ralph_portable))))]
pub(crate) use elsewhere::{
    confine_signals, end_with_parent, kernel_abi, limit_processes, process_name, rename_process,
    restrict,
};

#[cfg(not(all(target_os = "linux", not(ralph_portable))))]
#[path = "elsewhere.rs"]
mod elsewhere;

#[cfg(all(target_os = "linux", not(ralph_portable)))]
mod here {
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};

    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, RestrictSelf, Ruleset,
        RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };
    use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};
    use nix::sys::resource::Resource::RLIMIT_NPROC;
    use nix::sys::resource::{getrlimit, setrlimit};

    use crate::Policy;

    /// Makes this process the parent of orphaned descendants.
    pub fn adopt_orphans() {
        let _ = nix::sys::prctl::set_child_subreaper(true);
    }

    /// Has this process killed when its parent ends.
    pub(crate) fn end_with_parent() {
        let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
    }

    /// Limits the processes of the user, as far as those start them that this process starts.
    pub(crate) fn limit_processes(most: u64) {
        if let Ok((soft, hard)) = getrlimit(RLIMIT_NPROC) {
            let _ = setrlimit(RLIMIT_NPROC, soft.min(most), hard);
        }
    }

    /// Renames this process for observers.
    pub(crate) fn rename_process(name: &str) {
        let _ = fs_err::write("/proc/self/comm", name);
    }

    /// Returns the name of a process.
    pub(crate) fn process_name(pid: u32) -> Option<String> {
        let name = fs_err::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(name.trim_end().to_owned())
    }

    /// Returns the version of the kernel's interface; 0 if there is none.
    pub(crate) fn kernel_abi() -> i32 {
        let status = RestrictSelf::default().no_new_privs(false).apply();
        status.map_or(0, |status| ABI::from(status.landlock) as i32)
    }

    /// Makes signals of this process and its descendants reach only them; returns whether they do.
    pub(crate) fn confine_signals() -> bool {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        // Every set of rules denies moves between folders, unless it allows them.
        let rules =
            rules.scope(Scope::Signal).and_then(|rules| rules.handle_access(AccessFs::Refer));
        let rules = rules.and_then(Ruleset::create);
        let rules =
            rules.and_then(|rules| rules.add_rules(path_beneath_rules(["/"], AccessFs::Refer)));
        let status = rules.and_then(|rules| rules.restrict_self());
        status.is_ok_and(|status| status.ruleset == RulesetStatus::FullyEnforced)
    }

    /// Restricts this thread; paths that do not exist are skipped.
    pub(crate) fn restrict(policy: &Policy, readable: &[PathBuf]) -> Result<(), RulesetError> {
        // The crate leaves out rights that an older kernel does not know. Listing folders and
        // running programs is allowed everywhere: neither reveals the content of a file.
        let write = AccessFs::from_write(ABI::V5);
        let mut rules = Ruleset::default().handle_access(write | AccessFs::ReadFile)?;
        if policy.scoped {
            rules = rules.scope(Scope::from_all(ABI::V6))?;
        }
        // Devices may not be created: as root, a disk could be written through one.
        let write = write & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let rules = rules.create()?.add_rules(path_beneath_rules(&policy.write, write))?;
        let opened = readable.iter().filter_map(|path| opened(path));
        let read =
            opened.map(|file| Ok::<_, RulesetError>(PathBeneath::new(file, AccessFs::ReadFile)));
        rules.add_rules(read)?.restrict_self()?;
        Ok(())
    }

    /// Opens a path in which there was no link when it was looked up: meanwhile, an attempt may have put
    /// one there.
    fn opened(path: &Path) -> Option<OwnedFd> {
        let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
        let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
        openat2(AT_FDCWD, path, how).ok()
    }

    /// The processes of this machine, in `/proc`; orphans come to their keeper.
    pub mod system {
        pub use ralph_base::linux::{
            Process, arguments, folder_of, is_at_work_in, memory, memory_of, processes, program,
            threads, variables,
        };

        /// Returns those of these processes that are a keeper's although their parents do not say so.
        pub(crate) fn left_by(_: i32, _: &[Process]) -> Vec<i32> {
            Vec::new()
        }

        /// Remembers that these processes are a keeper's.
        pub(crate) fn remember(_: i32, _: &[Process]) {}
    }
}
