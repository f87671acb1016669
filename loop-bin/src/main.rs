//! The loop.

fn main() {}
