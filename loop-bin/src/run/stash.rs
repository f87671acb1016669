//! The user's stash, which an agent without hooks can drop, clear or pop.

use ralph_core::git::Stash;

use super::stage::Stage;

impl Stage {
    /// Entries that the agent took away are stored again.
    pub(super) fn put_back_stash(&self, stash: &Stash) {
        for entry in stash.gone(&self.repo) {
            let (message, commit) = (&entry.message, &entry.commit);
            self.view.warn(match entry.store(&self.repo) {
                true => format!("the agent took `{message}` from the stash; it is there again"),
                false => format!(
                    "the agent took `{message}` from the stash, and its commit {commit} cannot be \
                     found any more"
                ),
            });
        }
        Stash::forget(&self.repo);
    }

    /// After a crash it may have been the user: they are told, and nothing is done.
    pub(super) fn tell_of_stash(&self) {
        for entry in Stash::left(&self.repo).gone(&self.repo) {
            let (message, commit) = (entry.message.replace('\'', ""), entry.commit);
            self.view.warn(format!(
                "`{message}` was in the stash when the run was interrupted; unless you took it, \
                 `git stash store --message '{message}' {commit}` brings it back"
            ));
        }
        Stash::forget(&self.repo);
    }
}
