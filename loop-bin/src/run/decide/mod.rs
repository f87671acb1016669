//! What a run decides, without a disk, a clock or a process.

mod recovery;
mod step;
mod words;

pub(crate) use recovery::{Found, Recovery, recovery};
pub(crate) use step::{State, step};
pub(crate) use words::{
    Action, Choice, Counters, Event, Finish, Handoff, Landing, Outcome, RETRY, Shares, Signal,
    Spent, Wish, WorkEnd,
};
