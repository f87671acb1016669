//! Which file is the project's plan? The loop, its subcommands and the hooks all use this module,
//! so that they always work on the same one.
//!
//! ```
//! use ralph_base::env::Env;
//! use ralph_project::{config::Config, project::Project, project_plan};
//!
//! let env = Env::of([("RALPH_ROOT", "/srv/app")]);
//! let project = Project::locate(&env, "/srv/app".into());
//! let none = project_plan::find(&project, &env, &Config::default(), "/srv/app".into());
//! assert!(none.unwrap_err().to_string().starts_with("no plan found;"));
//! ```

use camino::{Utf8DirEntry, Utf8Path, Utf8PathBuf};

use crate::config::Config;
use crate::project::Project;
use ralph_base::env::Env;
use ralph_base::state::{LoopDir, TASK_MASTER};
use ralph_core::plan::{self, FindError, Plan};

/// Finds and reads the plan. Given paths are resolved against the folder `from` if they exist
/// there, else against the project.
pub fn find(
    project: &Project,
    env: &Env,
    config: &Config,
    from: &Utf8Path,
) -> Result<Plan, FindError> {
    let found = plan::find(&places(project, env, config, from), &config.plan);
    let others = if is_named(config) { Vec::new() } else { of_spec_tools(project.root()) };
    match found {
        Err(FindError::NotFound(_)) if !others.is_empty() => plan::find_only(&others, &config.plan)
            .map_err(|error| match error {
                FindError::Several(paths) => {
                    let short =
                        paths.iter().filter_map(|path| path.strip_prefix(project.root()).ok());
                    FindError::Several(short.map(Into::into).collect())
                }
                error => error,
            }),
        found => found,
    }
}

/// Whether the user named a plan.
fn is_named(config: &Config) -> bool {
    !config.run.plan.is_empty() || config.run.prd > 0
}

/// Returns the plans that spec-kit, Kiro, OpenSpec and Task Master wrote.
fn of_spec_tools(root: &Utf8Path) -> Vec<Utf8PathBuf> {
    let below = |folder: &str| {
        let entries = root.join(folder).read_dir_utf8().into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_name() != "archive");
        let mut plans: Vec<_> = folders.map(|entry| entry.path().join("tasks.md")).collect();
        plans.sort_unstable();
        plans
    };
    let mut plans = ["specs", ".kiro/specs", "openspec/changes"].map(below).concat();
    plans.push(root.join(TASK_MASTER));
    plans.retain(|plan| plan.is_file());
    plans
}

/// Returns files beside a plan that describe what is wanted, for the agent that works on it.
pub fn beside(root: &Utf8Path, plan: &Utf8Path) -> Vec<Utf8PathBuf> {
    let names = [
        "spec",
        "plan",
        "requirements",
        "design",
        "proposal",
        "data-model",
        "research",
        "quickstart",
    ];
    let folder = plan.parent().unwrap_or(plan);
    let beside = names.into_iter().map(|name| folder.join(format!("{name}.md")));
    let mut below =
        [folder.join("contracts"), folder.join("specs")].map(|it| files_below(&it)).concat();
    if plan.starts_with(root.join(".kiro")) {
        below.extend(files_below(&root.join(".kiro/steering")));
    }
    let constitution = [".specify/memory/constitution.md"].map(|name| root.join(name));
    let files = beside.chain(below).chain(constitution);
    let files = files.filter(|file| file != plan && file.is_file());
    let is_tools = plan.file_name().is_some_and(|name| name.starts_with("tasks."));
    if is_tools { files.collect() } else { Vec::new() }
}

/// Returns all files below a folder, sorted by name; links are not followed.
fn files_below(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let mut paths: Vec<Utf8PathBuf> = entries.map(Utf8DirEntry::into_path).collect();
    paths.sort_unstable();
    let files = |path: Utf8PathBuf| {
        if path.is_dir() && !path.is_symlink() { files_below(&path) } else { vec![path] }
    };
    paths.into_iter().flat_map(files).collect()
}

/// Returns the files that determine the plan: it stays the same while none of them changes.
pub fn files(project: &Project, env: &Env, config: &Config, from: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut files = places(project, env, config, from).concat();
    if !is_named(config) {
        files.extend(of_spec_tools(project.root()));
    }
    files
}

/// Returns the plan that planning writes if there is none yet: the named one, relative to the
/// folder `from`, else the first.
pub fn to_write(project: &Project, config: &Config, from: &Utf8Path) -> Utf8PathBuf {
    let state = project.own_state();
    match (config.run.plan.as_str(), u32::try_from(config.run.prd)) {
        ("", Ok(number @ 1..)) => state.plan(number),
        ("", _) => {
            // An existing plan without a story is meant to be filled.
            let there = state.other_plans().into_iter().find(|path| path.is_file());
            let first = state.plan(1);
            if first.is_file() { first } else { there.unwrap_or(first) }
        }
        (path, _) => from.join(path),
    }
}

/// Returns the places to search: only a plan or folder that was named, else all usual places.
fn places(project: &Project, env: &Env, config: &Config, from: &Utf8Path) -> Vec<Vec<Utf8PathBuf>> {
    let (root, state) = (project.root(), project.own_state());
    if !config.run.plan.is_empty() {
        let mut places = vec![vec![from.join(&config.run.plan)], vec![root.join(&config.run.plan)]];
        places.dedup();
        return places;
    }
    if let Ok(number @ 1..) = u32::try_from(config.run.prd) {
        return vec![vec![state.plan(number)]];
    }
    let numbered: Vec<Utf8PathBuf> =
        state.prd_numbers().into_iter().map(|number| state.plan(number)).collect();
    // If there is none yet, the first one is what a person would create.
    let mut places = vec![if numbered.is_empty() { vec![state.plan(1)] } else { numbered }];
    places.extend(state.other_plans().into_iter().map(|path| vec![path]));
    let list = env.loop_dir().map(|dir| LoopDir::at(meant(root, from, &dir)).feature_list());
    places.extend(list.map(|path| vec![path]));
    places
}

fn meant(root: &Utf8Path, from: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    let here = from.join(path);
    if here.exists() { here } else { root.join(path) }
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    const OPEN: &str = "- [ ] US-001: First\n";
    const LIST: &str = r#"{"features":[{"id":1,"description":"x","steps":[],"passes":false}]}"#;

    /// Expects this plan in a project `app` with these files, all relative to the scratch folder.
    fn check(files: &[&str], vars: &[(&str, &str)], from: &str, expected: Option<&str>) {
        let scratch = Scratch::new();
        scratch.dir("app/.ralph");
        for file in files {
            scratch.file(file, if file.ends_with("json") { LIST } else { OPEN });
        }
        let root = scratch.path("app");
        let vars = vars.iter().copied().chain([("RALPH_ROOT", root.as_str())]);
        let env = Env::of(vars);
        let config = Config::from_parts("c", "", &env, &[]).unwrap();
        let project = Project::locate(&env, &root);
        let found = find(&project, &env, &config, &scratch.path(from)).ok();
        let found = found.as_ref().map(|plan| plan.path().strip_prefix(scratch.root()).unwrap());
        assert_eq!(found, expected.map(Utf8Path::new), "{files:?} {from}");
    }

    #[test]
    fn the_usual_places_are_searched_in_order() {
        let all = [
            "app/.ralph/PRD-2/plan.md",
            "app/.ralph/fix_plan.md",
            "app/IMPLEMENTATION_PLAN.md",
            "app/work/feature_list.json",
        ];
        for (at, expected) in all.iter().enumerate() {
            check(&all[at..], &[("RALPH_LOOP_DIR", "work")], "app", Some(expected));
        }
        check(&[], &[("RALPH_LOOP_DIR", "work")], "app", None);
    }

    #[test]
    fn a_plan_of_another_tool_is_used_if_it_is_the_only_open_one() {
        let kiro = "app/.kiro/specs/x/tasks.md";
        check(&[kiro, "app/openspec/changes/archive/tasks.md"], &[], "app", Some(kiro));
        check(&[kiro, "app/specs/001/tasks.md"], &[], "app", None);
        check(&[kiro, "app/.ralph/fix_plan.md"], &[], "app", Some("app/.ralph/fix_plan.md"));
    }

    #[test]
    fn documents_of_other_tools_are_found_beside_the_plan() {
        for (plan, expected) in [
            ("specs/1/tasks.md", "specs/1/data-model.md specs/1/contracts/v1/api.yaml"),
            (".kiro/specs/x/tasks.md", ".kiro/specs/x/design.md .kiro/steering/tech.md"),
            ("openspec/changes/x/tasks.md", "openspec/changes/x/specs/auth/spec.md"),
            ("plan.md", ""),
        ] {
            let scratch = Scratch::new();
            for file in [
                "specs/1/data-model.md",
                "specs/1/contracts/v1/api.yaml",
                ".kiro/specs/x/design.md",
                ".kiro/steering/tech.md",
                "openspec/changes/x/specs/auth/spec.md",
            ] {
                scratch.file(file, "text");
            }
            let found = beside(scratch.root(), &scratch.path(plan));
            let found = found.iter().map(|it| it.strip_prefix(scratch.root()).unwrap().as_str());
            assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{plan}");
        }
    }

    #[test]
    fn a_named_plan_excludes_all_others() {
        let files = ["app/.ralph/PRD-1/plan.md", "app/x.md", "app/sub/x.md"];
        check(&files, &[("PLAN_PATH", "x.md")], "app", Some("app/x.md"));
        check(&files, &[("PLAN_PATH", "x.md")], "app/sub", Some("app/sub/x.md"));
        check(&files, &[("PLAN_PATH", "x.md")], "app/.ralph", Some("app/x.md"));
        check(&files, &[("PLAN_PATH", "y.md")], "app", None);
        check(&files, &[("PRD_NUMBER", "01")], "app", Some("app/.ralph/PRD-1/plan.md"));
        check(&files, &[("PRD_NUMBER", "7")], "app", None);
    }
}
