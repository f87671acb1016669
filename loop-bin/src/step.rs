//! What happens next: a state and an event give a new state and an action. Pure.
//!
//! `run.rs` performs the actions and feeds their events back; nothing here touches a disk, a clock
//! or a process, so that every path through a run can be tested without one.

mod words;

use crate::terminal::{counted, seconds as seconds_of};
use ralph_core::config::{self, Config, Mode};

pub(crate) use words::{
    Action, Choice, Counters, Event, Finish, Handoff, Outcome, SentOnTo, Settlement, Signal, Spent,
    Wish, WorkEnd,
};

/// Where a run stands, and what it may still do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    pub(crate) limits: config::Limits,
    pub(crate) max_iterations: u64,
    pub(crate) counters: Counters,
    /// The story under way.
    pub(crate) story: Option<String>,
    /// Whether the one story is to write the plan.
    is_planning: bool,
    /// Whether its session ended because its context was nearly full.
    is_handed_over: bool,
    /// What is decided already, while something else has to be done first.
    pending: Pending,
}

/// What is decided already, while something else has to be done first.
#[derive(Debug, Clone, PartialEq)]
enum Pending {
    Nothing,
    /// After the rollback: the iteration's outcome, and why it was in vain.
    Vain(Outcome, String),
    /// After the rollback: set the story aside.
    Block(String),
    /// After `post_iteration`: wait for the reset.
    Quota(Option<i64>),
    /// After `post_iteration`: end; with the outcome that it is told of.
    Last(Outcome, Finish),
    /// After the rollback: end.
    End(Finish),
}

impl State {
    /// The beginning of a run, or of the rest of one that a crash ended.
    pub(crate) fn new(config: &Config, counters: Counters) -> Self {
        Self {
            limits: config.limits.clone(),
            max_iterations: config.run.max_iterations,
            counters,
            story: None,
            is_planning: config.run.mode == Mode::Planning,
            is_handed_over: false,
            pending: Pending::Nothing,
        }
    }

    /// How often the story under way was tried in vain.
    pub(crate) fn attempts(&self) -> u64 {
        let story = self.story.as_ref();
        story.and_then(|story| self.counters.attempts.get(story)).copied().unwrap_or(0)
    }

    /// The story was tried more than once in its session, and failed; the last time is counted
    /// when the attempt turns out to be in vain.
    fn count_failures(&mut self, failures: u64) {
        if let (Some(story), 2..) = (self.story.clone(), failures) {
            *self.counters.attempts.entry(story).or_default() += failures - 1;
        }
    }

    fn count_commits(&mut self, stories: u64) {
        self.counters.commits += stories;
        self.counters.counted += stories;
    }

    /// Which budget of the run is used up, if one is.
    fn used_up(&self, seconds: f64) -> Option<String> {
        let Spent { cost_usd, .. } = self.counters.spent;
        let limit = self.limits.max_cost_usd;
        if limit > 0.0 && cost_usd >= limit {
            return Some(format!("${cost_usd:.2} of ${limit:.2} are spent"));
        }
        let limit = self.limits.max_duration.limit()?;
        (seconds >= limit.as_secs_f64()).then(|| format!("{} have passed", seconds_of(limit)))
    }

    /// Why the story under way is not tried again, if it is not.
    fn given_up(&self) -> Option<String> {
        let story = self.story.as_ref()?;
        let spent = self.counters.story_spent.get(story).copied().unwrap_or_default();
        let (cost, time) = (self.limits.story_max_cost_usd, self.limits.story_max_duration);
        if self.attempts() >= self.limits.attempts_per_story.max(1) {
            let count = counted(self.attempts() as usize, "attempt was", "attempts were");
            return Some(format!("{count} in vain"));
        }
        if cost > 0.0 && spent.cost_usd >= cost {
            return Some(format!("its budget of ${cost:.2} is used up"));
        }
        let limit = time.limit().filter(|limit| spent.seconds >= limit.as_secs_f64())?;
        Some(format!("its time of {} is used up", seconds_of(limit)))
    }

    fn is_stalled(&self) -> bool {
        self.limits.stalled_after > 0 && self.counters.idle >= self.limits.stalled_after
    }

    /// Books what a run of the agent cost, for each story that it worked on.
    fn book(&mut self, shares: Vec<(String, Spent)>, exit_code: Option<i32>) {
        self.counters.last_exit_code = exit_code;
        self.counters.last_duration_s = shares.iter().map(|(_, spent)| spent.seconds).sum();
        for (story, spent) in shares {
            let own = self.counters.story_spent.entry(story).or_default();
            for book in [&mut self.counters.spent, own] {
                book.cost_usd += spent.cost_usd;
                book.seconds += spent.seconds;
                book.tokens += spent.tokens;
            }
        }
    }

    /// Another attempt in vain: the tree goes back first.
    fn in_vain(&mut self, outcome: Outcome, why: String) -> Action {
        if self.is_planning {
            let finish = match outcome {
                Outcome::NoChanges => Finish::NoChanges,
                _ => Finish::Error(why.clone()),
            };
            return self.roll_back_then(Pending::Last(outcome, finish), outcome, &why);
        }
        if let Some(story) = self.story.clone() {
            *self.counters.attempts.entry(story).or_default() += 1;
        }
        self.pending = Pending::Vain(outcome, why.clone());
        Action::RollBack(outcome, why)
    }

    /// A fresh session goes on with what is there. No attempt is lost by it, but it does not
    /// happen more often than attempts are allowed.
    fn hand_over_or_in_vain(&mut self, outcome: Outcome, why: String) -> Action {
        match self.is_handed_over && self.may_hand_over() {
            true => Action::HandOver(Some(why)),
            false => self.in_vain(outcome, why),
        }
    }

    /// Whether another session may go on with the story; counts it.
    fn may_hand_over(&mut self) -> bool {
        let most = self.limits.attempts_per_story.max(1);
        let story = self.story.clone().unwrap_or_default();
        let count = self.counters.handovers.entry(story).or_default();
        let is_allowed = *count < most;
        *count += u64::from(is_allowed);
        is_allowed
    }

    fn roll_back_then(&mut self, pending: Pending, outcome: Outcome, why: &str) -> Action {
        self.pending = pending;
        Action::RollBack(outcome, why.to_owned())
    }
}

/// Decides what happens next.
pub(crate) fn step(state: State, event: Event) -> (State, Action) {
    let mut state = state;
    let action = match event {
        Event::Started(wish) => after_script(wish, Action::Choose),
        Event::Chosen { choice, seconds } => chosen(&mut state, choice, seconds),
        Event::Announced(wish) => announced(&mut state, wish),
        Event::Begun => Action::RunAgent,
        Event::Worked { end, spent, exit_code, failures } => {
            state.counters.ended = state.counters.iteration;
            state.book(vec![(state.story.clone().unwrap_or_default(), spent)], exit_code);
            state.count_failures(failures);
            worked(&mut state, end)
        }
        Event::SettledInSession { stories, last, shares, exit_code, iteration, next } => {
            state.book(shares, exit_code);
            state.count_commits(stories);
            state.counters.iteration = state.counters.iteration.max(iteration);
            state.counters.ended = state.counters.iteration;
            let done = succeeded(&mut state);
            state.story = Some(last);
            next.map_or(done, |next| sent_on(&mut state, next))
        }
        Event::Settled(settlement) => settled(&mut state, settlement),
        Event::RolledBack { changed } => rolled_back(&mut state, changed),
        Event::HandedOver => Action::RunPostIteration(Outcome::Handoff),
        Event::SetAside => {
            state.counters.set_aside.extend(state.story.clone());
            Action::RunPostIteration(Outcome::Blocked)
        }
        Event::Reported(wish) => reported(&mut state, wish),
        Event::Waited => Action::Choose,
        Event::Signalled(signal) => Action::RunFinished(Finish::Manual(signal)),
        Event::Broke(why) => Action::RunFinished(Finish::Error(why)),
        Event::Finished => match std::mem::replace(&mut state.pending, Pending::Nothing) {
            Pending::End(finish) => Action::End(finish),
            _ => Action::End(Finish::Complete),
        },
    };
    if let Action::RunFinished(finish) = &action {
        state.pending = Pending::End(finish.clone());
    }
    (state, action)
}

fn after_script(wish: Wish, next: Action) -> Action {
    match wish {
        Wish::GoOn | Wish::Skip => next,
        Wish::Stop => Action::RunFinished(Finish::HookAbort),
    }
}

/// A plan that is complete is complete, whatever limit was reached with its last story.
fn chosen(state: &mut State, choice: Choice, seconds: f64) -> Action {
    let finish = match choice {
        Choice::Complete => Finish::Complete,
        Choice::Stuck(why) => Finish::Error(why),
        Choice::Story(story) => match state.used_up(seconds) {
            Some(why) => Finish::Budget(why),
            None if reached(state.counters.iteration, state.max_iterations) => {
                Finish::MaxIterations
            }
            None => {
                state.counters.iteration += 1;
                (state.counters.begun, state.counters.counted) = (state.counters.iteration, 0);
                state.counters.ended = state.counters.iteration - 1;
                state.story = Some(story);
                state.is_handed_over = false;
                return Action::RunNextIteration;
            }
        },
    };
    Action::RunFinished(finish)
}

fn reached(count: u64, limit: u64) -> bool {
    limit > 0 && count >= limit
}

/// A script that always skips would keep a run without limits going for ever, so a skipped
/// iteration counts as one that changed nothing.
fn announced(state: &mut State, wish: Wish) -> Action {
    match (wish, state.story.clone()) {
        (Wish::Stop, _) => Action::RunFinished(Finish::HookAbort),
        (Wish::GoOn, Some(story)) => Action::Begin(story),
        _ => {
            state.counters.idle += 1;
            if state.is_stalled() { Action::RunFinished(Finish::NoChanges) } else { Action::Choose }
        }
    }
}

fn worked(state: &mut State, end: WorkEnd) -> Action {
    match end {
        WorkEnd::Well => Action::Settle,
        WorkEnd::HandedOver(handoff) => {
            state.is_handed_over = true;
            match handoff {
                Handoff::Unclaimed if state.may_hand_over() => Action::HandOver(None),
                Handoff::Claimed | Handoff::Unclaimed => Action::Settle,
                Handoff::Failed(why) => state.hand_over_or_in_vain(Outcome::Failed, why),
            }
        }
        WorkEnd::NotBegun => Action::RunPostIteration(Outcome::Handoff),
        WorkEnd::Failed(why) => state.in_vain(Outcome::Failed, why),
        WorkEnd::TimedOut(why) => state.in_vain(Outcome::Timeout, why),
        WorkEnd::Spent(why) => {
            let then = Pending::Last(Outcome::Budget, Finish::Budget(why.clone()));
            state.roll_back_then(then, Outcome::Budget, &why)
        }
        WorkEnd::Blocked(why) | WorkEnd::StorySpent(why) => {
            state.roll_back_then(Pending::Block(why.clone()), Outcome::Blocked, &why)
        }
        WorkEnd::Quota(reset) => {
            // It was the service's fault, so neither attempt nor iteration is lost.
            state.counters.iteration = state.counters.iteration.saturating_sub(1);
            let why =
                "the agent's service refused: its usage limit is reached, or it is out of order";
            let then = match state.limits.wait_for_quota {
                true => Pending::Quota(reset),
                false => Pending::End(Finish::Budget(why.into())),
            };
            state.roll_back_then(then, Outcome::Quota, why)
        }
        WorkEnd::Signalled(signal) => interrupted(state, signal),
        WorkEnd::Unusable(why) => {
            let then = Pending::End(Finish::Error(why.clone()));
            state.roll_back_then(then, Outcome::Failed, &why)
        }
    }
}

/// The session was sent on to another story, and its end is that of an attempt at that one. What
/// the time or the money of the first story ended is told as what it is to the other: cut short.
fn sent_on(state: &mut State, next: SentOnTo) -> Action {
    state.story = Some(next.story);
    state.count_failures(next.failures);
    match next.end {
        WorkEnd::StorySpent(why) => worked(state, WorkEnd::TimedOut(why)),
        end => worked(state, end),
    }
}

fn settled(state: &mut State, settlement: Settlement) -> Action {
    match settlement {
        Settlement::Done => {
            state.count_commits(1);
            succeeded(state)
        }
        Settlement::Planned => {
            state.pending = Pending::Last(Outcome::Success, Finish::Complete);
            Action::RunPostIteration(Outcome::Success)
        }
        Settlement::NothingChanged => {
            let why = "the agent changed nothing".to_owned();
            state.hand_over_or_in_vain(Outcome::NoChanges, why)
        }
        Settlement::Failed(why) => state.hand_over_or_in_vain(Outcome::Failed, why),
        Settlement::Impossible(why) => {
            let then = Pending::End(Finish::Error(why.clone()));
            state.roll_back_then(then, Outcome::Interrupted, &why)
        }
        Settlement::Signalled(signal) => interrupted(state, signal),
    }
}

fn succeeded(state: &mut State) -> Action {
    state.counters.idle = 0;
    if let Some(story) = &state.story {
        state.counters.attempts.remove(story);
        state.counters.handovers.remove(story);
    }
    Action::RunPostIteration(Outcome::Success)
}

fn interrupted(state: &mut State, signal: Signal) -> Action {
    let then = Pending::End(Finish::Manual(signal));
    state.roll_back_then(then, Outcome::Interrupted, "interrupted")
}

fn rolled_back(state: &mut State, changed: bool) -> Action {
    match std::mem::replace(&mut state.pending, Pending::Nothing) {
        Pending::Vain(outcome, why) => {
            // Whatever it says and however it ends, an agent that changes nothing gets nowhere.
            state.counters.idle = if changed { 0 } else { state.counters.idle + 1 };
            match state.given_up() {
                Some(reason) if !state.is_stalled() => {
                    Action::SetAside(format!("{reason}; the last one: {why}"))
                }
                _ => Action::RunPostIteration(outcome),
            }
        }
        Pending::Block(why) => Action::SetAside(why),
        Pending::Quota(reset) => {
            state.pending = Pending::Quota(reset);
            Action::RunPostIteration(Outcome::Quota)
        }
        Pending::Last(outcome, finish) => {
            state.pending = Pending::Last(outcome, finish);
            Action::RunPostIteration(outcome)
        }
        Pending::End(finish) => Action::RunFinished(finish),
        Pending::Nothing => Action::Choose,
    }
}

fn reported(state: &mut State, wish: Wish) -> Action {
    let pending = std::mem::replace(&mut state.pending, Pending::Nothing);
    state.story = None;
    match (wish, pending) {
        (_, Pending::Last(_, finish)) => Action::RunFinished(finish),
        (Wish::Stop, _) => Action::RunFinished(Finish::HookAbort),
        (_, Pending::Quota(reset)) => Action::Wait(reset),
        _ if state.is_stalled() => Action::RunFinished(Finish::NoChanges),
        _ => Action::Choose,
    }
}

#[cfg(test)]
mod tests;
