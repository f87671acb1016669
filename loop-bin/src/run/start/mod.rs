//! Everything before the first story: checks that write nothing, then the lock and the clean-up after an
//! earlier run.

mod baseline;
mod begin;
mod dry_run;
mod examine;
mod outline;
mod plan_file;
mod preflight;
mod programs;
mod take_waiting;

pub(crate) use baseline::{examine_copy, failed_before, findings, run_baseline};
pub(super) use begin::desk;
pub(crate) use begin::start;
pub(crate) use dry_run::{all_findings, dry_run, end_of, show};
pub(crate) use examine::{name_in_branch, preflight, restore_files};
pub(crate) use preflight::{Extensions, Preflight};
pub(crate) use programs::{hooks_that_fail, trouble_with, troubles};
pub(crate) use take_waiting::{follow_waiting, take_waiting};
