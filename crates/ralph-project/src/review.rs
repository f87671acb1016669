//! Reviews of the work: the reviewer's command line, and the meaning of its answer. Pure.

use std::fmt;

use ralph_base::listing::one_line;
use serde::Deserialize;
use serde_json::Value;

use crate::client::Client;
use crate::config::Config;
use crate::dialect::Dialect;
use crate::verification::last_answer;

/// Options that only let the client read: no commands, no edits, no MCP servers of others, and no
/// hooks, which would treat the reviewer as the agent.
const READ_ONLY: &str = "--tools=Read,Grep,Glob --strict-mcp-config";
const NO_HOOKS: &str = r#"--settings='{"disableAllHooks":true}'"#;

/// How many bytes of a diff a reviewer gets; it can read the rest in the files.
const LONGEST_DIFF: usize = 200_000;

/// Returns the command line of the reviewer.
pub fn command_line(config: &Config) -> String {
    let own = [config.review.command.trim(), &config.review.agent];
    let own = own.into_iter().find(|own| !own.is_empty()).unwrap_or(&config.agent.command);
    let line = Dialect::find(own).map_or(own, |agent| agent.start);
    let Some(client) = Client::find(line).filter(Client::is_claude) else {
        return line.to_owned();
    };
    let no_hooks = if client.has("--settings") { "" } else { NO_HOOKS };
    client.with(format!("{READ_ONLY} {no_hooks}").trim_end())
}

/// Returns a diff for the reviewer, truncated if it is too long.
pub fn shown_diff(diff: &[u8]) -> String {
    let text = String::from_utf8_lossy(diff);
    let end = text.floor_char_boundary(LONGEST_DIFF);
    match text.len() - end {
        0 => text.into_owned(),
        more => format!(
            "{}\n[{more} more bytes; read the files themselves]\n",
            text.get(..end).unwrap_or_default()
        ),
    }
}

/// A finding of a reviewer. Only the message matters; an invalid line number is just left out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReviewFinding {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    file: String,
    #[serde(default)]
    line: Value,
    #[serde(default)]
    message: String,
}

impl ReviewFinding {
    /// Whether it is advice; every other kind blocks.
    fn is_advice(&self) -> bool {
        self.kind.trim().eq_ignore_ascii_case("advice")
    }
}

impl fmt::Display for ReviewFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = one_line(&self.message);
        let message = if words.is_empty() { "(no message)" } else { &words };
        let line = self.line.as_u64().map(|line| line.to_string());
        let line = line.or_else(|| self.line.as_str().map(str::to_owned));
        match (self.file.trim(), line) {
            ("", _) => write!(f, "{message}"),
            (file, None) => write!(f, "{file}: {message}"),
            (file, Some(line)) => write!(f, "{file}:{line}: {message}"),
        }
    }
}

/// An answer in the requested form.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReviewAnswer {
    approve: bool,
    #[serde(default)]
    findings: Vec<ReviewFinding>,
}

impl ReviewAnswer {
    /// Parses the last object of that form in a reviewer's output; `None` if there is none.
    pub fn read(said: &str) -> Option<Self> {
        last_answer(said)
    }

    /// Returns what keeps the work from landing, one line for each finding; `None` if nothing does.
    /// Work that is not approved does not land, whatever the kinds of its findings.
    pub fn blocking(&self) -> Option<String> {
        let mut found = self.findings.iter().filter(|one| !self.approve || !one.is_advice());
        let first = match found.next() {
            Some(first) => first.to_string(),
            None if self.approve => return None,
            None => "not approved, no reason given".to_owned(),
        };
        let rest: String = found.map(|one| format!("\n{one}")).collect();
        Some(format!("the review found: {first}{rest}"))
    }

    /// Returns all findings, as advice.
    pub fn advice(&self) -> Vec<String> {
        self.findings.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_gets_only_tools_that_read() {
        let mut config = Config::default();
        assert_eq!(
            command_line(&config),
            "claude --tools=Read,Grep,Glob --strict-mcp-config \
             --settings='{\"disableAllHooks\":true}' -p --dangerously-skip-permissions \
             --output-format stream-json --verbose"
        );
        config.review.command = "claude --settings x.json -p".to_owned();
        let line = command_line(&config);
        assert_eq!(line, "claude --tools=Read,Grep,Glob --strict-mcp-config --settings x.json -p");
        config.review.command = "./reviewer --json".to_owned();
        assert_eq!(command_line(&config), "./reviewer --json");
    }

    #[test]
    fn an_answer_is_found_in_surrounding_text() {
        let said = "I looked at {x}.\n```json\n{\"approve\": false, \"findings\": [\n\
            {\"kind\": \"blocking\", \"file\": \"a.py\", \"line\": 3, \"message\": \"wrong\\nsign\"},\n\
            {\"kind\": \"advice\", \"message\": \"name it\"}]}\n```\nThat is {all}.";
        let answer = ReviewAnswer::read(said).unwrap();
        let blocking = answer.blocking().unwrap();
        assert_eq!(blocking, "the review found: a.py:3: wrong sign\nname it");
        let twice = "{\"approve\":false,\"findings\":[]} no: {\"approve\":true}";
        assert_eq!(ReviewAnswer::read(twice).unwrap().blocking(), None);
        let both = r#"{"approve":true,"findings":[{"kind":"blocking","message":"m"}]}"#;
        assert!(ReviewAnswer::read(both).unwrap().blocking().is_some(), "the finding counts");
        let advice = r#"{"approve":true,"findings":[{"kind":"Advice","file":"a","message":"m"}]}"#;
        assert_eq!(ReviewAnswer::read(advice).unwrap().advice(), ["a: m"]);
    }

    #[test]
    fn a_refusal_is_recognized_in_any_form() {
        for (said, expected) in [
            (r#"{"approve": false}"#, "not approved, no reason given"),
            (r#"{"approve": false, "findings": [{"kind": "advice", "message": "m"}]}"#, "m"),
            (r#"{"approve": true, "findings": [{"kind": "Critical", "message": "m"}]}"#, "m"),
            (r#"{"approve":true,"findings":[{"file":"a","line":"1-2"}]}"#, "a:1-2: (no message)"),
            (r#"{"approve": true, "findings": [{"file": "a", "line": -1}]}"#, "a: (no message)"),
        ] {
            let blocking = ReviewAnswer::read(said).unwrap().blocking();
            assert_eq!(blocking, Some(format!("the review found: {expected}")), "{said}");
        }
    }

    #[test]
    fn invalid_text_is_not_an_answer() {
        let deep = "{".repeat(100_000);
        let wrong = r#"{"approve": true, "findings": 3}"#;
        for said in ["", "Good!", r#"{"approve": "yes"}"#, wrong, r#"{"approve": true"#, &deep] {
            assert_eq!(ReviewAnswer::read(said), None, "{said:.60}");
        }
    }

    #[test]
    fn long_diffs_are_cut_with_a_note() {
        assert_eq!(shown_diff(b"+a\n"), "+a\n");
        let long = shown_diff("ä".repeat(LONGEST_DIFF).as_bytes());
        assert!(long.ends_with("[200000 more bytes; read the files themselves]\n"));
    }
}
