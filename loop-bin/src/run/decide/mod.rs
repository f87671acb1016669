//! What follows from what. Pure: values go in, decisions come out, and the tests stand beside them.

mod allowance;
mod judge;
mod last_lines;
mod pause;
mod pick;
mod recovery;
mod step;
mod tally;
mod words;

pub(crate) use allowance::Allowance;
pub(crate) use judge::{Judged, judge};
pub(crate) use last_lines::Ending;
pub(crate) use pause::pause;
pub(crate) use pick::{Picked, pick};
pub(crate) use recovery::{Found, FoundAttempt, Recovery, recovery, recovery_of};
pub(crate) use tally::{CONFIG_CHANGED, Spent, Tally};
pub(crate) use words::{
    Discarding, Finish, Next, Outcome, ScriptRequest, SessionEnd, Then, WorkEnd,
};
