//! Lifecycle scripts: `started`, `next_iteration`, `post_iteration`, `finished`.
//!
//! What their exit codes mean is here; what the loop does about it is `run/mod.rs`. Programs in the
//! folder `custom` beside them are the user's own: a script calls them by name, the loop never does.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{FOREIGN_LIFECYCLE_DIR, StateDir};
use ralph_base::supervised;
use ralph_project::checks::{CheckEnd, RUN_MARK};
use ralph_project::config::{FailBehavior, Hooks};

use crate::run::Wish;
use crate::run::context::Context;

/// The scripts that the loop runs.
const NAMES: [&str; 4] = ["started", "next_iteration", "post_iteration", "finished"];

/// What a script did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ran {
    /// It is not there, not executable, or switched off.
    No,
    /// The system cannot start it; told in one line.
    NotStarted(String),
    Ended(CheckEnd),
}

/// Runs a script; each of `vars` is given as `RALPH_…` and `FRESHER_…`. Returns what it printed as
/// well.
pub(crate) fn run(context: &Context, name: &str, vars: &[(&str, String)]) -> (Ran, String) {
    let (settings, interrupts) = (&context.config.hooks, &context.interrupts);
    let path = folder(context.state(), context.project.root()).join(name);
    if !is_enabled(settings, name) || !is_executable(&path) {
        return (Ran::No, String::new());
    }
    let signals = interrupts.count();
    let stop = || interrupts.count() > signals;
    let (program, limit) = (command(context, &path, vars), settings.timeout.limit());
    match supervised::run(program, &[], limit, &stop, true) {
        Ok((end, output)) => (Ran::Ended(end), output),
        Err(error) => {
            let why = format!(
                "{path} cannot be started ({error}); see whether the program in its first line is \
                 there, and whether that line ends with a carriage return"
            );
            (Ran::NotStarted(why), String::new())
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the door for lifecycle scripts")]
fn command(context: &Context, path: &Utf8Path, vars: &[(&str, String)]) -> Command {
    let root = context.project.root();
    let mut command = Command::new(path);
    for (name, value) in vars {
        command.env(format!("RALPH_{name}"), value).env(format!("FRESHER_{name}"), value);
    }
    // The user's own programs come first.
    let custom = StateDir::custom_programs(&folder(context.state(), root));
    let search_path = [custom.as_str(), &context.path].join(":");
    command.env(RUN_MARK, &context.run).current_dir(root).env("PATH", search_path);
    command
}

fn is_enabled(settings: &Hooks, name: &str) -> bool {
    settings.enabled
        && match name {
            "started" => settings.started,
            "next_iteration" => settings.next_iteration,
            "post_iteration" => settings.post_iteration,
            _ => settings.finished,
        }
}

/// What a script wants, and what to tell the user about it.
pub(crate) fn wish(settings: &Hooks, name: &str, ran: &Ran) -> (Wish, Option<String>) {
    let broken = match settings.fail_behavior {
        FailBehavior::Abort => Wish::Stop,
        FailBehavior::Continue => Wish::GoOn,
    };
    let end = match ran {
        Ran::No => return (Wish::GoOn, None),
        Ran::NotStarted(why) => return (broken, Some(why.clone())),
        Ran::Ended(end) => end,
    };
    let (wish, what) = match end {
        CheckEnd::Exited(Some(0)) | CheckEnd::Stopped => return (Wish::GoOn, None),
        CheckEnd::Exited(Some(1)) if name == "next_iteration" => {
            (Wish::Skip, "skips this iteration".to_owned())
        }
        CheckEnd::Exited(Some(1)) => (Wish::GoOn, "warns (exit code 1)".to_owned()),
        CheckEnd::Exited(Some(2)) => (Wish::Stop, "stops the loop".to_owned()),
        CheckEnd::Exited(Some(code)) => (broken, format!("failed (exit code {code})")),
        CheckEnd::Exited(None) => (broken, "was ended by a signal".to_owned()),
        CheckEnd::TimedOut => (broken, "took too long and was ended".to_owned()),
    };
    (wish, Some(format!("{name} {what}")))
}

/// The scripts of a project that are there and cannot be run.
pub(crate) fn not_executable(state: &StateDir, root: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut paths: Vec<Utf8PathBuf> =
        NAMES.iter().map(|name| folder(state, root).join(name)).collect();
    paths.retain(|path| path.is_file() && !is_executable(path));
    paths
}

/// Whether it is a file that can be started.
pub(crate) fn is_executable(path: &Utf8Path) -> bool {
    fs_err::metadata(path)
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Where the scripts are.
pub(crate) fn folder(state: &StateDir, root: &Utf8Path) -> Utf8PathBuf {
    let (own, foreign) = (state.lifecycle(), root.join(FOREIGN_LIFECYCLE_DIR));
    if !own.is_dir() && foreign.is_dir() { foreign } else { own }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_mean_what_is_documented() {
        use FailBehavior::{Abort, Continue};
        let exited = |code| Ran::Ended(CheckEnd::Exited(Some(code)));
        let timed_out = Ran::Ended(CheckEnd::TimedOut);
        for (name, ran, behavior, expected) in [
            ("started", exited(0), Abort, Wish::GoOn),
            ("started", exited(1), Abort, Wish::GoOn),
            ("started", exited(2), Continue, Wish::Stop),
            ("started", exited(3), Continue, Wish::GoOn),
            ("started", exited(3), Abort, Wish::Stop),
            ("next_iteration", exited(1), Continue, Wish::Skip),
            ("next_iteration", timed_out.clone(), Continue, Wish::GoOn),
            ("next_iteration", timed_out, Abort, Wish::Stop),
            ("next_iteration", Ran::Ended(CheckEnd::Stopped), Abort, Wish::GoOn),
            ("post_iteration", Ran::NotStarted("x".into()), Abort, Wish::Stop),
            ("post_iteration", Ran::NotStarted("x".into()), Continue, Wish::GoOn),
            ("finished", Ran::No, Abort, Wish::GoOn),
        ] {
            let settings = Hooks { fail_behavior: behavior, ..Hooks::default() };
            assert_eq!(wish(&settings, name, &ran).0, expected, "{name} {ran:?}");
        }
    }
}
