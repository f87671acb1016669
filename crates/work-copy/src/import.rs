//! What an agent left in the repository of its copy: commits, and what hooks rolled back. Fetched
//! into the project before that repository is made anew; as far as it can be read.

use std::path::PathBuf;

use ralph_core::git::Git;

use super::{Start, Workspace};
use crate::git_output::paths;

/// A place for what is on its way into the project.
const INCOMING: &str = "refs/ralph/incoming";

/// Where hooks keep what they roll back.
const DISCARDED: &str = "refs/ralph/discarded";

/// What the agent left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// The commit that it had checked out, if that is not the one it began with.
    pub head: Option<String>,
    /// What hooks rolled back during the attempt.
    pub discarded: Vec<String>,
    /// Whether it made its checkout sparse: then files are missing that it did not mean to remove.
    pub is_sparse: bool,
    /// Files that it added although git ignores them.
    pub forced: Vec<PathBuf>,
}

/// Fetches it. A repository that the agent damaged has nothing to give.
pub fn import(copy: &Workspace, start: Start<'_>) -> Imported {
    let theirs = Git::at(copy.top.as_std_path());
    if !copy.top.join(".git").is_dir() {
        return Imported::default();
    }
    let forced = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
    let forced = theirs.run(&forced).map(|listed| paths(&listed)).unwrap_or_default();
    let is_sparse = !copy.is_in_place && copy.top.join(".git/info/sparse-checkout").exists();
    let listed = theirs.line(&["show-ref", "--head"]).unwrap_or_default();
    let refs: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
    let head = refs.iter().find(|(_, name)| *name == "HEAD").map(|(id, _)| (*id).to_owned());
    let head = head.filter(|head| Some(head.as_str()) != start.tip);
    let discarded = refs.iter().filter(|(_, name)| name.starts_with(DISCARDED));
    let discarded: Vec<String> = discarded.map(|(_, name)| (*name).to_owned()).collect();
    if copy.is_in_place {
        return Imported { head, forced, ..Imported::default() };
    }
    let incoming = head.as_ref().map(|_| format!("+HEAD:{INCOMING}"));
    let kept = discarded.iter().map(|name| format!("+{name}:{name}"));
    let wanted: Vec<String> = incoming.into_iter().chain(kept).collect();
    if wanted.is_empty() {
        return Imported { is_sparse, forced, ..Imported::default() };
    }
    let ours = copy.source.git();
    let fetch = "fetch --quiet --no-tags --no-write-fetch-head --no-auto-maintenance";
    let args = fetch.split(' ').chain([copy.top.as_str()]);
    let args: Vec<&str> = args.chain(wanted.iter().map(String::as_str)).collect();
    if let Err(error) = ours.run(&args) {
        log::warn!("could not fetch the agent's commits: {error}");
        return Imported { is_sparse, forced, ..Imported::default() };
    }
    // Only on its way; whoever keeps the attempt holds it from here on.
    let _ = ours.run(&["update-ref", "-d", INCOMING]);
    Imported { head, discarded, is_sparse, forced }
}
