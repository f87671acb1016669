//! The settings and their defaults: one `Default` for each table of `config.toml`.
//!
//! What each key means to a user stands beside it in [`super::KEYS`], from which the table in
//! `docs/configuration.md` is made.

#![expect(missing_docs, reason = "the keys are described once, in KEYS")]

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::presentation::Notify;
use super::seconds::Seconds;
use super::verification::{Review, Tests, Verify};
use ralph_base::texts::{texts, texts_by_name};
use ralph_core::{guard, plan};

/// All settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The table `[loop]`; the word is taken in Rust.
    #[serde(rename = "loop")]
    pub run: LoopSettings,
    pub agent: Agent,
    pub plan: plan::Options,
    pub verify: Verify,
    pub rollback: Rollback,
    pub limits: Limits,
    pub guard: guard::Settings,
    pub scope: Scope,
    pub stop: Stop,
    pub session: Session,
    pub hooks: Hooks,
    pub tests: Tests,
    pub review: Review,
    pub workspace: WorkspaceSettings,
    pub commit: CommitSettings,
    pub notify: Notify,
}

/// The table `[loop]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopSettings {
    pub mode: Mode,
    pub max_iterations: u64,
    pub plan: String,
    pub progress: String,
    pub prd: u64,
    #[serde(deserialize_with = "at_least_one")]
    pub workers: u64,
    pub specs: String,
    pub branch: String,
    pub fail_if_incomplete: bool,
    pub dry_run: bool,
    pub json_events: bool,
}

impl Default for LoopSettings {
    fn default() -> Self {
        Self {
            mode: Mode::Building,
            max_iterations: 50,
            plan: String::new(),
            progress: String::new(),
            prd: 0,
            workers: 1,
            specs: "specs".to_owned(),
            branch: String::new(),
            fail_if_incomplete: false,
            dry_run: false,
            json_events: false,
        }
    }
}

/// What the loop does with the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Works through its stories.
    Building,
    /// Writes or refreshes it.
    Planning,
}

/// The table `[agent]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    pub command: String,
    pub timeout: Seconds,
    pub silence: Seconds,
    pub grace: Seconds,
    pub unguarded: bool,
}

impl Default for Agent {
    fn default() -> Self {
        let command =
            "claude -p --dangerously-skip-permissions --output-format stream-json --verbose";
        Self {
            command: command.to_owned(),
            timeout: Seconds(3600),
            silence: Seconds(1800),
            grace: Seconds(10),
            unguarded: false,
        }
    }
}

/// The table `[rollback]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rollback {
    pub on: RollbackOn,
    #[serde(deserialize_with = "at_least_one")]
    pub after_failures: u64,
}

impl Default for Rollback {
    fn default() -> Self {
        Self { on: RollbackOn::Failure, after_failures: 3 }
    }
}

/// When an attempt is rolled back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RollbackOn {
    /// As soon as enough test runs failed.
    #[default]
    Failure,
    /// When the iteration ends without success.
    StoryEnd,
    /// Never by itself.
    Never,
}

/// The table `[limits]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    #[serde(deserialize_with = "at_least_one")]
    pub attempts_per_story: u64,
    pub stalled_after: u64,
    pub wait_for_quota: bool,
    #[serde(deserialize_with = "amount")]
    pub max_cost_usd: f64,
    pub max_duration: Seconds,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            attempts_per_story: 3,
            stalled_after: 3,
            wait_for_quota: true,
            max_cost_usd: 0.0,
            max_duration: Seconds(0),
        }
    }
}

/// The table `[scope]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scope {
    #[serde(deserialize_with = "texts")]
    pub paths: Vec<String>,
    #[serde(deserialize_with = "texts_by_name")]
    pub stories: BTreeMap<String, Vec<String>>,
}

/// The table `[stop]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    pub max_blocks: u64,
    pub max_idle_blocks: u64,
    pub verify: bool,
    #[serde(deserialize_with = "texts")]
    pub subagents: Vec<String>,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            max_blocks: 1,
            max_idle_blocks: 2,
            verify: false,
            subagents: vec!["ralph-*".to_owned()],
        }
    }
}

/// The table `[session]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Session {
    #[serde(deserialize_with = "part")]
    pub context_limit: f64,
    #[serde(deserialize_with = "at_least_one")]
    pub stories_per_session: u64,
}

impl Default for Session {
    fn default() -> Self {
        Self { context_limit: 0.8, stories_per_session: 1 }
    }
}

/// The table `[hooks]`: the lifecycle scripts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hooks {
    pub enabled: bool,
    pub started: bool,
    pub next_iteration: bool,
    pub post_iteration: bool,
    pub finished: bool,
    pub timeout: Seconds,
    pub fail_behavior: FailBehavior,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            enabled: true,
            started: true,
            next_iteration: true,
            post_iteration: true,
            finished: true,
            timeout: Seconds(30),
            fail_behavior: FailBehavior::Continue,
        }
    }
}

/// What a lifecycle script that fails on its own account does to the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailBehavior {
    /// The loop goes on.
    Continue,
    /// The loop ends.
    Abort,
}

/// The table `[workspace]`: where the agent works.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkspaceSettings {
    pub in_place: bool,
    pub folder: String,
    #[serde(deserialize_with = "texts")]
    pub setup: Vec<String>,
}

/// The table `[commit]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommitSettings {
    pub message: String,
    #[serde(rename = "type")]
    pub kind: String,
}

impl Default for CommitSettings {
    fn default() -> Self {
        Self { message: "{type}({id}): {title}".to_owned(), kind: "feat".to_owned() }
    }
}

/// A part of the whole. `80` for 80 % would never be reached, and nobody would notice.
fn part<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&number) {
        return Ok(number);
    }
    Err(D::Error::custom(format!("{number} is not between 0 and 1; write 80% as 0.8")))
}

/// An amount of money. What is no number, or below zero, would be no limit at all.
fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.is_finite() && number >= 0.0 {
        return Ok(number);
    }
    Err(D::Error::custom(format!("{number} is not a valid amount; use 0 for no limit")))
}

/// A number that would mean nothing if it were zero: neither "none" nor "without limit" is to be had.
pub(super) fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(D::Error::custom("invalid number 0; the minimum is 1")),
        number => Ok(number),
    }
}
