//! What hears of each event of a run. An observer is a file here and a row of the list.

mod own;

use crate::run::observe::Observers;

/// All observers.
#[rustfmt::skip]
pub(crate) const ALL: Observers = &[
    &own::Own,
];
