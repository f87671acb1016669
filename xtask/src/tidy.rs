//! Tests of the tree's own rules, on which readers may rely.

#[cfg(test)]
mod anchors;
#[cfg(test)]
mod arrows;
#[cfg(test)]
mod circles;
#[cfg(test)]
mod docs;
pub(crate) mod extensions;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod house;
#[cfg(test)]
mod links;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod names;
#[cfg(test)]
mod shape;
#[cfg(test)]
mod systems;
#[cfg(test)]
mod tree;
