//! Checks edits: forbids those of protected files, those outside of the copy or the story's scope,
//! and those of files that were not read.

use camino::{Utf8Path, Utf8PathBuf};

use super::copy;
use super::facts::READ_BEFORE_EDIT;
use super::protected::{self, Owner};
use super::{Denial, Facts, RULES, Settings};
use ralph_base::state::PROJECT_MARKER;

/// The rules that are not about what a command does; disabled by name like the others.
pub(super) const OTHER_RULES: [&str; 5] =
    ["protected-path", "scope", READ_BEFORE_EDIT, "later", "typed-input"];

/// An edit before it is made; paths are absolute and without links and `..`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: Utf8PathBuf,
    /// Facts about the file's location.
    pub facts: Facts,
    /// Globs of the files that may be edited; if empty, all may.
    pub scope: Vec<String>,
    /// Whether the file exists.
    pub exists: bool,
    /// Whether the file was read or written in this session.
    pub known: bool,
}

impl Edit {
    /// Returns why the path must not be given to a tool that may write it, if it is protected.
    pub fn check_as_named(&self, settings: &Settings) -> Option<Denial> {
        let is_work = protected::owner(&self.path, &self.facts, settings) == Owner::Work;
        let named = Self { exists: false, scope: Vec::new(), ..self.clone() };
        if is_work { None } else { check_edit(&named, settings) }
    }
}

/// Returns why an edit is forbidden, if it is.
pub fn check_edit(edit: &Edit, settings: &Settings) -> Option<Denial> {
    let Edit { path, facts, scope, .. } = edit;
    let denial = |rule: &str, reason: &str, instead: &str| Denial {
        rule: rule.to_owned(),
        found: facts.inside(path).unwrap_or(path).to_string(),
        reason: reason.to_owned(),
        instead: instead.to_owned(),
    };
    let is_protected = || protected::owner(path, facts, settings) != Owner::Work;
    if settings.in_force("protected-path") && is_protected() {
        return Some(denial(
            "protected-path",
            "it belongs to the repository, the loop or the settings of a person",
            "leave it as it is; a story is finished with `ralph-loop complete`, not by editing state",
        ));
    }
    if settings.in_force(copy::NAME)
        && let Some(instead) = copy::instead_of_edit(path, facts)
    {
        let rule = RULES.iter().find(|rule| rule.name == copy::NAME);
        return Some(denial(copy::NAME, rule.map_or("", |rule| rule.reason), &instead));
    }
    let fits = |inside: &Utf8Path| protected::fits_any(scope, inside);
    let is_outside = || !out_of_scope(vec![path.clone()], facts, fits).is_empty();
    if settings.in_force("scope") && !scope.is_empty() && is_outside() {
        let reason = format!("this story may only touch {}", scope.join(", "));
        let instead = "keep to these files, or say in your summary what else is needed";
        return Some(denial("scope", &reason, instead));
    }
    (settings.in_force(READ_BEFORE_EDIT) && edit.exists && !edit.known).then(|| {
        let reason = "it was not read in this session, so the edit would be made blindly";
        denial(READ_BEFORE_EDIT, reason, "read the file first, then edit it")
    })
}

/// Returns the files that may not be edited under a scope; `fits` is whether a path in the project
/// matches one of its globs.
pub fn out_of_scope(
    mut paths: Vec<Utf8PathBuf>,
    facts: &Facts,
    fits: impl Fn(&Utf8Path) -> bool,
) -> Vec<Utf8PathBuf> {
    let is_within = |path: &Utf8Path| match facts.inside(path) {
        _ if protected::is_own(path, facts) => true,
        // The plan belongs to every story.
        Some(inside) => inside.starts_with(PROJECT_MARKER) || fits(inside),
        None => path.starts_with(&facts.temp) && facts.temp != "",
    };
    paths.retain(|path| !is_within(path));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::CopyOf;

    fn edit(path: &str) -> Edit {
        let facts = Facts {
            root: "/p".into(),
            temp: "/tmp".into(),
            home: "/home/dev".into(),
            own_files: vec!["/p/.ralph/my-plan.md".into()],
            ..Facts::default()
        };
        Edit { path: path.into(), facts, exists: true, known: true, ..Edit::default() }
    }

    fn check(edit: &Edit, expected: Option<&str>) {
        let denial = check_edit(edit, &Settings::default());
        assert_eq!(denial.map(|denial| denial.rule).as_deref(), expected, "{}", edit.path);
    }

    #[test]
    fn state_settings_and_repository_are_protected() {
        for path in [
            "/p/.git/config",
            "/p/.ralph",
            "/p/.ralph/config.toml",
            "/p/.ralph/PRD-1/prompt.md",
            "/p/.claude",
            "/p/.claude/settings.json",
            "/p/.claude/hooks/ralph-pre-tool",
            "/home/dev/.claude/settings.json",
            "/home/dev/.ralph/state/s/loop.json",
            "/p/.claude/settings.local.json",
            "/p/.GIT/config",
            "/P/.git/config",
            "/p/.Ralph/PRD-1/plan.md",
            "/p/.claude/Settings.JSON",
            "/p/.claude/\u{17f}ettings.json",
            "/p/CLAUDE~1/SETTIN~1.JSO",
            "/HOME/dev/.claude/settings.json",
        ] {
            check(&edit(path), Some("protected-path"));
        }
        for path in [
            "/p/.ralph/PRD-1/plan.md",
            "/p/.ralph/fix_plan.md",
            "/p/.ralph/merge-requests/1.md",
            "/p/.ralph/my-plan.md",
            "/p/src/.ralph/x",
            "/p/.claude/agents/settings.json",
            "/p/.gitignore",
            "/q/.git/x",
        ] {
            check(&edit(path), None);
        }
    }

    /// Returns an edit by the session `s` in a copy of `/u/mono/p`.
    fn in_copy(path: &str) -> Edit {
        let copy = CopyOf {
            top: "/cache/mono".into(),
            project: vec!["/u/mono".into()],
            below: "p".into(),
        };
        let session = "/u/mono/p/.ralph/state/s";
        let own = ["loop.json", "tasks"].map(|name| format!("{session}/{name}").into());
        let (root, edit) = ("/cache/mono/p".into(), edit(path));
        let facts = Facts { root, copy: Some(copy), own_files: own.into(), ..edit.facts };
        Edit { facts, ..edit }
    }

    #[test]
    fn edits_outside_the_copy_are_refused_with_the_right_path() {
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
    fn only_the_copy_may_be_edited_when_it_is_inside_the_project() {
        let copy =
            CopyOf { top: "/p/.copies/1".into(), project: vec!["/p".into()], below: "".into() };
        let edit = |path: &str| {
            let edit = edit(path);
            let (root, copy) = ("/p/.copies/1".into(), Some(copy.clone()));
            Edit { facts: Facts { root, copy, ..edit.facts }, ..edit }
        };
        check(&edit("/p/.copies/1/a.rs"), None);
        check(&edit("/p/a.rs"), Some("outside-copy"));
    }

    #[test]
    fn an_existing_file_must_be_read_before_an_edit() {
        check(&Edit { known: false, ..edit("/p/a.rs") }, Some("read-before-edit"));
        check(&Edit { known: false, exists: false, ..edit("/p/new.rs") }, None);
    }

    #[test]
    fn a_scope_limits_edits_inside_and_outside_the_project() {
        let scoped = |path: &str| Edit { scope: vec!["src/**".into()], ..edit(path) };
        check(&scoped("/p/src/deep/a.rs"), None);
        check(&scoped("/p/README.md"), Some("scope"));
        check(&scoped("/elsewhere/a.rs"), Some("scope"));
        check(&scoped("/tmp/notes"), None);
        check(&scoped("/p/.ralph/PRD-1/plan.md"), None);
    }

    #[test]
    fn a_file_in_another_work_tree_is_judged_by_its_path_there() {
        for tree in ["/p/.claude/worktrees/a", "/elsewhere/a"] {
            let scoped = |path: &str| {
                let edit = edit(&format!("{tree}/{path}"));
                let facts = Facts { linked_root: Some(tree.into()), ..edit.facts };
                Edit { facts, scope: vec!["src/**".into()], ..edit }
            };
            check(&scoped("src/a.rs"), None);
            check(&scoped(".ralph/PRD-1/plan.md"), None);
            check(&scoped("README.md"), Some("scope"));
            for path in [".git", ".ralph/config.toml", ".claude/settings.json"] {
                check(&scoped(path), Some("protected-path"));
            }
            let denial = check_edit(&scoped("README.md"), &Settings::default()).unwrap();
            assert_eq!(denial.found, "README.md");
            let main = Edit { path: "/p/.ralph/config.toml".into(), ..scoped("x") };
            check(&main, Some("protected-path"));
        }
    }

    #[test]
    fn users_can_protect_more_paths_and_disable_rules() {
        let settings = Settings { protect: vec!["migrations/**".into()], ..Settings::default() };
        let rule = check_edit(&edit("/p/migrations/1.sql"), &settings).unwrap().rule;
        assert_eq!(rule, "protected-path");
        assert_eq!(check_edit(&edit("/p/Migrations/1.SQL"), &settings).unwrap().rule, rule);
        let settings = Settings { disable: vec!["read-before-edit".into()], ..Settings::default() };
        assert_eq!(check_edit(&Edit { known: false, ..edit("/p/a") }, &settings), None);
    }
}
