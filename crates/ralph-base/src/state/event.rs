//! The events in the journal. Users' scripts and dashboards read these names: they are a public
//! interface, and names are only ever added.

use std::io;

use serde::{Deserialize, Serialize};

use super::{StateDir, now, write};
use crate::secrets::mask;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this format.
    pub v: u32,
    /// The time, as RFC 3339 in UTC.
    pub at: String,
    /// The program that wrote it.
    pub source: String,
    /// The client session, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The loop's run, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The worker's number, if the run has several workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The name of the story's plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_name: Option<String>,
    /// The current story, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// The agent that wanted to stop, and the gates that were not met.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StopFacts {
    /// The client's event: `Stop`, `SubagentStop`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_event: Option<String>,
    /// The type of a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// The names of gates that are unmet, or were not evaluated again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<String>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the fields are the documented interface; docs/state.md explains them"
)]
pub enum Event {
    Denied {
        rule: String,
        tool: String,
        target: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asked: bool,
    },
    Verdict {
        verdict: String,
        runner: Option<String>,
        passed: Option<u64>,
        failed: Option<u64>,
        tests: Vec<String>,
    },
    RolledBack {
        to: String,
        saved_as: String,
        why: String,
    },
    NotRolledBack {
        why: String,
    },
    StopBlocked {
        reasons: Vec<String>,
        #[serde(flatten)]
        stop: StopFacts,
    },
    StopAllowed {
        status: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        #[serde(flatten)]
        stop: StopFacts,
    },
    Prompt {
        prompt: String,
    },
    LoopStarted {
        mode: String,
        plan: String,
        /// The branch on which work lands.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        branch: String,
        /// Why no hooks guard the agent, if none do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unguarded: Option<String>,
        /// Whether attempts run in the sandbox: `on` and details, or why not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<String>,
    },
    /// The estimate for the run, based on `based_on` earlier stories.
    Forecast {
        stories: usize,
        based_on: usize,
        seconds: Option<f64>,
        cost_usd: Option<f64>,
    },
    IterationStarted {
        iteration: u32,
        #[serde(default)]
        title: String,
        #[serde(default)]
        attempt: u64,
    },
    /// A check ran, with its runner's counts; a check before the first story belongs to no story.
    Checked {
        check: String,
        ended: String,
        passed: Option<u64>,
        failed: Option<u64>,
        seconds: f64,
    },
    /// A wait for the agent's service has ended.
    Waited {
        why: String,
        seconds: f64,
    },
    IterationFinished {
        outcome: String,
        exit_code: Option<i32>,
        duration_s: f64,
        tokens: Option<u64>,
        cost_usd: Option<f64>,
        /// Whether that includes the cost of interrupted attempts, whose session it resumed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        includes_earlier: bool,
        /// Why the story did not land, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The cost of a story that landed before its session reported the cost.
    CostReported {
        cost_usd: f64,
    },
    /// Sent to those who follow the events; not written to the journal.
    ToolCall {
        call: String,
    },
    Committed {
        commit: String,
    },
    StoryDone,
    StorySetAside {
        why: String,
    },
    /// Something about landed work is worth a second look.
    Remarked {
        about: String,
        what: String,
    },
    PlanRepaired {
        findings: Vec<String>,
    },
    /// A tick or a setting was changed by someone other than the run.
    ChangedMeanwhile {
        what: String,
    },
    Lifecycle {
        name: String,
        exit_code: Option<i32>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
    },
    HookError {
        #[serde(flatten)]
        failure: HookFailure,
    },
    /// A pull request for the work of the run: its address, or why there is none.
    PullRequest {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    LoopFinished {
        finish_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An event of a newer version, kept apart so that the rest of the journal stays readable.
    #[serde(other, skip_serializing)]
    Other,
}

impl Event {
    /// Returns whether hooks write this event; all others are believed only from the loop.
    pub fn is_of_hooks(&self) -> bool {
        matches!(
            self,
            Self::Denied { .. }
                | Self::Verdict { .. }
                | Self::RolledBack { .. }
                | Self::NotRolledBack { .. }
                | Self::StopBlocked { .. }
                | Self::StopAllowed { .. }
                | Self::Prompt { .. }
                | Self::HookError { .. }
        )
    }
}

/// An internal failure of a hook: part of `.hook-error.json` and of the `hook_error` event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookFailure {
    /// The event that the hook was called for, if the input could be read that far.
    pub hook_event: Option<String>,
    /// What the hook was doing when it failed: reading, parsing, deciding or answering.
    pub phase: String,
    /// The failure and its causes.
    pub error: String,
}

impl HookFailure {
    /// Writes the failure to `.hook-error.json`, replacing an older one.
    pub fn save(&self, state: &StateDir, source: &str) -> io::Result<()> {
        let Self { hook_event, phase, error } = self.masked();
        let file = serde_json::json!({
            "version": 1, "at": now(), "source": source,
            "hook_event": hook_event, "phase": phase, "error": error,
        });
        write::replace(&state.hook_error(), &serde_json::to_vec_pretty(&file)?)
    }
}

impl Event {
    /// Returns the event with secrets in its free text masked. Ids, names and numbers are kept.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut event = self.clone();
        for text in event.free_texts() {
            *text = mask(text);
        }
        event
    }

    fn free_texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::Denied { target: text, .. }
            | Self::RolledBack { why: text, .. }
            | Self::NotRolledBack { why: text }
            | Self::Prompt { prompt: text }
            | Self::StorySetAside { why: text }
            | Self::ToolCall { call: text }
            | Self::Lifecycle { output: text, .. }
            | Self::IterationStarted { title: text, .. }
            | Self::Checked { check: text, .. } => vec![text],
            Self::Verdict { tests: texts, .. }
            | Self::StopBlocked { reasons: texts, .. }
            | Self::PlanRepaired { findings: texts } => texts.iter_mut().collect(),
            Self::StopAllowed { note: text, .. } | Self::LoopFinished { reason: text, .. } => {
                text.iter_mut().collect()
            }
            Self::HookError { failure } => {
                failure.hook_event.iter_mut().chain([&mut failure.error]).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl HookFailure {
    /// Returns the failure with secrets masked.
    #[must_use]
    pub fn masked(&self) -> Self {
        let hook_event = self.hook_event.as_deref().map(mask);
        Self { hook_event, error: mask(&self.error), ..self.clone() }
    }
}

#[cfg(test)]
mod masked_tests {
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk-ant-api03-0123456789abcdef0123";

    #[test]
    fn keys_are_masked_in_every_event() {
        let text = format!("curl -H 'x-api-key: {KEY}' host");
        for event in [
            json!({"event": "denied", "rule": "disk", "tool": "Bash", "target": text}),
            json!({"event": "rolled_back", "to": "a", "saved_as": "b", "why": text}),
            json!({"event": "stop_blocked", "reasons": ["fine", text]}),
            json!({"event": "stop_allowed", "status": "x", "note": text}),
            json!({"event": "prompt", "prompt": text}),
            json!({"event": "lifecycle", "name": "started", "output": text}),
            json!({"event": "story_set_aside", "why": text}),
            json!({"event": "loop_finished", "finish_type": "error", "reason": text}),
            json!({"event": "plan_repaired", "findings": [text]}),
            json!({"event": "hook_error", "phase": "parsing", "error": text}),
            json!({"event": "verdict", "verdict": "failed", "tests": [text]}),
        ] {
            let event: Event = serde_json::from_value(event).unwrap();
            let kept = serde_json::to_string(&event.masked()).unwrap();
            assert!(!kept.contains(KEY) && kept.contains("[masked]"), "{kept}");
        }
    }

    #[test]
    fn ids_are_not_masked() {
        let saved_as = "refs/ralph/discarded/20260102-030405-678-US-001".to_owned();
        let to = "3c42706aa11bb22cc33dd44ee55ff66778899aab".to_owned();
        let event = Event::RolledBack { to, saved_as, why: "test_a.py::test_b failed".into() };
        assert_eq!(event.masked(), event);
    }
}
