//! Observation of a run: each event is told to every observer, as a line of JSON. The observers
//! themselves are in `observers/`; a run is handed their list.

use std::fmt::Debug;
use std::sync::Arc;

use ralph_project::config::Config;
use ralph_project::diagnosis::Diagnosis;
use ralph_project::project::Project;

/// Something that wants to hear of each event.
pub(crate) trait Observer: Debug + Sync {
    /// What there is to say about it before the first story.
    fn before(&self, project: &Project, config: &Config) -> Vec<Diagnosis>;

    /// Begins to listen to a run of this name.
    fn begin(&self, project: &Project, config: &Config, run: &str) -> Vec<Box<dyn Listener>>;
}

/// An observer while a run lasts. Whatever it does, it never holds the run up.
pub(crate) trait Listener: Debug + Send + Sync {
    /// Takes an event.
    fn hear(&self, line: &[u8]);

    /// What went wrong since the last call.
    fn trouble(&self) -> Option<String>;

    /// Its process, which lasts until it is asked to end.
    fn pid(&self) -> u32;

    /// Ends it after the last event; at once if the user is in a hurry.
    fn end(&self, is_hurried: &dyn Fn() -> bool);
}

/// The observers that a run may have.
pub(crate) type Observers = &'static [&'static dyn Observer];

/// Those that listen to a run.
pub(crate) type Audience = Arc<Vec<Box<dyn Listener>>>;
