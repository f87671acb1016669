//! A program that does nothing but start others inside the sandbox, as the loop does among other things.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandbox::run_if_asked().unwrap_or(ExitCode::SUCCESS)
}
