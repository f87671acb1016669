//! `ralph-loop install` and `uninstall`, for the hooks in the folder of this program. The changes are
//! computed by [`ralph_project::install`].

use std::process::ExitCode;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use client::{folder_of_this_program, version_text};
use ralph_base::env::Env;
use ralph_project::dialect::Dialect;
use ralph_project::install::{
    Change, ClientVersion, HookTarget, NotAVersion, plan_install, plan_uninstall, sources,
};
use similar::TextDiff;

use super::Subcommand;
use crate::exit::Failure;
use crate::flags::{CLAUDE, agent_names};
use crate::terminal::{say, say_as_it_is};

/// Which settings file, and whether to touch it.
#[derive(Debug, Args)]
struct Target {
    /// The agent whose own sessions get the hooks.
    #[arg(long, value_name = "NAME", default_value = CLAUDE, value_parser = agent_names())]
    agent: String,
    /// The project; defaults to the current folder.
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    project: Option<Utf8PathBuf>,
    /// Use your own settings for all projects, such as ~/.claude or the folder in CLAUDE_CONFIG_DIR.
    #[arg(long)]
    user: bool,
    /// Use the project's settings.local.json, which is not shared with others.
    #[arg(long, conflicts_with = "user")]
    local: bool,
    /// Show what would change, without changing anything.
    #[arg(long)]
    dry_run: bool,
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "install",
    args: Install::augment_args,
    run: |call| call.parsed::<Install>()?.run(call.env),
};

/// Install the hooks that are next to this program and register them with the client
#[derive(Debug, Args)]
pub(crate) struct Install {
    #[command(flatten)]
    target: Target,
    /// The client's version, if `claude` is not available here.
    #[arg(long, value_name = "VERSION")]
    client_version: Option<ClientVersion>,
}

pub(super) const UNINSTALL: Subcommand = Subcommand {
    name: "uninstall",
    args: Uninstall::augment_args,
    run: |call| call.parsed::<Uninstall>()?.run(call.env),
};

/// Remove the hooks and their registrations; your own settings are kept
#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    target: Target,
}

impl Install {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let place = self.target.place(env)?;
        let client =
            if place.agent.is_some() { ClientVersion::new(0, 0, 0) } else { self.client()? };
        let nowhere = "cannot determine where this program is installed; start it by its full path";
        let binaries = folder_of_this_program().ok_or_else(|| Failure::because(nowhere))?;
        let change = plan_install(&place, &binaries, client)?;
        carry_out(&change, self.target.dry_run)?;
        for left_out in &change.left_out {
            let (event, since) = (left_out.event, left_out.since);
            say(format!("skipped: {event} (needs client {since} or later, found {client})"));
        }
        if change.hooks_are_off {
            say("note: `disableAllHooks` is set in these settings, so no hook will run");
        }
        if place.agent.is_some() {
            say(format!("note: {} may ask you to trust these hooks first", self.target.agent));
            return Ok(ExitCode::SUCCESS);
        }
        let root = self.target.root();
        let root = root.canonicalize_utf8().unwrap_or(root);
        for other in sources(env, &root).into_iter().filter(|file| *file != place.settings) {
            say(format!(
                "note: {other} registers the hooks too, and each event is then handled twice; \
                 uninstall one of the two"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The client's version decides which events may be registered.
    fn client(&self) -> Result<ClientVersion, Failure> {
        if let Some(version) = self.client_version {
            return Ok(version);
        }
        let text = version_text("claude", Utf8Path::new(".")).ok_or_else(|| {
            Failure::because(
                "could not run `claude --version`; specify the client's version, for example \
                 --client-version 2.1.325",
            )
        })?;
        text.parse().map_err(|error: NotAVersion| {
            let what = "unexpected output from `claude --version`";
            Failure::because(format!("{what}: {error} with --client-version"))
        })
    }
}

impl Uninstall {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        carry_out(&plan_uninstall(&self.target.place(env)?)?, self.target.dry_run)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Target {
    fn root(&self) -> Utf8PathBuf {
        self.project.clone().unwrap_or_else(|| ".".into())
    }

    fn place(&self, env: &Env) -> Result<HookTarget, Failure> {
        if self.agent != CLAUDE {
            return self.place_of_agent(env);
        }
        if self.user {
            let why =
                "neither CLAUDE_CONFIG_DIR nor HOME is set; set one, or install with --project";
            return HookTarget::user(env).ok_or_else(|| Failure::because(why));
        }
        let place = if self.local { HookTarget::project_local } else { HookTarget::project };
        Ok(place(&self.project()?))
    }

    /// The folder of another agent's hooks.
    fn place_of_agent(&self, env: &Env) -> Result<HookTarget, Failure> {
        let project = if self.user { None } else { Some(self.project()?) };
        let agent = if !self.local { Dialect::find(&self.agent) } else { None };
        agent.and_then(|agent| HookTarget::of_agent(agent, project.as_deref(), env)).ok_or_else(
            || {
                let (name, where_) =
                    (&self.agent, if self.user { "for all projects" } else { "in a project" });
                Failure::usage(format!(
                    "{name} does not support hooks {where_}; see docs/agents.md"
                ))
            },
        )
    }

    fn project(&self) -> Result<Utf8PathBuf, Failure> {
        let path = self.root();
        let refused =
            |error| Failure::because(format!("cannot open the project at {path}: {error}"));
        path.canonicalize_utf8().map_err(refused)
    }
}

fn carry_out(change: &Change, dry_run: bool) -> Result<(), Failure> {
    say_as_it_is(&described(change));
    if dry_run {
        say("dry run: nothing was changed");
        return Ok(());
    }
    change.apply()?;
    if !change.is_empty() {
        say(format!("done: changed {}; new sessions use it", change.settings()));
    }
    Ok(())
}

/// Lists the changes: the difference of the settings, and the files that are added or removed.
fn described(change: &Change) -> String {
    if change.is_empty() {
        return format!("{}: nothing to change\n", change.settings());
    }
    let before = change.before.as_deref().unwrap_or_default();
    let after = change.after.as_deref().unwrap_or_default();
    let name = change.settings().as_str();
    let mut text =
        TextDiff::from_lines(before, after).unified_diff().header(name, name).to_string();
    for (_, to) in &change.copies {
        text.push_str(&format!("write {to}\n"));
    }
    if change.after.is_none() && change.before.is_some() {
        text.push_str(&format!("remove {name}\n"));
    }
    for path in &change.removals {
        text.push_str(&format!("remove {path}\n"));
    }
    text
}
