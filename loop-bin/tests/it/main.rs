//! `ralph-loop` as people run it.
#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

mod explain;
mod undo;

use std::process::Output;

use camino::Utf8Path;
use test_support::program;

const BINARY: &str = env!("CARGO_BIN_EXE_ralph-loop");

/// Runs `ralph-loop` in a folder; returns its exit code and what it printed.
fn ralph_loop(folder: &Utf8Path, args: &[&str]) -> (i32, String, String) {
    let output: Output = program(BINARY, folder).args(args).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
