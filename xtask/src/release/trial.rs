//! Each package, installed on a machine without cargo, and used: the demo runs, the hooks go into a
//! project, and the guard answers.

use std::time::Instant;

use anyhow::{Context, Result};
use camino::Utf8Path;

use super::VERSION;
use super::machine::{self, Machine};
use super::target::Target;
use crate::run;

/// What is done there.
const SCRIPT: &str = include_str!("../../packaging/try.sh");

/// Tries what there is for a target: on this machine and on one of its own, or by an emulator.
pub(super) fn run(target: Target, packages: &Utf8Path) -> Result<()> {
    if !target.is_here() {
        return emulated(target, packages);
    }
    for kind in ["archive", "script", "debian-beside", "npm"] {
        let is_there = match kind {
            // It fetches the archives that run on every Linux, and no others.
            "script" => target.triple.ends_with("-musl"),
            "debian-beside" => target.debian.is_some(),
            _ => true,
        };
        if is_there {
            used("here", kind, &Machine::here(), &variables(target, packages))?;
        }
    }
    if target.debian.is_none() {
        return Ok(());
    }
    let image = match machine::image() {
        Ok(image) => image,
        Err(error) => {
            println!("passed over: a Debian of its own (needs mmdebstrap and mounts): {error:#}");
            return Ok(());
        }
    };
    let kinds = ["archive", "script", "debian", "npm"].into_iter();
    for kind in kinds.filter(|kind| *kind != "script" || target.triple.ends_with("-musl")) {
        let own = Machine::own(&image, packages)?;
        used("in a new Debian", kind, &own, &variables(target, Utf8Path::new("/packages")))?;
    }
    Ok(())
}

/// Uses the programs for another processor, where there is an emulator for it.
fn emulated(target: Target, packages: &Utf8Path) -> Result<()> {
    let names = target.emulators();
    let is_there = |name: &&String| run::output(run::command(name).arg("--version")).is_ok();
    let Some(emulator) = names.iter().find(is_there) else {
        println!("passed over: {} (needs {})", target.triple, names.join(" or "));
        return Ok(());
    };
    let mut variables = variables(target, packages);
    variables.push(format!("EMULATOR={emulator}"));
    used(&format!("by {emulator}"), "archive", &Machine::here(), &variables)
}

fn variables(target: Target, packages: &Utf8Path) -> Vec<String> {
    vec![
        format!("PACKAGES={packages}"),
        format!("ARCHIVE={}.tar.gz", target.archive()),
        format!("DEBIAN=ralph-loop_{VERSION}_{}.deb", target.debian.unwrap_or_default()),
        format!("NPM={}-{VERSION}.tgz", target.npm_package()),
        format!("NPM_FRONT=ralph-loop-{VERSION}.tgz"),
    ]
}

/// Installs a package and uses it; says how long that took.
fn used(place: &str, kind: &str, machine: &Machine, variables: &[String]) -> Result<()> {
    let started = Instant::now();
    machine.run(SCRIPT, kind, variables).with_context(|| format!("{kind} {place}"))?;
    let seconds = started.elapsed().as_secs_f64();
    println!("{kind} {place}: installed, demo, hooks in {seconds:.1} s");
    Ok(())
}
