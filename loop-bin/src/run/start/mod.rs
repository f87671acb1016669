//! Before the first story: what can be checked without writing, then the lock and what an earlier
//! run left.

mod baseline;
mod begin;
mod look;
mod outline;
mod plan_file;
mod preflight;
mod programs;
mod recover;
mod take_waiting;

pub(crate) use baseline::{Trial, failed_before, findings};
pub(crate) use begin::{held_by, start, start_worker, take_lock};
pub(crate) use look::{preflight, preflight_of_worker};
pub(crate) use preflight::{Preflight, progress_path, run_dir};
pub(crate) use programs::troubles;
pub(crate) use recover::look as look_for_recovery;
