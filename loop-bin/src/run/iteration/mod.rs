//! One iteration: choose a story, begin, brief the agent, watch it work, judge it, land its work or
//! keep the failed attempt.

mod begin;
mod check;
mod choose;
mod discard;
mod judge;
mod land;
mod passed;
mod prompt;
mod prove;
mod review;
mod wait;
mod watch;
mod work;

pub(super) use check::LEAST_TIME;
pub(super) use choose::Choice;
pub(super) use judge::{Judged, judge};
pub(crate) use prompt::{review_template, template};
pub(super) use watch::{LiveAgent, Watched};
pub(super) use work::{Report, receipt};
