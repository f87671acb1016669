//! Scratch folders, real repositories and case walkers for the tests of this workspace.

pub mod test_runs;
