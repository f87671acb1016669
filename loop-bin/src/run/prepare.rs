//! Everything that is checked before the first iteration, and before anything is written.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use ralph_core::config::{Config, Flag, Mode};
use ralph_core::env::Env;
use ralph_core::fault;
use ralph_core::git::{self, Repo, Status};
use ralph_core::plan::{FindError, Format, LoopProgress, Plan};
use ralph_core::project::Project;
use ralph_core::project_plan;
use ralph_core::prompt::{self, Template};
use ralph_core::settle::{self, Report, named_files};
use ralph_core::state::{self, StateDir};

use super::Request;
use super::allowance::Allowance;
use super::client_files::ClientFiles;
use super::keepsake::Keepsake;
use super::left_out::LeftOut;
use super::record::Record;
use super::refuge;
use super::stage::{Abandoned, Stage};
use crate::agent::ClientOptions;
use crate::exit::Failure;
use crate::locks::{self, Locks};
use crate::signals::Interrupts;
use crate::step::Counters;
use crate::terminal::{View, counted};
use crate::{agent, aside, here, trust};

/// Why a run does not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReady {
    #[error(
        "there is uncommitted work: {files}; commit it (`git add -A && git commit`), stash it \
         (`git stash -u`), or start with --allow-dirty to have it kept aside and restored"
    )]
    Dirty { files: String },
    #[error(
        "there is uncommitted work: {files}; it may be yours or be left by the attempt at {story} \
         that was interrupted, and {why}, so it was not touched; look at it with `git diff` and commit it, stash it (`git stash -u`) or remove it (`git restore .` and \
         `git clean -fd`), or start with --allow-dirty to have it kept aside and restored"
    )]
    DirtySince { files: String, story: String, why: &'static str },
    #[error(
        "repositories inside this one hold work that is not recorded here: {paths}; commit it in \
         the submodule and the submodule's new state here, or add the folder to .gitignore \
         (`git config submodule.<name>.ignore dirty` has a submodule's uncommitted work overlooked)"
    )]
    Nested { paths: String },
    #[error(
        "there are unresolved conflicts: {files}; resolve them and `git add` the files, or take \
         the merge back, then start again"
    )]
    Conflicts { files: String },
    #[error(
        "uncommitted ignore rules hide {files}, and to set the rules aside would show them; commit \
         the rules first (`git add .gitignore && git commit`), then start again"
    )]
    Uncovered { files: String },
    #[error(
        "{path} is reached through a symlink below .ralph, and those are never written through; \
         name the file itself with --plan, or put it there"
    )]
    Linked { path: String },
    #[error("uncommitted work could not be put back; make room for it and start again")]
    StillAside,
    #[error(
        "the check `{check}` needs `{program}`, which was not found; install it, or mend [verify] \
         commands"
    )]
    NoCheck { check: String, program: String },
    #[error("{missing}; install it, or name another with --agent")]
    NoAgent { missing: String },
    #[error(
        "the agent's command `{line}` cannot be read by a shell ({flaw}); mend it where it was \
         given: --agent, RALPH_AGENT, or `command` in the table [agent]"
    )]
    AgentCommand { line: String, flaw: String },
    #[error(
        "the agent's command `{line}` runs nothing; give one with --agent, RALPH_AGENT or `command` \
         in the table [agent], or leave it out for Claude Code"
    )]
    EmptyAgent { line: String },
    #[error(
        "there is no folder {path} for planning to read; name one below the project with --specs, or \
         leave it out"
    )]
    NoSpecs { path: String },
    #[error("{path}: {source}")]
    Prompt { path: String, source: prompt::UnknownVariable },
    #[error(
        "{path} is empty, so the agent would be told nothing; write a prompt or remove the file"
    )]
    EmptyPrompt { path: String },
    #[error(
        "{path} is a folder, and progress is written into a file; name one with --progress or \
         PROGRESS_PATH"
    )]
    ProgressIsFolder { path: String },
}

/// The project as it was found, without a change to it.
pub(crate) struct Ground {
    pub(crate) project: Project,
    pub(crate) config: Config,
    pub(crate) repo: Repo,
    /// None if planning is to write it.
    pub(crate) plan: Option<Plan>,
    /// What was given on the command line, and what the plan's own files say in its place.
    pub(crate) flags: Vec<Flag>,
    /// That the agent's program was not found, and where it was looked for.
    pub(crate) missing_agent: Option<String>,
    /// A check that cannot pass because its program cannot be found.
    pub(crate) missing_check: Option<NotReady>,
}

/// Finds everything and checks what can be checked without writing.
pub(super) fn ground(env: &Env, request: &Request) -> Result<Ground, Failure> {
    let project = here::project(env)?;
    let mut config = here::config(&project, env, &request.flags)?;
    let line = &config.agent.command;
    if agent::runs_nothing(line) {
        return Err(Failure::usage(NotReady::EmptyAgent { line: line.clone() }));
    }
    if let Some(flaw) = agent::flaw_in(line) {
        return Err(Failure::usage(NotReady::AgentCommand { line: line.clone(), flaw }));
    }
    if config.run.mode == Mode::Planning {
        refuse_missing_specs(&project, env, request, &config)?;
    }
    let mut flags = request.flags.clone();
    let plan = here::plan(&project, env, &config);
    let plan = match plan {
        Ok(plan) => {
            refuse_links(plan.path())?;
            let progress = settle::progress_path(&config.run, project.root(), plan.path());
            if progress.is_dir() {
                let path = progress.into_string();
                return Err(Failure::usage(NotReady::ProgressIsFolder { path }));
            }
            template(&plan)?;
            if let Some(flag) = iterations_of(&plan, &project, env, &flags)? {
                flags.push(flag);
                config = here::config(&project, env, &flags)?;
            }
            Some(plan)
        }
        // Planning writes the plan, so there may be none yet, or one without stories.
        Err(FindError::NotFound { .. }) if config.run.mode == Mode::Planning => None,
        Err(FindError::Plan(error))
            if config.run.mode == Mode::Planning && error.is_without_stories() =>
        {
            None
        }
        Err(error) => return Err(error.into()),
    };
    let repo = Repo::open(project.root())?.sparing_outputs_of(std::process::id());
    let repo = repo.minding_overlooked()?;
    // What an attempt of ours left under way is ours to give up.
    if !project.own_state().attempt().exists() {
        repo.refuse_if_busy()?;
    }
    let program = agent::program_of(&config.agent.command);
    let path = env.get("PATH").unwrap_or_default();
    let missing = program.filter(|program| !agent::is_found(program, &path, project.root()));
    let missing_agent = missing.map(|program| agent::not_found(program, project.root()));
    let missing_check = missing_check(&config, &path, project.root());
    Ok(Ground { project, config, repo, plan, flags, missing_agent, missing_check })
}

/// Who names the specifications wants them read. Without the usual folder the code is planned from.
fn refuse_missing_specs(
    project: &Project,
    env: &Env,
    request: &Request,
    config: &Config,
) -> Result<(), Failure> {
    let path = project.root().join(&config.run.specs);
    let is_named =
        || Config::is_given(&project.own_state().config(), env, &request.flags, "loop.specs");
    match path.exists() || !is_named() {
        true => Ok(()),
        false => Err(Failure::usage(NotReady::NoSpecs { path: path.into_string() })),
    }
}

/// A check whose program is found nowhere. What is named by a path may be a story's to make.
fn missing_check(config: &Config, path: &str, root: &Utf8Path) -> Option<NotReady> {
    if config.run.mode == Mode::Planning || settle::finds_in_project(path, root) {
        return None;
    }
    config.verify.commands.iter().find_map(|line| {
        let program = agent::program_of(line).filter(|program| !program.contains('/'))?;
        let (check, program) = (settle::one_line(line), program.to_owned());
        (!agent::is_found(&program, path, root)).then_some(NotReady::NoCheck { check, program })
    })
}

/// The limit that the counter beside a feature list names, where nobody set one elsewhere. As a
/// flag it reaches the hooks as well.
fn iterations_of(
    plan: &Plan,
    project: &Project,
    env: &Env,
    flags: &[Flag],
) -> Result<Option<Flag>, Failure> {
    const KEY: &str = "loop.max_iterations";
    let path = StateDir::loop_progress_beside(plan.path());
    if plan.format() != Format::FeatureList || !path.is_file() {
        return Ok(None);
    }
    if Config::is_given(&project.own_state().config(), env, flags, KEY) {
        return Ok(None);
    }
    let limit = LoopProgress::parse(&fs_err::read(&path)?).max_iterations;
    Ok(limit.map(|limit| Flag::new(KEY, limit.to_string())))
}

/// Before an agent worked for nothing.
fn refuse_links(plan: &Utf8Path) -> Result<(), Failure> {
    let progress = StateDir::progress_beside(plan);
    match [plan, &progress].into_iter().find(|path| state::leads_elsewhere(path)) {
        Some(path) => Err(Failure::usage(NotReady::Linked { path: path.to_string() })),
        None => Ok(()),
    }
}

/// Where planning writes a plan that is not there yet, or has no stories. What was given on the
/// command line is meant from the folder in which that was typed, anything else from the project.
fn plan_to_write(
    project: &Project,
    env: &Env,
    config: &Config,
    flags: &[Flag],
) -> Result<Utf8PathBuf, Failure> {
    let is_typed = flags.iter().any(|flag| flag.key == "loop.plan");
    let from = if is_typed { here::folder()? } else { project.root().to_owned() };
    let plan = match here::plan(project, env, config) {
        Err(FindError::Plan(found)) => found.path,
        _ => project_plan::to_write(project, config, &from),
    };
    refuse_links(&plan)?;
    Ok(plan)
}

/// The prompt's template: the user's beside the plan, or our own.
pub(crate) fn template(plan: &Plan) -> Result<Template, Failure> {
    let path = StateDir::prompt_beside(plan.path());
    let parsed = match fs_err::read_to_string(&path) {
        Ok(text) if text.trim().is_empty() => {
            return Err(Failure::usage(NotReady::EmptyPrompt { path: path.into_string() }));
        }
        Ok(text) => Template::parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Template::parse(prompt::BUILDING)
        }
        Err(error) => return Err(error.into()),
    };
    parsed.map_err(|source| Failure::usage(NotReady::Prompt { path: path.into_string(), source }))
}

/// Gets ready to run: lock, recovery, and the user's work out of the way.
pub(super) fn prepare(env: &Env, ground: Ground) -> Result<Stage, Failure> {
    if let Some(missing) = ground.missing_agent.clone() {
        return Err(NotReady::NoAgent { missing }.into());
    }
    if let Some(missing) = ground.missing_check {
        return Err(missing.into());
    }
    let mut stage = enter(env, ground)?;
    stage.wait_for_git_locks()?;
    stage.refuse_or_keep_aside()?;
    Ok(stage)
}

/// Takes the locks, and takes over from a run that never got to its end.
pub(super) fn enter(env: &Env, ground: Ground) -> Result<Stage, Failure> {
    let Ground { project, config, repo, plan, flags, missing_agent: _, missing_check: _ } = ground;
    let view = View::new(env, config.run.json_events);
    let plan = match plan {
        None => plan_to_write(&project, env, &config, &flags)?,
        Some(plan) => {
            for warning in plan.warnings() {
                view.warn(format!("{}:{}: {}", plan.path(), warning.line, warning.message));
            }
            plan.path().to_owned()
        }
    };
    for doubt in trust::doubts(project.own_state(), &plan) {
        view.warn(doubt);
    }
    let locks = Locks::take(&project, &repo, locks::LOOP)?;
    agent::adopt_orphans();
    let (before, damaged) = Record::load_or_move_away(project.own_state())?;
    if let Some(kept) = damaged {
        view.warn(format!("the record of the last run was damaged and is kept as {kept}"));
        refuge::tell_of_work_aside(&repo, &view)?;
    }
    let mut stage = Stage {
        flags,
        interrupts: Interrupts::listen()?,
        run: run_name(),
        counters: Counters::default(),
        earlier: Duration::ZERO,
        begun: Instant::now(),
        started_at: state::now(),
        aside: None,
        attempt: None,
        left_at: None,
        draft: None,
        abandoned: None,
        report: Report::default(),
        whole_session: None,
        just_committed: Cell::new(None),
        scripted: Cell::new(None),
        heard_from: Cell::new(0),
        closed: Vec::new(),
        is_handed_over: false,
        keepsake: Keepsake::default(),
        client_files: ClientFiles::default(),
        left_out: LeftOut::default(),
        added_hooks: Vec::new(),
        allowance: Allowance::default(),
        outcome: None,
        unlogged: None,
        is_author_known: false,
        is_costless: false,
        quota_streak: 0,
        broke: false,
        path: env.get("PATH").unwrap_or_default(),
        options: ClientOptions::find(env, &project, &config.agent.command),
        project,
        repo,
        config,
        plan,
        view,
        saved: RefCell::new(None),
        locks,
    };
    stage.take_over(before)?;
    fault::point("loop.taken-over");
    Ok(stage)
}

/// Sorts by time, and is different for every run of a machine.
fn run_name() -> String {
    format!("{}-{}", Timestamp::now().strftime("%Y%m%d-%H%M%S"), std::process::id())
}

impl Stage {
    /// A lock that would keep us from committing is not found out only when an agent has worked.
    fn wait_for_git_locks(&self) -> Result<(), Failure> {
        for lock in git::wait_for_locks(&self.repo, &|| self.interrupts.signal().is_some())? {
            let lock = lock.display();
            self.view.warn(format!("removed {lock}, which was there before and nobody holds"));
        }
        Ok(())
    }

    /// Conflicts, and work in repositories inside this one. What is uncommitted in a submodule
    /// stays where it is if the user says so; everything else would become part of a commit.
    fn refuse_what_cannot_be_kept_aside(&self, status: &Status) -> Result<(), Failure> {
        let conflicts = &status.conflicts;
        if !conflicts.is_empty() {
            return Err(NotReady::Conflicts { files: named_files(conflicts) }.into());
        }
        let mut nested = status.nested.clone();
        nested.retain(|path| !self.repo.is_untouched(path));
        if nested.is_empty() {
            return Ok(());
        }
        if !self.config.run.allow_dirty || !only_uncommitted(&nested, status) {
            return Err(NotReady::Nested { paths: named_files(&nested) }.into());
        }
        self.view.warn(format!(
            "uncommitted work stays where it is, in the submodules {}; what an attempt does to \
             them is not taken back",
            named_files(&nested)
        ));
        Ok(())
    }

    fn refuse_or_keep_aside(&mut self) -> Result<(), Failure> {
        let status = Status::read(&self.repo)?;
        self.refuse_what_cannot_be_kept_aside(&status)?;
        self.leave_out(&status)?;
        let dirty = self.dirty_files()?;
        if dirty.is_empty() || self.goes_on_with(&dirty) {
            return Ok(());
        }
        let interrupted = self.aside.is_some();
        // A crash came while the user's work was taken out of the tree or put back. All of it is
        // put back, over whatever the user did since, and then kept aside anew.
        self.bring_back()?;
        if self.aside.is_some() {
            return Err(NotReady::StillAside.into());
        }
        let dirty = self.dirty_files()?;
        if !self.config.run.allow_dirty && !interrupted {
            let files = named_files(&dirty);
            return Err(match self.abandoned.clone() {
                Some(Abandoned { story, why }) => NotReady::DirtySince { files, story, why }.into(),
                None => NotReady::Dirty { files }.into(),
            });
        }
        let uncovered = git::uncovered_without(&self.repo, &dirty)?;
        if !uncovered.is_empty() {
            return Err(NotReady::Uncovered { files: named_files(&uncovered) }.into());
        }
        let name = format!("{}/{}", aside::REFS, self.run);
        let saved = aside::save(&self.repo, &name)?;
        fault::point("aside.saved");
        self.aside = Some(name);
        // On disk before the tree is touched, so that a crash in between restores it.
        Record {
            run: self.run.clone(),
            started_at: self.started_at.clone(),
            plan: self.plan.clone(),
            aside: self.aside.clone(),
            ..Record::new()
        }
        .save(self.state())?;
        fault::point("aside.noted");
        aside::clear(&self.repo, &saved, &|path| self.is_ours(path))?;
        fault::point("aside.cleared");
        let files = counted(dirty.len(), "file", "files");
        self.view.line(format!("uncommitted work is kept aside: {files}"));
        Ok(())
    }

    /// Whether a person or a script should know that stories are left.
    pub(crate) fn has_open_stories(&self) -> bool {
        self.load_plan().is_ok_and(|plan| plan.counts().open + plan.counts().blocked > 0)
    }

    /// The branch that is checked out, for messages.
    pub(crate) fn branch(&self) -> String {
        let status = Status::read(&self.repo).unwrap_or_default();
        status.branch.unwrap_or_else(|| "a detached HEAD".to_owned())
    }
}

/// Whether these are submodules at their recorded commit, with uncommitted work in them.
fn only_uncommitted(nested: &[std::path::PathBuf], status: &Status) -> bool {
    let is_uncommitted = |path: &std::path::PathBuf| status.at_commit.contains(path);
    nested.iter().all(is_uncommitted)
}
