//! What a run has done so far: kept on disk, so that a run goes on after a crash.

use std::collections::{BTreeMap, BTreeSet};

use ralph_base::state::StoryKey;
use serde::{Deserialize, Serialize};

/// The message about settings that changed during a run.
pub(crate) const CONFIG_CHANGED: &str = "config.toml changed during the run, which keeps the settings \
                                         it began with; hooks and the next run use the new ones";

/// What a run has done so far, and what it has done for each story.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Tally {
    pub(crate) run: RunTally,
    pub(crate) stories: BTreeMap<StoryKey, StoryTally>,
}

/// What a run has done so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunTally {
    /// Iterations begun.
    pub(crate) iteration: u64,
    /// Stories in a row that were given up without a change.
    pub(crate) idle: u64,
    /// Agents in a row that failed before they did anything.
    pub(crate) agent_failures: u64,
    /// Attempts in a row that met the usage limit.
    pub(crate) quota_streak: u32,
    /// Iterations in a row that a script skipped.
    pub(crate) skipped: u64,
    /// Stories committed, and how many of them no check has seen.
    pub(crate) commits: u64,
    pub(crate) unchecked: u64,
    pub(crate) spent: Spent,
    pub(crate) price: Price,
    pub(crate) plans: PlansTally,
    /// How the last iteration ended.
    pub(crate) last: LastIteration,
    /// Whether the settings changed since the run began.
    pub(crate) is_config_changed: bool,
}

/// What a run has done for one story.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StoryTally {
    /// Attempts that count: those that failed, and those that landed. A story that landed and is chosen
    /// again was removed by somebody, and that cannot go on for ever.
    pub(crate) attempts: u64,
    /// How often a fresh session took over.
    pub(crate) handovers: u64,
    /// Whether its work failed because of another story that landed in the meantime.
    pub(crate) has_conflicted: bool,
    /// Whether an attempt changed anything.
    pub(crate) has_changes: bool,
    /// Whether this run has given it up.
    pub(crate) is_set_aside: bool,
    pub(crate) spent: Spent,
}

/// Money, time and tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Spent {
    pub(crate) cost_usd: f64,
    pub(crate) seconds: f64,
    pub(crate) tokens: u64,
    /// Tokens among them whose cost is unknown.
    pub(crate) unpriced: u64,
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
pub(crate) struct Price {
    /// The cost and the tokens of sessions that reported their cost.
    pub(crate) known: Spent,
    /// Sessions that ended without reporting a cost while no price was known.
    pub(crate) unpriced_sessions: u64,
    /// Sessions that reported neither cost nor tokens.
    pub(crate) costless_sessions: u64,
    /// Whether the user was warned that cost limits cannot be enforced.
    pub(crate) is_reported: bool,
}

impl Price {
    /// What a token costs.
    fn of_token(&self) -> Option<f64> {
        let Spent { cost_usd, tokens, .. } = self.known;
        if tokens > 0 { Some(cost_usd / tokens as f64) } else { None }
    }
}

/// The plans of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PlansTally {
    /// The stories of each plan that are known to be done: since before the run, or by it. Read anew
    /// by the next start.
    #[serde(skip)]
    pub(crate) done: BTreeMap<String, BTreeSet<String>>,
}

/// How the last iteration ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LastIteration {
    pub(crate) exit_code: Option<i32>,
    pub(crate) duration_s: f64,
    /// When an agent last failed before it did anything, as RFC 3339 in UTC.
    pub(crate) failed_at: String,
}

impl Tally {
    /// What was done for a story.
    pub(crate) fn story(&mut self, key: &StoryKey) -> &mut StoryTally {
        self.stories.entry(key.clone()).or_default()
    }

    /// How many attempts at a story count.
    pub(crate) fn attempts_at(&self, key: &StoryKey) -> u64 {
        self.stories.get(key).map_or(0, |story| story.attempts)
    }

    /// What was spent on a story.
    pub(crate) fn spent_on(&self, key: &StoryKey) -> Spent {
        self.stories.get(key).map(|story| story.spent).unwrap_or_default()
    }

    /// The stories of a plan of which something is true.
    pub(crate) fn stories_of(
        &self,
        plan: &str,
        is_meant: impl Fn(&StoryTally) -> bool,
    ) -> BTreeSet<String> {
        let meant = self.stories.iter().filter(|(key, story)| key.plan == plan && is_meant(story));
        meant.map(|(key, _)| key.story.clone()).collect()
    }

    /// The stories of a plan that this run does not try again.
    pub(crate) fn set_aside_in(&self, plan: &str) -> BTreeSet<String> {
        self.stories_of(plan, |story| story.is_set_aside)
    }

    /// Books what a story took.
    pub(crate) fn book(&mut self, key: &StoryKey, spent: Spent) {
        self.run.spent.add(spent);
        self.story(key).spent.add(spent);
    }

    /// What a session cost: what it reports or, where it ended before that, its tokens at the price that
    /// other sessions imply; none if that is not known either. Once it is, what was unknown before is
    /// booked as well.
    pub(crate) fn cost_of_session(&mut self, reported: Option<f64>, tokens: u64) -> Option<f64> {
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

    /// What sessions that are still running cost: what they report, or their tokens at the known price.
    pub(crate) fn cost_so_far(&self, running: impl Iterator<Item = (Option<f64>, u64)>) -> f64 {
        let price = self.run.price.of_token().unwrap_or(0.0);
        let running = running.map(|(reported, tokens)| reported.unwrap_or(price * tokens as f64));
        self.run.spent.cost_usd + running.sum::<f64>()
    }

    /// What the run cost as far as that is known; none if nothing is.
    pub(crate) fn known_cost(&self) -> Option<f64> {
        let is_partial = self.run.price.costless_sessions > 0 || self.run.spent.unpriced > 0;
        let cost = self.run.spent.cost_usd;
        if is_partial && cost == 0.0 { None } else { Some(cost) }
    }

    /// The same for scripts: empty if nothing is known.
    pub(crate) fn cost_for_scripts(&self) -> String {
        self.known_cost().map(|cost| format!("{cost:.4}")).unwrap_or_default()
    }

    /// A story is given up; whether anything came of it decides whether the run stalls.
    pub(crate) fn set_aside(&mut self, key: &StoryKey) {
        let story = self.story(key);
        story.is_set_aside = true;
        self.run.idle = if story.has_changes { 0 } else { self.run.idle + 1 };
    }

    /// The stories of a plan that are done although no landing of this run has done them, each once.
    pub(crate) fn newly_ticked(&mut self, plan: &str, done: &[&str]) -> Vec<String> {
        let all = || done.iter().map(|id| (*id).to_owned());
        let Some(known) = self.run.plans.done.get_mut(plan) else {
            self.run.plans.done.insert(plan.to_owned(), all().collect());
            return Vec::new();
        };
        all().filter(|id| known.insert(id.clone())).collect()
    }

    /// A story is done by this run.
    pub(crate) fn landed(&mut self, key: &StoryKey) {
        self.run.commits += 1;
        self.run.idle = 0;
        self.story(key).attempts += 1;
        if let Some(done) = self.run.plans.done.get_mut(&key.plan) {
            done.insert(key.story.clone());
        }
    }
}
