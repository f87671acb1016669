//! Records the prompt, and adds what the agent should know about the current story.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph_hooks::harness::run(&ralph_hooks::pre_prompt::HOOK)
}
