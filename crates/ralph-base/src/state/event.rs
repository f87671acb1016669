//! The events in the journal. Users' scripts and dashboards read these names: they are a public
//! interface, and names are only ever added.

use std::io;

use serde::{Deserialize, Serialize};

use super::{Scale, StateDir, now, write};
use crate::secrets::mask_json;

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
        /// Which promises do not hold with the agent, if a probe found that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probed: Option<String>,
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
    StoryDone {
        /// What is known about it; missing in journals of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scale: Option<Scale>,
    },
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
        let Self { hook_event, phase, error } = self;
        let file = serde_json::json!({
            "version": 1, "at": now(), "source": source,
            "hook_event": hook_event, "phase": phase, "error": error,
        });
        let text = mask_json(&serde_json::to_string_pretty(&file)?);
        write::replace(&state.hook_error(), text.as_bytes())
    }
}
