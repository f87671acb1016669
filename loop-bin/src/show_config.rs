//! `ralph-loop config`: all effective values and their sources.

use std::process::ExitCode;

use ralph_base::env::Env;
use ralph_project::config::{Config, Flag, keys, schema};

use crate::exit::Failure;
use crate::here;
use crate::terminal::say;

/// The file's JSON schema, for editors.
pub(crate) fn schema_text() -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(&schema())? + "\n")
}

/// Prints the values in the format of the file.
pub(crate) fn run(env: &Env, flags: &[Flag]) -> Result<ExitCode, Failure> {
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
