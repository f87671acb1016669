//! The lifecycle scripts of a run: their folder, variables, output and requests.
//!
//! The folder `custom` beside them is for the user's own programs, which scripts call by name; the loop
//! itself does not.

use crate::record::Outcome;
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{self, Event, FOREIGN_LIFECYCLE_DIR, StateDir, StoryKey};
use ralph_base::supervised::{self, Door};
use ralph_project::checks::{CheckEnd, RUN_MARK};
use ralph_project::client::Client;
use ralph_project::config::{FailBehavior, Hooks, Mode, Seconds};
use run_history::RunTally;

use super::state::Conductor;
use work_copy::ONLY_WORKER;

/// The names of the scripts that can stop a run.
pub(super) const STARTED: &str = "started";
pub(super) const NEXT_ITERATION: &str = "next_iteration";
pub(super) const POST_ITERATION: &str = "post_iteration";
pub(super) const FINISHED: &str = "finished";

/// The advice about a script that cannot be started.
const WHY_NOT: &str = "check that the program in its first line exists and that the line does not end with \
                       a carriage return";

/// The shell's exit code for a program that it cannot start.
const NOT_STARTED: i32 = 126;

/// What a lifecycle script requests by its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptRequest {
    Continue,
    Skip,
    Stop,
}

/// The scripts that the loop runs.
const NAMES: [&str; 4] = [STARTED, NEXT_ITERATION, POST_ITERATION, FINISHED];

/// Problems of the project's scripts that keep them from running.
pub(crate) fn broken(state: &StateDir, root: &Utf8Path) -> Vec<String> {
    let wrong = |name| {
        let path = folder(state, root).join(name);
        if path.is_dir() {
            return Some(format!("{path} is a folder; only a file of that name is run"));
        }
        if path.is_file() && !client::is_executable(&path) {
            return Some(format!("{path} is not executable; run `chmod +x {path}`"));
        }
        let text = fs_err::read(&path).unwrap_or_default();
        let first = String::from_utf8_lossy(text.strip_prefix(b"#!")?).into_owned();
        let first = first.split('\n').next()?;
        let is_there = Utf8Path::new(first.split_whitespace().next()?).exists();
        (!is_there || first.ends_with('\r')).then(|| format!("{path} cannot be started; {WHY_NOT}"))
    };
    NAMES.into_iter().filter_map(wrong).collect()
}

/// The folder of the scripts.
pub(crate) fn folder(state: &StateDir, root: &Utf8Path) -> Utf8PathBuf {
    let (own, foreign) = (state.lifecycle(), root.join(FOREIGN_LIFECYCLE_DIR));
    if !own.is_dir() && foreign.is_dir() { foreign } else { own }
}

/// Runs a script, if it exists, and shows its output with its name.
pub(super) fn script(
    run: &Conductor,
    slot: usize,
    name: &str,
    more: Vec<(&str, String)>,
) -> ScriptRequest {
    let (context, view) = (&run.context, &run.view);
    let settings = &context.config.hooks;
    let path = folder(context.state(), context.project.root()).join(name);
    if !is_enabled(settings, name) || !client::is_executable(&path) {
        return ScriptRequest::Continue;
    }
    let mode = match context.config.run.mode {
        Mode::Building => "building",
        Mode::Planning => "planning",
    };
    let worker = run.slots.get(slot).map_or(ONLY_WORKER, |slot| &slot.name);
    let mut vars = vec![
        ("MODE", mode.to_owned()),
        ("WORKER", worker.to_owned()),
        ("MAX_ITERATIONS", context.config.run.max_iterations.to_string()),
        ("PROJECT_DIR", context.project.root().to_string()),
        ("LOG_DIR", context.state().logs().to_string()),
        ("STARTED_AT", context.clock.started_at.clone()),
        ("PLAN_FILE", run.books.plan.to_string()),
    ];
    vars.extend(more);
    let end = supervise(run, (slot, name), program(&Door::default(), &path), &vars, &[]);
    let (request, advice) = request(settings, name, end);
    if !advice.is_empty() {
        view.warn(format!("the {name} script {advice}"));
    }
    request
}

/// Runs `started`, after the start lines of the run.
pub(super) fn started(run: &Conductor) -> ScriptRequest {
    let context = &run.context;
    let is_client = Client::find(&context.config.agent.command).is_some();
    if is_client && context.config.limits.max_cost_usd == 0.0 {
        run.view.line("the agent uses your account; limit the cost of a run with --max-cost");
    }
    let specs = context.project.root().join(&context.config.run.specs);
    script(run, usize::MAX, STARTED, vec![("SPEC_DIR", specs.into_string())])
}

/// Runs `next_iteration` for a story.
pub(super) fn next_iteration(run: &Conductor, slot: usize, key: &StoryKey) -> ScriptRequest {
    let tally = &run.record.tally.run;
    let vars = vec![
        ("ITERATION", tally.iteration.to_string()),
        ("STORY", key.story.clone()),
        ("LAST_EXIT_CODE", exit_code(tally)),
        ("LAST_DURATION", format!("{:.0}", tally.last.duration_s)),
        ("COMMITS_MADE", tally.commits.to_string()),
    ];
    script(run, slot, NEXT_ITERATION, vars)
}

/// Runs `post_iteration` for a story.
pub(super) fn post_iteration(
    run: &Conductor,
    slot: usize,
    key: &StoryKey,
    outcome: Outcome,
) -> ScriptRequest {
    let tally = &run.record.tally.run;
    let vars = vec![
        ("ITERATION", tally.iteration.to_string()),
        ("STORY", key.story.clone()),
        ("EXIT_CODE", exit_code(tally)),
        ("DURATION", format!("{:.0}", tally.last.duration_s)),
        ("OUTCOME", outcome.word().to_owned()),
    ];
    script(run, slot, POST_ITERATION, vars)
}

/// The exit code of the last agent: -1 if it was killed, and 0 if there has been none.
fn exit_code(tally: &RunTally) -> String {
    let killed = if tally.last.duration_s > 0.0 { -1 } else { 0 };
    tally.last.exit_code.unwrap_or(killed).to_string()
}

/// The command for a script: without a `#!` line it runs with `sh`.
pub(crate) fn program(door: &Door, path: &Utf8Path) -> Command {
    let bytes = fs_err::read(path).unwrap_or_default();
    if bytes.starts_with(b"#!") || bytes.contains(&0) {
        return door.command(path.as_str());
    }
    let mut shell = door.command("sh");
    shell.arg(path);
    shell
}

/// The executable files of a folder of the user's, and its other files, by name.
pub(crate) fn programs_in(folder: &Utf8Path) -> (Vec<Utf8PathBuf>, Vec<Utf8PathBuf>) {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.into_path()).collect();
    files.retain(|path| path.is_file() && !path.file_name().unwrap_or_default().starts_with('.'));
    files.sort();
    files.into_iter().partition(|path| client::is_executable(path))
}

/// Runs a program of the user's in the project, shows its output, and records its end. Each
/// variable is set as `RALPH_…` and as `FRESHER_…`.
pub(super) fn supervise(
    run: &Conductor,
    (slot, name): (usize, &str),
    mut program: Command,
    vars: &[(&str, String)],
    input: &[u8],
) -> CheckEnd {
    let (context, root) = (&run.context, run.context.project.root());
    for (name, value) in vars {
        program.env(format!("RALPH_{name}"), value).env(format!("FRESHER_{name}"), value);
    }
    // The user's own programs come first in PATH.
    let custom = StateDir::custom_programs(&folder(context.state(), root));
    let search_path = [custom.as_str(), &context.path].join(":");
    program.env(RUN_MARK, &context.run).current_dir(root).env("PATH", search_path);
    let path = program.get_program().to_string_lossy().into_owned();
    let signals = context.interrupts.count();
    let stop = || context.interrupts.count() > signals;
    let limit = context.config.hooks.timeout.limit();
    let logs = context.state().logs();
    let whole = logs.join(format!("{}-{name}-{}.out", context.run, run.record.tally.run.iteration));
    let ran = supervised::run(program, input, limit, &stop, Some(&whole));
    let (end, output) = ran.unwrap_or_else(|error| {
        let why = format!("cannot start {path} ({error}); {WHY_NOT}");
        (CheckEnd::Exited(Some(NOT_STARTED)), why)
    });
    let lines: Vec<String> = output.lines().map(|line| format!("[{name}] {line}")).collect();
    lines.iter().for_each(|line| run.view.line(line));
    let log = logs.join(format!("{}-scripts.log", context.run));
    if !lines.is_empty() && state::append_line(&log, lines.join("\n").as_bytes()).is_err() {
        run.view.warn(format!("{log} cannot be written"));
    }
    let exit_code = if let CheckEnd::Exited(code) = end { code } else { None };
    let output = supervised::shortened(&output);
    run.note_in(slot, None, &Event::Lifecycle { name: name.to_owned(), exit_code, output });
    end
}

fn is_enabled(settings: &Hooks, name: &str) -> bool {
    settings.enabled
        && match name {
            STARTED => settings.started,
            NEXT_ITERATION => settings.next_iteration,
            POST_ITERATION => settings.post_iteration,
            _ => settings.finished,
        }
}

/// The request of a script by its exit code, and the warning to show, if any.
fn request(settings: &Hooks, name: &str, end: CheckEnd) -> (ScriptRequest, String) {
    let broken = match settings.fail_behavior {
        FailBehavior::Abort => ScriptRequest::Stop,
        FailBehavior::Continue => ScriptRequest::Continue,
    };
    match end {
        CheckEnd::Exited(Some(0)) | CheckEnd::Stopped => (ScriptRequest::Continue, String::new()),
        CheckEnd::Exited(Some(1)) if name == NEXT_ITERATION => {
            (ScriptRequest::Skip, "skipped this iteration".to_owned())
        }
        CheckEnd::Exited(Some(1)) => {
            (ScriptRequest::Continue, "reported a warning (exit code 1)".to_owned())
        }
        CheckEnd::Exited(Some(2)) if name != FINISHED => {
            (ScriptRequest::Stop, "stopped the loop".to_owned())
        }
        _ => (broken, how_it_failed(end, settings.timeout)),
    }
}

/// How a program failed, for messages.
pub(super) fn how_it_failed(end: CheckEnd, limit: Seconds) -> String {
    match end {
        CheckEnd::Exited(Some(code)) => format!("failed (exit code {code})"),
        CheckEnd::Exited(None) | CheckEnd::Stopped => "was killed by a signal".to_owned(),
        CheckEnd::TimedOut => format!("timed out after {} s and was killed", limit.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_mean_what_is_documented() {
        use FailBehavior::{Abort, Continue};
        let exited = |code| CheckEnd::Exited(Some(code));
        for (name, end, behavior, expected) in [
            ("started", exited(0), Abort, ScriptRequest::Continue),
            ("started", exited(1), Abort, ScriptRequest::Continue),
            ("started", exited(2), Continue, ScriptRequest::Stop),
            ("started", exited(3), Continue, ScriptRequest::Continue),
            ("started", exited(3), Abort, ScriptRequest::Stop),
            ("next_iteration", exited(1), Continue, ScriptRequest::Skip),
            ("next_iteration", CheckEnd::TimedOut, Continue, ScriptRequest::Continue),
            ("next_iteration", CheckEnd::TimedOut, Abort, ScriptRequest::Stop),
            ("next_iteration", CheckEnd::Stopped, Abort, ScriptRequest::Continue),
            ("finished", exited(2), Continue, ScriptRequest::Continue),
        ] {
            let settings = Hooks { fail_behavior: behavior, ..Hooks::default() };
            assert_eq!(request(&settings, name, end).0, expected, "{name} {end:?}");
        }
    }
}
