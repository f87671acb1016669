//! What hears of each event of a run. An observer is a file here and a row of the list.

mod awake;
mod own;

use crate::run::observe::Observers;

/// All observers.
#[rustfmt::skip]
pub(crate) const ALL: Observers = &[
    &awake::Awake,
    &own::Own,
];
