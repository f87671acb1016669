//! Which simple commands of a command line run tests, and what becomes of their exit codes.

mod interpreters;
mod invocation;
mod names;
pub(crate) mod pattern;
mod purpose;
mod tasks;
mod tools;

#[cfg(test)]
mod tests;

pub(crate) use invocation::{Ended, Invocation, find, is_wrapped_in, test_commands};
pub(crate) use names::{base_name, is_test_file, is_test_name};
pub(crate) use purpose::Purpose;
