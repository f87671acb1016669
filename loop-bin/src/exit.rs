//! Why a command failed, and the exit code for it.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use ralph_core::git::GitError;

use crate::terminal;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something went wrong.
    Error(Box<dyn Error + Send + Sync>),
    /// The command line or the configuration is wrong.
    Usage(Box<dyn Error + Send + Sync>),
    /// Another loop holds the project.
    Locked(Box<dyn Error + Send + Sync>),
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
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
    /// What went wrong and what to do about it, in a text that says all of it.
    pub(crate) fn because(text: impl Into<String>) -> Self {
        Self::Error(text.into().into())
    }

    /// All that there is to say about it, its causes too.
    pub(crate) fn told(&self) -> String {
        let (Self::Error(error) | Self::Usage(error) | Self::Locked(error)) = self;
        terminal::told_with_causes(error.as_ref())
    }

    /// Whether it says nothing about what was looked at: somebody ended git, or the disk was full.
    pub(crate) fn will_pass(&self) -> bool {
        let (Self::Error(error) | Self::Usage(error) | Self::Locked(error)) = self;
        let git = error.downcast_ref::<GitError>();
        let is_ended = matches!(git, Some(GitError::Failed { code: None, .. }));
        is_ended || terminal::told_with_causes(error.as_ref()).contains("No space left on device")
    }

    /// The user's own mistake, to be told as such.
    pub(crate) fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Usage(error.into())
    }
}

/// Tells the user what went wrong, and returns the code for it.
pub(crate) fn code(outcome: Result<ExitCode, Failure>) -> ExitCode {
    let failure = match outcome {
        Ok(code) => return code,
        Err(failure) => failure,
    };
    terminal::complain(&failure.told());
    ExitCode::from(match failure {
        Failure::Error(_) => 1,
        Failure::Usage(_) => 2,
        Failure::Locked(_) => 5,
    })
}

/// A command line that is not understood is an error, never ignored; asking for help is none.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe is no reason to complain.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}
