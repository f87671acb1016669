//! Outcomes and their exit codes: one `match`, as documented in the help.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use crate::run::{Finish, Signal};
use crate::terminal;

/// How a command ended that did what was asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Success {
    /// Nothing more to say.
    Done,
    /// The loop ended; `incomplete` if stories remain and the user wants to know.
    Loop { finish: Finish, incomplete: bool },
}

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something went wrong.
    Error(Box<dyn Error>),
    /// The command line or the configuration is wrong.
    Usage(Box<dyn Error>),
    /// Another loop holds the project.
    Locked(Box<dyn Error>),
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(Box::new(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Error(error) | Self::Usage(error) | Self::Locked(error)) = self;
        write!(f, "{error}")
    }
}

impl Failure {
    /// The user's own mistake, to be told as such.
    pub(crate) fn usage(error: impl Error + 'static) -> Self {
        Self::Usage(Box::new(error))
    }
}

/// Tells the user what went wrong, and returns the code for it.
pub(crate) fn code(outcome: Result<Success, Failure>) -> ExitCode {
    let (error, code) = match outcome {
        Ok(Success::Done) => return ExitCode::SUCCESS,
        Ok(Success::Loop { finish, incomplete }) => {
            return ExitCode::from(of_finish(&finish, incomplete));
        }
        Err(Failure::Error(error)) => (error, 1),
        Err(Failure::Usage(error)) => (error, 2),
        Err(Failure::Locked(error)) => (error, 5),
    };
    terminal::complain(error.as_ref());
    ExitCode::from(code)
}

fn of_finish(finish: &Finish, incomplete: bool) -> u8 {
    match finish {
        Finish::Complete | Finish::MaxIterations if incomplete => 7,
        Finish::Complete | Finish::MaxIterations => 0,
        Finish::Error(_) => 1,
        Finish::HookAbort => 3,
        Finish::NoChanges => 4,
        Finish::Budget(_) => 6,
        Finish::Blocked(_) => 8,
        Finish::Manual(Signal::Interrupt) => 130,
        Finish::Manual(Signal::Terminate) => 143,
    }
}

/// A command line that is not understood is an error, never ignored; asking for help is none.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe is no reason to complain.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}
