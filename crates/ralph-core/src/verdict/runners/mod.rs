//! The table of test runners: one row each, by language family.
//!
//! A row says how a runner is started and which of its exit codes mean something special. How its
//! summary is read is said nowhere: the shapes in `output` are shared by all of them.

mod all;
mod compiled;
mod functional;
mod javascript;
mod jvm;
mod python;
mod row;
mod ruby_php;
mod scripts;
mod tools;

pub(crate) use all::all;
pub(crate) use row::Runner;
