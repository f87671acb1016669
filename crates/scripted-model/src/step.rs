//! A turn as data, for scenarios and probes: what the model does, and what it must receive in return.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::answer::{Answer, Tokens};
use crate::request::Request;

/// How much of what the model received is quoted.
const SHOWN_CHARS: usize = 1500;

/// One turn of the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    say: Option<String>,
    bash: Option<String>,
    read: Option<String>,
    write: Option<(String, String)>,
    edit: Option<(String, String, String)>,
    tool: Option<(String, Value)>,
    /// An error of the service: status, type and text.
    refuse: Option<(u16, String, String)>,
    /// A usage limit that ends in this many seconds.
    limit: Option<u64>,
    /// The same, once: some agents wait for its end themselves.
    obeyed: Option<u64>,
    /// Whether the key is refused.
    wrong_key: bool,
    /// Another call in the same turn.
    and: Option<Box<Step>>,
    /// The token counts that it reports: input, written to the cache, read from it, output.
    tokens: Option<(u64, u64, u64, u64)>,
    /// The number of seconds before it answers.
    after: u64,
    /// Passages that the model must receive in return.
    pub sees: Vec<String>,
    /// Passages that it must not receive.
    pub never_sees: Vec<String>,
}

impl Step {
    /// Creates a step with nothing but these passages, for what the model receives with the prompt.
    pub fn seeing(sees: Vec<String>) -> Self {
        Self { sees, ..Self::default() }
    }

    /// Returns the answers of these steps, with names filled in; a limit is repeated if the agent retries.
    pub fn answers(
        steps: &[Self],
        fill: &dyn Fn(&str) -> String,
        retries: usize,
    ) -> Result<Vec<Answer>, String> {
        let times = |step: &Self| if step.limit.is_some() { retries + 1 } else { 1 };
        let repeated = steps.iter().flat_map(|step| std::iter::repeat_n(step, times(step)));
        repeated.map(|step| step.answer(fill)).collect()
    }

    fn answer(&self, fill: &dyn Fn(&str) -> String) -> Result<Answer, String> {
        let mut answer = if let Some(text) = &self.say {
            Answer::text(fill(text))
        } else if let Some(command) = &self.bash {
            Answer::bash(&fill(command))
        } else if let Some(path) = &self.read {
            Answer::read(fill(path))
        } else if let Some((path, text)) = &self.write {
            Answer::write(fill(path), text)
        } else if let Some((path, old, new)) = &self.edit {
            Answer::edit(fill(path), old, new)
        } else if let Some((name, input)) = &self.tool {
            let input = serde_json::from_str(&fill(&input.to_string()));
            Answer::tool(name, input.map_err(|error| error.to_string())?)
        } else if let Some((status, kind, text)) = &self.refuse {
            let kind = kind.clone().leak();
            // Otherwise the client retries for minutes before it gives up.
            Answer::refused(*status, kind, text).with_header("x-should-retry", "false")
        } else if let Some(seconds) = self.limit {
            Answer::usage_limit(seconds).with_header("x-should-retry", "false")
        } else if let Some(seconds) = self.obeyed {
            Answer::usage_limit(seconds)
        } else if self.wrong_key {
            Answer::wrong_key().with_header("x-should-retry", "false")
        } else {
            return Err("a turn that does nothing".to_owned());
        };
        if let Some((input, cache_creation, cache_read, output)) = self.tokens {
            answer = answer.using(Tokens { input, cache_creation, cache_read, output });
        }
        if let Some(other) = &self.and {
            answer = answer.and(other.answer(fill)?);
        }
        Ok(answer.after(Duration::from_secs(self.after)))
    }

    /// Returns what this request, which follows the step, contains or lacks against expectation.
    pub fn unmet(&self, request: &Request, fill: &dyn Fn(&str) -> String) -> Option<String> {
        let seen = request.received();
        let each = |passages: &[String], is_wanted: bool| {
            let wrong = passages.iter().map(|passage| fill(passage));
            let wrong = wrong.filter(|passage| seen.contains(passage.as_str()) != is_wanted);
            wrong.collect::<Vec<_>>()
        };
        let (missing, unwanted) = (each(&self.sees, true), each(&self.never_sees, false));
        let shown: String = seen.chars().take(SHOWN_CHARS).collect();
        let words = match (missing.first(), unwanted.first()) {
            (Some(passage), _) => format!("expected `{passage}`"),
            (None, Some(passage)) => format!("did not expect `{passage}`"),
            (None, None) => return None,
        };
        Some(format!("{words} in: {shown}"))
    }
}
