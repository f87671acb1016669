//! Denies tool calls: pushes, merges, destructive commands, edits of files that were not read.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph_hooks::harness::run(&ralph_hooks::pre_tool::HOOK)
}
