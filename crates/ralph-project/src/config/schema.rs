//! A JSON schema of `config.toml` for editors, generated from the list of keys so that the two
//! always agree.

use serde_json::{Map, Value, json};

use super::{Config, Key, Kind, keys};

/// Returns the schema.
pub fn schema() -> Value {
    let mut tables = Map::new();
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    for key in keys() {
        let Some((table, name)) = key.name.split_once('.') else { continue };
        let default = defaults.get(table).and_then(|table| table.get(name));
        let empty = || json!({"type": "object", "additionalProperties": false, "properties": {}});
        let entry = tables.entry(table).or_insert_with(empty);
        if let Some(known) = entry.get_mut("properties").and_then(Value::as_object_mut) {
            known.insert(name.to_owned(), described(key, default.cloned().unwrap_or_default()));
        }
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "ralph-loop: .ralph/config.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": tables,
    })
}

fn described(key: &Key, default: Value) -> Value {
    let mut entry = kind(key, &default);
    entry.insert("description".to_owned(), key.help.into());
    entry.insert("default".to_owned(), default);
    Value::Object(entry)
}

fn kind(key: &Key, default: &Value) -> Map<String, Value> {
    let least = u8::from(key.help.contains("at least 1"));
    let kind = match key.kind {
        Kind::Integer => json!({"type": "integer", "minimum": least}),
        Kind::Number => json!({"type": "number", "minimum": least}),
        Kind::Seconds => json!({"type": ["integer", "string"], "minimum": least}),
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Text => json!({"type": "string"}),
        Kind::List => json!({"type": ["array", "string"], "items": {"type": "string"}}),
        Kind::Choice => json!({"enum": key.choices()}),
        Kind::Table if default.is_array() => json!({"type": "array", "items": {"type": "object"}}),
        Kind::Table => json!({"type": "object"}),
    };
    kind.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use ralph_base::env::Env;

    use super::*;
    use crate::config::Flag;

    fn takes(key: &Key, value: &str) -> bool {
        let flags = [Flag::new(key.name, value)];
        Config::from_parts("c", "", &Env::of([("", "")]), &flags).is_ok()
    }

    #[test]
    fn choices_are_accepted_and_include_the_default() {
        let default_of = Config::default().values();
        for key in keys().filter(|key| key.kind == Kind::Choice) {
            let words = key.choices();
            assert!(!words.is_empty() && words.iter().all(|word| takes(key, word)), "{words:?}");
            assert!(!takes(key, "nonsense"), "{}", key.name);
            let default = default_of(key).unwrap();
            let is_known = default.as_str().is_none_or(|word| words.contains(&word));
            assert!(is_known, "{} {default}", key.name);
        }
    }

    #[test]
    fn zero_is_accepted_unless_the_help_says_at_least_one() {
        for key in keys().filter(|key| matches!(key.kind, Kind::Integer | Kind::Number)) {
            assert_eq!(takes(key, "0"), !key.help.contains("at least 1"), "{}", key.name);
        }
    }

    #[test]
    fn the_schema_describes_every_key() {
        let schema = schema();
        for key in keys() {
            let path = key.name.replace('.', "/properties/");
            let entry = schema.pointer(&format!("/properties/{path}"));
            assert!(entry.is_some_and(|entry| entry["description"] == key.help), "{}", key.name);
        }
    }
}
