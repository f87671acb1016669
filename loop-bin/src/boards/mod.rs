//! Where plans are and where work lands, other than this repository's own branch.

pub(crate) mod fleet;
pub(crate) mod requests;
