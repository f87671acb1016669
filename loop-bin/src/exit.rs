//! Exit codes of commands.

use std::process::ExitCode;

pub(crate) use ralph_project::failure::Failure;

use crate::terminal;

/// The code for a failure that may go away when tried again later.
pub(crate) const TRY_LATER: u8 = 75;

/// Prints the failure, and returns its code.
pub(crate) fn code(outcome: Result<ExitCode, Failure>) -> ExitCode {
    let failure = match outcome {
        Ok(code) => return code,
        Err(failure) => failure,
    };
    terminal::complain(&failure.explain());
    ExitCode::from(match failure {
        Failure::Error(_) => 1,
        Failure::Usage(_) => 2,
        Failure::Locked(_) => 5,
        Failure::Away(_) => TRY_LATER,
    })
}

/// An invalid command line is an error, never ignored; asking for help is not.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe is no error.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}
