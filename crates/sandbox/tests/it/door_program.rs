//! A program that only starts other programs inside the sandbox, as the loop does.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandbox::run_if_asked().unwrap_or(ExitCode::SUCCESS)
}
