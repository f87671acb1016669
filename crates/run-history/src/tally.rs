//! What a run has done so far: kept on disk, so that a run goes on after a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ralph_base::state::StoryKey;
use serde::{Deserialize, Serialize};

/// The longest pause, in seconds, after a script skipped an iteration.
const LONGEST_SKIP_S: u64 = 300;

/// How long, in seconds, a run waits in total while a script skips every iteration.
const SKIPPED_S: u64 = 12 * 3600;

/// What a run has done so far, and what it has done for each story.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// For the whole run.
    pub run: RunTally,
    /// For each story.
    pub stories: BTreeMap<StoryKey, StoryTally>,
}

/// What a run has done so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunTally {
    /// Iterations begun.
    pub iteration: u64,
    /// Iterations that came to their end.
    pub completed: u64,
    /// Stories in a row that were given up without a change.
    pub idle: u64,
    /// Agents in a row that failed before they did anything.
    pub agent_failures: u64,
    /// Attempts in a row that met the usage limit.
    pub quota_streak: u32,
    /// When the usage limits of agents end, in Unix seconds.
    pub limited: BTreeMap<String, i64>,
    /// Iterations in a row that a script skipped.
    pub skipped: u64,
    /// Stories committed.
    pub commits: u64,
    /// What it spent.
    pub spent: Spent,
    /// What is known of the price of a token.
    pub price: Price,
    /// The stories of each plan that are known to be done: since before the run, or by it. Read anew
    /// by the next start.
    #[serde(skip)]
    pub done: BTreeMap<String, BTreeSet<String>>,
    /// How the last iteration ended.
    pub last: LastIteration,
}

/// What a run has done for one story.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoryTally {
    /// Attempts that count: those that failed, and those that landed. A story that landed and is chosen
    /// again was removed by somebody, and that cannot go on for ever.
    pub attempts: u64,
    /// How often a fresh session took over.
    pub handovers: u64,
    /// Whether its work failed because of another story that landed in the meantime.
    pub has_conflicted: bool,
    /// Whether an attempt changed anything.
    pub has_changes: bool,
    /// Whether this run has landed it.
    pub is_landed: bool,
    /// Whether another process took its tick out after that, which is made again.
    pub is_reopened: bool,
    /// Whether this run has given it up.
    pub is_set_aside: bool,
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

/// What tokens cost, as far as sessions have reported it.
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
    /// What a token costs.
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
    /// What was done for a story.
    pub fn story(&mut self, key: &StoryKey) -> &mut StoryTally {
        self.stories.entry(key.clone()).or_default()
    }

    /// How many attempts at a story count.
    pub fn attempts_at(&self, key: &StoryKey) -> u64 {
        self.stories.get(key).map_or(0, |story| story.attempts)
    }

    /// What was spent on a story.
    pub fn spent_on(&self, key: &StoryKey) -> Spent {
        self.stories.get(key).map(|story| story.spent).unwrap_or_default()
    }

    /// The stories of a plan that this run does not try again.
    pub fn set_aside_in(&self, plan: &str) -> BTreeSet<String> {
        self.stories_in(plan, |story| story.is_set_aside)
    }

    /// The stories of a plan of which something is true.
    pub fn stories_in(&self, plan: &str, is_true: fn(&StoryTally) -> bool) -> BTreeSet<String> {
        let found = self.stories.iter().filter(|(key, story)| key.plan == plan && is_true(story));
        found.map(|(key, _)| key.story.clone()).collect()
    }

    /// Whether another session may go on with a story that one left because its context was full.
    pub fn may_hand_over(&self, key: &StoryKey, most: u64) -> bool {
        self.stories.get(key).map_or(0, |story| story.handovers) < most.max(1)
    }

    /// Whether the work of a story failed before because of another story that landed.
    pub fn has_conflicted(&self, key: &StoryKey) -> bool {
        self.stories.get(key).is_some_and(|story| story.has_conflicted)
    }

    /// A script skips the next iteration: it is not counted, and tried again after a pause that grows
    /// from one skip to the next; none if the run has waited for as long as it may.
    pub fn pause_after_skip(&mut self) -> Option<Duration> {
        let pause = |skips: u64| (1 << skips.min(16)).min(LONGEST_SKIP_S);
        let waited: u64 = (0..self.run.skipped).map(pause).sum();
        let seconds = pause(self.run.skipped).min(SKIPPED_S.saturating_sub(waited));
        self.run.iteration = self.run.iteration.saturating_sub(1);
        self.run.skipped += 1;
        if seconds == 0 { None } else { Some(Duration::from_secs(seconds)) }
    }

    /// Books what a story took.
    pub fn book(&mut self, key: &StoryKey, spent: Spent) {
        self.run.spent.add(spent);
        self.story(key).spent.add(spent);
    }

    /// What a session cost: what it reports or, where it ended before that, its tokens at the price that
    /// other sessions imply; none if that is not known either. Once it is, what was unknown before is
    /// booked as well.
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

    /// Books the cost of a session that has ended, divided among its stories by the tokens that each took.
    /// `has_result` says whether it ended with a result, which names its cost or has none to name.
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

    /// What sessions that are still running cost: what they report, or their tokens at the known price.
    pub fn cost_so_far(&self, running: impl Iterator<Item = (Option<f64>, u64)>) -> f64 {
        let price = self.run.price.of_token().unwrap_or(0.0);
        let running = running.map(|(reported, tokens)| reported.unwrap_or(price * tokens as f64));
        self.run.spent.cost_usd + running.sum::<f64>()
    }

    /// What the run cost as far as that is known, for scripts: empty if nothing is.
    pub fn cost_for_scripts(&self) -> String {
        let is_partial = self.run.price.costless_sessions > 0 || self.run.spent.unpriced > 0;
        let cost = self.run.spent.cost_usd;
        if is_partial && cost == 0.0 { String::new() } else { format!("{cost:.4}") }
    }

    /// A story is given up; whether anything came of it decides whether the run stalls.
    pub fn set_aside(&mut self, key: &StoryKey) {
        let story = self.story(key);
        story.is_set_aside = true;
        self.run.idle = if story.has_changes { 0 } else { self.run.idle + 1 };
    }

    /// The stories of a plan that are done although no landing of this run has done them, each once.
    pub fn newly_ticked(&mut self, plan: &str, done: &[&str]) -> Vec<String> {
        let all = || done.iter().map(|id| (*id).to_owned());
        let Some(known) = self.run.done.get_mut(plan) else {
            self.run.done.insert(plan.to_owned(), all().collect());
            return Vec::new();
        };
        all().filter(|id| known.insert(id.clone())).collect()
    }

    /// An agent came to its end, so neither it nor its service fails every time.
    pub fn agent_worked(&mut self) {
        (self.run.agent_failures, self.run.quota_streak) = (0, 0);
    }

    /// A story is done by this run.
    pub fn landed(&mut self, key: &StoryKey) {
        self.agent_worked();
        self.run.idle = 0;
        let story = self.story(key);
        // A crash may have come after it was counted.
        let count = u64::from(!story.is_landed);
        story.attempts += count;
        self.run.commits += count;
        self.had_landed(key);
    }

    /// The work of a story is on the target.
    pub fn had_landed(&mut self, key: &StoryKey) {
        self.story(key).is_landed = true;
        if let Some(done) = self.run.done.get_mut(&key.plan) {
            done.insert(key.story.clone());
        }
    }
}
