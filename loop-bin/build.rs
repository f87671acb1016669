//! The version as `--version` prints it: with the commit, where a release is built from git.
//!
//! Nothing but the commit goes in, so the same commit gives the same program. Builds for development
//! leave it out, because each commit would mean to build anew.
#![expect(clippy::disallowed_methods, reason = "a build script has variables and git only")]

use std::env::var;
use std::fs;
use std::process::Command;

fn main() {
    let version = var("CARGO_PKG_VERSION").unwrap_or_default();
    let is_release = var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if is_release { packaged().or_else(checked_out) } else { None };
    let shown = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=RALPH_LOOP_VERSION={shown}");
}

/// The commit that a package was made from, which lies in a file of it.
fn packaged() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, behind) = text.split_once("\"sha1\"")?;
    short(behind.split('"').nth(1)?)
}

/// The commit that is checked out, if this very file is part of it.
fn checked_out() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    for name in ["HEAD", "logs/HEAD"] {
        println!("cargo:rerun-if-changed={}", git(&["rev-parse", "--git-path", name])?);
    }
    short(&git(&["rev-parse", "HEAD"])?)
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn short(id: &str) -> Option<String> {
    let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { Some(id.chars().take(10).collect()) } else { None }
}
