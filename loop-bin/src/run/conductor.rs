//! The core loop: what a run does, in which order, and when it ends.
//!
//! One thread, the conductor, owns the plan, the tally, the board and the view, and is the only one that
//! writes to the project. Attempts run in slots, each on a thread of its own; they get jobs and report
//! what came of them.
//!
//! ```text
//! hand_out   for each free slot: pick a story, ask `next_iteration`, give the slot its job
//! listen     one report of an attempt: show it, count it, or settle a job that is done
//! settle     worked -> save, check; checked -> commit when it is its turn; committed -> land;
//!            failed -> send the agent back, or keep the attempt; then `post_iteration`
//! ```

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::attempt::Report;
use super::choose::{Choice, choose};
use super::decide::Finish;
use super::state::Conductor;
use super::{begin, settle};
use crate::exit::Failure;

/// How long the conductor listens before it looks at signals, requests and the plan again.
const PULSE: Duration = Duration::from_millis(50);

/// Works until nothing is left to do, or something ends the run.
pub(super) fn conduct(run: &mut Conductor) -> Finish {
    loop {
        if let Some(signal) = run.context.interrupts.signal() {
            run.end_with(Finish::Manual(signal));
        }
        if let Err(failure) = settle::give_turns(run).and_then(|()| hand_out(run)) {
            run.fail(&failure);
        }
        if run.is_idle()
            && let Some(finish) = run.ending.take()
        {
            return finish;
        }
        if let Err(failure) = listen(run) {
            run.fail(&failure);
        }
    }
}

/// Gives every free slot something to do.
fn hand_out(run: &mut Conductor) -> Result<(), Failure> {
    if run.ending.is_some() || run.is_waiting() {
        return Ok(());
    }
    for slot in 0..run.slots.len() {
        if run.ending.is_some() || run.waiting.is_some() || !run.is_free(slot) {
            continue;
        }
        match choose(run, slot)? {
            Choice::Story(plan, key) => begin::begin(run, slot, plan, key)?,
            Choice::Release(why) => run.release(slot, why)?,
            Choice::Wait => run.idle(slot),
            Choice::Finish(finish) => run.end_with(finish),
        }
    }
    Ok(())
}

/// Listens to the attempts for a moment.
pub(super) fn listen(run: &mut Conductor) -> Result<(), Failure> {
    let (slot, report) = match run.reports.1.recv_timeout(PULSE) {
        Ok(report) => report,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
    };
    match report {
        Report::Done(done) => {
            let (desk, done) = *done;
            settle::settle(run, slot, desk, done)
        }
        Report::Died => {
            if let Some(slot) = run.slots.get_mut(slot) {
                slot.is_dead = true;
            }
            Err(Failure::because("an attempt ended with an internal error"))
        }
        report => {
            run.show(slot, report);
            Ok(())
        }
    }
}
