//! The core loop: what a run does, in what order, and when it ends.
//!
//! One thread, the conductor, owns the plan, the tally, the board and the view, and only it writes to
//! the project. Attempts run in slots, each on its own thread; they receive tasks and report the
//! results.
//!
//! ```text
//! hand_out   for each free slot: pick a story, run `next_iteration`, give the slot its task
//! listen     one report of an attempt: show it, count it, or settle a finished task
//! settle     worked -> save, check; checked -> commit when it is its turn; committed -> land;
//!            failed -> send the agent back, or keep the attempt; then `post_iteration`
//! ```

use std::time::{Duration, Instant};

use super::attempt::Report;
use super::choose::{Choice, begin, choose};
use super::decide::Finish;
use super::state::{Conductor, Slot};
use super::{planning, settle, wait};
use crate::exit::Failure;

/// How long the conductor waits for reports before it checks signals, requests and the plan again.
const PULSE: Duration = Duration::from_millis(50);

/// The report is also written after each story, using at most this fraction of the run's time.
const REPORT_SHARE: u32 = 10;

/// Works until nothing is left to do, or something ends the run.
pub(super) fn conduct(run: &mut Conductor, report: fn(&Conductor)) -> Finish {
    let under_way = |run: &Conductor| run.slots.iter().filter(|slot| slot.work.is_some()).count();
    let (mut is_due, mut next_report) = (false, Instant::now());
    let mut last = wait::Moment::now();
    loop {
        if let Some(signal) = run.context.interrupts.signal() {
            run.end_with(Finish::Manual(signal));
        }
        last = wait::look_for_sleep(run, &last);
        if let Err(failure) = settle::give_turns(run).and_then(|()| hand_out(run)) {
            run.fail(&failure);
        }
        if !run.slots.iter().any(Slot::is_busy)
            && let Some(finish) = run.ending.take()
        {
            return finish;
        }
        // Only after the next agents have started.
        let now = Instant::now();
        if is_due && now >= next_report {
            report(run);
            (is_due, next_report) = (false, Instant::now() + now.elapsed() * REPORT_SHARE);
        }
        let before = under_way(run);
        if let Err(failure) = listen(run) {
            run.fail(&failure);
        }
        is_due |= under_way(run) < before && !run.record.planning;
    }
}

/// Gives each free slot its next task.
fn hand_out(run: &mut Conductor) -> Result<(), Failure> {
    if run.waiting.is_some() {
        wait::look_at_clock(run);
    }
    for slot in 0..run.slots.len() {
        let is_free = run.slots.get(slot).is_some_and(Slot::is_free);
        if run.ending.is_some() || run.waiting.is_some() || !is_free {
            continue;
        }
        let is_planning = run.record.planning;
        match if is_planning { planning::choose(run)? } else { choose(run, slot)? } {
            Choice::Story(plan, key) => begin(run, slot, *plan, key)?,
            Choice::Plan(key) => planning::begin(run, key)?,
            Choice::Release(why) => run.release(slot, why)?,
            Choice::Wait => run.slot(slot)?.idle(),
            Choice::Finish(finish) => run.end_with(finish),
        }
    }
    Ok(())
}

/// Waits a moment for a report, and handles it.
pub(super) fn listen(run: &mut Conductor) -> Result<(), Failure> {
    let report = run.reports.1.recv_timeout(PULSE);
    run.take_over(matches!(report, Ok((_, Report::Done(_)))));
    let Ok((slot, report)) = report else { return Ok(()) };
    match report {
        Report::Done(done) => settle::settle(run, slot, *done),
        Report::Died => {
            run.slot(slot)?.is_dead = true;
            Err(Failure::because("an attempt ended with an internal error"))
        }
        report => {
            run.show(slot, report);
            Ok(())
        }
    }
}
