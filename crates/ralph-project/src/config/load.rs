//! Merges the layers: defaults, then the file, then variables, then flags.

use camino::Utf8Path;
use ralph_base::env::Env;
use ralph_base::state;
use ralph_core::guard::Mistake;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::{Config, ConfigError, Key, Kind, OfHooks, Seconds, check, keys};

/// A value given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The key it sets.
    pub key: String,
    /// The value as typed; several flags for a list are combined.
    pub value: String,
}

impl Flag {
    /// Returns a flag for this key.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into() }
    }
}

impl Config {
    /// Loads the configuration of a project. A missing file counts as empty.
    pub fn load(path: &Utf8Path, env: &Env, flags: &[Flag]) -> Result<Self, ConfigError> {
        Self::from_parts(path.as_str(), &text_of(path)?, env, flags)
    }

    /// Loads the configuration for hooks: always returns one, and the error in the user's, if there
    /// is one. A broken file leaves the defaults in force, because a typo must not disarm a guard.
    /// Tables that no hook needs keep their defaults.
    pub fn load_or_default(
        path: &Utf8Path,
        env: &Env,
        mistake: FindMistake,
    ) -> (Self, Option<ConfigError>) {
        let found = text_of(path);
        let loaded =
            found.and_then(|text| layered::<OfHooks>(path.as_str(), &text, (env, &[]), mistake));
        match loaded {
            Ok(config) => (config, None),
            Err(error) => (Self::default(), Some(error)),
        }
    }

    /// Returns what sets a key: a flag, a variable or the file.
    pub fn origin(path: &Utf8Path, env: &Env, flags: &[Flag], key: &Key) -> Option<String> {
        let in_file = || {
            let table: Table = state::read_text(path).ok()?.parse().ok()?;
            let (outer, inner) = key.name.split_once('.')?;
            table.get(outer)?.get(inner).map(|_| path.to_string())
        };
        let flag = if flags.iter().any(|flag| flag.key == key.name) { key.flag } else { None };
        flag.map(|flag| format!("--{flag}"))
            .or_else(|| variable(env, key).map(|(name, _)| name))
            .or_else(in_file)
    }

    /// Returns a function from a key to its value as the file would have it. This serialises all
    /// values, so call it once and not for each key.
    pub fn values(&self) -> impl Fn(&Key) -> Option<Value> + use<> {
        let table = Table::try_from(self).unwrap_or_default();
        move |key| {
            let (outer, inner) = key.name.split_once('.')?;
            table.get(outer)?.get(inner).cloned()
        }
    }

    /// Parses a configuration from text that was read already; `path` is for messages.
    pub fn from_parts(
        path: &str,
        text: &str,
        env: &Env,
        flags: &[Flag],
    ) -> Result<Self, ConfigError> {
        let mut config = layered::<Self>(path, text, (env, flags), check::mistake)?;
        config.agent.find_command();
        Ok(config)
    }
}

/// Returns the text of a file; a missing file counts as empty.
fn text_of(path: &Utf8Path) -> Result<String, ConfigError> {
    let bytes = state::read_if_there(path)?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|error| ConfigError::not_text(path.as_str(), &error))
}

/// Returns the first mistake in settings.
pub type FindMistake = fn(&Config) -> Option<Mistake>;

/// Merges the layers, and reads those tables that `T` has.
fn layered<T: DeserializeOwned + Into<Config>>(
    path: &str,
    text: &str,
    (env, flags): (&Env, &[Flag]),
    mistake: FindMistake,
) -> Result<Config, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let in_file = |error| ConfigError::in_file(path, text, &error);
    let layers = overrides(env, flags)?;
    if text.is_empty() && layers.is_empty() {
        // Most hooks run without any settings, and the defaults are valid.
        return Ok(Config::default());
    }
    let mut tables: T = toml::from_str(text).map_err(in_file)?;
    if !layers.is_empty() {
        let mut table: Table = text.parse().map_err(in_file)?;
        // Each value is applied separately, so that an error names the one that caused it.
        for Override { key, value, origin } in &layers {
            put(&mut table, key.name, value.clone());
            // As text, because the settings are only parsed from text: another format would add
            // another parser for all of them to every hook.
            tables = toml::from_str(&table.to_string())
                .map_err(|error| ConfigError::of_value(origin, error.message()))?;
        }
    }
    let config = tables.into();
    match mistake(&config) {
        Some(mistake) => Err(located(mistake, path, text, &layers)),
        None => Ok(config),
    }
}

/// Returns the error for a mistake, with the origin of its value: the flag, variable or line.
fn located(mistake: Mistake, path: &str, text: &str, layers: &[Override]) -> ConfigError {
    let Mistake { keys, value, message } = mistake;
    let holds = |given: &Value| match given {
        Value::Array(items) => items.iter().any(|item| item.as_str() == Some(&*value)),
        given => given.as_str() == Some(&*value),
    };
    // The layer that is applied last takes precedence.
    let mut given = layers.iter().rev().filter(|layer| keys.contains(&layer.key.name));
    match given.find(|layer| holds(&layer.value)) {
        Some(layer) => ConfigError::of_value(&layer.origin, &message),
        None => ConfigError::about(path, text, (keys, &value), &message),
    }
}

/// One value from outside the file.
struct Override {
    key: &'static Key,
    value: Value,
    origin: String,
}

/// Returns the variable that sets a key, and its text. Other loops put a prefix before those for
/// lifecycle scripts.
fn variable(env: &Env, key: &Key) -> Option<(String, String)> {
    let name = key.env?;
    if let Some(text) = env.get(name) {
        return Some((name.to_owned(), text));
    }
    let bare = name.strip_prefix(FRONTS[0]).unwrap_or(name);
    let fronts = FRONTS.iter().filter(|_| is_others(bare));
    let mut names = fronts.map(|front| [*front, bare].concat());
    names.find_map(|name| env.get(&name).map(|text| (name, text)))
}

/// The prefixes of variables in other loops.
const FRONTS: [&str; 2] = ["RALPH_", "FRESHER_"];

/// The beginnings of all variables that set keys.
const BEGINNINGS: [&str; 8] =
    [FRONTS[0], FRONTS[1], "HOOK", "MAX_", "PLAN_", "PRD_", "PROGRESS_", "TIMEOUT_"];

/// Whether other loops have a variable of this name, without its prefix.
fn is_others(bare: &str) -> bool {
    bare.starts_with("HOOK") || matches!(bare, "MAX_ITERATIONS" | "MODE")
}

/// Whether a variable may set a key. Its beginning already rules out most others.
fn is_ours(name: &str) -> bool {
    let may_be = BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    let is_key = |name: &str| keys().any(|key| key.env == Some(name));
    let mut bare = FRONTS.iter().filter_map(|front| name.strip_prefix(front));
    may_be && (is_key(name) || bare.any(is_others))
}

fn overrides(env: &Env, flags: &[Flag]) -> Result<Vec<Override>, ConfigError> {
    let mut layers = Vec::new();
    let env = env.those(is_ours);
    for key in keys().filter(|_| !env.is_empty()) {
        if let Some((origin, text)) = variable(&env, key) {
            let value = value_of(key, &origin, &text)?;
            layers.push(Override { key, value, origin });
        }
    }
    for flag in flags {
        let Some(key) = Key::find(&flag.key) else { continue };
        let origin = format!("--{}", key.flag.unwrap_or(key.name));
        let earlier = layers.iter_mut().find(|layer: &&mut Override| layer.origin == origin);
        match (key.kind, earlier) {
            // A flag that is given several times for a list adds to it.
            (Kind::List, Some(Override { value: Value::Array(items), .. })) => {
                items.push(flag.value.clone().into());
            }
            (Kind::List, _) => {
                layers.push(Override { key, value: vec![flag.value.clone()].into(), origin });
            }
            _ => layers.push(Override { key, value: value_of(key, &origin, &flag.value)?, origin }),
        }
    }
    Ok(layers)
}

fn value_of(key: &Key, origin: &str, given: &str) -> Result<Value, ConfigError> {
    let text = given.trim();
    let (value, wanted) = match key.kind {
        Kind::Integer => (integer(text), "a whole number"),
        Kind::Number => (text.parse().ok().map(Value::Float), "a number"),
        Kind::Seconds => {
            let seconds = text.parse::<Seconds>().ok().and_then(|time| i64::try_from(time.0).ok());
            (seconds.map(Value::Integer), "a duration such as 3600, 90m or 8h")
        }
        Kind::Switch => (switch(text).map(Value::Boolean), "`true` or `false`"),
        Kind::Choice | Kind::Text => (Some(text.into()), "a string"),
        Kind::List => (Some(items(text).into()), "a list"),
        Kind::Table => (None, "a value that can be set by a variable or a flag"),
    };
    value.ok_or_else(|| ConfigError::of_value(origin, &format!("`{text}` is not {wanted}")))
}

/// Parses a decimal number, even with leading zeros: `08` is 8.
fn integer(text: &str) -> Option<Value> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok().map(Value::Integer)).flatten()
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn put(table: &mut Table, name: &str, value: Value) {
    let (outer, inner) = name.split_once('.').unwrap_or((name, ""));
    let entry = table.entry(outer).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(entry) = entry {
        entry.insert(inner.to_owned(), value);
    }
}

/// Parses a list: one item per line, or a JSON array of strings, which may contain newlines.
pub(super) fn items(text: &str) -> Vec<String> {
    if let Ok(items) = serde_json::from_str::<Vec<String>>(text) {
        return items;
    }
    text.lines().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Formats a list for a variable, from which another process of ours reads it unchanged.
pub fn as_variable(items: &[&str]) -> String {
    match serde_json::to_string(items) {
        Ok(array) if items.iter().any(|item| item.contains('\n')) => array,
        _ => items.join("\n"),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
mod items_tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(items(text), expected, "{text}");
    }

    #[test]
    fn items_are_lines_or_strings_of_an_array() {
        check("a 1,2\n b\n\n", &["a 1,2", "b"]);
        check(r#"["a,b", "c\nd"]"#, &["a,b", "c\nd"]);
        check("[ -e a ]", &["[ -e a ]"]);
        check("", &[]);
    }

    proptest! {
        #[test]
        fn items_survive_a_round_trip_through_a_variable(
            given in proptest::collection::vec("[a-z,'\"()\n]*[a-z]", 1..4)
        ) {
            let given: Vec<&str> = given.iter().map(|item| item.trim()).collect();
            prop_assert_eq!(items(&as_variable(&given)), given);
        }
    }
}
