//! What happens next: a state and an event give a new state and an action. Pure.
//!
//! `run/mod.rs` performs the actions and feeds their events back; nothing here touches a disk, a clock
//! or a process, so that every path through a run can be tested without one.

use crate::terminal::{counted, seconds as seconds_of};
use ralph_core::config::{self, Config};

use super::words::{
    Action, Choice, Counters, Event, Finish, Handoff, Landing, Outcome, Shares, Signal, Spent,
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
    /// Whether the agent waits for our word instead of having ended.
    is_waiting: bool,
    /// Whether its session ended because its context was nearly full.
    is_handed_over: bool,
    /// What is decided already, while something else has to be done first.
    pending: Pending,
}

/// What is decided already, while something else has to be done first.
#[derive(Debug, Clone, PartialEq)]
enum Pending {
    Nothing,
    /// After the attempt is kept: the iteration's outcome, and why it failed.
    Failed(Outcome, String),
    /// After the attempt is kept: set the story aside.
    Block(String),
    /// After `post_iteration`: wait for the reset.
    Quota(Option<i64>),
    /// After `post_iteration`: end.
    Last(Finish),
    /// After the attempt is kept: end.
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
            is_waiting: false,
            is_handed_over: false,
            pending: Pending::Nothing,
        }
    }

    /// How many attempts at the story under way failed.
    pub(crate) fn attempts(&self) -> u64 {
        let story = self.story.as_ref();
        story.and_then(|story| self.counters.attempts.get(story)).copied().unwrap_or(0)
    }

    /// Which budget of the run is used up, if one is.
    fn used_up(&self, seconds: f64) -> Option<String> {
        let Spent { cost_usd, .. } = self.counters.spent;
        let limit = self.limits.max_cost_usd;
        if limit > 0.0 && cost_usd >= limit {
            return Some(format!("spent ${cost_usd:.2} of ${limit:.2}"));
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
            let count = counted(self.attempts() as usize, "failed attempt", "failed attempts");
            return Some(format!("gave up after {count}; last failure: "));
        }
        if cost > 0.0 && spent.cost_usd >= cost {
            return Some(format!("its budget of ${cost:.2} is used up; last failure: "));
        }
        let limit = time.limit().filter(|limit| spent.seconds >= limit.as_secs_f64())?;
        Some(format!("its time of {} is used up; last failure: ", seconds_of(limit)))
    }

    fn is_stalled(&self) -> bool {
        self.limits.stalled_after > 0 && self.counters.idle >= self.limits.stalled_after
    }

    /// The account of a run of the agent.
    pub(crate) fn account(&mut self, shares: Shares, exit_code: Option<i32>) {
        self.counters.last_exit_code = exit_code;
        self.counters.last_duration_s = shares.iter().map(|(_, spent)| spent.seconds).sum();
        self.book(shares);
    }

    /// Books what a run of the agent cost, for each story that it worked on.
    fn book(&mut self, shares: Shares) {
        for (story, spent) in shares {
            let own = self.counters.story_spent.entry(story).or_default();
            for book in [&mut self.counters.spent, own] {
                book.cost_usd += spent.cost_usd;
                book.seconds += spent.seconds;
                book.tokens += spent.tokens;
            }
        }
    }

    /// Another failed attempt: what it did is kept first.
    fn failed(&mut self, outcome: Outcome, why: String) -> Action {
        if let Some(story) = self.story.clone() {
            *self.counters.attempts.entry(story).or_default() += 1;
        }
        self.discard_then(Pending::Failed(outcome, why.clone()), outcome, &why)
    }

    /// An agent that waits may fix it in the same session, within the story's attempts.
    fn send_back_or_fail(&mut self, outcome: Outcome, why: String) -> Action {
        let is_last = self.attempts() + 1 >= self.limits.attempts_per_story.max(1);
        if !self.is_waiting || is_last {
            return self.hand_over_or_fail(outcome, why);
        }
        if let Some(story) = self.story.clone() {
            *self.counters.attempts.entry(story).or_default() += 1;
        }
        Action::SendBack(why)
    }

    /// A fresh session goes on with what is there. No attempt is lost by it, but it does not
    /// happen more often than attempts are allowed.
    fn hand_over_or_fail(&mut self, outcome: Outcome, why: String) -> Action {
        if self.is_handed_over && self.may_hand_over() {
            return self.hand_over(&why);
        }
        self.failed(outcome, why)
    }

    fn hand_over(&mut self, why: &str) -> Action {
        self.discard_then(Pending::Nothing, Outcome::Handoff, why)
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

    fn discard_then(&mut self, pending: Pending, outcome: Outcome, why: &str) -> Action {
        self.pending = pending;
        Action::Discard(outcome, why.to_owned())
    }
}

/// Decides what happens next.
pub(crate) fn step(state: State, event: Event) -> (State, Action) {
    let mut state = state;
    let action = match event {
        Event::Started(wish) => after_script(wish, Action::Choose),
        Event::Chosen { choice, seconds, shares } => {
            state.book(shares);
            chosen(&mut state, choice, seconds)
        }
        Event::Announced(wish) => announced(&mut state, wish),
        Event::Begun => Action::RunAgent,
        Event::Worked { end, shares, exit_code, is_waiting } => {
            state.account(shares, exit_code);
            state.is_waiting = is_waiting;
            worked(&mut state, end)
        }
        Event::Landed(landing) => landed(&mut state, landing),
        Event::Discarded { changed } => discarded(&mut state, changed),
        Event::SetAside => {
            let story = state.story.clone().unwrap_or_default();
            let has_moved = state.counters.moved.contains(&story);
            state.counters.idle = if has_moved { 0 } else { state.counters.idle + 1 };
            state.counters.set_aside.insert(story);
            Action::RunPostIteration(Outcome::Blocked)
        }
        Event::Reported(wish) => reported(&mut state, wish),
        Event::Waited => Action::Choose,
        Event::Signalled(signal) => Action::RunFinished(Finish::Manual(signal)),
        Event::Broke(why) => Action::RunFinished(Finish::Error(why)),
        Event::Finished { shares } => {
            state.book(shares);
            match std::mem::replace(&mut state.pending, Pending::Nothing) {
                Pending::End(finish) => Action::End(finish),
                _ => Action::End(Finish::Complete),
            }
        }
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
        Choice::Unlanded(story) => {
            state.story = Some(story);
            return Action::Land;
        }
        Choice::Complete => Finish::Complete,
        Choice::Stuck(why) => Finish::Blocked(why),
        Choice::Story(story) => match state.used_up(seconds) {
            Some(why) => Finish::Budget(why),
            None if reached(state.counters.iteration, state.max_iterations) => {
                Finish::MaxIterations
            }
            None => {
                state.counters.iteration += 1;
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

/// A script that always skips would keep a run without limits going for ever.
fn announced(state: &mut State, wish: Wish) -> Action {
    match (wish, state.story.clone()) {
        (Wish::Stop, _) => Action::RunFinished(Finish::HookAbort),
        (Wish::GoOn, Some(story)) => {
            state.counters.skipped = 0;
            Action::Begin(story)
        }
        _ => {
            state.counters.skipped += 1;
            let most = state.limits.stalled_after;
            match most > 0 && state.counters.skipped >= most {
                true => Action::RunFinished(Finish::NoChanges),
                false => Action::Choose,
            }
        }
    }
}

fn worked(state: &mut State, end: WorkEnd) -> Action {
    match end {
        WorkEnd::Well => Action::Land,
        WorkEnd::HandedOver(handoff) => {
            state.is_handed_over = true;
            match handoff {
                Handoff::Unclaimed if state.may_hand_over() => {
                    state.hand_over("context full, continuing in a new session")
                }
                Handoff::Claimed | Handoff::Unclaimed => Action::Land,
                Handoff::Failed(why) => state.hand_over_or_fail(Outcome::Failed, why),
            }
        }
        WorkEnd::Failed(why) => state.send_back_or_fail(Outcome::Failed, why),
        WorkEnd::TimedOut(why) => state.failed(Outcome::Timeout, why),
        WorkEnd::Partial(why) => state.failed(Outcome::Partial, why),
        WorkEnd::Spent(why) => {
            let then = Pending::Last(Finish::Budget(why.clone()));
            state.discard_then(then, Outcome::Budget, &why)
        }
        WorkEnd::Blocked(why) | WorkEnd::StorySpent(why) => {
            state.discard_then(Pending::Block(why.clone()), Outcome::Blocked, &why)
        }
        WorkEnd::Quota(reset) => {
            // It was the service's fault, so neither attempt nor iteration is lost.
            state.counters.iteration = state.counters.iteration.saturating_sub(1);
            let why = "the agent's service refused: its usage limit is reached, or it is down";
            let then = match state.limits.wait_for_quota {
                true => Pending::Quota(reset),
                false => Pending::End(Finish::Budget(why.into())),
            };
            state.discard_then(then, Outcome::Quota, why)
        }
        WorkEnd::Signalled(signal) => interrupted(state, signal),
        WorkEnd::Unusable(why) => {
            let then = Pending::End(Finish::Error(why.clone()));
            state.discard_then(then, Outcome::Failed, &why)
        }
    }
}

fn landed(state: &mut State, landing: Landing) -> Action {
    match landing {
        Landing::Done => {
            state.counters.commits += 1;
            state.counters.idle = 0;
            if let Some(story) = &state.story {
                state.counters.attempts.remove(story);
                state.counters.handovers.remove(story);
            }
            Action::RunPostIteration(Outcome::Success)
        }
        Landing::NothingChanged => {
            state.send_back_or_fail(Outcome::NoChanges, "the agent changed nothing".to_owned())
        }
        Landing::Failed(why) => state.send_back_or_fail(Outcome::Failed, why),
        Landing::Conflict(why) => state.failed(Outcome::Failed, why),
        Landing::Impossible(why) => {
            let then = Pending::End(Finish::Error(why.clone()));
            state.discard_then(then, Outcome::Interrupted, &why)
        }
        Landing::Signalled(signal) => interrupted(state, signal),
    }
}

fn interrupted(state: &mut State, signal: Signal) -> Action {
    let then = Pending::End(Finish::Manual(signal));
    state.discard_then(then, Outcome::Interrupted, "interrupted")
}

fn discarded(state: &mut State, changed: bool) -> Action {
    if let (Some(story), true) = (state.story.clone(), changed) {
        state.counters.moved.insert(story);
    }
    match std::mem::replace(&mut state.pending, Pending::Nothing) {
        Pending::Failed(outcome, why) => match state.given_up() {
            Some(reason) => Action::SetAside(format!("{reason}{why}")),
            None => Action::RunPostIteration(outcome),
        },
        Pending::Block(why) => Action::SetAside(why),
        Pending::Quota(reset) => {
            state.pending = Pending::Quota(reset);
            Action::RunPostIteration(Outcome::Quota)
        }
        Pending::Last(finish) => {
            state.pending = Pending::Last(finish);
            Action::RunPostIteration(Outcome::Budget)
        }
        Pending::End(finish) => Action::RunFinished(finish),
        Pending::Nothing => Action::RunPostIteration(Outcome::Handoff),
    }
}

fn reported(state: &mut State, wish: Wish) -> Action {
    let pending = std::mem::replace(&mut state.pending, Pending::Nothing);
    state.story = None;
    match (wish, pending) {
        (_, Pending::Last(finish)) => Action::RunFinished(finish),
        (Wish::Stop, _) => Action::RunFinished(Finish::HookAbort),
        (_, Pending::Quota(reset)) => Action::Wait(reset),
        _ if state.is_stalled() => Action::RunFinished(Finish::NoChanges),
        _ => Action::Choose,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
