//! A service that runs for as long as a recipe is tried.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use camino::Utf8Path;
use test_support::signal;
use wait_timeout::ChildExt;

/// How long it may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(20);

/// Ended when it is dropped.
pub(super) struct Daemon(Child);

impl Daemon {
    /// Starts it; what it says goes into a file.
    pub(super) fn start(command: &mut Command, log: &Utf8Path) -> Result<Self> {
        let log = fs_err::File::create(log)?.into_file();
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("could not start {command:?}"))?;
        Ok(Self(child))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        signal("TERM", self.0.id());
        if !matches!(self.0.wait_timeout(GRACE), Ok(Some(_))) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}
