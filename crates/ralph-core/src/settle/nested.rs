//! Repositories inside the project, as far as a commit of the project is concerned.
//!
//! A submodule's own commits are recorded by the commit around it. What is uncommitted in one, or
//! in a repository that is no submodule, cannot be part of it, so it cannot be done.

use std::path::{Path, PathBuf};

use super::procedure::{Place, SettleError};
use crate::config::RollbackOn;
use crate::git::{Checkpoint, CheckpointError};

/// Those of the repositories that were not like that when the attempt began; a project without
/// any costs nothing. Where no attempt is taken back, an earlier one may have left them so, and then
/// they are part of the story.
pub(super) fn since(place: &Place<'_>, nested: &[PathBuf]) -> Result<Vec<PathBuf>, SettleError> {
    let ours = |path: &&PathBuf| !place.repo.is_untouched(path);
    let mut found: Vec<PathBuf> = nested.iter().filter(ours).cloned().collect();
    if found.is_empty() || place.config.rollback.on == RollbackOn::Never {
        return Ok(found);
    }
    if let Some(checkpoint) = Checkpoint::load(place.state)? {
        let target = checkpoint.target(place.repo).map_err(CheckpointError::from)?;
        found.retain(|path| !target.left_alone().iter().any(|name| Path::new(name) == path));
    }
    Ok(found)
}

/// Repositories in our own folders or the client's: they are nobody's work.
pub(super) fn untouched(place: &Place<'_>, nested: &[PathBuf]) -> Vec<PathBuf> {
    nested.iter().filter(|path| place.repo.is_untouched(path)).cloned().collect()
}

/// Why work in them keeps a story from being done, and what to do about it.
pub(super) fn refusal(unsettled: &[PathBuf]) -> Option<String> {
    let is_folder = |path: &&PathBuf| path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let names = |paths: Vec<&PathBuf>| {
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    let (folders, submodules): (Vec<&PathBuf>, Vec<&PathBuf>) =
        unsettled.iter().partition(is_folder);
    let mut reasons = Vec::new();
    if !submodules.is_empty() {
        reasons.push(format!(
            "uncommitted work inside the submodule {} cannot be part of it; commit it in there, on \
             a branch, or remove it",
            names(submodules)
        ));
    }
    if !folders.is_empty() {
        reasons.push(format!(
            "{} is a repository of its own, whose files cannot be part of it; remove its .git, \
             add it with `git submodule add`, put it into .gitignore, or remove it",
            names(folders)
        ));
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_with_a_way_out() {
        assert_eq!(refusal(&[]), None);
        let both = refusal(&["lib".into(), "tools/x/".into()]).unwrap();
        assert!(both.contains("submodule lib cannot") && both.contains("tools/x/ is a repository"));
    }
}
