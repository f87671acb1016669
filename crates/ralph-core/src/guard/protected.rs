//! Which files steer the loop, the client or git, and are therefore not the agent's to write.
//!
//! One answer for edits and for commands; exceptions that only commands need are theirs.

use globset::{Glob, GlobSet, GlobSetBuilder};

use ralph_base::state;

/// What a path inside the project belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The loop's state, the plan's own files aside.
    State,
    /// The settings that register the hooks, the hooks, or the whole folder that holds them.
    Settings,
    /// The repository.
    Git,
    /// The agent's work.
    Work,
}

/// Who owns a path, given relative to the project.
pub(super) fn owner(inside: &str) -> Owner {
    let (first, rest) = inside.split_once('/').unwrap_or((inside, ""));
    match first {
        state::PROJECT_MARKER if state::belongs_to_a_plan(rest) => Owner::Work,
        state::PROJECT_MARKER => Owner::State,
        state::CLIENT_FOLDER
            if rest.is_empty() || is_settings(rest) || rest.starts_with("hooks/ralph-") =>
        {
            Owner::Settings
        }
        ".git" => Owner::Git,
        _ => Owner::Work,
    }
}

/// `settings.json`, `settings.local.json` and whatever else the client may add.
pub(super) fn is_settings(file: &str) -> bool {
    file.starts_with("settings") && file.ends_with(".json") && !file.contains('/')
}

/// The user's own globs. One that cannot be read is passed over here; the configuration's reader
/// names it.
pub(super) fn globs(patterns: &[String]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for glob in patterns.iter().filter_map(|pattern| Glob::new(pattern).ok()) {
        builder.add(glob);
    }
    builder.build().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_an_owner() {
        for (path, expected) in [
            (".ralph", Owner::State),
            (".ralph/config.toml", Owner::State),
            (".ralph/PRD-1/plan.md", Owner::Work),
            (".ralph/PRD-1/prompt.md", Owner::State),
            (".ralph/fix_plan.md", Owner::Work),
            (".ralph/merge-requests/1.md", Owner::Work),
            (".claude", Owner::Settings),
            (".claude/settings.local.json", Owner::Settings),
            (".claude/hooks/ralph-pre-tool", Owner::Settings),
            (".claude/agents/settings.json", Owner::Work),
            (".git/hooks/pre-push", Owner::Git),
            (".gitignore", Owner::Work),
            ("src/.ralph/x", Owner::Work),
        ] {
            assert_eq!(owner(path), expected, "{path}");
        }
    }
}
