//! Keeps the agent from stopping while work is unfinished, within limits.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph_hooks::harness::run(&ralph_hooks::on_stop::HOOK)
}
