//! Restricts what an attempt may write, read and signal, enforced by the kernel (Landlock, Seatbelt):
//! without root or a container, for every process that the attempt starts or leaves behind.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`policy`](Policy) | what is allowed? Pure: settings, variables and tables in, paths out |
//! | `readable` | which paths must be granted so that all but the hidden ones can be read? |
//! | `found` | what do programs on this machine need, and what of git's settings is no secret? |
//! | `seatbelt` | how does macOS say the same?
//! | `linux` | what can this kernel enforce, and how is a process restricted? |
//! | `door` | how is a program started for an attempt, in the sandbox or not? |
//! | `keeper` | how does nothing of it outlive it? |
//! | `limits` | how much of the machine may it use? |
//! | [`system`] | which processes are there?
//! | `processes` | which of them did it start, and how are they ended or frozen? |
//!
//! A program starts others by running itself: [`door`] starts our own program, perhaps with a policy;
//! [`run_if_asked`] at the top of `main` keeps the other one, and restricts it first.

use std::collections::{BTreeMap, BTreeSet};

mod door;
mod found;
mod keeper;
mod limits;
mod linux;
mod policy;
mod processes;
mod readable;
mod seatbelt;
mod support;
mod tables;

pub use door::{door, inner_door, run_if_asked};
pub use found::{Found, programs, shareable};
pub use keeper::is_tidying;
pub use limits::Limits;
pub use linux::{adopt_orphans, system};
pub use policy::{Policy, Request, Settings, is_agent};
pub use processes::{Descendants, end};
pub use support::{LEAST_ABI, Support};

/// Why a process could not be restricted, or a program not be started in the sandbox.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel cannot enforce enough.
    #[error("this system has no Landlock of version {LEAST_ABI} or later (Linux 6.2; here: {0})")]
    Unsupported(i32),
    /// The rules did not arrive, or the kernel refused them.
    #[error("the rules of the sandbox: {0}")]
    Rules(String),
    /// The program cannot be started.
    #[error("{0}: {1}")]
    Start(String, std::io::Error),
}

/// Returns what this machine's kernel can enforce.
pub fn support() -> Support {
    if seatbelt::is_here() { Support::SEATBELT } else { Support::of(linux::kernel_abi()) }
}

/// Restricts this thread and every process that it starts from now on. This cannot be undone, so
/// call it in a separate process before it has other threads. Returns what this kernel can enforce.
pub fn restrict(policy: &Policy) -> Result<Support, Error> {
    let support = support();
    if !support.is_enough() {
        return Err(Error::Unsupported(support.abi));
    }
    if support == Support::SEATBELT {
        // The door started this process with a profile.
        return Ok(support);
    }
    let looked_up = if policy.readable.is_empty() { readable::paths(policy) } else { Vec::new() };
    let readable = if policy.readable.is_empty() { &looked_up } else { &policy.readable };
    let restricted = linux::restrict(policy, readable);
    restricted.map(|()| support).map_err(|error| Error::Rules(error.to_string()))
}

/// Creates the missing folders of programs that are on the `PATH`, or that name no program. Call it
/// once for the policies of an attempt, before anything is started in the sandbox.
#[expect(clippy::disallowed_methods, reason = "the PATH is that of the programs to be started")]
pub fn create_folders(policies: &[Policy]) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_on_path =
        |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    // Each folder and each program is checked once, because most policies name the same ones.
    let folders: BTreeSet<_> = policies.iter().flat_map(|policy| &policy.create).collect();
    let mut found = BTreeMap::new();
    for (program, folder) in folders.into_iter().filter(|(_, folder)| !folder.exists()) {
        let is_there = found.entry(program).or_insert_with(|| is_on_path(program));
        if program.is_empty() || *is_there {
            // A program that cannot use its cache reports that better than we could.
            let _ = fs_err::create_dir_all(folder);
        }
    }
    for file in policies.iter().flat_map(|policy| &policy.files) {
        // An existing file is left unchanged.
        let _ = fs_err::OpenOptions::new().write(true).create_new(true).open(file);
    }
}
