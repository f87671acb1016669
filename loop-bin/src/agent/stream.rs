//! The agent's output, understood: what it does, tokens, context, cost, and how it says it ended.
//!
//! Lines that are not known are passed over, and an agent that prints plain text is as good as one
//! that prints events; then its exit code is all there is.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::broken_result;

/// What is kept of plain text and of complaints.
const KEPT: usize = 4 * 1024;

/// What was seen of the agent so far.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The client's session.
    pub(crate) session: Option<String>,
    /// What it does now, in a few words.
    pub(crate) doing: String,
    /// Tokens used, in all.
    pub(crate) tokens: u64,
    /// Tokens in the context, and how many fit.
    pub(crate) context: u64,
    pub(crate) window: Option<u64>,
    /// The model with that window.
    pub(crate) model: String,
    /// What it cost, as far as it was told.
    pub(crate) cost_usd: Option<f64>,
    /// How it says that it ended.
    pub(crate) verdict: Option<Verdict>,
    /// The service refused with this reset time in Unix seconds.
    pub(crate) rejected: Option<Option<i64>>,
    /// The end of its plain text, and of what it printed on standard error.
    pub(crate) text: String,
    pub(crate) complaints: String,
    /// When it last printed anything.
    pub(crate) heard: Instant,
}

/// How the agent says that it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) is_error: bool,
    /// Its last words.
    pub(crate) text: String,
    /// The service's status, where it refused.
    pub(crate) api_status: Option<u16>,
    /// Why the session ended.
    pub(crate) reason: Option<String>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    session_id: Option<String>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    parent_tool_use_id: Option<String>,
    #[serde(default)]
    is_error: bool,
    result: Option<String>,
    total_cost_usd: Option<serde_json::Value>,
    usage: Option<Usage>,
    #[serde(default, rename = "modelUsage")]
    model_usage: BTreeMap<String, ModelUsage>,
    terminal_reason: Option<String>,
    api_error_status: Option<u16>,
    rate_limit_info: Option<RateLimit>,
    attempt: Option<u64>,
    max_retries: Option<u64>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Vec<Content>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    text: Option<String>,
    input: Option<serde_json::Value>,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(default)]
struct Usage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct ModelUsage {
    #[serde(rename = "contextWindow")]
    context_window: Option<u64>,
}

#[derive(Deserialize)]
struct RateLimit {
    status: Option<String>,
    #[serde(rename = "resetsAt")]
    resets_at: Option<f64>,
}

impl Usage {
    fn total(self) -> u64 {
        let parts = [
            self.input_tokens,
            self.cache_creation_input_tokens,
            self.cache_read_input_tokens,
            self.output_tokens,
        ];
        parts.into_iter().flatten().sum()
    }
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            session: None,
            doing: String::new(),
            tokens: 0,
            context: 0,
            window: None,
            model: String::new(),
            cost_usd: None,
            verdict: None,
            rejected: None,
            text: String::new(),
            complaints: String::new(),
            heard: Instant::now(),
        }
    }
}

impl Seen {
    /// It printed something.
    pub(super) fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// A line of standard error.
    pub(super) fn complaint(&mut self, line: &[u8]) {
        keep_end(&mut self.complaints, &String::from_utf8_lossy(line));
    }

    /// A line of standard output.
    pub(super) fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if text.trim().is_empty() {
            return;
        }
        if !text.trim_start().starts_with('{') {
            self.doing = short(&text);
            keep_end(&mut self.text, &text);
        } else {
            match serde_json::from_str::<Line<'_>>(&text) {
                Ok(line) => self.event(line),
                Err(_) => {
                    let verdict = broken_result::judge(
                        &text,
                        self.session.is_some() && self.verdict.is_none(),
                    );
                    self.verdict = verdict.or(self.verdict.take());
                }
            }
        }
    }

    fn event(&mut self, line: Line<'_>) {
        self.verdict.take_if(|verdict| broken_result::is_on_half_an_event(verdict));
        if line.session_id.is_some() {
            self.session.clone_from(&line.session_id);
        }
        match (line.kind.as_str(), line.subtype.as_deref()) {
            ("assistant", _) => self.assistant(&line),
            ("result", _) => self.result(line),
            ("system", Some("api_retry")) => {
                let what = line.error.as_ref().and_then(|error| error.as_str()).unwrap_or("error");
                let (now, most) = (line.attempt.unwrap_or(0), line.max_retries.unwrap_or(0));
                self.doing = format!("the service answered {what}; retry {now} of {most}");
            }
            ("rate_limit_event", _) => self.rate_limit(line.rate_limit_info),
            _ => {}
        }
    }

    fn assistant(&mut self, line: &Line<'_>) {
        let message = line.message.and_then(|raw| serde_json::from_str::<Message>(raw.get()).ok());
        let Some(message) = message else { return };
        let usage = message.usage.unwrap_or_default().total();
        // A subagent has a context of its own; tokens count wherever they were used.
        if line.parent_tool_use_id.is_none() && usage > 0 {
            self.context = usage;
        }
        self.tokens += usage;
        for part in &message.content {
            match (part.kind.as_str(), &part.name, &part.text) {
                ("tool_use", Some(name), _) => self.doing = tool(name, part.input.as_ref()),
                ("text", _, Some(text)) => {
                    self.doing = short(text);
                    keep_end(&mut self.text, text);
                }
                _ => {}
            }
        }
    }

    /// The sum in the result is the service's own and wins over what was added up.
    fn result(&mut self, line: Line<'_>) {
        self.cost_usd = line.total_cost_usd.as_ref().and_then(sum).or(self.cost_usd);
        let total = line.usage.unwrap_or_default().total();
        if total > 0 {
            self.tokens = total;
        }
        // Small models do side work; the conversation has the largest window.
        let windows = line.model_usage.iter();
        let windows = windows.filter_map(|(name, usage)| Some((usage.context_window?, name)));
        if let Some((window, model)) = windows.max() {
            (self.window, self.model) = (Some(window), model.clone());
        }
        let kind = line.subtype.filter(|kind| kind.starts_with("error"));
        self.verdict = Some(Verdict {
            is_error: line.is_error || kind.is_some(),
            text: line.result.unwrap_or_default(),
            api_status: line.api_error_status,
            // Older clients tell the reason by the kind of error alone.
            reason: line.terminal_reason.or(kind),
        });
    }

    fn rate_limit(&mut self, info: Option<RateLimit>) {
        let Some(info) = info else { return };
        self.rejected = match info.status.as_deref() {
            Some("rejected") => Some(info.resets_at.map(|at| at as i64)),
            // Allowed again, so an earlier refusal is over.
            _ => None,
        };
    }
}

fn keep_end(kept: &mut String, text: &str) {
    kept.push_str(text);
    kept.push('\n');
    let mut excess = kept.len().saturating_sub(KEPT);
    while !kept.is_char_boundary(excess) {
        excess += 1;
    }
    kept.drain(..excess);
}

/// A sum of money; some agents print numbers as texts.
fn sum(value: &serde_json::Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    number.filter(|sum: &f64| sum.is_finite() && *sum >= 0.0)
}

/// The first line, cut to what fits into a line of the view.
fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(120).collect()
}

/// The tool and what it is used on.
fn tool(name: &str, input: Option<&serde_json::Value>) -> String {
    let keys = ["command", "file_path", "notebook_path", "pattern", "path", "url", "description"];
    let target = keys.iter().find_map(|key| input?.get(key)?.as_str());
    match target {
        Some(target) => short(&format!("{name}: {}", short(target))),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use test_support::fixtures;

    use super::*;

    fn seen(name: &str) -> Seen {
        let text = fs_err::read(fixtures().join("streams").join(name)).unwrap();
        let mut seen = Seen::default();
        text.split(|byte| *byte == b'\n').for_each(|line| seen.line(line));
        seen
    }

    #[test]
    fn a_run_that_went_well() {
        let seen = seen("success.jsonl");
        let verdict = seen.verdict.unwrap();
        assert_eq!((verdict.is_error, verdict.text.as_str()), (false, "All done."));
        assert_eq!((seen.context, seen.window, seen.tokens), (161_020, Some(1_000_000), 312_040));
        assert!((seen.cost_usd.unwrap() - 1.245).abs() < 1e-9);
        assert_eq!(seen.session.unwrap(), "f20e8b35-b9c4-4b7e-8fc0-39ff3b2d0b37");
        assert_eq!((seen.doing.as_str(), seen.rejected), ("All done.", None));
    }

    #[test]
    fn a_cost_is_a_sum_or_its_text() {
        for (cost, expected) in [
            ("0.5", Some(0.5)),
            ("\"0.5\"", Some(0.5)),
            ("\" 2 \"", Some(2.0)),
            ("null", None),
            ("\"much\"", None),
            ("\"NaN\"", None),
            ("-1", None),
            ("[1]", None),
        ] {
            let mut seen = Seen::default();
            seen.line(format!("{{\"type\":\"result\",\"total_cost_usd\":{cost}}}").as_bytes());
            assert_eq!((seen.cost_usd, seen.verdict.is_some()), (expected, true), "{cost}");
        }
    }

    #[test]
    fn is_error_counts_whatever_the_subtype_says() {
        let limited = seen("rate-limited.jsonl").verdict.unwrap();
        assert_eq!((limited.is_error, limited.api_status), (true, Some(429)));
        let long = seen("prompt-too-long.jsonl").verdict.unwrap();
        assert_eq!((long.is_error, long.reason.as_deref()), (true, Some("prompt_too_long")));
        assert!(seen("max-turns.jsonl").verdict.unwrap().is_error);
    }

    #[test]
    fn what_the_agent_does_is_shown() {
        let mut seen = Seen::default();
        seen.line(br#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"cargo test\nls"}}]}}"#);
        assert_eq!(seen.doing, "Bash: cargo test");
        seen.line(br#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error":"overloaded"}"#);
        assert_eq!(seen.doing, "the service answered overloaded; retry 2 of 10");
        seen.line(b"just text");
        assert_eq!((seen.doing.as_str(), seen.text.as_str()), ("just text", "just text\n"));
    }

    #[test]
    fn a_refusal_has_its_reset_time_and_may_be_over() {
        let mut seen = Seen::default();
        let event = |status: &str| {
            format!(
                r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1790000000}}}}"#
            )
        };
        seen.line(event("rejected").as_bytes());
        assert_eq!(seen.rejected, Some(Some(1_790_000_000)));
        seen.line(event("allowed").as_bytes());
        assert_eq!(seen.rejected, None);
    }

    #[test]
    fn half_an_event_counts_only_at_the_end() {
        let mut seen = Seen::default();
        seen.line(br#"{"type":"system","session_id":"1"}"#);
        seen.line(br#"{"type":"user","message":{"content":"cut of"#);
        assert!(seen.verdict.as_ref().is_some_and(|verdict| verdict.is_error));
        seen.line(br#"{"type":"user","session_id":"1"}"#);
        assert_eq!(seen.verdict, None);
    }

    #[test]
    fn broken_and_unknown_lines_are_passed_over() {
        let mut seen = Seen::default();
        for line in [
            "{\"type\":",
            "{}",
            "{\"type\":\"novel\",\"result\":7}",
            "\u{0}\u{1}",
            "{\"type\":\"assistant\",\"message\":3}",
        ] {
            seen.line(line.as_bytes());
        }
        assert!(seen.verdict.is_none() && seen.session.is_none());
    }
}
