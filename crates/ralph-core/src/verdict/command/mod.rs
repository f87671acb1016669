//! Which simple commands of a command line run tests, and what becomes of their exit codes.

mod interpreters;
mod invocation;
mod names;
pub(crate) mod pattern;
mod purpose;
mod tasks;
mod tools;
mod unwrap;

#[cfg(test)]
mod tests;

pub(crate) use invocation::{Ended, Invocation, find, test_commands};
pub(crate) use names::is_test_file;
pub(crate) use purpose::Purpose;
pub(crate) use unwrap::base_name;
