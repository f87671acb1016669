//! Forbids edits: of protected files, outside of the story's scope, and of files nobody looked at.

use camino::{Utf8Path, Utf8PathBuf};
use globset::GlobSet;

use super::check::Denial;
use super::protected::{Owner, globs, owner};
use super::settings::Settings;
use crate::state::PROJECT_MARKER;

/// The rules for edits; switched off by name like the others.
pub const EDIT_RULES: [&str; 3] = ["protected-path", "scope", "read-before-edit"];

/// An edit that is about to happen; paths are absolute and free of links and `..`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: Utf8PathBuf,
    /// The project's root.
    pub root: Utf8PathBuf,
    /// The user's home folder, whose settings and state are protected as well.
    pub home: Utf8PathBuf,
    /// The folder for temporary files, which belongs to no scope.
    pub temp: Utf8PathBuf,
    /// Files under the state folder that the agent may write: the plan's own.
    pub plan_files: Vec<Utf8PathBuf>,
    /// Globs of the files that may be edited; empty means all.
    pub scope: Vec<String>,
    /// Whether the file is there.
    pub exists: bool,
    /// Whether it was read or written in this session.
    pub known: bool,
}

/// Says why an edit is forbidden, if it is.
pub fn check_edit(edit: &Edit, settings: &Settings) -> Option<Denial> {
    let in_force = |rule: &str| settings.in_force(rule, true);
    let denial = |rule: &str, reason: &str, instead: &str| {
        Some(Denial {
            rule: rule.to_owned(),
            found: shown(edit).to_string(),
            reason: reason.to_owned(),
            instead: instead.to_owned(),
        })
    };
    if in_force("protected-path") && is_protected(edit, settings) {
        return denial(
            "protected-path",
            "it belongs to the repository, the loop or the user's settings",
            "leave it as it is; a story is finished with `ralph-loop complete`, not by editing state",
        );
    }
    if in_force("scope") && !is_in_scope(&edit.path, edit) {
        let reason = format!("this story may only touch {}", edit.scope.join(", "));
        return denial(
            "scope",
            &reason,
            "keep to these files, or say in your summary what else is needed",
        );
    }
    if in_force("read-before-edit") && edit.exists && !edit.known {
        return denial(
            "read-before-edit",
            "it was not read in this session, so the edit would be made blindly",
            "read the file first, then edit it",
        );
    }
    None
}

/// Whether a file may be touched under the scope in force.
pub fn is_in_scope(path: &Utf8Path, edit: &Edit) -> bool {
    edit.scope.is_empty() || is_within(path, edit, &globs(&edit.scope))
}

/// Those of the files that may not be touched under the scope in force.
pub fn out_of_scope(mut paths: Vec<Utf8PathBuf>, edit: &Edit) -> Vec<Utf8PathBuf> {
    let scope = globs(&edit.scope);
    paths.retain(|path| !edit.scope.is_empty() && !is_within(path, edit, &scope));
    paths
}

fn is_within(path: &Utf8Path, edit: &Edit, scope: &GlobSet) -> bool {
    if edit.plan_files.iter().any(|own| own == path) {
        return true;
    }
    match path.strip_prefix(&edit.root) {
        // The plan is part of every story.
        Ok(inside) if inside.starts_with(PROJECT_MARKER) => true,
        Ok(inside) => scope.is_match(inside),
        Err(_) => path.starts_with(&edit.temp) && !edit.temp.as_str().is_empty(),
    }
}

fn is_protected(edit: &Edit, settings: &Settings) -> bool {
    let Ok(inside) = edit.path.strip_prefix(&edit.root) else {
        let at_home = edit.path.strip_prefix(&edit.home).ok().filter(|_| edit.home != "");
        return at_home.is_some_and(|inside| {
            matches!(owner(inside.as_str()), Owner::State | Owner::Settings)
        });
    };
    let ours = owner(inside.as_str()) != Owner::Work && !edit.plan_files.contains(&edit.path);
    ours || globs(&settings.protect).is_match(inside)
}

fn shown(edit: &Edit) -> &Utf8Path {
    edit.path.strip_prefix(&edit.root).unwrap_or(&edit.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: &str) -> Edit {
        Edit {
            path: path.into(),
            root: "/p".into(),
            temp: "/tmp".into(),
            home: "/home/dev".into(),
            plan_files: vec!["/p/.ralph/my-plan.md".into()],
            exists: true,
            known: true,
            ..Edit::default()
        }
    }

    fn check(edit: &Edit, expected: Option<&str>) {
        let denial = check_edit(edit, &Settings::default());
        assert_eq!(denial.map(|denial| denial.rule).as_deref(), expected, "{}", edit.path);
    }

    #[test]
    fn state_settings_and_repository_are_protected() {
        for path in [
            "/p/.git/config",
            "/p/.ralph/config.toml",
            "/p/.ralph/.checkpoint",
            "/p/.claude/settings.json",
            "/home/dev/.claude/settings.json",
            "/home/dev/.ralph/state/s/loop.json",
            "/p/.claude/settings.local.json",
        ] {
            check(&edit(path), Some("protected-path"));
        }
        for path in [
            "/p/.ralph/PRD-1/plan.md",
            "/p/.ralph/my-plan.md",
            "/p/.claude/agents/x.md",
            "/p/.gitignore",
            "/q/.git/x",
        ] {
            check(&edit(path), None);
        }
    }

    #[test]
    fn what_exists_must_have_been_read() {
        check(&Edit { known: false, ..edit("/p/a.rs") }, Some("read-before-edit"));
        check(&Edit { known: false, exists: false, ..edit("/p/new.rs") }, None);
    }

    #[test]
    fn a_scope_binds_edits_inside_and_outside_the_project() {
        let scoped = |path: &str| Edit { scope: vec!["src/**".into()], ..edit(path) };
        check(&scoped("/p/src/deep/a.rs"), None);
        check(&scoped("/p/README.md"), Some("scope"));
        check(&scoped("/elsewhere/a.rs"), Some("scope"));
        check(&scoped("/tmp/notes"), None);
        check(&scoped("/p/.ralph/PRD-1/plan.md"), None);
    }

    #[test]
    fn users_protect_more_and_switch_rules_off() {
        let settings = Settings { protect: vec!["migrations/**".into()], ..Settings::default() };
        let rule = check_edit(&edit("/p/migrations/1.sql"), &settings).unwrap().rule;
        assert_eq!(rule, "protected-path");
        let settings = Settings { disable: vec!["read-before-edit".into()], ..Settings::default() };
        assert_eq!(check_edit(&Edit { known: false, ..edit("/p/a") }, &settings), None);
    }
}
