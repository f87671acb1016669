//! What a run decides, without a disk, a clock or a process.

mod last_lines;
mod recovery;
mod step;
mod sum;
mod words;

pub(crate) use last_lines::Ending;
pub(crate) use recovery::{Found, Recovery, recovery};
pub(crate) use step::CONFIG_CHANGED;
pub(crate) use words::{
    Counters, Discarding, Finish, Next, NotLanded, Outcome, SessionEnd, Spent, Then, Wish, WorkEnd,
};
