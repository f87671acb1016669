//! The user's stash, which an agent without hooks can drop, clear or pop.

use ralph_core::git::Stash;

use super::stage::Stage;

impl Stage {
    /// Entries that the agent took away are stored again, and those that it added are named: they
    /// may hold the work that is missing from its attempt.
    pub(super) fn put_back_stash(&self, stash: &Stash) {
        if stash.mend_list(&self.repo) {
            self.view.warn("the agent removed the list of the stash; it is there again");
        }
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
        for entry in stash.added(&self.repo) {
            let message = &entry.message;
            self.view.warn(format!(
                "the agent put `{message}` into the stash, and there it stays; `git stash list` \
                 names it, and `git stash show -p` shows the newest"
            ));
        }
        stash.forget(&self.repo);
    }

    /// After a crash it may have been the user who took entries: they are told, and that is all.
    pub(super) fn tell_of_stash(&self) {
        let stash = Stash::left(&self.repo);
        // A list that is gone while its newest entry is there was taken by no `git stash`.
        if stash.mend_list(&self.repo) {
            self.view.warn("the list of the stash was removed; it is there again");
        }
        for entry in stash.gone(&self.repo) {
            let (message, commit) = (entry.message.replace('\'', ""), entry.commit);
            self.view.warn(format!(
                "`{message}` was in the stash when the run was interrupted; unless you took it, \
                 `git stash store --message '{message}' {commit}` brings it back"
            ));
        }
        stash.forget(&self.repo);
    }
}
