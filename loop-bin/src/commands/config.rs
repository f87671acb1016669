//! `ralph-loop config`: all effective values and their sources.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_project::config::{Config, Flag, keys};

use super::Subcommand;
use crate::exit::Failure;
use crate::flags::RunFlags;
use crate::here;
use crate::terminal::say;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "config",
    args: ShowConfig::augment_args,
    run: |call| show(call.env, &call.parsed::<ShowConfig>()?.flags.0),
};

/// Print every effective setting and where it comes from
#[derive(Debug, Args)]
#[command(after_help = "Takes the same flags as a run and shows what they would set.")]
struct ShowConfig {
    #[command(flatten)]
    flags: RunFlags,
}

/// Prints the values in the format of the file.
fn show(env: &Env, flags: &[Flag]) -> Result<ExitCode, Failure> {
    let project = here::project(env)?;
    let config = here::config(&project, env, flags)?;
    let path = project.own_state().config();
    let (value_of, mut shown) = (config.values(), "");
    for key in keys() {
        let Some((table, name)) = key.name.split_once('.') else { continue };
        if table != shown {
            say(format!("{}[{table}]", if shown.is_empty() { "" } else { "\n" }));
            shown = table;
        }
        let origin = Config::origin(&path, env, flags, key);
        let origin =
            origin.map_or("default".to_owned(), |from| here::shown(from.as_str().into()).into());
        let value = value_of(key).map_or("{}".to_owned(), |value| value.to_string());
        say(format!("{name} = {value}  # {origin}"));
    }
    Ok(ExitCode::SUCCESS)
}
