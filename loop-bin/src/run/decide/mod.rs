//! All decisions of a run. Pure: values in, decisions out, with the tests beside them.

mod finish;
mod judge;
mod pause;
mod pick;
mod step;
mod stream_verdict;

pub(crate) use finish::{Ending, Finish};
pub(crate) use judge::{Judged, Patience, WorkEnd, judge, waits, without_changes};
pub(crate) use pause::{Trouble, pause, pause_of};
pub(crate) use pick::{
    Allowance, Owner, Picked, agent_for, free_agents, limit_reached, pick, pick_only,
};
pub(crate) use step::{Next, SessionEnd, Then, after, fail};
pub(crate) use stream_verdict::{last_test_run, test_run};
