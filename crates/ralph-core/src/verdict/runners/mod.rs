//! The test runners that are known by name.

mod row;
mod table;

pub(crate) use row::{Runner, find};
