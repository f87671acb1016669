//! Is the repository still the one in which an attempt began? An agent may remove or replace it.

use super::attempt::Attempt;
use super::procedure::SettleError;
use crate::git::{Position, Repo};

/// Fails if the repository is gone, or does not have the commit any more at which the attempt
/// began: then there is nothing to return to, and no commit may be made in what is there. Git itself
/// is only asked where HEAD has moved.
pub fn refuse_replaced(repo: &Repo, attempt: Option<&Attempt>) -> Result<(), SettleError> {
    let head = attempt.and_then(|attempt| attempt.head.as_deref());
    let replaced = |commit: &str| SettleError::Replaced {
        git_dir: repo.git_dir().display().to_string(),
        commit: commit.chars().take(8).collect(),
    };
    if !repo.git_dir().join("HEAD").exists() {
        return Err(replaced(head.unwrap_or("that was checked out")));
    }
    let Some(head) = head else { return Ok(()) };
    if Position::of(repo).is_some_and(|now| now.commit.as_deref() == Some(head)) {
        return Ok(());
    }
    let object = format!("{head}^{{commit}}");
    repo.git().run(&["cat-file", "-e", &object]).map(drop).map_err(|_| replaced(head))
}
