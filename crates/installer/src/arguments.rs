//! The flags.

use camino::Utf8PathBuf;
use clap::Args;
use ralph_project::install::ClientVersion;

/// Which settings file, and whether to touch it.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Target {
    /// The project; defaults to the current folder.
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    pub(crate) project: Option<Utf8PathBuf>,
    /// Use your own settings for all projects: ~/.claude, or the folder in CLAUDE_CONFIG_DIR.
    #[arg(long)]
    pub(crate) user: bool,
    /// Use the project's settings.local.json, which is not shared with others.
    #[arg(long, conflicts_with = "user")]
    pub(crate) local: bool,
    /// Show what would change, without changing anything.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Register the hooks with the client, beside whatever is there.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Install {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Write settings to commit for everybody: they find the hooks in PATH, nothing is copied, and
    /// whoever lacks the hooks is told so once a session.
    #[arg(long, conflicts_with_all = ["user", "local"])]
    pub(crate) team: bool,
    /// The client's version, if `claude` is not available here.
    #[arg(long, value_name = "VERSION")]
    pub(crate) client_version: Option<ClientVersion>,
}

/// Remove the hooks and their registrations.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Uninstall {
    #[command(flatten)]
    pub(crate) target: Target,
}
