//! Tests of the tree's own rules, on which readers may rely.

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
