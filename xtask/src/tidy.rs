//! The tree's own rules, checked as tests: what a reader may rely on without looking.

mod docs;
mod faults;
mod links;
mod names;
mod shape;
mod tree;
