//! `cargo xtask install` and `uninstall`: what `ralph-loop` does under these names, with binaries
//! that are built first.

use anyhow::Result;
use installer::{Install, Uninstall};
use ralph_base::env::Env;

use crate::dist;

/// Builds and installs the hooks.
pub(crate) fn install(arguments: &Install) -> Result<()> {
    let prepared = arguments.prepare(&Env::process())?;
    let binaries = if prepared.copies_binaries() { dist::run()? } else { "target/dist".into() };
    Ok(prepared.install(&binaries, &mut |text| print!("{text}"))?)
}

/// Takes the hooks out.
pub(crate) fn uninstall(arguments: &Uninstall) -> Result<()> {
    Ok(arguments.run(&Env::process(), &mut |text| print!("{text}"))?)
}
