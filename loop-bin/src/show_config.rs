//! `ralph-loop config`: every effective value, and where it comes from.

use std::process::ExitCode;

use ralph_base::env::Env;
use ralph_project::config::{Config, Flag, Key, keys, schema};

use crate::exit::Failure;
use crate::here;
use crate::terminal::say;

/// The flag that asks for the schema instead.
pub(crate) const SCHEMA: &str = "schema";

/// The keys that are asked for.
pub(crate) const KEY: &str = "key";

/// Prints the JSON schema of the file.
pub(crate) fn print_schema() -> Result<ExitCode, Failure> {
    say(schema_text()?.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// The text of that schema, as a file has it.
pub(crate) fn schema_text() -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(&schema())? + "\n")
}

/// Prints them, or those that are wanted, as the file would have them.
pub(crate) fn run(env: &Env, flags: &[Flag], wanted: &[String]) -> Result<ExitCode, Failure> {
    let is_unknown = |name: &&String| !keys().any(|key| key.name == **name);
    if let Some(name) = wanted.iter().find(is_unknown) {
        let message = format!("there is no key `{name}`; `ralph-loop config` lists them all");
        return Err(Failure::usage(message));
    }
    let is_wanted = |key: &&Key| wanted.is_empty() || wanted.iter().any(|name| name == key.name);
    let project = here::project(env)?;
    let config = here::config(&project, env, flags)?;
    let path = project.own_state().config();
    let (value_of, mut shown) = (config.values(), "");
    for key in keys().filter(is_wanted) {
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
