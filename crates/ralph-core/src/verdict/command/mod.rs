//! Which simple commands of a command line run tests, and what becomes of their exit codes.

mod invocation;
mod names;
pub(crate) mod pattern;
mod purpose;
mod unwrap;

pub(crate) use invocation::{Ended, Invocation, find};
pub(crate) use purpose::Purpose;
