//! Examines the project: everything that can be checked without writing.

use std::path::{Path, PathBuf};

use camino::Utf8Path;
use nix::unistd::{AccessFlags, access};
use ralph_base::env::Env;
use ralph_base::linux::IS_LINUX;
use ralph_base::listing::named_files;
use ralph_base::state::{self, Lock, RunDir, StateDir};
use ralph_core::git::{Git, Repo};
use ralph_core::plan::{Format, Plan};
use ralph_project::config::{Config, Flag, Key, Mode, SandboxMode};
use ralph_project::loop_progress::LoopProgress;
use ralph_project::project::Project;
use ralph_project::project_plan;
use ralph_project::under_way::Attempt;
use run_history::{LOOP, RunHistory};

use super::plan_file::{find_plan, plan_of_attempt};
use super::preflight::{Extensions, Preflight};
use super::programs::{flaw_in_command, look_for_programs};
use crate::detect::add_checks;
use crate::example::example_in;
use crate::exit::Failure;
use crate::here;
use crate::record::{RunRecord, attempts_left, run_dir, take_lock};
use crate::run::attempt::template;
use board::{Board, Books, progress_path, resolve};
use client::ClientOptions;
use ralph_project::diagnosis::Diagnosis;
use work_copy::carry::lacking;
use work_copy::in_place::ProtectedFiles;
use work_copy::{Source, Workspace, cache, in_place, linked_by_environment, probes};

/// The placeholder for the plan's name in a branch name.
const PLAN_NAME: &str = "{plan}";

/// Examines the project without writing to it.
pub(crate) fn preflight(
    env: &Env,
    given: &[Flag],
    extensions: Extensions,
) -> Result<Preflight, Failure> {
    let project = here::project(env)?;
    let restored = restore_files(env, &project)?;
    let mut config = here::config(&project, env, given)?;
    if let Some(flaw) = flaw_in_command(&config) {
        return Err(Failure::usage(flaw));
    }
    let mut flags = given.to_vec();
    let mut findings = add_checks(&project, env, &mut config, &mut flags)?;
    findings.extend(restored);
    let plan = find_plan(&project, env, &plan_of_attempt(&project, &config)?)?;
    if let Some(plan) = &plan
        && let Some(flag) = iterations_of(plan, &project, env, &flags)?
    {
        flags.push(flag);
        config = here::config(&project, env, &flags)?;
    }
    if given.iter().any(|flag| flag.key == "agent.command") && here::folder()? != project.root() {
        // A typed path is relative to the working directory.
        config.agent.command = client::with_files_of(&here::folder()?, &config.agent.command);
    }
    let repo = Repo::open(project.root())?;
    let run_dir = folder_of_run(env, &project, &repo, &config)?;
    let mut workspace = Workspace::of(env, &project, &repo, &run_dir, &config)?;
    if let Some(note) = without_sandbox(&workspace, &project, &mut config)? {
        findings.push(note);
        workspace = Workspace::of(env, &project, &repo, &run_dir, &config)?;
    }
    let branch = branch_name(&config, plan.as_ref(), &project)?;
    let target = target_of_run(&run_dir, &workspace.source, branch)?;
    let plan = match plan {
        // As the run will read it: the work may be on another branch than the user's files.
        Some(plan) if config.run.mode == Mode::Building => {
            let source = &workspace.source;
            let books = Books::of(plan.path(), &project, &config, source, &run_dir);
            let plan = books.load(&target)?;
            findings.extend(example_in(&plan).map(Diagnosis::Problem));
            Some(plan)
        }
        plan => plan,
    };
    let (options, of_client) = ClientOptions::find(env, &project, &config);
    let mut preflight = Preflight {
        project,
        config,
        run_dir,
        plan,
        flags,
        workspace,
        target,
        options,
        problems_beside_checks: findings.iter().filter(|it| it.is_problem()).count(),
        findings,
        extensions,
        history: RunHistory::default(),
    };
    preflight.look_around(env, &repo, of_client)?;
    Ok(preflight)
}

/// The folder of the run's records; in place, it is outside of the git folder.
fn folder_of_run(
    env: &Env,
    project: &Project,
    repo: &Repo,
    config: &Config,
) -> Result<RunDir, Failure> {
    let run_dir = run_dir(repo)?;
    if config.workspace.in_place
        && (run_dir.root().is_symlink() || !run_dir.root().exists())
        && let Some(outside) = cache::state_folder(env, &Source::of(project, repo)?.top)
    {
        // The path before the project's folder was moved.
        let before = run_dir.root().read_link_utf8().ok();
        let before = before.filter(|before| before.parent() == outside.parent());
        let is_ours = !RunRecord::is_of_another(&run_dir)?;
        return Ok(run_dir.outside(before.filter(|_| is_ours).unwrap_or(outside)));
    }
    Ok(run_dir)
}

/// Does without a sandbox that does not do what it should, unless it is required. On Linux only
/// `doctor` tries that: the kernel's rules are the same everywhere.
fn without_sandbox(
    workspace: &Workspace,
    project: &Project,
    config: &mut Config,
) -> Result<Option<Diagnosis>, Failure> {
    if IS_LINUX {
        return Ok(None);
    }
    let faults = probes::faults(&workspace.doors, project.root())?.join(", ");
    match config.sandbox.mode {
        _ if faults.is_empty() => Ok(None),
        SandboxMode::Require => Err(Failure::usage(format!(
            "the sandbox does not work here: {faults}; start with --sandbox auto to do without it"
        ))),
        _ => {
            config.sandbox.mode = SandboxMode::Off;
            Ok(Some(Diagnosis::Note(format!(
                "sandbox off, because it does not work here: {faults}"
            ))))
        }
    }
}

/// Restores files before they are read that a killed run left: files between two commits, and settings
/// that an in-place agent may have changed. Reports which of the latter were restored.
pub(crate) fn restore_files(env: &Env, project: &Project) -> Result<Vec<Diagnosis>, Failure> {
    // First, because git obeys some of them.
    let restored = restore_protected(env, project)?;
    if let Ok(repo) = Repo::open(project.root())
        && let Ok(source) = Source::of(project, &repo)
        && board::is_interrupted(&source)
    {
        let _lock = take_lock(&run_dir(&repo)?, LOOP)?;
        board::finish_interrupted(&source).map_err(|failure| {
            Failure::because(format!(
                "a landing was interrupted, and your files cannot be restored: {failure}; fix \
                 this, then run `ralph-loop` again"
            ))
        })?;
    }
    Ok(restored)
}

fn restore_protected(env: &Env, project: &Project) -> Result<Vec<Diagnosis>, Failure> {
    // The attempt may have replaced the git folder, in which a link leads to the run's files.
    let outside = project.root().ancestors().find_map(|top| {
        let folder = cache::state_folder(env, top)?;
        folder.exists().then(|| RunDir::in_git_folder(&top.join(".git")).outside(folder))
    });
    let in_git = RunDir::of_project(project.root());
    let has_record = |dir: &RunDir| dir.protected().exists();
    let Some(run_dir) = outside.into_iter().chain(in_git).find(has_record) else {
        return Ok(Vec::new());
    };
    if let Some(mut left) = ProtectedFiles::remembered(&run_dir)
        && Lock::holder(&run_dir.lock()).is_none()
        && !RunRecord::is_of_another(&run_dir)?
    {
        if let Some((from, to)) = RunRecord::folders(&run_dir)? {
            left.move_with_project(&from, &to);
        }
        let restored = left.restore(&Git::at(project.root().as_std_path()), &run_dir)?;
        ProtectedFiles::forget(&run_dir)?;
        return Ok(restored.into_iter().map(Diagnosis::Note).collect());
    }
    Ok(Vec::new())
}

/// The limit in the `progress.txt` of a feature list, unless one is set elsewhere. As a flag it
/// reaches the hooks too.
fn iterations_of(
    plan: &Plan,
    project: &Project,
    env: &Env,
    flags: &[Flag],
) -> Result<Option<Flag>, Failure> {
    const KEY: &str = "loop.max_iterations";
    let Some(key) = Key::find(KEY) else { return Ok(None) };
    let path = StateDir::loop_progress_beside(plan.path());
    if plan.format() != Format::FeatureList || !path.is_file() {
        return Ok(None);
    }
    if Config::origin(&project.own_state().config(), env, flags, key).is_some() {
        return Ok(None);
    }
    let limit = LoopProgress::parse(&state::read(&path)?).max_iterations;
    Ok(limit.map(|limit| Flag::new(KEY, limit.to_string())))
}

/// The requested branch: from a flag or from the plan; empty if there is none.
fn branch_name(config: &Config, plan: Option<&Plan>, project: &Project) -> Result<String, Failure> {
    let named = config.run.branch.as_str();
    if named.is_empty() {
        return Ok(plan.and_then(here::branch_of_plan).unwrap_or_default());
    }
    let path = plan.map(|plan| plan.path().to_owned());
    let path = path.unwrap_or_else(|| project_plan::to_write(project, config, project.root()));
    let name = named.replace(PLAN_NAME, &name_in_branch(&path, &config.plan.tag));
    if name.contains(['{', '}']) {
        return Err(Failure::usage(format!(
            "the branch name `{named}` has an unknown placeholder; the only one is `{PLAN_NAME}`"
        )));
    }
    Ok(name)
}

/// Where the work lands. A run that continues a killed one keeps its branch, whatever is checked out.
fn target_of_run(run_dir: &RunDir, source: &Source, mut branch: String) -> Result<Board, Failure> {
    let record = RunRecord::load(&run_dir.of_run())?;
    let left = record.filter(|record| record.finish.is_none() && !record.planning);
    if let Some(RunRecord { target, .. }) = left
        && branch.is_empty()
        && resolve(&source.git(), &format!("refs/heads/{target}"))?.is_some()
    {
        branch = target;
    }
    Board::find(source, &branch)
}

/// The plan's name in a branch name: `prd-1` for a numbered plan, the feature's name for a plan of another
/// tool, otherwise the file's name.
pub(crate) fn name_in_branch(path: &Utf8Path, tag: &str) -> String {
    let folder = path.parent().and_then(Utf8Path::file_name).unwrap_or_default();
    let is_in = |name: &str| path.components().any(|part| part.as_str() == name);
    let is_tools = path.file_name() == Some("tasks.md")
        && [".kiro", "openspec", "specs"].iter().any(|name| is_in(name));
    let name = match path.file_stem() {
        Some("tasks") if is_in(".taskmaster") => match tag {
            "" | "master" => "taskmaster",
            tag => tag,
        },
        _ if is_tools || folder.starts_with("PRD-") => folder,
        name => name.unwrap_or("plan"),
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    name.to_ascii_lowercase().chars().map(plain).collect()
}

impl Preflight {
    /// All findings.
    fn look_around(
        &mut self,
        env: &Env,
        repo: &Repo,
        of_client: Vec<Diagnosis>,
    ) -> Result<(), Failure> {
        self.outline(&env.get("PATH").unwrap_or_default())?;
        let (uncommitted, problems) = (self.look_at_tree(repo)?, self.problems_beside_checks);
        look_for_programs(self, env, repo, &uncommitted);
        // An agent that cannot be started has no hooks either: report one problem, not two.
        let can_start = self.problems_beside_checks == problems;
        self.look_at_files()?;
        if let Some(plan) = &self.plan
            && template(plan.path())?.lacks_details()
        {
            self.note(
                "the prompt template has neither {{STORY_DETAILS}} nor {{PLAN_PATH}}, so the agent \
                 does not learn what the story asks for"
                    .to_owned(),
            );
        }
        // Before a setup can install into an environment that links to the project.
        let Config { workspace, verify, .. } = &self.config;
        let commands = [&workspace.setup[..], &verify.commands].concat();
        let linked = linked_by_environment(&self.workspace, env, &commands);
        let of_client = of_client.into_iter().filter(|it| can_start || !it.is_problem());
        self.findings.extend(of_client.chain(linked));
        Ok(())
    }

    /// Findings about files that the copy lacks, a read-only project, and implausible limits.
    fn look_at_files(&mut self) -> Result<(), Failure> {
        if !self.workspace.is_in_place {
            for file in lacking(&self.workspace.source)? {
                self.note(format!(
                    "git ignores {file}, so the agent's copy lacks it; if your checks need it, add \
                     the line `{file}` to .worktreeinclude"
                ));
            }
        }
        let state = self.project.own_state().root();
        let folder = if state.is_dir() { state } else { self.project.root() }.to_owned();
        if access(folder.as_std_path(), AccessFlags::W_OK).is_err() {
            self.problem(format!("{folder} cannot be written to; check its permissions and owner"));
        }
        if let seconds @ 1..60 = self.config.limits.max_duration.0 {
            self.note(format!(
                "the run ends after {seconds} seconds; write {seconds}m or {seconds}h for more"
            ));
        }
        Ok(())
    }

    /// Findings about uncommitted work: a note for a copy, a problem in place.
    fn look_at_tree(&mut self, repo: &Repo) -> Result<Vec<PathBuf>, Failure> {
        let ours = self.loop_files();
        let interrupted: Vec<Attempt> =
            attempts_left(&self.run_dir)?.into_iter().map(|(_, left)| left).collect();
        let is_elsewhere = |left: &&Attempt| {
            let is_in_place = left.work.starts_with(&self.workspace.source.top);
            is_in_place != self.workspace.is_in_place && left.work.exists()
        };
        // A running loop has not left anything.
        if let Some(attempt) = interrupted.iter().find(is_elsewhere)
            && Lock::holder(&self.run_dir.lock()).is_none()
        {
            // Only the attempt's own folder shows what the attempt did and what the user did.
            let (story, work) = (&attempt.story, &attempt.work);
            let is_own = work.starts_with(&self.workspace.source.top);
            let how = if is_own {
                "with --in-place"
            } else {
                "without --in-place, and with the same --workspace-folder,"
            };
            self.problem(format!(
                "an attempt at {story} was interrupted in {work}; start {how} to continue it, or \
                 discard it with `ralph-loop clean --force`, which does not touch your own files"
            ));
            return Ok(Vec::new());
        }
        let changed = in_place::uncommitted(repo, &ours)?;
        if self.workspace.is_in_place {
            if self.config.run.workers != 1 {
                self.problem(
                    "with --in-place there is one tree, so one story at a time; start without \
                     --workers, or without --in-place"
                        .to_owned(),
                );
            }
            // The start saves what an interrupted attempt left in the tree, and then continues
            // it.
            let refused = if interrupted.is_empty() { &changed } else { &[][..] };
            self.look_in_place(repo, refused)?;
            return Ok(Vec::new());
        }
        if let Some(refused) = cache::refused_folder(self.workspace.top()) {
            self.problem(refused.to_string());
        }
        if self.workspace.settings.is_partial_clone() {
            self.problem(
                "this is a partial clone, so a copy would need the network; run `git fetch \
                 --refetch --no-filter` and `git config --unset remote.origin.promisor`, or start \
                 with --in-place"
                    .to_owned(),
            );
        }
        // The agent itself is started from the project.
        let command = &self.config.agent.command;
        let agent = client::script_of(command).or_else(|| client::program_of(command));
        let agent = agent.unwrap_or_default();
        let is_agent = |path: &Path| Path::new(agent.trim_start_matches("./")) == path;
        let missing: Vec<&PathBuf> = changed.iter().filter(|path| !is_agent(path)).collect();
        if !missing.is_empty() {
            let text = format!("uncommitted, so not in the agent's copy: {}", named_files(missing));
            match repo.head()? {
                Some(_) => self.note(text),
                None => self.problem(format!("{text}; nothing is committed yet, so commit first")),
            }
        }
        Ok(changed)
    }

    /// Why an agent cannot work in the project's own tree, if so.
    fn look_in_place(&mut self, repo: &Repo, uncommitted: &[PathBuf]) -> Result<(), Failure> {
        repo.refuse_if_busy()?;
        if !uncommitted.is_empty() {
            self.problem(format!(
                "uncommitted changes: {}; with --in-place the tree must be clean: commit them, \
                 stash them (`git stash -u`), or start without --in-place to let the agent work in \
                 a copy",
                named_files(uncommitted)
            ));
        }
        if let Some(waiting) = self.target.waiting()?.filter(|waiting| !waiting.is_landed()) {
            let words = waiting.in_words(None);
            self.problem(format!("{words}; do that first, or start without --in-place"));
        }
        let overlooked = in_place::overlooked(repo.git())?;
        if !overlooked.is_empty() {
            self.problem(format!(
                "git is set to ignore changes in {} (skip-worktree or assume-unchanged), which \
                 --in-place does not support; run `git update-index --no-skip-worktree \
                 --no-assume-unchanged` on them, or start without --in-place",
                named_files(&overlooked)
            ));
        }
        Ok(())
    }

    /// Plan and progress file, relative to the top.
    fn loop_files(&self) -> Vec<PathBuf> {
        let Some(plan) = &self.plan else { return Vec::new() };
        let plan = plan.path();
        let progress = progress_path(&self.config.run, self.project.root(), plan);
        let paths = [plan.to_owned(), progress, StateDir::loop_progress_beside(plan)];
        let below = paths.iter().filter_map(|path| self.workspace.source.below_top(path));
        below.map(Into::into).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_after_the_plan() {
        for (path, tag, expected) in [
            (".ralph/PRD-3/plan.md", "", "prd-3"),
            ("docs/My Plan.md", "", "my-plan"),
            ("prd.json", "new", "prd"),
            ("tasks.md", "", "tasks"),
            ("specs/001-login/tasks.md", "", "001-login"),
            (".kiro/specs/Log in/tasks.md", "", "log-in"),
            ("openspec/changes/add-2fa/tasks.md", "", "add-2fa"),
            (".taskmaster/tasks/tasks.json", "", "taskmaster"),
            (".taskmaster/tasks/tasks.json", "master", "taskmaster"),
            (".taskmaster/tasks/tasks.json", "new", "new"),
        ] {
            assert_eq!(name_in_branch(Utf8Path::new(path), tag), expected);
        }
    }
}
