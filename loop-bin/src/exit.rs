//! Outcomes and their exit codes: one `match`, as documented in the help.

use std::error::Error;
use std::process::ExitCode;

use ralph_core::config::ConfigError;

use crate::terminal;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something went wrong.
    Error(Box<dyn Error>),
    /// The configuration is wrong.
    Config(ConfigError),
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let error: Box<dyn Error> = Box::new(error);
        match error.downcast::<ConfigError>() {
            Ok(config) => Self::Config(*config),
            Err(error) => Self::Error(error),
        }
    }
}

/// Tells the user what went wrong, and returns the code for it.
pub(crate) fn code(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Error(error)) => {
            terminal::complain(error.as_ref());
            ExitCode::from(1)
        }
        Err(Failure::Config(error)) => {
            terminal::complain(&error);
            ExitCode::from(2)
        }
    }
}

/// A command line that is not understood is an error, never ignored; asking for help is none.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe is no reason to complain.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}
