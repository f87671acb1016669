//! Parses the agent's output: its activity, tokens, context, cost, and reported result.
//!
//! Unknown lines are skipped. An agent may also print plain text instead of events; then its exit
//! code is its only result.

use std::collections::BTreeMap;
use std::time::Instant;

use jiff::Timestamp;
use ralph_base::secrets::{mask, mask_json};
use serde_json::Value;

use super::calls::{Calls, keep_end, short, text_of};
use super::count::{Count, Totals, tokens_of};
use super::refusal::Refusal;
use super::translate::translated;
use super::unjudged::Unjudged;
use super::waits::Waits;

/// Why a truncated event, which may have been a result, counts as a failure; this holds until
/// another event follows.
const HALF: &str = "a last event that is cut off";

/// What the agent's output has shown so far.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// The client's session.
    pub session: Option<String>,
    /// The agent's current activity.
    pub now: Activity,
    /// Its tool calls.
    pub calls: Calls,
    /// Tokens used by this process.
    pub tokens: u64,
    /// Tokens of the resumed session's earlier processes whose cost is in `cost_usd` as well.
    pub covered_tokens: u64,
    /// The token counter.
    pub count: Count,
    /// Its context.
    pub context: Context,
    /// The cost, as far as the agent reported it.
    pub cost_usd: Option<f64>,
    /// The result that it reported.
    pub verdict: Option<Verdict>,
    /// The reset time in Unix seconds, if known; set while the service rejects requests.
    pub rejected: Option<Option<i64>>,
    /// The service's refusal, if that was the last error that the agent reported.
    pub refused: Option<Refusal>,
    /// Hooks that gave no verdict.
    pub unjudged: Unjudged,
    /// Why the client could not save its session, if it could not.
    pub unsaved: Option<String>,
    /// The time in which the agent itself waited for its service.
    pub waits: Waits,
    /// The end of what it printed.
    pub said: Said,
    /// When it last printed anything.
    pub heard: Option<Instant>,
    /// The number of bytes that it printed.
    pub printed: u64,
}

/// The context of the main conversation.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The number of tokens in the context.
    pub tokens: u64,
    /// The model that answers.
    pub model: String,
    /// The size of the context window by model, as far as the client reported it.
    pub windows: BTreeMap<String, u64>,
}

/// The current activity of an agent.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    /// A description in a few words.
    pub doing: String,
    /// Whether a hook or the user's settings refused the call.
    pub is_refused: bool,
}

/// The end of what an agent printed.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// Its plain text, or its last message.
    pub text: String,
    /// What it printed on standard error.
    pub complaints: String,
}

/// The result that the agent reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    pub is_error: bool,
    /// Its last message.
    pub text: String,
    /// The service's HTTP status, if it refused.
    pub api_status: Option<u16>,
    /// Why the session ended.
    pub reason: Option<String>,
    /// Why the client did not start, if it did not.
    pub startup: Option<String>,
}

impl Stream {
    /// Returns the state for an agent in this folder; `earlier` is its resumed session's usage.
    pub(super) fn of_agent_in(root: &str, earlier: Totals) -> Self {
        Self { calls: Calls::from_folder(root), count: Count::after(earlier), ..Self::default() }
    }

    /// Returns what the session has used, including this process.
    pub fn totals(&self) -> Totals {
        self.count.totals(self.tokens, self.cost_usd)
    }

    /// Returns how many calls ran although a hook of ours gave no verdict; `is_passed` is whether the run
    /// brought our hooks.
    pub fn unguarded_calls(&self, is_passed: bool) -> usize {
        self.unjudged.of_calls(self.calls.count, is_passed)
    }

    /// Returns whether no hook will judge the next call either.
    pub fn is_unguarded_for_good(&self, is_passed: bool) -> bool {
        self.unjudged.is_lasting(self.calls.count, is_passed)
    }

    fn does(&mut self, what: String) {
        (self.now.doing, self.now.is_refused) = (what, false);
    }

    /// Returns the size of the context window, if the client reported it.
    pub fn window(&self) -> Option<u64> {
        self.context.windows.get(&self.context.model).copied()
    }

    /// Takes a line of standard error.
    pub(super) fn complaint(&mut self, line: &[u8]) {
        keep_end(&mut self.said.complaints, &mask(&String::from_utf8_lossy(line)));
    }

    /// Takes a line of standard output.
    pub fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if text.trim().is_empty() {
            return;
        }
        // Before anything is cut: half of a secret is not recognised any more.
        let is_event = text.trim_start().starts_with('{');
        let text = if is_event { mask_json(&text) } else { mask(&text) };
        if !is_event {
            self.does(short(&text));
            keep_end(&mut self.said.text, &text);
            return;
        }
        match serde_json::from_str::<Value>(&text) {
            Ok(event) => {
                self.take_error(&event);
                translated(event).iter().for_each(|event| self.event(event));
            }
            // An agent that prints half a result has not reported success.
            Err(error) if error.is_eof() && self.session.is_some() && self.verdict.is_none() => {
                let (text, reason) = (short(&text), Some(HALF.to_owned()));
                self.verdict = Some(Verdict { is_error: true, text, reason, ..Verdict::default() });
            }
            Err(_) => {}
        }
    }

    fn event(&mut self, event: &Value) {
        let Some(kind) = text_of(event, "type") else { return };
        self.verdict.take_if(|verdict| verdict.reason.as_deref() == Some(HALF));
        if let Some(session) = text_of(event, "session_id") {
            self.session = Some(session.to_owned());
        }
        self.waits.take(kind, event);
        let role = event.pointer("/message/role").and_then(Value::as_str);
        match (kind, text_of(event, "subtype")) {
            ("assistant", _) => self.assistant(event),
            ("message", _) if role == Some("assistant") => self.assistant(event),
            ("user", _) => {
                if let Some(call) = self.calls.end(event, &mut self.unjudged) {
                    (self.now.doing, self.now.is_refused) = (call, true);
                }
            }
            ("system", Some("init")) => {
                self.context.model = text_of(event, "model").unwrap_or_default().to_owned();
            }
            ("system", Some("informational")) => self.unjudged.message(event, self.calls.count),
            ("system", Some("session_writes_lost")) => {
                self.unsaved = Some(text_of(event, "error_code").unwrap_or("unknown").to_owned());
            }
            ("result", _) => self.result(event),
            ("system", Some("api_retry")) => {
                let what = text_of(event, "error").unwrap_or("error");
                let number = |name| event.get(name).and_then(Value::as_u64).unwrap_or(0);
                let (now, most) = (number("attempt"), number("max_retries"));
                self.does(format!("the service returned {what}; retry {now} of {most}"));
            }
            ("rate_limit_event", _) => self.rate_limit(event.get("rate_limit_info")),
            _ => {}
        }
    }

    /// Records an error that the agent reports. A less specific one may follow a refusal.
    fn take_error(&mut self, event: &Value) {
        let kind = text_of(event, "type").unwrap_or_default();
        let Some((message, status)) = reported_error(event, kind) else { return };
        let now = Timestamp::now();
        let refusal = Refusal::in_error(&message, status, now);
        if refusal.is_none() && self.refused.is_some() {
            return;
        }
        self.does(short(&message));
        keep_end(&mut self.said.complaints, &message);
        let wait = event.pointer("/error/data/responseHeaders/retry-after");
        let wait = wait.and_then(|wait| wait.as_str()?.parse::<i64>().ok());
        self.refused = match (refusal, wait) {
            (Some(Refusal::Later(None) | Refusal::Down), Some(wait)) => {
                Some(Refusal::Later(Some(now.as_second().saturating_add(wait))))
            }
            (refusal, _) => refusal,
        };
    }

    fn assistant(&mut self, event: &Value) {
        let Some(message) = event.get("message") else { return };
        // The service answers again.
        self.refused = None;
        let used = tokens_of(message);
        // A subagent has a context of its own; tokens count wherever they were used.
        if text_of(event, "parent_tool_use_id").is_none() && used > 0 {
            self.context.tokens = used;
            if let Some(model) = text_of(message, "model") {
                model.clone_into(&mut self.context.model);
            }
        }
        self.tokens += self.count.message(text_of(message, "id").unwrap_or_default(), used);
        if let Some(cost) = event.get("cost_usd").and_then(Value::as_f64) {
            *self.cost_usd.get_or_insert_default() += cost;
        }
        let parts = message.get("content").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            match (text_of(part, "type"), text_of(part, "name"), text_of(part, "text")) {
                (Some("tool_use"), Some(name), _) => {
                    let call = self.calls.begin(name, part);
                    self.does(call);
                }
                (Some("text"), _, Some(text)) => {
                    self.does(short(text));
                    self.said.text.clear();
                    keep_end(&mut self.said.text, text);
                }
                _ => {}
            }
        }
    }

    /// Takes a result. Its totals are the client's own and override what was added up.
    fn result(&mut self, event: &Value) {
        let process = self.count.process(event);
        self.cost_usd = process.cost_usd.or(self.cost_usd);
        self.covered_tokens = process.covered;
        self.tokens = process.tokens.unwrap_or(self.tokens);
        let models = event.get("modelUsage").and_then(Value::as_object).into_iter().flatten();
        self.context.windows.extend(models.filter_map(|(name, usage)| {
            Some((name.clone(), usage.get("contextWindow")?.as_u64()?))
        }));
        let kind = text_of(event, "subtype").filter(|kind| kind.starts_with("error"));
        let is_fine = matches!(event.get("is_error"), None | Some(Value::Bool(false)))
            && event.get("exitCode").and_then(Value::as_i64).unwrap_or(0) == 0
            && text_of(event, "status") != Some("error");
        let status = event.get("api_error_status").and_then(Value::as_u64);
        let first = || event.pointer("/errors/0").and_then(Value::as_str).map(str::to_owned);
        let error = reported_error(event, "result").map(|(message, _)| message).or_else(first);
        let last = || if is_fine { self.said.text.trim().to_owned() } else { String::new() };
        self.verdict = Some(Verdict {
            is_error: !is_fine || kind.is_some(),
            text: text_of(event, "result").map(str::to_owned).or(error).unwrap_or_else(last),
            api_status: status.and_then(|status| status.try_into().ok()),
            // Older clients report the reason only as the kind of error.
            reason: text_of(event, "terminal_reason").or(kind).map(str::to_owned),
            startup: text_of(event, "startup_failure_reason").map(str::to_owned),
        });
    }

    fn rate_limit(&mut self, info: Option<&Value>) {
        let Some(info) = info else { return };
        let reset = info.get("resetsAt").and_then(Value::as_f64).map(|at| at as i64);
        // When requests are allowed again, an earlier refusal is over.
        self.rejected = (text_of(info, "status") == Some("rejected")).then_some(reset);
    }
}

/// Returns the message and HTTP status of an error event of any agent, but not of a tool's error.
fn reported_error(event: &Value, kind: &str) -> Option<(String, Option<u16>)> {
    if kind.starts_with("tool") || text_of(event, "severity") == Some("warning") {
        return None;
    }
    let own = ["/error/data", "/error"].into_iter().filter_map(|at| event.pointer(at));
    let whole = [event.get("data"), Some(event)].into_iter().flatten();
    let whole = whole.filter(|_| kind.ends_with("error"));
    let message = own.chain(whole).find_map(|error| Some((error, text_of(error, "message")?)));
    let (error, message) = message.or_else(|| Some((event, text_of(event, "error_message")?)))?;
    let status = ["statusCode", "status_code"].iter().find_map(|name| error.get(name)?.as_u64());
    Some((message.to_owned(), status.and_then(|status| status.try_into().ok())))
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
