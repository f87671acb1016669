//! Why a command failed.

use std::error::Error;
use std::fmt;
use std::io;

use ralph_core::git::GitError;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// Something went wrong.
    Error(Box<dyn Error + Send + Sync>),
    /// The command line or the configuration is wrong.
    Usage(Box<dyn Error + Send + Sync>),
    /// Another loop holds the project.
    Locked(Box<dyn Error + Send + Sync>),
    /// A server does not answer.
    Away(Box<dyn Error + Send + Sync>),
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(Box::new(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error())
    }
}

impl Failure {
    /// Returns an error whose text explains what went wrong and what to do about it.
    pub fn because(text: impl Into<String>) -> Self {
        Self::Error(text.into().into())
    }

    /// Returns a mistake on the command line or in the configuration.
    pub fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Usage(error.into())
    }

    /// Returns the error with its causes, for the user.
    pub fn explain(&self) -> String {
        with_causes(self.error())
    }

    /// Returns whether trying again later may help: git was killed, or the disk was full.
    pub fn is_transient(&self) -> bool {
        chain(self.error()).any(|error| {
            let io = error.downcast_ref::<io::Error>();
            let git = error.downcast_ref::<GitError>();
            io.is_some_and(|error| error.kind() == io::ErrorKind::StorageFull)
                || git.is_some_and(GitError::is_transient)
        })
    }

    /// Returns whether the machine had no room for another process or thread.
    pub fn is_for_want_of_room(&self) -> bool {
        chain(self.error()).any(|error| {
            let io = error.downcast_ref::<io::Error>();
            io.is_some_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        })
    }

    fn error(&self) -> &(dyn Error + 'static) {
        match self {
            Self::Error(error) | Self::Usage(error) | Self::Locked(error) | Self::Away(error) => {
                error.as_ref()
            }
        }
    }
}

/// Returns an error and its causes, outermost first.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// Returns the text of an error and its causes. Many errors repeat their cause in their own text.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    chain(error).skip(1).fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
