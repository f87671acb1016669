//! Finds the simple commands of a line that run tests, and the meaning of their exit codes.

mod interpreters;
mod invocation;
mod names;
pub(crate) mod pattern;
mod purpose;
mod tasks;
mod tools;

#[cfg(test)]
mod tests;

pub use invocation::test_folders;
pub(crate) use invocation::{Ended, Invocation, find};
pub(crate) use names::{is_test_file, is_test_name};
pub(crate) use purpose::Purpose;
