//! What a machine of a fleet does besides what every loop does: it looks at the server before it
//! chooses and before it lands, claims what it works on, and leaves to others what they have.

use ralph_core::plan::State;

use super::Run;
use super::decide::{Counters, Finish, NotLanded, WorkEnd};
use super::workers::Others;
use crate::exit::Failure;
use crate::fleet::{Claimed, Member};

/// After so many times that others landed first, a machine asks them to wait.
const MOST_OVERTAKEN: usize = 3;

impl Run {
    /// Looks at the target; in a fleet at all that the server has.
    pub(super) fn look_again(&mut self) -> Result<(Option<String>, bool), Failure> {
        if let Some(member) = &mut self.member {
            member.look()?;
        }
        self.target.look_again()
    }

    /// What the other machines have done and what they have, as it was last seen.
    pub(super) fn others_in_fleet(&self) -> Option<(Vec<Counters>, Others)> {
        let member = self.member.as_ref()?;
        let rest = member.others().map(|other| other.record.counters.clone()).collect();
        let at_work = member.others().filter(|other| other.is_at_work());
        let pause = at_work.filter_map(|other| other.record.pause.clone());
        let pause = pause.into_iter().find(|pause| pause.is_services);
        Some((rest, Others { taken: member.taken(), pause }))
    }

    /// How many share what is left of the run's money.
    pub(super) fn sharers(&self) -> u64 {
        match (&self.member, &self.context.part) {
            (Some(member), _) => member.at_work() as u64,
            (None, Some(part)) => part.workers,
            (None, None) => 1,
        }
    }

    /// Claims a story; tells whether it is ours, and still open.
    pub(super) fn claim(&mut self, story: &str) -> Result<bool, Failure> {
        let Some(member) = &mut self.member else { return Ok(true) };
        let before = member.claimed_by(story);
        if member.claim(story)? == Claimed::Lost {
            return Ok(false);
        }
        if let Some(other) = before {
            let line = format!("{story}: taken over from {other}, which is not at work any more");
            self.context.view.line(line);
        }
        Ok(!self.is_done(story)?)
    }

    fn is_done(&self, story: &str) -> Result<bool, Failure> {
        let plan = self.books.load(&self.target)?;
        Ok(plan.story(story).is_none_or(|story| story.state == State::Done))
    }

    /// Whether work on a story may go on to land; not if another machine was faster.
    pub(super) fn is_still_open(&self, story: &str) -> Result<(), NotLanded> {
        if self.member.is_some() && self.is_done(story)? {
            return Err(WorkEnd::Overtaken.into());
        }
        Ok(())
    }

    /// Lets a machine land first that asked for it, and asks for it after having met too many others;
    /// tells whether anything may have landed meanwhile.
    pub(super) fn wait_its_turn(&mut self, story: &str, moves: usize) -> Result<bool, NotLanded> {
        let (mut has_waited, is_asked) = (false, moves >= MOST_OVERTAKEN);
        while let Some(member) = &mut self.member
            && !member.has_turn()
            && (is_asked || member.waits_its_turn())
        {
            has_waited = true;
            if is_asked && member.take_turn(story)? == Claimed::Ours {
                break;
            }
            let pause = member.turn_pause();
            self.context.view.doing("waiting to land");
            if let Some(signal) = self.context.interrupts.wait(pause) {
                return Err(WorkEnd::LandingStopped(signal).into());
            }
            if let Some(member) = &mut self.member {
                member.look()?;
            }
        }
        Ok(has_waited)
    }

    /// Work that met that of others once begins when nobody else lands before it.
    pub(super) fn begin_alone(&mut self, story: &str) -> Result<(), Failure> {
        match self.wait_its_turn(story, MOST_OVERTAKEN) {
            Err(NotLanded::Failure(failure)) => Err(failure),
            _ if self.member.is_none() => Ok(()),
            _ => self.look_again().map(drop),
        }
    }

    /// Others may land.
    pub(super) fn free_landing(&mut self) -> Result<(), Failure> {
        self.landing = None;
        self.member.as_mut().map_or(Ok(()), Member::give_turn)
    }

    /// There is nothing to do for this machine now; it looks again soon.
    pub(super) fn wait_for_fleet(&mut self) -> Result<Option<Finish>, Failure> {
        let Some(member) = &mut self.member else { return Ok(None) };
        if member.has_claims() {
            member.release()?;
        }
        Ok(self.context.interrupts.wait(member.pause()).map(Finish::Manual))
    }

    /// Gives a kept attempt to the server, so that it outlives this machine.
    pub(super) fn give_attempt(&self, name: &str) -> Result<(), Failure> {
        match &self.member {
            Some(member) => member.keep_attempt(name),
            None => Ok(()),
        }
    }
}
