//! Under whose name a run commits: the user's, unless git does not know it.

use ralph_core::config::Mode;
use ralph_core::settle;

use super::stage::Stage;

impl Stage {
    /// Once in a run, when it has committed first: to ask git beforehand would cost every run time,
    /// and nearly all users have told git who they are.
    pub(super) fn tell_of_author(&mut self) {
        let is_new = !std::mem::replace(&mut self.is_author_known, true);
        if is_new && self.config.run.mode == Mode::Building && settle::is_by_nobody(&self.repo) {
            self.view.warn(
                "git does not know who you are, so stories are committed as Ralph \
                 <ralph@localhost>; tell it with `git config user.name` and `git config user.email`",
            );
        }
    }
}
