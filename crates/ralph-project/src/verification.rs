//! What was found out about finished work: by the checks, by the loop's other verifiers, and by the
//! user's own. Commit, progress, journal and report show the same findings.

use std::collections::BTreeMap;

use ralph_base::state::{Event, Scale};
use serde::de::DeserializeOwned;

use crate::checks::{Check, CheckEnd, one_line};
use crate::config::Config;
use crate::failed_before::FailedBefore;

/// What one verifier says of the work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Finding {
    /// The verifier's name.
    pub verifier: &'static str,
    /// How grave it is.
    pub grade: Grade,
    /// A few words for the commit and the progress; empty if there is nothing to say.
    pub line: String,
    /// What its remarks are about, unless its name says that.
    pub about: String,
    /// What a person should look at.
    pub remarks: Vec<String>,
    /// The commands that ran.
    pub commands: Vec<CommandFacts>,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// The work is as it should be, and more than the checks shows that.
    Proven,
    /// Nothing is wrong.
    #[default]
    Fine,
    /// The work lands, and a person should look at it.
    Remark,
    /// The attempt has failed; the line says why, with details for the next attempt.
    Refused,
}

/// What a command did that looked at the work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandFacts {
    /// The command as the user wrote it.
    pub command: String,
    /// How it ended, in words.
    pub ended: String,
    /// Its exit code, unless it was killed.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub seconds: f64,
    /// How many tests passed and failed, if its output says so.
    pub passed: Option<u64>,
    /// See `passed`.
    pub failed: Option<u64>,
    /// Its failures, if all of them existed before the first story.
    pub excused: Option<FailedBefore>,
    /// The checksum of its output, as far as that was kept; empty if nobody took it.
    pub output_sha256: String,
}

impl CommandFacts {
    /// Returns the facts of a check.
    pub fn of(check: &Check, config: &Config) -> Self {
        let counts = check.verdict_of(config).map(|verdict| verdict.counts);
        let counts = counts.filter(|counts| counts.passed + counts.failed > 0);
        Self {
            command: check.command.clone(),
            ended: check.verdict(),
            exit_code: if let CheckEnd::Exited(code) = check.end { code } else { None },
            seconds: check.took.as_secs_f64(),
            passed: counts.map(|counts| counts.passed),
            failed: counts.map(|counts| counts.failed),
            excused: check.excused.clone(),
            output_sha256: String::new(),
        }
    }

    /// Returns the command on one line.
    pub fn name(&self) -> String {
        one_line(&self.command)
    }

    /// Returns the journal's event for it.
    pub fn event(&self) -> Event {
        let Self { passed, failed, seconds, .. } = *self;
        Event::Checked { check: self.name(), ended: self.ended.clone(), passed, failed, seconds }
    }
}

impl Finding {
    /// Returns a finding about which there is nothing to do.
    pub fn new(verifier: &'static str, grade: Grade, line: impl Into<String>) -> Self {
        Self { verifier, grade, line: line.into(), ..Self::default() }
    }

    /// Returns a finding that a person should look at.
    pub fn remark(verifier: &'static str, about: &str, remark: impl Into<String>) -> Self {
        let about = about.to_owned();
        Self { about, remarks: vec![remark.into()], ..Self::new(verifier, Grade::Remark, "") }
    }

    /// Returns why the attempt has failed: a line, and below it details for the next attempt.
    pub fn refused(verifier: &'static str, why: impl Into<String>) -> Self {
        Self::new(verifier, Grade::Refused, why)
    }

    /// Returns what its remarks are about.
    pub fn subject(&self) -> &str {
        if self.about.is_empty() { self.verifier } else { &self.about }
    }

    /// Returns the name under which commit and progress show its line, `Proof` for instance.
    pub fn label(&self) -> String {
        capitalised(self.verifier)
    }

    /// Returns the lines of the progress: its own line, and remarks that say more.
    pub fn progress(&self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        if !self.line.is_empty() {
            lines.push((self.label(), self.line.clone()));
        }
        let about =
            if self.about.is_empty() { "Remark".to_owned() } else { capitalised(&self.about) };
        let more = self.remarks.iter().filter(|remark| !self.line.ends_with(*remark));
        lines.extend(more.map(|remark| (about.clone(), remark.clone())));
        lines
    }
}

/// How many bytes from the end of an output are searched for an answer.
const LONGEST_ANSWER: usize = 64 * 1024;

/// Returns the last JSON object of that form in an output; `None` if there is none.
pub fn last_answer<T: DeserializeOwned>(said: &str) -> Option<T> {
    let start = said.ceil_char_boundary(said.len().saturating_sub(LONGEST_ANSWER));
    let mut rest = said.get(start..).unwrap_or_default();
    let mut found = None;
    while let Some(at) = rest.find('{') {
        rest = rest.get(at..).unwrap_or_default();
        let mut objects = serde_json::Deserializer::from_str(rest).into_iter();
        let (read, end) = (objects.next(), objects.byte_offset());
        let passed = if let Some(Ok(answer)) = read {
            found = Some(answer);
            end
        } else {
            1
        };
        rest = rest.get(passed..).unwrap_or_default();
    }
    found
}

fn capitalised(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns how many tests each check ran, if its runner says so.
pub fn tests_of(checks: impl Iterator<Item = CommandFacts>) -> BTreeMap<String, u64> {
    let count = |check: CommandFacts| Some((check.command, check.passed? + check.failed?));
    checks.filter_map(count).collect()
}

/// Returns what is known about a landed story by these findings.
pub fn scale_of(findings: &[Finding]) -> Scale {
    let has = |grade| findings.iter().any(|finding| finding.grade == grade);
    let mut commands = findings.iter().flat_map(|finding| &finding.commands);
    if commands.next().is_none() {
        Scale::Unchecked
    } else if has(Grade::Remark) {
        Scale::ToReview
    } else if has(Grade::Proven) {
        Scale::Proven
    } else {
        Scale::Checked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_follows_from_the_findings() {
        let facts = CommandFacts { command: "cargo test".to_owned(), ..CommandFacts::default() };
        let checked =
            Finding { commands: vec![facts], ..Finding::new("commands", Grade::Fine, "") };
        let proven = Finding::new("proof", Grade::Proven, "its new test fails without the change");
        let remark = Finding::remark("weakened", "tests weakened", "1 test skipped");
        let scale = |findings: &[&Finding]| {
            scale_of(&findings.iter().map(|finding| (*finding).clone()).collect::<Vec<_>>())
        };
        assert_eq!(scale(&[]), Scale::Unchecked);
        assert_eq!(scale(&[&remark, &proven]), Scale::Unchecked);
        assert_eq!(scale(&[&checked]), Scale::Checked);
        assert_eq!(scale(&[&checked, &proven]), Scale::Proven);
        assert_eq!(scale(&[&checked, &proven, &remark]), Scale::ToReview);
    }

    #[test]
    fn the_progress_shows_a_line_once_and_remarks_by_their_subject() {
        let lines = |finding: Finding| -> Vec<String> {
            let lines = finding.progress().into_iter();
            lines.map(|(label, text)| format!("{label}: {text}")).collect()
        };
        let mut finding = Finding::remark("proof", "not shown", "its new tests also pass");
        finding.line = "its new tests also pass".to_owned();
        assert_eq!(lines(finding), ["Proof: its new tests also pass"]);
        let mut finding = Finding::remark("review", "", "a.rs:3: quote it");
        finding.line = "approved with 1 remark".to_owned();
        assert_eq!(lines(finding), ["Review: approved with 1 remark", "Remark: a.rs:3: quote it"]);
        let finding = Finding::remark("weakened", "tests weakened", "1 test skipped");
        assert_eq!(lines(finding), ["Tests weakened: 1 test skipped"]);
    }
}
