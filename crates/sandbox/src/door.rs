//! Starts programs for an attempt: our program runs itself as their keeper, and its child restricts
//! itself and becomes the program. Every git of an attempt goes through here, so nothing is looked up
//! that a policy knows already.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use camino::Utf8Path;
use nix::unistd::{close, getppid, setsid};
use ralph_base::linux::{IS_LINUX, own_program};
use ralph_base::supervised::{Door, KEEP, LOOP, OWN_SESSION};

use crate::{Error, Limits, Policy, keeper, linux, restrict, seatbelt};

/// The first argument that makes this program enter the sandbox; the command line to run follows.
const ENTER: &str = "enter-sandbox";

/// The variable that holds the policy.
const POLICY: &str = "RALPH_INTERNAL__SANDBOX";

/// The variable that holds the limits.
const LIMITS: &str = "RALPH_INTERNAL__LIMITS";

/// The variable that lists the keepers of a process by their ids, where orphans do not come to them.
pub(crate) const KEPT: &str = "RALPH_INTERNAL__KEPT";

/// The variable that says that this process has a profile already.
const INSIDE: &str = "RALPH_INTERNAL__INSIDE";

/// The exit code of shells if a program cannot be started.
const NOT_STARTED: u8 = 126;

/// Returns the door for programs of an attempt: our own program, which keeps them within limits and,
/// with a policy, restricts them first.
pub fn door(own_program: &Path, policy: Option<&Policy>, limits: Limits) -> Door {
    let by = vec![own_program.into(), KEEP.into()];
    let pid = std::process::id().to_string();
    let mut vars = vec![(LOOP.to_owned(), pid), (LIMITS.to_owned(), limits.to_string())];
    if let Some(policy) = policy {
        vars.push((POLICY.to_owned(), serde_json::to_string(policy).unwrap_or_default()));
    }
    Door { by, vars }
}

/// Returns the door for a program that one of an attempt's programs starts: no keeper of its own,
/// because it ends with its parent.
pub fn inner_door(own_program: &Path, policy: &Policy) -> Door {
    let policy = serde_json::to_string(policy).unwrap_or_default();
    let by = vec![own_program.into(), ENTER.into()];
    Door { by, vars: vec![(POLICY.to_owned(), policy)] }
}

/// Runs as a keeper, or enters the sandbox, if this process was started for that. Call it first in
/// `main`.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let role = args.next().filter(|role| role == ENTER || role == KEEP)?;
    let policy = match given(POLICY).map(|text| serde_json::from_str(&text)).transpose() {
        Ok(policy) => policy,
        Err(error) => return Some(not_started(&Error::Rules(error.to_string()))),
    };
    if role == ENTER {
        return Some(not_started(&become_program(policy.as_ref(), args)));
    }
    close_inherited();
    // Detaches from the terminal, so that nothing of an attempt can type into it. Where the user
    // started us at a terminal, we stay there and only the program leaves it.
    let is_detached = given(OWN_SESSION).is_some() && setsid().is_ok();
    let limits = given(LIMITS).and_then(|text| text.parse().ok()).unwrap_or_default();
    let loop_pid = given(LOOP).and_then(|pid| pid.parse().ok());
    // Without the sandbox, a program may gain rights, by sudo for example.
    let is_confined = policy.is_some() && linux::confine_signals();
    let start = || {
        if !is_detached {
            let _ = setsid();
        }
        become_program(policy.as_ref(), args)
    };
    Some(keeper::keep(start, limits, loop_pid, is_confined))
}

/// Returns a variable by which the door hands something to its other half.
#[expect(clippy::disallowed_methods, reason = "these variables are the door's own")]
fn given(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Restricts this process, if there is a policy, and replaces it with the command line. Returns only
/// if that fails.
#[expect(clippy::disallowed_methods, reason = "this is the other half of the same door")]
fn become_program(policy: Option<&Policy>, mut args: impl Iterator<Item = OsString>) -> Error {
    // Without its keeper, it would not be ended.
    linux::end_with_parent();
    if let Some(policy) = policy
        && seatbelt::is_here()
        && given(INSIDE).is_none()
    {
        // A profile is given to a program that is started. No program gets a second one.
        let mut command = Command::new(seatbelt::PROGRAM);
        command.arg("-p").arg(seatbelt::profile(policy));
        let own = own_program().unwrap_or_default();
        let error = command.arg(own).arg(ENTER).args(args).env(INSIDE, "1").exec();
        return Error::Start(seatbelt::PROGRAM.to_owned(), error);
    }
    let mut command = Command::new(args.next().unwrap_or_default());
    command.args(args);
    for name in [OWN_SESSION, LOOP, LIMITS, POLICY] {
        command.env_remove(name);
    }
    if !IS_LINUX {
        // Whose it is, also when it has left its parent.
        let keepers = given(KEPT).unwrap_or_default();
        command.env(KEPT, format!("{keepers} {}", getppid()));
    }
    if let Some(policy) = policy
        && let Err(error) = enter(policy, &mut command)
    {
        return error;
    }
    let error = command.exec();
    Error::Start(command.get_program().to_string_lossy().into_owned(), error)
}

/// Says why a program of an attempt was not started.
pub(crate) fn not_started(why: &dyn Display) -> ExitCode {
    let _ = writeln!(io::stderr(), "sandbox: {why}");
    ExitCode::from(NOT_STARTED)
}

/// Closes what whoever started the loop left open: everything but the standard streams.
fn close_inherited() {
    let open = Path::new("/dev/fd").read_dir().into_iter().flatten().flatten();
    let open = open.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let open: Vec<i32> = open.filter(|number| *number > 2).collect();
    for number in open {
        // One of them listed the others, and is closed already.
        let _ = close(number);
    }
}

/// Restricts this process, and gives the command what it needs inside.
fn enter(policy: &Policy, command: &mut Command) -> Result<(), Error> {
    restrict(policy)?;
    for name in &policy.remove {
        command.env_remove(name);
    }
    command.envs(&policy.set);
    // Written after the restriction: an attempt may have put a link there.
    if !policy.git_settings.is_empty() && write_settings(policy).is_ok() {
        command.env("GIT_CONFIG_GLOBAL", &policy.git_copy);
    }
    for (from, to, unlinked) in &policy.links {
        // An agent that cannot find its settings reports that better than we could.
        let _ = link_entries(from, to, unlinked);
    }
    Ok(())
}

/// Recreates `to` with a link to each entry of `from`: an agent may have put settings there.
fn link_entries(from: &Utf8Path, to: &Utf8Path, unlinked: &[String]) -> io::Result<()> {
    if to.exists() {
        fs_err::remove_dir_all(to)?;
    }
    fs_err::create_dir_all(to)?;
    for entry in from.read_dir_utf8()? {
        let entry = entry?;
        if !unlinked.iter().any(|name| name == entry.file_name()) {
            std::os::unix::fs::symlink(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Writes the user's git settings, unless they are there.
fn write_settings(policy: &Policy) -> io::Result<()> {
    // An attempt may have put a pipe there.
    let is_file = policy.git_copy.symlink_metadata().is_ok_and(|found| found.is_file());
    let known = || fs_err::read_to_string(&policy.git_copy);
    if is_file && known().is_ok_and(|text| text == policy.git_settings) {
        return Ok(());
    }
    let fresh = policy.git_copy.with_extension(std::process::id().to_string());
    fs_err::write(&fresh, &policy.git_settings)?;
    fs_err::rename(&fresh, &policy.git_copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_an_agent_locks_are_not_linked() {
        let scratch = test_support::Scratch::new();
        for name in ["own/settings.json", "own/projects.json"] {
            scratch.file(name, "{}");
        }
        let (from, to) = (scratch.path("own"), scratch.path("linked"));
        link_entries(&from, &to, &["projects.json".to_owned()]).unwrap();
        assert!(to.join("settings.json").is_symlink() && !to.join("projects.json").exists());
    }
}
