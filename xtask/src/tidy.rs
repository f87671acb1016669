//! The tree's own rules, checked as tests: what a reader may rely on without looking.

mod anchors;
mod circles;
mod docs;
mod faults;
mod house;
mod links;
mod messages;
mod names;
mod shape;
mod systems;
mod tree;
