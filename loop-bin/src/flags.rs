//! Flags that several commands take: one for each configuration key that has one, and the agent's name.
//!
//! The flags are generated from [`config::keys`], so each flag has a key and a variable.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use ralph_project::config::{self, Config, Flag, Key, Kind};
use ralph_project::dialect::AGENTS;
use toml::Value;

/// The default agent.
pub(crate) const CLAUDE: &str = "claude";

/// The names of the agents that we support.
pub(crate) fn agent_names() -> PossibleValuesParser {
    PossibleValuesParser::new(AGENTS.iter().map(|agent| agent.name))
}

/// The flags of a run, for commands that say what such a run would do. Their own help omits them.
#[derive(Debug, Default)]
pub(crate) struct RunFlags(pub(crate) Vec<Flag>);

impl Args for RunFlags {
    fn augment_args(command: Command) -> Command {
        command.args(flags_of_keys().into_iter().map(|flag| flag.hide(true)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RunFlags {
    fn from_arg_matches(given: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(given_flags(given)))
    }

    fn update_from_arg_matches(&mut self, given: &ArgMatches) -> Result<(), Error> {
        self.0 = given_flags(given);
        Ok(())
    }
}

/// The flags for configuration keys.
pub(crate) fn flags_of_keys() -> Vec<Arg> {
    let default_of = Config::default().values();
    config::keys().filter_map(|key| Some(flag_of(key, key.flag?, default_of(key)))).collect()
}

/// The help heading for the flags of a settings table.
fn heading(key: &Key) -> &'static str {
    match key.name.split('.').next().unwrap_or_default() {
        "loop" => "Run and plan",
        "agent" => "Agent",
        "verify" => "Checks",
        "review" => "Review",
        "limits" => "Limits",
        "workspace" | "sandbox" => "The agent's copy of the project",
        "commit" => "Commits",
        "session" => "Sessions",
        "hooks" => "Lifecycle scripts",
        "finish" | "notify" => "Notifications and pull requests",
        _ => "Guarding and rolling back",
    }
}

/// A default value as a person would write it.
fn shown(key: &Key, default: &Value) -> String {
    match (key.kind, default) {
        (Kind::Seconds, Value::Integer(seconds @ 1..)) if seconds % 3600 == 0 => {
            format!("{}h", seconds / 3600)
        }
        (Kind::Seconds, Value::Integer(seconds @ 1..)) if seconds % 60 == 0 => {
            format!("{}m", seconds / 60)
        }
        (Kind::Seconds, Value::Integer(seconds @ 1..)) => format!("{seconds}s"),
        (Kind::Number, Value::Float(number)) => number.to_string(),
        _ => default.to_string().trim_matches('"').to_owned(),
    }
}

fn flag_of(key: &'static Key, name: &'static str, default: Option<Value>) -> Arg {
    let default = match default.map(|value| shown(key, &value)).unwrap_or_default().as_str() {
        "" | "[]" => String::new(),
        text => format!(" [default: {text}]"),
    };
    let variable = key.env.map(|env| format!(" [{env}]")).unwrap_or_default();
    let help = format!("{}{default}{variable}", key.help);
    let mut flag = Arg::new(key.name).long(name).help(help).help_heading(heading(key));
    if name == "max-cost" {
        // The names that other loops use for it.
        flag = flag.alias("budget");
    }
    match key.kind {
        Kind::List => flag.action(ArgAction::Append).value_name("ITEM"),
        // `--flag` alone means true; `--flag=false` overrides the file.
        Kind::Switch => flag
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL"),
        Kind::Seconds => flag.value_name("TIME"),
        Kind::Integer | Kind::Number => flag.value_name("N"),
        Kind::Text | Kind::Choice | Kind::Table => flag.value_name("VALUE"),
    }
}

/// The values that were given for these flags.
pub(crate) fn given_flags(matches: &ArgMatches) -> Vec<Flag> {
    let keys = config::keys().filter(|key| key.flag.is_some());
    keys.flat_map(|key| {
        let values = matches.get_many::<String>(key.name).into_iter().flatten();
        values.map(|value| Flag::new(key.name, value.clone())).collect::<Vec<_>>()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use ralph_base::env::Env;

    use super::*;

    #[test]
    fn every_flag_documents_and_accepts_its_default() {
        let default_of = Config::default().values();
        for key in config::keys().filter(|key| key.flag.is_some()) {
            let default = default_of(key).unwrap();
            let command = Command::new("ralph-loop").args(flags_of_keys());
            let flag = command.get_arguments().find(|arg| arg.get_id() == key.name).unwrap();
            let help = flag.get_help().unwrap().to_string();
            let text = shown(key, &default);
            let is_empty = matches!(text.as_str(), "" | "[]");
            let says =
                if is_empty { &["efaults to ", "empty means "][..] } else { &["[default: "] };
            assert!(says.iter().any(|words| help.contains(words)), "{}: {help}", key.name);
            let given = [Flag::new(key.name, text)];
            let read = Config::from_parts("c", "", &Env::of([("", "")]), &given);
            assert!(is_empty || read.unwrap() == Config::default(), "{}: {help}", key.name);
        }
    }
}
