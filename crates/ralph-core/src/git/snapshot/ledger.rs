//! The ledger of saved states: which commit each of our refs holds, in a file of the git folder.
//!
//! An agent that tidies up refs takes away what only they name, but not the commits: git removes
//! those weeks later. With the ledger a ref can be made again. It is a second record and no more:
//! a ledger that cannot be written keeps nobody from saving a state.

use std::collections::BTreeSet;

use crate::git::command::GitError;
use crate::git::repo::{Repo, is_object_id};
use crate::state;

/// Where all saved states are, and those of checkpoints, of which only the newest counts.
const REFS: &str = "refs/ralph/";
pub(in crate::git) const CHECKPOINTS: &str = "refs/ralph/checkpoint/";

/// What became of refs that somebody had removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PutBack {
    /// Refs that are there again.
    pub back: Vec<String>,
    /// Refs whose commits are gone as well.
    pub gone: Vec<String>,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Saved {
    commit: String,
    name: String,
}

/// Writes down that a ref was made.
pub(in crate::git) fn note(repo: &Repo, name: &str, commit: &str) {
    if let (true, Some(path)) = (name.starts_with(REFS), repo.own_file(state::SAVED_LEDGER)) {
        // The ref itself is there; without its line it is only not made again.
        let _ = state::append_line(&path, format!("{commit} {name}").as_bytes());
    }
}

/// Makes one ref again; tells whether it is there now.
pub(in crate::git) fn put_back(repo: &Repo, name: &str) -> bool {
    let saved = load(repo).into_iter().rfind(|saved| saved.name == name);
    saved.is_some_and(|saved| make(repo, &saved))
}

/// Makes the refs again that somebody removed since [`forget_removed`]: work that was discarded or
/// kept aside, and the newest checkpoint. Those whose commits are gone are forgotten.
pub fn put_back_removed(repo: &Repo) -> Result<PutBack, GitError> {
    let all = load(repo);
    let newest = all.iter().rfind(|saved| saved.name.starts_with(CHECKPOINTS));
    let counts = |saved: &&Saved| !saved.name.starts_with(CHECKPOINTS) || newest == Some(*saved);
    let mut put = PutBack::default();
    for saved in removed(repo, all.iter().filter(counts))? {
        let list = if make(repo, &saved) { &mut put.back } else { &mut put.gone };
        list.push(saved.name);
    }
    if !put.gone.is_empty() {
        save(repo, all.iter().filter(|saved| !put.gone.contains(&saved.name)));
    }
    Ok(put)
}

/// Forgets one ref, which is about to be removed by us.
pub(in crate::git) fn forget(repo: &Repo, name: &str) {
    save(repo, load(repo).iter().filter(|saved| saved.name != name));
}

/// Forgets refs that are not there any more: while no run was under way, their owner removed them.
pub fn forget_removed(repo: &Repo) -> Result<(), GitError> {
    let all = load(repo);
    let removed = removed(repo, all.iter())?;
    if !removed.is_empty() {
        save(repo, all.iter().filter(|saved| !removed.contains(saved)));
    }
    Ok(())
}

/// Those that are no refs any more. Most refs are files of their own, and to look for those takes
/// no git.
fn removed<'a>(
    repo: &Repo,
    saved: impl Iterator<Item = &'a Saved>,
) -> Result<Vec<Saved>, GitError> {
    // Where it is a linked work tree, refs may be in either.
    let folders = [repo.git_dir().to_owned(), repo.shared_git_dir()];
    let is_file = |name: &str| folders.iter().any(|folder| folder.join(name).is_file());
    let mut unseen: Vec<Saved> = saved.filter(|saved| !is_file(&saved.name)).cloned().collect();
    if !unseen.is_empty() {
        let known = repo.git().line(&["for-each-ref", "--format=%(refname)", REFS])?;
        let known: BTreeSet<&str> = known.lines().collect();
        unseen.retain(|saved| !known.contains(saved.name.as_str()));
    }
    Ok(unseen)
}

/// Git refuses to name a commit that it does not have.
fn make(repo: &Repo, saved: &Saved) -> bool {
    repo.git().run(&["update-ref", &saved.name, &saved.commit]).is_ok()
}

fn load(repo: &Repo) -> Vec<Saved> {
    let text = repo
        .own_file(state::SAVED_LEDGER)
        .and_then(|path| fs_err::read_to_string(path).ok())
        .unwrap_or_default();
    text.lines().filter_map(parse).collect()
}

/// A line that was torn, or that is not ours, says nothing.
fn parse(line: &str) -> Option<Saved> {
    let (commit, name) = line.split_once(' ')?;
    let is_id = is_object_id(commit);
    let is_ours = name.starts_with(REFS) && !name.contains(char::is_whitespace);
    (is_id && is_ours).then(|| Saved { commit: commit.to_owned(), name: name.to_owned() })
}

fn save<'a>(repo: &Repo, all: impl Iterator<Item = &'a Saved>) {
    let text: String = all.map(|saved| format!("{} {}\n", saved.commit, saved.name)).collect();
    if let Some(path) = repo.own_file(state::SAVED_LEDGER) {
        // The old ledger names more, and does no harm.
        let _ = state::replace_unsynced(&path, text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_not_whole_say_nothing() {
        let id = "0123456789012345678901234567890123456789";
        let name = "refs/ralph/aside/x";
        let saved = Saved { commit: id.to_owned(), name: name.to_owned() };
        assert_eq!(parse(&format!("{id} {name}")), Some(saved));
        for line in ["", id, &id[1..], &format!("{id} refs/heads/main"), &format!("12 {name}")] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
