//! What a run shows of itself while it goes on.

use std::time::{Duration, Instant};

use ralph_base::state::Event;
use ralph_core::plan::{Plan, Story};
use ralph_project::attempt::{HookRollback, Memory, checkpoint};

use super::Run;
use super::context::Context;
use crate::agent::Seen;
use crate::terminal::{Tone, Worker};

impl Run {
    /// Where the plan stands, and what is likely to follow.
    pub(super) fn show_position(&self, plan: &Plan) {
        let context = &self.context;
        context.history.borrow_mut().see_plans([plan]);
        // What this very run took says more than earlier ones.
        let counters = &self.record.counters;
        let ended = counters.all(|one| one.commits) as f64;
        let so_far = context.elapsed().as_secs_f64() / ended;
        let story_s = if ended > 0.0 { Some(so_far) } else { context.forecast.seconds };
        let max_cost_usd = context.config.limits.max_cost_usd;
        context.show_counts();
        context.view.next_iteration(max_cost_usd, story_s);
    }

    /// A story begins.
    pub(super) fn show_story(&self, story: &Story) {
        let Story { id, title, .. } = story;
        let (view, counters) = (&self.context.view, &self.record.counters);
        let (name, rest) = if story.is_named_by_title() { (title, "") } else { (id, &**title) };
        let gap = if rest.is_empty() { "" } else { " " };
        let iteration = counters.all(|one| one.iteration);
        view.line(format!("iteration {iteration}: {name}{gap}{rest}"));
        view.story(Worker {
            story: Some(name.clone()),
            title: rest.to_owned(),
            attempt: counters.attempts_at(id) + 1,
            attempts: self.context.config.limits.attempts_per_story.max(1),
            ..Worker::default()
        });
    }
}

/// How often the hooks' notes are looked at while an agent works.
const LOOKS_EVERY: Duration = Duration::from_millis(500);

/// How many of an agent's calls were shown, and of those that were refused.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShownCalls {
    all: usize,
    refused: usize,
}

/// What was shown so far of an agent at work.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) calls: ShownCalls,
    pub(super) rollbacks: Vec<HookRollback>,
    looked: Option<Instant>,
}

impl Shown {
    /// So much was shown before.
    pub(super) fn after(calls: ShownCalls, rollbacks: &[HookRollback]) -> Self {
        Self { calls, rollbacks: rollbacks.to_vec(), looked: None }
    }

    /// What the agent does now, and what happened to it since the last look.
    pub(super) fn look(&mut self, context: &Context, story: &str, seen: &Seen, cost_usd: f64) {
        context.view.glimpse(seen, cost_usd);
        for call in seen.calls.since(self.calls.all) {
            context.tell(story, &Event::ToolCall { call: call.to_owned() });
        }
        let mut before = None;
        for refusal in seen.calls.refused.iter().skip(self.calls.refused) {
            // An agent that tries the same again and again is worth one line.
            if before != Some(refusal) {
                let text = format!("{story}: refused: {} ({})", refusal.call, refusal.why);
                context.view.toned(Tone::Warning, text);
            }
            before = Some(refusal);
        }
        self.calls = ShownCalls { all: seen.calls.count, refused: seen.calls.refused.len() };
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOKS_EVERY) {
            self.show_rollbacks(context, story);
        }
    }

    /// What hooks rolled back since.
    pub(super) fn show_rollbacks(&mut self, context: &Context, story: &str) {
        self.looked = Some(Instant::now());
        let state = context.state();
        let Ok(Some(checkpoint)) = checkpoint(state) else { return };
        let rollbacks = Memory::load(state, &checkpoint).rollbacks;
        for rollback in rollbacks.iter().skip(self.rollbacks.len()) {
            let kept = &rollback.saved_as;
            context.view.toned(Tone::Warning, format!("{story}: {rollback}; kept as {kept}"));
        }
        self.rollbacks = rollbacks;
    }
}
