//! From what was asked to what is on disk.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_project::install::{
    Change, ClientVersion, InstallError, NotAVersion, Place, plan_install, plan_team,
    plan_uninstall, sources,
};

use crate::arguments::{Install, Target, Uninstall};
use crate::client::version_text;
use crate::description::described;

/// Why nothing was installed or taken out.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There is no folder for a person's own settings.
    #[error("neither CLAUDE_CONFIG_DIR nor HOME is set; set one, or install with --project")]
    NoHome,
    /// The project is not there.
    #[error("cannot open the project at {path}: {source}")]
    NoProject {
        /// What was given.
        path: Utf8PathBuf,
        /// What the disk says.
        source: io::Error,
    },
    /// Nobody knows which events the client knows.
    #[error(
        "could not run `claude --version`; specify the client's version, for example \
         --client-version 2.1.325"
    )]
    NoClient,
    /// The client says something else.
    #[error("unexpected output from `claude --version`: {0} with --client-version")]
    Version(#[from] NotAVersion),
    /// The settings or the disk.
    #[error(transparent)]
    Install(#[from] InstallError),
}

/// An installation that can go ahead once the binaries are there.
#[derive(Debug, Clone)]
pub struct Prepared {
    place: Place,
    team: bool,
    client: ClientVersion,
    dry_run: bool,
    /// Where else the client finds hooks of ours.
    others: Vec<Utf8PathBuf>,
}

impl Install {
    /// Looks at everything that could stand against it, before anybody builds for minutes.
    pub fn prepare(&self, env: &Env) -> Result<Prepared, Failure> {
        let place = self.target.place(env)?;
        let client = match self.client_version {
            Some(version) => version,
            None => version_text("claude", Utf8Path::new(".")).ok_or(Failure::NoClient)?.parse()?,
        };
        plan_uninstall(&place)?;
        let (root, dry_run) = (self.target.root(), self.target.dry_run);
        let root = root.canonicalize_utf8().unwrap_or(root);
        let others = sources(env, &root).into_iter().filter(|file| *file != place.settings);
        Ok(Prepared { others: others.collect(), place, client, team: self.team, dry_run })
    }
}

impl Prepared {
    /// Whether it needs the binaries at all.
    pub fn copies_binaries(&self) -> bool {
        !self.team
    }

    /// Installs the hooks, copying them from the folder `binaries` where that is needed; `say` is given
    /// what to show.
    pub fn install(&self, binaries: &Utf8Path, say: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        let client = self.client;
        let change = if self.team {
            plan_team(&self.place, client)?
        } else {
            plan_install(&self.place, binaries, client)?
        };
        carry_out(&change, self.dry_run, say)?;
        for left_out in &change.left_out {
            let (event, since) = (left_out.event, left_out.since);
            say(&format!("skipped: {event} (needs client {since} or later, found {client})\n"));
        }
        if change.hooks_are_off {
            say("note: `disableAllHooks` is set in these settings, so no hook will run\n");
        }
        for other in &self.others {
            say(&format!(
                "note: {other} registers the hooks too, and each event is then handled twice; \
                 uninstall one of the two\n"
            ));
        }
        Ok(())
    }
}

impl Uninstall {
    /// Takes the hooks out; `say` is given what to show.
    pub fn run(&self, env: &Env, say: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        carry_out(&plan_uninstall(&self.target.place(env)?)?, self.target.dry_run, say)
    }
}

impl Target {
    fn root(&self) -> Utf8PathBuf {
        self.project.clone().unwrap_or_else(|| ".".into())
    }

    fn place(&self, env: &Env) -> Result<Place, Failure> {
        if self.user {
            return Place::user(env).ok_or(Failure::NoHome);
        }
        let path = self.root();
        let project =
            path.canonicalize_utf8().map_err(|source| Failure::NoProject { path, source })?;
        let place = if self.local { Place::project_local } else { Place::project };
        Ok(place(&project))
    }
}

fn carry_out(change: &Change, dry_run: bool, say: &mut dyn FnMut(&str)) -> Result<(), Failure> {
    say(&described(change));
    if dry_run {
        say("dry run: nothing was changed\n");
        return Ok(());
    }
    Ok(change.apply()?)
}
