//! The flags.

use camino::Utf8PathBuf;
use clap::Args;
use ralph_project::install::ClientVersion;

/// Which settings file, and whether to touch it.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Target {
    /// The project; the current folder if neither this nor --user is given.
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    pub(crate) project: Option<Utf8PathBuf>,
    /// Your own settings for all projects: ~/.claude, or the folder that CLAUDE_CONFIG_DIR names.
    #[arg(long)]
    pub(crate) user: bool,
    /// The project's settings.local.json, which is not shared with others.
    #[arg(long, conflicts_with = "user")]
    pub(crate) local: bool,
    /// Show what would change and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Register the hooks with the client, beside whatever is there.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Install {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Let the client block a tool call when the guard itself fails.
    #[arg(long)]
    pub(crate) strict: bool,
    /// The client's version, where there is no `claude` to ask.
    #[arg(long, value_name = "VERSION")]
    pub(crate) client_version: Option<ClientVersion>,
}

/// Take the hooks and their registrations out again.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Uninstall {
    #[command(flatten)]
    pub(crate) target: Target,
}
