//! Before the first story: what can be checked without writing, then the lock and what an earlier
//! run left.

mod begin;
mod not_ready;
mod preflight;
mod recover;

pub(crate) use begin::{client_options, start, take_lock};
pub(crate) use not_ready::NotReady;
pub(crate) use preflight::{Preflight, preflight, run_dir};
pub(crate) use recover::look as look_for_recovery;
