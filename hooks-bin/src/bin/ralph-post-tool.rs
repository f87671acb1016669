//! Detects failing test runs, and rolls back the attempt after saving it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph_hooks::harness::run(&ralph_hooks::post_tool::HOOK)
}
