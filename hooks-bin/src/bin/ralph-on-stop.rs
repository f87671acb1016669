//! Holds the agent back while work is unfinished, and lets it go in the end.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph_hooks::harness::run(&ralph_hooks::on_stop::HOOK)
}
