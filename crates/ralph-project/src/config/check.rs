//! Checks what types cannot express: whether a pattern is valid, a name exists, a command runs
//! anything.
//!
//! The loader finds out where the value was given, because only the loader knows the layers.

use super::tables::Config;
use crate::dialect::{AGENTS, Dialect};
use ralph_core::guard::{Glob, Mistake};

/// Returns the first mistake.
pub fn mistake(config: &Config) -> Option<Mistake> {
    config.guard.validate().err().or_else(|| mistake_beside_guard(config))
}

/// Returns the first mistake in what concerns more than the guard, whose rules most hooks do not link.
pub fn mistake_beside_guard(config: &Config) -> Option<Mistake> {
    empty_check(config).or_else(|| broken_glob(config)).or_else(|| unknown_agent(config))
}

fn unknown_agent(config: &Config) -> Option<Mistake> {
    let named =
        [&config.agent.name, &config.review.agent].into_iter().chain(&config.agent.fallback);
    let is_unknown = |name: &&String| !name.is_empty() && Dialect::find(name).is_none();
    let name = named.into_iter().find(is_unknown)?;
    let known: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
    let message = format!("`{name}` is not a known agent; choose one of {}", known.join(", "));
    Some(Mistake {
        keys: &["agent.name", "agent.fallback", "review.agent"],
        value: name.clone(),
        message,
    })
}

/// Finds a check that runs nothing, which would always pass.
fn empty_check(config: &Config) -> Option<Mistake> {
    let runs_nothing = |command: &&String| {
        command.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
    };
    let command = config.verify.commands.iter().find(runs_nothing)?;
    let message = format!(
        "`{command}` does not run anything, so it would always pass; write a command, or remove it"
    );
    Some(Mistake { keys: &["verify.commands"], value: command.clone(), message })
}

fn broken_glob(config: &Config) -> Option<Mistake> {
    let of_stories: Vec<String> = config.scope.stories.values().flatten().cloned().collect();
    let lists: [(&[&str], &[String]); 3] = [
        (&["scope.paths"], &config.scope.paths),
        (&["scope.stories"], &of_stories),
        (&["stop.subagents"], &config.stop.subagents),
    ];
    lists.into_iter().find_map(|(keys, globs)| {
        globs.iter().find_map(|glob| {
            let why = Glob::new(glob).err()?;
            let message = format!("`{glob}` is not a valid pattern: {why}");
            Some(Mistake { keys, value: glob.clone(), message })
        })
    })
}
