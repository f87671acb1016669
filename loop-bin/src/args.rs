//! Performs what the command line asks for: a subcommand of the table, or a run.

use std::process::ExitCode;

use clap::ArgMatches;
use ralph_base::env::Env;
use ralph_project::config::{Flag, PullRequests};

use crate::boards::{fleet, requests};
use crate::commands::{ALL, Call, EXTENSIONS, PLAN_FILE};
use crate::exit::Failure;
use crate::flags::given_flags;
use crate::{here, in_task, run};

/// Runs the command that was given.
pub(crate) fn perform(env: &Env, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let Some((name, given)) = matches.subcommand() else { return start_run(env, matches) };
    let row = ALL.iter().find(|row| row.name == name);
    let row = row.ok_or_else(|| Failure::usage(format!("there is no subcommand {name}")))?;
    (row.run)(&Call { env, given })
}

/// Runs the loop.
fn start_run(env: &Env, given: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut flags = given_flags(given);
    let plan = given.get_one::<String>(PLAN_FILE);
    flags.extend(plan.map(|path| Flag::new("loop.plan", path.clone())));
    let project = here::project(env)?;
    flags.extend(in_task::flags(env, project.root()));
    let restored = run::start::restore_files(env, &project)?;
    let config = here::config(&project, env, &flags)?;
    if !in_task::end_with_task(env) {
        if config.finish.pr == PullRequests::Story && !config.run.dry_run {
            return requests::run(env, &config);
        }
        if !config.run.fleet.is_empty() {
            return fleet::task(env, &config, &flags);
        }
    }
    let mut preflight = run::start::preflight(env, &flags, EXTENSIONS)?;
    preflight.findings.extend(restored);
    if preflight.config.run.dry_run {
        return run::start::dry_run(&preflight);
    }
    run::run(env, preflight)
}
