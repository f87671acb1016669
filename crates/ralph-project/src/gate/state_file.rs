//! Reads and writes the state files of gates: small regular files with one JSON object each.
//!
//! Existing tools write them with shell scripts, so a number or a boolean may be a string; anything
//! else makes the file broken, which is reported and blocks nobody.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use ralph_base::state::{self, SessionDir};

/// The size limit; larger files are not read.
const LARGEST: u64 = 1024 * 1024;

/// The result of reading a state file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading<T> {
    /// No file, so no gate.
    Missing,
    /// A valid file.
    Found(T),
    /// An invalid file, and why.
    Broken(Broken),
}

/// Why a state file is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("ignoring {path}: {why}; fix it or delete it")]
pub struct Broken {
    /// The file.
    pub path: Utf8PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// A state file of a session that holds one JSON object.
pub trait StateFile: DeserializeOwned {
    /// Returns the path of the file.
    fn path(session: &SessionDir) -> Utf8PathBuf;

    /// Reads the session's file.
    fn load(session: &SessionDir) -> Reading<Self> {
        read(&Self::path(session))
    }
}

/// Reads one file.
pub(super) fn read<T: DeserializeOwned>(path: &Utf8Path) -> Reading<T> {
    let broken = |why: String| Reading::Broken(Broken { path: path.to_owned(), why });
    match state::read_at_most(path, LARGEST) {
        Ok(bytes) => match parse(&bytes) {
            Ok(value) => Reading::Found(value),
            Err(error) => broken(error.to_string()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Reading::Missing,
        Err(error) => broken(error.to_string()),
    }
}

/// Replaces one file without an fsync: after a power cut there is no session to resume.
pub fn write<T: Serialize>(path: &Utf8Path, value: &T) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    state::replace_unsynced(path, &text)
}

/// Parses an object; serde would accept a list as the fields of the object in their order.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(serde_json::Error::custom("it does not contain a JSON object"));
    }
    serde_json::from_slice(bytes)
}

/// Reads a boolean that may be a string; `null` counts as false.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let expected = || D::Error::custom(format!("{value} is neither `true` nor `false`"));
    Ok(truth(&value).ok_or_else(expected)?.unwrap_or(false))
}

/// Parses a boolean: scripts write booleans as strings, and `null` for "not evaluated yet". Returns
/// `None` if the value is not a boolean.
pub(super) fn truth(value: &Value) -> Option<Option<bool>> {
    match value {
        Value::Null => Some(None),
        Value::Bool(flag) => Some(Some(*flag)),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(Some(true)),
            "false" | "no" | "0" => Some(Some(false)),
            "" | "null" => Some(None),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a whole number that may be a string. A negative number counts as zero.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_f64(),
        _ => None,
    };
    let expected = || D::Error::custom(format!("{value} is not a whole number"));
    Ok(Some(number.filter(|number: &f64| number.is_finite()).ok_or_else(expected)? as u64))
}

/// Reads a string; a number or a list is formatted for people.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(shown(&Value::deserialize(deserializer)?))
}

/// Formats a JSON value for people: strings without quotes, lists joined.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Sample {
        #[serde(deserialize_with = "flag")]
        done: bool,
        #[serde(deserialize_with = "count")]
        number: Option<u64>,
        #[serde(deserialize_with = "text")]
        error: String,
    }

    fn check(content: &str, expected: Option<Sample>) {
        let scratch = Scratch::new();
        let found = match read(&scratch.file("x.json", content)) {
            Reading::Found(sample) => Some(sample),
            Reading::Missing => panic!("missing"),
            Reading::Broken(broken) => {
                assert!(broken.to_string().contains("x.json"), "{broken}");
                None
            }
        };
        assert_eq!(found, expected, "{content}");
    }

    #[test]
    fn values_written_by_scripts_are_understood() {
        let sample =
            |done, number, error: &str| Some(Sample { done, number, error: error.to_owned() });
        check(r#"{"done":true,"number":3,"error":"x"}"#, sample(true, Some(3), "x"));
        check("\u{feff}\n{\"done\":\"true\",\"number\":\"3\"}", sample(true, Some(3), ""));
        check(r#"{"done":null,"number":-4,"error":["a","b"]}"#, sample(false, Some(0), "a; b"));
        check(r#"{"done":"","number":2.5,"error":7,"more":{}}"#, sample(false, Some(2), "7"));
    }

    #[test]
    fn invalid_content_is_broken() {
        for content in [
            "",
            "[true, 1]",
            "null",
            "{\"done\":",
            "{\"done\":\"perhaps\"}",
            "{\"done\":[]}",
            "{\"number\":{}}",
            "{\"number\":\"many\"}",
            "\u{0}",
        ] {
            check(content, None);
        }
        check(&format!("{{\"error\":\"{}\"}}", "x".repeat(2 * 1024 * 1024)), None);
    }

    #[test]
    fn an_absent_file_is_missing_and_a_folder_is_broken() {
        let scratch = Scratch::new();
        assert_eq!(read::<Sample>(&scratch.path("x.json")), Reading::Missing);
        assert!(matches!(read::<Sample>(&scratch.dir("x.json")), Reading::Broken(_)));
    }
}
