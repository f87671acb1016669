//! Files that control the loop, the client or git, and that the agent must not write.
//!
//! Shared by edits and commands; exceptions for commands only are in `files.rs`.

use camino::Utf8Path;

use super::{CopyOf, Facts, Glob, Settings};
use ralph_base::{names, state};

/// The owner of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The loop's state, except the plan's own files.
    State,
    /// The settings that register the hooks, the hooks, or the folder that contains them.
    Settings,
    /// The repository.
    Git,
    /// Files that the user protects in the settings.
    User,
    /// The agent's work, or any unprotected file.
    Work,
}

/// Returns the owner of an absolute path: in the project, in the original of a copy, or in the home
/// folder, where git repositories are not protected.
pub(super) fn owner(path: &Utf8Path, facts: &Facts, settings: &Settings) -> Owner {
    if is_own(path, facts) {
        return Owner::Work;
    }
    if facts.state != "" && names::below(path, &facts.state).is_some() {
        return Owner::State;
    }
    let mut roots = facts.linked_root.iter().chain([&facts.root]);
    let inside = roots.find_map(|root| names::below(path, root));
    let folders = facts.copy.iter().flat_map(CopyOf::guarded).chain([facts.root.clone()]);
    let others = folders.filter_map(|folder| names::below(path, &folder));
    let mut owners = inside.into_iter().chain(others).map(owner_inside);
    if let Some(owner) = owners.find(|owner| *owner != Owner::Work) {
        return owner;
    }
    if inside.is_some_and(|inside| protects_any(&settings.protect, inside)) {
        return Owner::User;
    }
    let at_home = if facts.home != "" { names::below(path, &facts.home) } else { None };
    match at_home.filter(|_| inside.is_none()).map(owner_inside) {
        Some(owner @ (Owner::State | Owner::Settings)) => owner,
        _ => Owner::Work,
    }
}

/// Returns whether the agent may write a path although it is in a protected place.
pub(super) fn is_own(path: &Utf8Path, facts: &Facts) -> bool {
    facts.own_files.iter().any(|own| path.starts_with(own))
}

/// Returns the owner of a path relative to a project.
pub(super) fn owner_inside(inside: &Utf8Path) -> Owner {
    let (first, rest) = inside.as_str().split_once('/').unwrap_or((inside.as_str(), ""));
    // Most names are not like those that follow.
    if first.is_ascii() && !first.starts_with('.') && !first.contains('~') {
        return Owner::Work;
    }
    let is = |name: &str| names::are_same(first, name);
    if is(state::PROJECT_MARKER) {
        let is_plans = first == state::PROJECT_MARKER && state::belongs_to_a_plan(rest);
        if is_plans { Owner::Work } else { Owner::State }
    } else if is(state::CLIENT_FOLDER) && is_settings(&names::folded(rest).collect::<String>()) {
        Owner::Settings
    } else if is(".git") {
        Owner::Git
    } else {
        Owner::Work
    }
}

/// Returns whether this is the folder itself, a settings file such as `settings.json`, or our hook.
fn is_settings(file: &str) -> bool {
    let is_named = file.starts_with("settings") && file.ends_with(".json");
    let is_file = (is_named || file.starts_with("settin~")) && !file.contains('/');
    file.is_empty() || is_file || file.starts_with("hooks/ralph-")
}

/// Returns whether one of the patterns matches the path; invalid ones match nothing.
pub(super) fn fits_any(patterns: &[String], path: &Utf8Path) -> bool {
    patterns.iter().any(|pattern| Glob::fits(pattern, path.as_str()))
}

/// Returns whether one of the patterns matches the path or another name of it.
fn protects_any(patterns: &[String], path: &Utf8Path) -> bool {
    let in_lower_case = |text: &str| names::folded(text).collect::<String>();
    fits_any(patterns, path)
        || patterns.iter().any(|it| Glob::fits(&in_lower_case(it), &in_lower_case(path.as_str())))
}
