//! The names of our refs, all below `refs/ralph/`.

/// Where everything is kept that is ours.
pub(super) const OWN: &str = "refs/ralph/";

/// Where the snapshots of checkpoints are.
pub(super) const CHECKPOINTS: &str = "refs/ralph/checkpoint/";

/// Where discarded attempts are kept; nothing ever removes them but the user.
pub(super) const DISCARDED: &str = "refs/ralph/discarded/";

/// What a person types to get back what a ref keeps: the last part of its name.
pub fn saved_id(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
