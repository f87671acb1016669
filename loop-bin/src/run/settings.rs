//! The repository's settings, put back after an agent that changed what is the user's to say, and
//! the git hooks that it added, which go or stay with its work.

use std::path::PathBuf;

use camino::Utf8PathBuf;
use ralph_core::git::Settings;
use ralph_core::settle::named_files;
use ralph_core::state;

use super::stage::Stage;
use crate::exit::Failure;

impl Stage {
    /// What the agent made of them is kept, because some of it may be wanted.
    pub(super) fn put_back_settings(&mut self, before: &Settings) -> Result<(), Failure> {
        for change in before.put_back()? {
            let kept = self.keep_settings(&change.found.unwrap_or_default())?;
            self.view.warn(format!(
                "{} was put back: the agent {}; what was found is kept as {kept}",
                change.path.display(),
                change.what,
            ));
        }
        self.added_hooks = before.added_hooks(&self.repo);
        Ok(())
    }

    fn keep_settings(&self, found: &[u8]) -> Result<Utf8PathBuf, Failure> {
        let kept = self.state().logs().join(format!("git-settings-{}", state::now()));
        state::replace(&kept, found)?;
        Ok(kept)
    }

    /// One that refuses commits would fail every story from here on.
    pub(super) fn take_out_added_hooks(&mut self) -> Result<(), Failure> {
        for hook in std::mem::take(&mut self.added_hooks) {
            let Ok(found) = fs_err::read(&hook) else { continue };
            let kept = self.keep_settings(&found)?;
            fs_err::remove_file(&hook)?;
            let hook = hook.display();
            self.view.warn(format!(
                "took out the git hook {hook}, which the failed attempt had added; it is kept as \
                 {kept}"
            ));
        }
        Ok(())
    }

    pub(super) fn tell_of_added_hooks(&mut self) {
        let added: Vec<PathBuf> = std::mem::take(&mut self.added_hooks);
        if !added.is_empty() {
            let hooks = named_files(&added);
            self.view.warn(format!(
                "the agent added git hooks, which stay and run in your commits as well: {hooks}"
            ));
        }
    }
}
