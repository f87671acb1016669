//! `cargo xtask install` and `uninstall`: the release binaries into a project or a home folder.

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use ralph_core::env::Env;
use ralph_core::install::{Change, ClientVersion, Place, plan_install, plan_uninstall};
use similar::TextDiff;

use crate::{dist, run};

/// Which settings file, and whether to touch it.
#[derive(Args)]
pub(crate) struct Target {
    /// The project; the current folder if neither this nor --user is given.
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    project: Option<Utf8PathBuf>,
    /// The home folder's settings, for all projects.
    #[arg(long)]
    user: bool,
    /// The project's settings.local.json, which is not shared with others.
    #[arg(long, conflicts_with = "user")]
    local: bool,
    /// Show what would change and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// How to install.
#[derive(Args)]
pub(crate) struct Install {
    #[command(flatten)]
    target: Target,
    /// Let the client block a tool call when the guard itself fails.
    #[arg(long)]
    strict: bool,
    /// The client's version, where there is no `claude` to ask.
    #[arg(long, value_name = "VERSION")]
    client_version: Option<ClientVersion>,
}

/// Installs the hooks.
pub(crate) fn install(arguments: &Install) -> Result<()> {
    let place = arguments.target.place()?;
    let client = arguments.client_version.map_or_else(installed_client, Ok)?;
    // Settings that cannot be changed are refused before minutes of building.
    plan_uninstall(&place)?;
    let binaries = dist::run()?;
    let change = plan_install(&place, &binaries, client, arguments.strict)?;
    arguments.target.carry_out(&change)?;
    for left_out in &change.left_out {
        println!(
            "left out: {} (client {client} does not know it; {} does)",
            left_out.event, left_out.since
        );
    }
    if change.hooks_are_off {
        println!("note: `disableAllHooks` is set there, so that no hook runs");
    }
    Ok(())
}

/// Takes the hooks out.
pub(crate) fn uninstall(target: &Target) -> Result<()> {
    target.carry_out(&plan_uninstall(&target.place()?)?)
}

impl Target {
    fn place(&self) -> Result<Place> {
        if self.user {
            let home = Env::process().home().context("HOME is not set")?;
            return Ok(Place::user(&home));
        }
        let project = self.project.as_deref().unwrap_or(Utf8Path::new("."));
        let project =
            project.canonicalize_utf8().with_context(|| format!("no project at {project}"))?;
        let place = if self.local { Place::project_local } else { Place::project };
        Ok(place(&project))
    }

    fn carry_out(&self, change: &Change) -> Result<()> {
        print!("{}", described(change));
        if self.dry_run {
            println!("nothing was changed: --dry-run");
            return Ok(());
        }
        Ok(change.apply()?)
    }
}

/// The change as a person reads it: a diff of the settings and the files that come and go.
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

/// The version of the client on the search path.
fn installed_client() -> Result<ClientVersion> {
    let hint = "give its version with --client-version";
    let printed = run::output(run::command("claude").arg("--version"));
    let Ok(printed) = printed else { bail!("`claude --version` does not run here: {hint}") };
    printed.parse().with_context(|| hint.to_owned())
}

#[cfg(test)]
mod tests {
    use ralph_core::install::HOOK_NAMES;
    use test_support::Scratch;

    use super::*;

    #[test]
    fn a_change_is_described_by_its_difference_and_its_files() {
        let scratch = Scratch::new();
        for name in HOOK_NAMES {
            scratch.script(&format!("built/{name}"), "#!/bin/sh\n");
        }
        scratch.file("app/.claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
        let place = Place::project(&scratch.path("app"));
        let client = ClientVersion::new(2, 1, 325);
        let change = plan_install(&place, &scratch.path("built"), client, false).unwrap();
        let text = described(&change);
        let settings = &place.settings;
        let header = format!("--- {settings}\n+++ {settings}\n@@ ");
        assert!(text.starts_with(&header), "{text}");
        let added = "\n-  \"model\": \"opus\"\n+  \"model\": \"opus\",\n+  \"hooks\": {\n";
        assert!(text.contains(added), "{text}");
        assert!(text.contains(&format!("\nwrite {}/ralph-on-stop\n", place.hooks)), "{text}");
        change.apply().unwrap();
        let again = plan_install(&place, &scratch.path("built"), client, false).unwrap();
        assert_eq!(described(&again), format!("{settings}: nothing to change\n"));
        let out = described(&plan_uninstall(&place).unwrap());
        assert!(out.contains(&format!("\nremove {}/ralph-on-stop\n", place.hooks)), "{out}");
    }
}
