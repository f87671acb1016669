//! What a machine of a fleet does besides what every loop does: it looks at the server before it
//! chooses and before it lands, claims what it works on, and leaves to others what they have.

use std::collections::BTreeSet;
use std::time::Instant;

use ralph_core::plan::{Plan, State};

use super::Run;
use super::decide::{Counters, Finish, NotLanded, WorkEnd};
use super::workers::Others;
use crate::exit::Failure;
use crate::fleet::{AtServer, Claimed, at_server};

/// How often a machine that waits looks whether it is asked to end.
const PULSE: std::time::Duration = std::time::Duration::from_millis(100);

impl Run {
    /// Looks at the target; in a fleet at all that the server has.
    pub(super) fn look_again(&mut self) -> Result<(Option<String>, bool), Failure> {
        if let Some(member) = &mut self.member {
            member.look()?;
        }
        self.target.look_again()
    }

    /// What the other machines have done and what they have, as it was last seen.
    pub(super) fn others_in_fleet(&self) -> Option<(Counters, Others)> {
        let member = self.member.as_ref()?;
        let none = Counters::default();
        let sum = member.others().fold(none, |sum, other| sum.plus(&other.record.counters));
        let at_work = member.others().filter(|other| other.is_at_work());
        let pause = at_work.filter_map(|other| other.record.pause.clone());
        let pause = pause.into_iter().find(|pause| pause.is_services);
        Some((sum, Others { taken: member.taken(), pause }))
    }

    /// How many share what is left of the run's money.
    pub(super) fn sharers(&self) -> u64 {
        match (&self.member, &self.context.part) {
            (Some(member), _) => member.at_work() as u64,
            (None, Some(part)) => part.workers,
            (None, None) => 1,
        }
    }

    /// The story for this machine: not the same one for all of them.
    pub(super) fn picked(&mut self, plan: &Plan, passed_over: &BTreeSet<String>) -> Option<String> {
        let ready = plan.ready_stories(passed_over);
        let member = self.member.as_mut()?;
        ready.get(member.pick(ready.len())).map(|story| story.id.clone())
    }

    /// Claims a story; tells whether it is ours, and still open.
    pub(super) fn claim(&mut self, story: &str) -> Result<bool, Failure> {
        let Some(member) = &mut self.member else { return Ok(true) };
        if member.claim(story)? == Claimed::Lost {
            return Ok(false);
        }
        Ok(!self.is_done(story)?)
    }

    fn is_done(&self, story: &str) -> Result<bool, Failure> {
        let plan = self.books.load(&self.target)?;
        Ok(plan.story(story).is_none_or(|story| story.state == State::Done))
    }

    /// Whether work on a story may go on to land where it was checked; not if another machine was faster.
    pub(super) fn is_still_open(&self, story: &str, is_same: bool) -> Result<(), NotLanded> {
        if self.member.is_none() {
            return Ok(());
        }
        match at_server(false, self.is_done(story)?, is_same) {
            AtServer::Done => Err(WorkEnd::Overtaken.into()),
            AtServer::Landed | AtServer::Moved | AtServer::Same => Ok(()),
        }
    }

    /// There is nothing to do for this machine now; it looks again soon.
    pub(super) fn wait_for_fleet(&mut self) -> Option<Finish> {
        let pause = self.member.as_ref()?.pause();
        let until = Instant::now() + pause;
        while Instant::now() < until {
            if let Some(signal) = self.context.interrupts.signal() {
                return Some(Finish::Manual(signal));
            }
            std::thread::sleep(PULSE.min(pause));
        }
        None
    }

    /// Gives a kept attempt to the server, so that it outlives this machine.
    pub(super) fn give_attempt(&self, name: &str) -> Result<(), Failure> {
        match &self.member {
            Some(member) => member.keep_attempt(name),
            None => Ok(()),
        }
    }
}
