//! What the type of a value does not tell: whether a pattern can be read, a name exists, a command
//! runs anything.
//!
//! Where the value was given is found by the loader, because only that knows the layers.

use super::values::Config;
use ralph_core::guard;

/// What is wrong with a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    /// The keys that may hold it.
    pub(super) keys: &'static [&'static str],
    /// The value.
    pub(super) value: String,
    /// What is wrong.
    pub(super) message: String,
}

/// The first thing that is wrong.
pub(super) fn complaint(config: &Config) -> Option<Complaint> {
    empty_check(config).or_else(|| guard_mistake(config)).or_else(|| broken_glob(config))
}

/// A check that checks nothing always passes.
fn empty_check(config: &Config) -> Option<Complaint> {
    let runs_nothing = |command: &&String| {
        command.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
    };
    let command = config.verify.commands.iter().find(runs_nothing)?;
    let message = format!(
        "`{command}` runs nothing, so it would pass whatever the agent does; give a command, or \
         leave it out"
    );
    Some(Complaint { keys: &["verify.commands"], value: command.clone(), message })
}

fn guard_mistake(config: &Config) -> Option<Complaint> {
    let guard::Mistake { keys, value, message } = config.guard.validate().err()?;
    Some(Complaint { keys, value, message })
}

fn broken_glob(config: &Config) -> Option<Complaint> {
    let of_stories: Vec<String> = config.scope.stories.values().flatten().cloned().collect();
    let lists: [(&[&str], &[String]); 4] = [
        (&["scope.paths"], &config.scope.paths),
        (&["scope.stories"], &of_stories),
        (&["tests.files"], &config.tests.files),
        (&["stop.subagents"], &config.stop.subagents),
    ];
    lists.into_iter().find_map(|(keys, globs)| {
        globs.iter().find_map(|glob| {
            let why = globset::Glob::new(glob).err()?;
            let message = format!("`{glob}` is not a pattern: {why}");
            Some(Complaint { keys, value: glob.clone(), message })
        })
    })
}
