//! What a scenario is.

use anyhow::Result;
use ralph_project::install::ClientVersion;

use super::stage::Stage;

/// One story about the client, the hooks and the model.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// The hooks without which it must be red.
    pub(super) proves: &'static [&'static str],
    /// The first client that can do what the scenario needs, and what older ones cannot.
    pub(super) needs: Option<(ClientVersion, &'static str)>,
    /// Sets the stage, runs the client and checks what the model was told and what is on disk.
    pub(super) play: fn(&mut Stage<'_>) -> Result<()>,
}

impl Scenario {
    /// A scenario that proves these hooks.
    pub(super) const fn new(
        name: &'static str,
        proves: &'static [&'static str],
        play: fn(&mut Stage<'_>) -> Result<()>,
    ) -> Self {
        Self { name, proves, needs: None, play }
    }

    /// The same, left out with older clients.
    pub(super) const fn needing(
        self,
        since: (u32, u32, u32),
        what_older_ones_lack: &'static str,
    ) -> Self {
        let since = ClientVersion::new(since.0, since.1, since.2);
        Self { needs: Some((since, what_older_ones_lack)), ..self }
    }
}
