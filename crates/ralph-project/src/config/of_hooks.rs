//! The part of the settings that hooks read.

use ralph_core::{guard, plan};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Config, LoopSettings, Rollback, Scope, Session, Stop, Tests, Verify};

/// The tables for hooks: the code to parse the loop's tables would be a large part of each hook.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OfHooks {
    #[serde(rename = "loop")]
    run: LoopSettings,
    plan: plan::Options,
    verify: Verify,
    rollback: Rollback,
    guard: guard::Settings,
    scope: Scope,
    stop: Stop,
    session: Session,
    tests: Tests,
    // The others are declared by name, so that a misspelt one is an error.
    agent: IgnoredAny,
    limits: IgnoredAny,
    hooks: IgnoredAny,
    review: IgnoredAny,
    workspace: IgnoredAny,
    sandbox: IgnoredAny,
    commit: IgnoredAny,
    #[serde(rename = "run")]
    machine: IgnoredAny,
    finish: IgnoredAny,
    notify: IgnoredAny,
}

impl From<OfHooks> for Config {
    fn from(tables: OfHooks) -> Self {
        let OfHooks { run, plan, verify, rollback, guard, scope, stop, session, tests, .. } =
            tables;
        Self { run, plan, verify, rollback, guard, scope, stop, session, tests, ..Self::default() }
    }
}
