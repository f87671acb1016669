//! `ralph-loop doctor`: finds every problem that a start would find, without an agent, makes the copy and runs the
//! checks in it.

use std::process::ExitCode;
use std::time::Duration;

use camino::Utf8PathBuf;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::listing::first_few;
use ralph_base::state;
use ralph_base::supervised::{self, CheckEnd};
use ralph_project::config::{Baseline, Config, LoopSettings, Mode};

use super::{EXTENSIONS, Subcommand};
use crate::exit::Failure;
use crate::flags::RunFlags;
use crate::plan_choice::with_plan_of_run;
use crate::record::{is_work_left_in, take_lock};
use crate::run::start::{
    Preflight, all_findings, end_of, examine_copy, findings, hooks_that_fail, preflight, show,
    troubles,
};
use crate::terminal::View;
use crate::{here, probe};
use board::{Tip, progress_path};
use client::ClientOptions;
use client::signals::Interrupts;
use ralph_project::diagnosis::Diagnosis;
use work_copy::doors::Doors;
use work_copy::{Start, Workspace, probes};

/// The message of a commit that is only tried.
const TRIED: &str = "chore: try the git hooks";

/// The question to the agent, and how long it may take to answer.
const ONE_WORD: &[u8] = b"Answer with this word alone, and do nothing else: ready\n";
const PATIENCE: Duration = Duration::from_secs(180);

/// How many files of the home folder are named.
const NAMED: usize = 8;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "doctor",
    args: Doctor::augment_args,
    run: |call| run(call.env, call.parsed()?),
};

/// Check git, agent, hooks, config and plan, and suggest fixes
#[derive(Debug, Args)]
#[command(after_help = "Takes the same flags as a run and checks the run that they would start.")]
pub(crate) struct Doctor {
    /// Do not make a copy to run the setup and the checks in
    #[arg(long)]
    no_checks: bool,
    /// Only start the installed agent against a model of our own, without network or cost, and report what holds
    #[arg(long)]
    probe: bool,
    /// With --probe, print what holds as a table in Markdown
    #[arg(long, requires = "probe")]
    markdown: bool,
    /// Also probe the agent, sign as a landing does and try your git hooks on a commit in the copy
    #[arg(long, conflicts_with_all = ["probe", "no_checks"])]
    deep: bool,
    /// With --deep, also ask the agent for one word, which costs a little
    #[arg(long, requires = "deep")]
    spend: bool,
    #[command(flatten)]
    flags: RunFlags,
}

/// Runs all examinations.
fn run(env: &Env, asked: Doctor) -> Result<ExitCode, Failure> {
    let Doctor { no_checks, probe, markdown, deep, spend, flags } = asked;
    if probe {
        return probe::doctor(env, &here::config(&here::project(env)?, env, &flags.0)?, markdown);
    }
    let with_checks = !no_checks;
    let mut findings = Vec::new();
    let flags = with_plan_of_run(flags.0, &here::project(env)?)?;
    match preflight(env, &flags, EXTENSIONS) {
        Ok(mut preflight) => {
            findings.extend(all_findings(&preflight)?);
            let Preflight { config, options, .. } = &mut preflight;
            findings.extend(if deep {
                probe::at_start(env, config, options)
            } else {
                probe::found_before(env, config).into_iter().collect()
            });
            if !findings.iter().any(Diagnosis::is_problem) {
                findings.extend(try_to_escape(&preflight)?);
                findings.extend(readable_in_home(&preflight.workspace.doors));
                let Preflight { options, config, workspace, .. } = &preflight;
                findings.extend(hooks_that_fail(options, config, &workspace.doors)?);
            }
            findings.iter().for_each(show);
            let problems = findings.iter().filter(|finding| finding.is_problem()).count();
            if with_checks && problems > preflight.problems_beside_checks {
                show(&Diagnosis::Note(
                    "fix the problems first: the checks were not run".to_owned(),
                ));
            } else if with_checks {
                let tried = try_checks(env, &mut preflight, deep)
                    .unwrap_or_else(|failure| vec![Diagnosis::Problem(failure.to_string())]);
                tried.iter().for_each(show);
                findings.extend(tried);
                if spend && !findings.iter().any(Diagnosis::is_problem) {
                    let asked = ask_agent(&preflight)?;
                    show(&asked);
                    findings.push(asked);
                }
            }
        }
        Err(failure) => {
            let mut all = troubles(env, &flags);
            if !all.contains(&failure.to_string()) {
                all.insert(0, failure.to_string());
            }
            findings.extend(all.into_iter().map(Diagnosis::Problem));
            findings.iter().for_each(show);
        }
    }
    end_of(&findings)
}

/// Makes the copy and runs the checks in it, as a start does, unless it holds unfinished work; with `is_deep`, tries
/// a commit there as well.
fn try_checks(
    env: &Env,
    preflight: &mut Preflight,
    is_deep: bool,
) -> Result<Vec<Diagnosis>, Failure> {
    let Preflight { project, config, run_dir, plan, workspace, target, .. } = preflight;
    if config.run.mode == Mode::Planning || config.verify.baseline == Baseline::Skip {
        config.verify.commands.clear();
    }
    if config.verify.commands.is_empty() && !is_deep {
        return Ok(Vec::new());
    }
    let busy = "the checks were not run, because the copy is in use: a run is under way, or the \
                next run will continue an interrupted attempt";
    let lock = take_lock(run_dir, "examining");
    if lock.is_err() || is_work_left_in(workspace.root(), run_dir)? {
        return Ok(vec![Diagnosis::Note(busy.to_owned())]);
    }
    let (interrupts, view) = (Interrupts::listen()?, View::new(env, &LoopSettings::default(), 1));
    let stop = || interrupts.signal().is_some();
    let Tip { commit: tip, branch, .. } = target.tip()?;
    let path = plan.as_ref().map(|plan| plan.path().to_owned()).unwrap_or_default();
    let progress = progress_path(&config.run, project.root(), &path);
    let books = [&path, &progress];
    let start = Start { tip: tip.as_deref(), branch: &branch, books };
    let checks = examine_copy(workspace, config, &view, start, &stop)?;
    view.close();
    let mut found = findings(&checks, config, &workspace.doors);
    if is_deep {
        found.push(try_landing(workspace, config, tip.as_deref(), &stop)?);
    }
    Ok(found)
}

/// Makes a throw-away commit in the copy, with the user's git hooks, and signs it as a landing does; the next attempt
/// begins with a reset.
fn try_landing(
    copy: &mut Workspace,
    config: &Config,
    tip: Option<&str>,
    stop: &dyn Fn() -> bool,
) -> Result<Diagnosis, Failure> {
    if let Some(trouble) = board::trouble_with_signing(copy)? {
        return Ok(Diagnosis::Problem(trouble));
    }
    if copy.is_in_place || !copy.needs_full_commits() {
        return Ok(Diagnosis::Good(
            "a commit needs neither a signature nor git hooks here".to_owned(),
        ));
    }
    let tree = copy.with_files(std::iter::empty())?;
    let made =
        board::commit(copy, (&tree, tip), TRIED, ("doctor", config.verify.timeout.limit()), stop)?;
    copy.programs_ran()?;
    Ok(match made {
        Ok(_) => {
            Diagnosis::Good("git hooks and signature, tried on a commit in the copy".to_owned())
        }
        Err(refusal) => {
            let text = format!("a commit without changes, tried in the copy: {refusal}");
            Diagnosis::Note(text)
        }
    })
}

/// Asks the agent for one word, with the configured model and the user's account.
fn ask_agent(preflight: &Preflight) -> Result<Diagnosis, Failure> {
    let Preflight { config, run_dir, workspace, .. } = preflight;
    let turn = client::Start { model: &config.agent.model, ..client::Start::default() };
    let line =
        ClientOptions::default().applied_to(&config.agent.command, &turn, &run_dir.of_run())?;
    let mut shell = workspace.doors.agent.command("sh");
    shell.args(["-c", &line]).current_dir(workspace.root());
    let (interrupts, log) = (Interrupts::listen()?, run_dir.root().join("asked.log"));
    let stop = || interrupts.signal().is_some();
    let (end, said) = supervised::run(shell, ONE_WORD, Some(PATIENCE), &stop, Some(&log))?;
    let seen = client::seen_in_log(&log, 0, client::Totals::default());
    state::remove_if_there(&log)?;
    let seen = seen.unwrap_or_default();
    let is_well = end == CheckEnd::Exited(Some(0)) && seen.refused.is_none();
    let last = said.lines().last().unwrap_or_default();
    let is_well = is_well && !seen.verdict.is_some_and(|verdict| verdict.is_error);
    Ok(if is_well {
        Diagnosis::Good("the agent answered".to_owned())
    } else {
        Diagnosis::Problem(format!("the agent did not answer; log in, and try `{line}`: {last}"))
    })
}

/// Proves that the sandbox works: what leads out of it must fail.
fn try_to_escape(preflight: &Preflight) -> Result<Option<Diagnosis>, Failure> {
    let doors = &preflight.workspace.doors;
    if !doors.are_sandboxed() || preflight.workspace.is_in_place {
        return Ok(None);
    }
    let faults = probes::faults(doors, preflight.project.root())?;
    if !faults.is_empty() && !preflight.config.sandbox.write.is_empty() {
        let text = format!("[sandbox] write opens the sandbox: {}", faults.join(", "));
        return Ok(Some(Diagnosis::Note(text)));
    }
    Ok(Some(if faults.is_empty() {
        Diagnosis::Good("sandbox tested: it refused every attempt to get out".to_owned())
    } else {
        Diagnosis::Problem(format!(
            "the sandbox does not work here: {}; start with --sandbox off to do without it",
            faults.join(", ")
        ))
    }))
}

/// Names what checks may read of the files that programs keep in the home folder, and what not.
fn readable_in_home(doors: &Doors) -> Vec<Diagnosis> {
    let Some((shown, hidden)) = doors.dot_files() else { return Vec::new() };
    let hides = format!("sandbox hides {} (change with [sandbox] show)", in_home(&hidden));
    let shows = format!("sandbox shows {} (change with [sandbox] hide)", in_home(&shown));
    [hides, shows].map(Diagnosis::Good).into()
}

fn in_home(paths: &[Utf8PathBuf]) -> String {
    let names = paths.iter().filter_map(|path| path.file_name());
    match first_few(names.map(|name| format!("~/{name}")), NAMED) {
        none if none.is_empty() => "nothing in the home folder".to_owned(),
        names => names,
    }
}
