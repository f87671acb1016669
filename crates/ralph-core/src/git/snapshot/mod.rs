//! What is saved of a work tree, and how: a commit under `refs/ralph/` that touches neither index nor
//! HEAD nor files (`take.rs`), and where nothing is changed a ref alone (`clean.rs`). How it comes back
//! is the module `restore`.

pub(super) mod access;
pub(super) mod clean;
pub(super) mod flags;
pub(super) mod import;
pub(super) mod index;
pub(super) mod index_flags;
pub(super) mod inventory;
pub(super) mod ledger;
pub(super) mod take;
pub(super) mod target;
