//! Notices failing test runs, and takes the attempt back without losing it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph_hooks::harness::run(&ralph_hooks::post_tool::HOOK)
}
