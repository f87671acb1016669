//! `quality-gate.json`: how the stages of a quality check ended, and the gate on them.

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::state_file::{StateFile, shown, text};
use super::unmet::{Unmet, quoted};
use ralph_base::state::SessionDir;

/// A quality check and its stages.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct QualityGate {
    /// `pending`, `passed` or `failed`.
    #[serde(deserialize_with = "text")]
    pub last_result: String,
    /// The stages, such as `correctness`, `quality` and `security`.
    #[serde(deserialize_with = "read_stages")]
    pub stages: Vec<Stage>,
}

/// One stage of a quality check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// `pending`, `passed` or `failed`.
    pub status: String,
    /// What it found.
    pub details: String,
}

impl StateFile for QualityGate {
    fn path(session: &SessionDir) -> Utf8PathBuf {
        session.quality_gate()
    }
}

impl QualityGate {
    /// The gate: blocks while the last result, or one of the stages, is `failed`. `file` is the
    /// state file.
    pub fn gate(&self, file: &Utf8Path) -> Option<Unmet> {
        let failed: Vec<&Stage> =
            self.stages.iter().filter(|stage| is_failed(&stage.status)).collect();
        if failed.is_empty() && !is_failed(&self.last_result) {
            return None;
        }
        if failed.is_empty() {
            return Some(Unmet {
                gate: "QUALITY",
                what: "the last quality check did not pass".to_owned(),
                next: format!(
                    "run it again, fix what it reports, and record the new result in {file}"
                ),
            });
        }
        let shown: Vec<String> = failed.iter().take(6).map(|stage| stage.in_words()).collect();
        let names: Vec<String> =
            failed.iter().take(6).map(|stage| format!("`{}`", quoted(&stage.name))).collect();
        Some(Unmet {
            gate: "QUALITY",
            what: shown.join("; "),
            next: format!(
                "fix what is reported, run {} again, and record the new result in {file}",
                names.join(" and ")
            ),
        })
    }
}

impl Stage {
    fn in_words(&self) -> String {
        let name = quoted(&self.name);
        match quoted(&self.details).as_str() {
            "" => name,
            details => format!("{name}: {details}"),
        }
    }
}

fn is_failed(status: &str) -> bool {
    ["failed", "fail", "failure", "error"].iter().any(|word| status.eq_ignore_ascii_case(word))
}

/// Reads the stages by name; a stage is an object with `status` and `details`, or a word.
fn read_stages<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Stage>, D::Error> {
    let stages = Option::<Map<String, Value>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(stages.into_iter().map(|(name, value)| stage(name, &value)).collect())
}

fn stage(name: String, value: &Value) -> Stage {
    let field = |key: &str| value.get(key).map(shown).unwrap_or_default();
    match value {
        Value::Object(_) => Stage { name, status: field("status"), details: field("details") },
        other => Stage { name, status: shown(other), details: String::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let state: QualityGate = serde_json::from_str(text).unwrap();
        assert_eq!(
            state.gate("q.json".into()).map(|unmet| unmet.to_string()).as_deref(),
            expected,
            "{text}"
        );
    }

    #[test]
    fn a_result_other_than_failed_does_not_block() {
        check("{}", None);
        check(r#"{"last_result":"pending","stages":{"quality":{"status":"pending"}}}"#, None);
        check(r#"{"last_result":"passed","stages":null}"#, None);
    }

    #[test]
    fn failed_stages_are_named_with_their_details() {
        check(
            r#"{"last_result":"failed","stages":{
                "correctness":{"status":"passed","details":null},
                "lint":{"status":"FAILED","details":["a.rs:1 unused","b.rs:2 unused"]},
                "security":"failed"}}"#,
            Some(
                "QUALITY gate failed: lint: a.rs:1 unused; b.rs:2 unused; security. Next: fix what is \
                 reported, run `lint` and `security` again, and record the new result in q.json.",
            ),
        );
        check(
            r#"{"last_result":"failed"}"#,
            Some(
                "QUALITY gate failed: the last quality check did not pass. Next: run it again, \
                 fix what it reports, and record the new result in q.json.",
            ),
        );
    }
}
