//! The counters of a run: kept on disk, so that the run can continue after a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ralph_base::state::StoryKey;
use serde::{Deserialize, Serialize};

/// The longest pause, in seconds, after a script skipped an iteration.
const LONGEST_SKIP_S: u64 = 300;

/// How long, in seconds, a run waits in total while a script skips every iteration.
const SKIPPED_S: u64 = 12 * 3600;

/// The counters of a run, and of each of its stories.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// The counters of the whole run.
    pub run: RunTally,
    /// The counters of each story.
    pub stories: BTreeMap<StoryKey, StoryTally>,
}

/// The counters of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunTally {
    /// Iterations begun.
    pub iteration: u64,
    /// Iterations finished.
    pub completed: u64,
    /// Consecutive stories that were given up without a change.
    pub idle: u64,
    /// Consecutive agents that failed before they did anything.
    pub agent_failures: u64,
    /// Consecutive attempts that hit the usage limit.
    pub quota_streak: u32,
    /// When the usage limits of agents end, in Unix seconds.
    pub limited: BTreeMap<String, i64>,
    /// Consecutive iterations that a script skipped.
    pub skipped: u64,
    /// Stories committed.
    pub commits: u64,
    /// What the run has spent.
    pub spent: Spent,
    /// The known price of tokens.
    pub price: Price,
    /// The stories of each plan that are known to be done, before the run or by it. Read again at
    /// the next start.
    #[serde(skip)]
    pub done: BTreeMap<String, BTreeSet<String>>,
    /// How the last iteration ended.
    pub last: LastIteration,
}

/// The counters of one story in a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoryTally {
    /// Failed and landed attempts. A landed story that is chosen again was removed by somebody;
    /// counting it as well prevents an endless loop.
    pub attempts: u64,
    /// How often a fresh session took over.
    pub handovers: u64,
    /// Whether its work failed because of another story that landed in the meantime.
    pub has_conflicted: bool,
    /// Whether an attempt changed anything.
    pub has_changes: bool,
    /// Whether this run has landed it.
    pub is_landed: bool,
    /// Whether another process removed its tick after that, so that it is ticked again.
    pub is_reopened: bool,
    /// Whether this run has given it up.
    pub is_set_aside: bool,
    /// The verifiers that refused its work.
    pub refused_by: BTreeSet<String>,
    /// What was spent on it.
    pub spent: Spent,
}

/// Money, time and tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// The cost as far as it is known.
    pub cost_usd: f64,
    /// The agents' time.
    pub seconds: f64,
    /// All tokens.
    pub tokens: u64,
    /// Tokens among them whose cost is unknown.
    pub unpriced: u64,
}

impl Spent {
    fn add(&mut self, more: Self) {
        self.cost_usd += more.cost_usd;
        self.seconds += more.seconds;
        self.tokens += more.tokens;
        self.unpriced += more.unpriced;
    }
}

/// The price of tokens, as far as sessions have reported it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    /// The cost and the tokens of sessions that reported their cost.
    pub known: Spent,
    /// Sessions that ended without reporting a cost while no price was known.
    pub unpriced_sessions: u64,
    /// Sessions that reported neither cost nor tokens.
    pub costless_sessions: u64,
    /// Whether the user was warned that cost limits cannot be enforced.
    pub is_reported: bool,
}

impl Price {
    /// Returns the price of a token.
    fn of_token(&self) -> Option<f64> {
        let Spent { cost_usd, tokens, .. } = self.known;
        if tokens > 0 { Some(cost_usd / tokens as f64) } else { None }
    }
}

/// How the last iteration ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastIteration {
    /// The exit code of its agent.
    pub exit_code: Option<i32>,
    /// How long the agent worked.
    pub duration_s: f64,
    /// When an agent last failed before it did anything, as RFC 3339 in UTC.
    pub failed_at: String,
}

impl Tally {
    /// Returns the counters of a story.
    pub fn story(&mut self, key: &StoryKey) -> &mut StoryTally {
        self.stories.entry(key.clone()).or_default()
    }

    /// Returns how many attempts at a story count.
    pub fn attempts_at(&self, key: &StoryKey) -> u64 {
        self.stories.get(key).map_or(0, |story| story.attempts)
    }

    /// Returns what was spent on a story.
    pub fn spent_on(&self, key: &StoryKey) -> Spent {
        self.stories.get(key).map(|story| story.spent).unwrap_or_default()
    }

    /// Returns the stories of a plan that this run does not try again.
    pub fn set_aside_in(&self, plan: &str) -> BTreeSet<String> {
        self.stories_in(plan, |story| story.is_set_aside)
    }

    /// Returns the stories of a plan that satisfy a predicate.
    pub fn stories_in(&self, plan: &str, is_true: fn(&StoryTally) -> bool) -> BTreeSet<String> {
        let found = self.stories.iter().filter(|(key, story)| key.plan == plan && is_true(story));
        found.map(|(key, _)| key.story.clone()).collect()
    }

    /// Returns whether a new session may take over a story from one whose context was full.
    pub fn may_hand_over(&self, key: &StoryKey, most: u64) -> bool {
        self.stories.get(key).map_or(0, |story| story.handovers) < most.max(1)
    }

    /// Returns whether a story's work failed before because of another story that landed.
    pub fn has_conflicted(&self, key: &StoryKey) -> bool {
        self.stories.get(key).is_some_and(|story| story.has_conflicted)
    }

    /// Records that a script skips the iteration, which is not counted; returns the pause before
    /// the next try, which grows with each skip, or `None` if the run may not wait any longer.
    pub fn pause_after_skip(&mut self) -> Option<Duration> {
        let pause = |skips: u64| (1 << skips.min(16)).min(LONGEST_SKIP_S);
        let waited: u64 = (0..self.run.skipped).map(pause).sum();
        let seconds = pause(self.run.skipped).min(SKIPPED_S.saturating_sub(waited));
        self.run.iteration = self.run.iteration.saturating_sub(1);
        self.run.skipped += 1;
        if seconds == 0 { None } else { Some(Duration::from_secs(seconds)) }
    }

    /// Adds to what a story and the run have spent.
    pub fn book(&mut self, key: &StoryKey, spent: Spent) {
        self.run.spent.add(spent);
        self.story(key).spent.add(spent);
    }

    /// Returns the cost of a session: the reported one or, if it ended before that, the price of
    /// its tokens according to other sessions; `None` if no price is known. Once one is, tokens
    /// that were booked without a cost are priced as well.
    fn cost_of_session(&mut self, reported: Option<f64>, tokens: u64) -> Option<f64> {
        if let Some(cost_usd) = reported {
            self.run.price.known.add(Spent { cost_usd, tokens, ..Spent::default() });
        }
        let Some(price) = self.run.price.of_token() else { return reported };
        let books = self.stories.values_mut().map(|story| &mut story.spent);
        for book in books.chain([&mut self.run.spent]) {
            book.cost_usd += price * std::mem::take(&mut book.unpriced) as f64;
        }
        self.run.price.unpriced_sessions = 0;
        reported.or(if tokens > 0 { Some(price * tokens as f64) } else { None })
    }

    /// Records that a result includes the cost of these tokens of a story, which an earlier process of its
    /// session used and did not report.
    pub fn cover(&mut self, key: &StoryKey, tokens: u64) {
        self.run.price.known.add(Spent { tokens, ..Spent::default() });
        let story = &mut self.stories.entry(key.clone()).or_default().spent;
        for spent in [story, &mut self.run.spent] {
            spent.unpriced = spent.unpriced.saturating_sub(tokens);
        }
    }

    /// Books the cost of an ended session, divided among its stories by their tokens. `has_result`
    /// is whether it ended with a result, which includes the cost unless the agent reports none.
    pub fn book_session(
        &mut self,
        stories: &[(StoryKey, u64)],
        reported: Option<f64>,
        has_result: bool,
    ) -> Vec<(StoryKey, f64)> {
        let all: u64 = stories.iter().map(|(_, tokens)| tokens).sum();
        let Some(cost) = self.cost_of_session(reported, all) else {
            self.run.price.costless_sessions += u64::from(all == 0);
            self.run.price.unpriced_sessions += u64::from(all > 0 && !has_result);
            for (key, unpriced) in stories {
                self.book(key, Spent { unpriced: *unpriced, ..Spent::default() });
            }
            return Vec::new();
        };
        let mut booked = Vec::new();
        for (key, tokens) in stories {
            let share = match all {
                0 => 1.0 / stories.len() as f64,
                all => *tokens as f64 / all as f64,
            };
            self.book(key, Spent { cost_usd: cost * share, ..Spent::default() });
            booked.push((key.clone(), cost * share));
        }
        booked
    }

    /// Returns the run's cost with running sessions: reported, or their tokens at the known price.
    pub fn cost_so_far(&self, running: impl Iterator<Item = (Option<f64>, u64)>) -> f64 {
        let price = self.run.price.of_token().unwrap_or(0.0);
        let running = running.map(|(reported, tokens)| reported.unwrap_or(price * tokens as f64));
        self.run.spent.cost_usd + running.sum::<f64>()
    }

    /// Returns the known cost of the run, for scripts: empty if nothing is known.
    pub fn cost_for_scripts(&self) -> String {
        let is_partial = self.run.price.costless_sessions > 0 || self.run.spent.unpriced > 0;
        let cost = self.run.spent.cost_usd;
        if is_partial && cost == 0.0 { String::new() } else { format!("{cost:.4}") }
    }

    /// Records that a story is given up; the run stalls if such stories had no changes.
    pub fn set_aside(&mut self, key: &StoryKey) {
        let story = self.story(key);
        story.is_set_aside = true;
        self.run.idle = if story.has_changes { 0 } else { self.run.idle + 1 };
    }

    /// Returns the stories of a plan that are done but were not landed by this run, each only once.
    pub fn newly_ticked(&mut self, plan: &str, done: &[&str]) -> Vec<String> {
        let all = || done.iter().map(|id| (*id).to_owned());
        let Some(known) = self.run.done.get_mut(plan) else {
            self.run.done.insert(plan.to_owned(), all().collect());
            return Vec::new();
        };
        all().filter(|id| known.insert(id.clone())).collect()
    }

    /// Records that an agent finished, which resets the counts of failures and of usage limits.
    pub fn agent_worked(&mut self) {
        (self.run.agent_failures, self.run.quota_streak) = (0, 0);
    }

    /// Records that this run landed a story.
    pub fn landed(&mut self, key: &StoryKey) {
        self.agent_worked();
        self.run.idle = 0;
        let story = self.story(key);
        // A crash may have happened after it was counted.
        let count = u64::from(!story.is_landed);
        story.attempts += count;
        self.run.commits += count;
        self.had_landed(key);
    }

    /// Records that the work of a story is on the target branch.
    pub fn had_landed(&mut self, key: &StoryKey) {
        self.story(key).is_landed = true;
        if let Some(done) = self.run.done.get_mut(&key.plan) {
            done.insert(key.story.clone());
        }
    }
}
