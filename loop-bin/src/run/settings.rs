//! The repository's settings, put back after an agent that changed what is the user's to say.

use ralph_core::git::Settings;
use ralph_core::state;

use super::stage::Stage;
use crate::exit::Failure;

impl Stage {
    /// What the agent made of them is kept, because some of it may be wanted.
    pub(super) fn put_back_settings(&self, before: &Settings) -> Result<(), Failure> {
        for change in before.put_back()? {
            let kept = self.state().logs().join(format!("git-settings-{}", state::now()));
            state::replace(&kept, &change.found.unwrap_or_default())?;
            self.view.warn(format!(
                "{} was put back: the agent {}; what was found is kept as {kept}",
                change.path.display(),
                change.what,
            ));
        }
        Ok(())
    }
}
