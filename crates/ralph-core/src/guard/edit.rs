//! Forbids edits: of protected files, outside of the copy or the story's scope, and of files that
//! were not read.

use camino::{Utf8Path, Utf8PathBuf};
use globset::GlobSet;

use super::check::Denial;
use super::copy::{self, CopyOf};
use super::protected::{Owner, globs, owner};
use super::settings::Settings;
use ralph_base::state::PROJECT_MARKER;

/// The rules for edits alone; switched off by name like the others.
pub const EDIT_RULES: [&str; 3] = ["protected-path", "scope", "read-before-edit"];

/// An edit that is about to happen; paths are absolute and free of links and `..`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: Utf8PathBuf,
    /// The folder in which the agent works: the project's, or that of its copy.
    pub root: Utf8PathBuf,
    /// What that is a copy of, if it is one.
    pub copy: Option<CopyOf>,
    /// The user's home folder, whose settings and state are protected as well.
    pub home: Utf8PathBuf,
    /// The folder for temporary files, which belongs to no scope.
    pub temp: Utf8PathBuf,
    /// Files and folders in protected places that the agent may write: the plan's own, and what the
    /// gates ask this session to keep.
    pub own_files: Vec<Utf8PathBuf>,
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
    let instead = || copy::instead_of_edit(edit).filter(|_| !is_own(&edit.path, edit));
    if in_force(copy::NAME)
        && let Some(instead) = instead()
    {
        return denial(copy::NAME, copy::REASON, &instead);
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
    if is_own(path, edit) {
        return true;
    }
    match path.strip_prefix(&edit.root) {
        // The plan is part of every story.
        Ok(inside) if inside.starts_with(PROJECT_MARKER) => true,
        Ok(inside) => scope.is_match(inside),
        Err(_) => path.starts_with(&edit.temp) && !edit.temp.as_str().is_empty(),
    }
}

fn is_own(path: &Utf8Path, edit: &Edit) -> bool {
    edit.own_files.iter().any(|own| path.starts_with(own))
}

fn is_protected(edit: &Edit, settings: &Settings) -> bool {
    if is_own(&edit.path, edit) {
        return false;
    }
    let owner_in =
        |folder: &Utf8Path| edit.path.strip_prefix(folder).ok().map(|i| owner(i.as_str()));
    let mut guarded = edit.copy.iter().flat_map(CopyOf::guarded).chain([edit.root.clone()]);
    if guarded.any(|folder| owner_in(&folder).is_some_and(|owner| owner != Owner::Work)) {
        return true;
    }
    match edit.path.strip_prefix(&edit.root) {
        Ok(inside) => globs(&settings.protect).is_match(inside),
        // In the home folder a repository is none of ours.
        Err(_) if edit.home == "" => false,
        Err(_) => matches!(owner_in(&edit.home), Some(Owner::State | Owner::Settings)),
    }
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
            own_files: vec!["/p/.ralph/my-plan.md".into()],
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

    /// An edit in a copy of `/u/mono/p`, made by the session `s`.
    fn in_copy(path: &str) -> Edit {
        let copy = CopyOf {
            top: "/cache/mono".into(),
            project: vec!["/u/mono".into()],
            below: "p".into(),
        };
        let session = "/u/mono/p/.ralph/state/s";
        let own = ["loop.json", "tasks"].map(|name| format!("{session}/{name}").into());
        Edit { root: "/cache/mono/p".into(), copy: Some(copy), own_files: own.into(), ..edit(path) }
    }

    #[test]
    fn edits_are_held_to_the_copy_and_the_right_path_is_named() {
        for path in ["/cache/mono/p/a.rs", "/cache/mono/lib/b.rs", "/tmp/notes"] {
            check(&in_copy(path), None);
        }
        for (path, instead) in [
            ("/u/mono/p/a.rs", "edit /cache/mono/p/a.rs"),
            ("/u/mono/lib/b.rs", "edit /cache/mono/lib/b.rs"),
            ("/u/mono/p/.ralph/PRD-1/plan.md", "edit /cache/mono/p/.ralph/PRD-1/plan.md"),
            ("/u/monolith/a.rs", "write below /cache/mono or in the temp folder"),
            ("/cache/other/a.rs", "write below /cache/mono or in the temp folder"),
        ] {
            let denial = check_edit(&in_copy(path), &Settings::default()).unwrap();
            assert_eq!((denial.rule.as_str(), denial.instead.as_str()), ("outside-copy", instead));
        }
        let off = Settings { disable: vec!["outside-copy".into()], ..Settings::default() };
        assert_eq!(check_edit(&in_copy("/u/mono/p/a.rs"), &off), None);
    }

    #[test]
    fn state_is_protected_in_the_project_and_in_its_copy() {
        for path in [
            "/u/mono/p/.ralph/config.toml",
            "/u/mono/p/.ralph/state/other/loop.json",
            "/u/mono/p/.ralph/state/s/blocks.json",
            "/u/mono/p/.claude/settings.json",
            "/u/mono/.git/config",
            "/cache/mono/.git/config",
            "/cache/mono/p/.ralph/config.toml",
            "/cache/mono/.claude/settings.json",
        ] {
            check(&in_copy(path), Some("protected-path"));
        }
        for path in [
            "/u/mono/p/.ralph/state/s/loop.json",
            "/u/mono/p/.ralph/state/s/tasks/1.json",
            "/cache/mono/p/.ralph/PRD-1/plan.md",
        ] {
            check(&in_copy(path), None);
        }
    }

    #[test]
    fn a_copy_inside_of_the_project_is_the_copy() {
        let copy =
            CopyOf { top: "/p/.copies/1".into(), project: vec!["/p".into()], below: "".into() };
        let edit = |path: &str| Edit {
            root: "/p/.copies/1".into(),
            copy: Some(copy.clone()),
            ..edit(path)
        };
        check(&edit("/p/.copies/1/a.rs"), None);
        check(&edit("/p/a.rs"), Some("outside-copy"));
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
