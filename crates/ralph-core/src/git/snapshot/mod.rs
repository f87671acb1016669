//! What is saved of a work tree, and how: a commit under `refs/ralph/` that touches neither index nor
//! HEAD nor files. How it comes back is the module `restore`.

pub(super) mod error;
mod garbage;
mod import;
pub(super) mod inventory;
pub(super) mod record;
pub(super) mod take;
pub(super) mod target;
