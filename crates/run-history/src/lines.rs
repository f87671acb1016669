//! Summarises runs in a few lines each, for a terminal.

use ralph_base::state::Scale;
use ralph_core::plan::StoryCounts;
use serde_json::{Value, json};

use crate::history::RunHistory;
use crate::needs::{Needs, Review, Situation};
use crate::run::{NoteKind, Run};
use crate::words::{counted, line, local_time};

impl RunHistory {
    /// Returns a numbered line for each run, oldest first.
    pub fn run_lines(&self) -> Vec<String> {
        let one = |(number, run): (usize, &Run)| {
            let done = counted(run.done(), "story", "stories");
            let attempts = counted(run.attempts.len(), "attempt", "attempts");
            let (ending, cost) = (run.ending(false), self.cost(run));
            let started = local_time(&run.started_at);
            format!("{number:>3}  {started}  {done} done in {attempts}, {cost}; {ending}")
        };
        (1..).zip(&self.runs).map(one).collect()
    }

    /// Returns the runs as JSON, oldest first.
    pub fn runs_json(&self) -> Vec<Value> {
        let one = |(number, run): (usize, &Run)| {
            json!({
                "number": number, "run": run.name, "started_at": run.started_at,
                "finish": run.finish, "reason": run.reason, "stories_done": run.done(),
                "attempts": run.attempts.len(), "cost_usd": self.cost(run).cost_usd,
            })
        };
        (1..).zip(&self.runs).map(one).collect()
    }

    /// Summarises the stories of a finished run's plans, and what needs a person.
    pub fn what_remains(&self, needs: &Needs, review: &Review, situation: &Situation) -> String {
        let StoryCounts { open, done, blocked, .. } = self.counts();
        let all = counted(open + done + blocked, "story", "stories");
        let mut plans: Vec<&str> = self.stories.iter().map(|story| &*story.key.plan).collect();
        plans.dedup();
        let mut parts = vec![match plans.len() {
            0 | 1 => format!("{done} of {all} done"),
            many => format!("{done} of {all} in {many} plans done"),
        }];
        let of = |scale: Scale| (review.names(scale), scale.word());
        let blocked: Vec<&str> = needs.stories.iter().map(|story| &*story.name).collect();
        for (names, what) in [of(Scale::ToReview), of(Scale::Unchecked), (blocked, "blocked")] {
            if !names.is_empty() {
                parts.push(format!("{} {what} ({})", names.len(), names.join(", ")));
            }
        }
        if let Some((count, branch)) = self.waiting_stories(situation) {
            parts.push(format!("{count} of them not on your branch but on {branch}"));
        }
        if open > 0 {
            parts.push(format!("{open} left"));
        }
        parts.join(", ")
    }
}

impl Run {
    /// Returns how many stories landed, in how many iterations.
    pub fn account(&self) -> String {
        let stories = counted(self.done(), "story", "stories");
        let iterations = counted(self.iterations as usize, "iteration", "iterations");
        let unchecked = match self.unchecked().len() {
            0 => String::new(),
            count => format!(", {count} unchecked"),
        };
        format!("{stories} landed in {iterations}{unchecked}")
    }

    /// Summarises what the hooks did.
    pub(crate) fn hooks_in_words(&self) -> String {
        let of = |kind| self.notes.iter().filter(move |note| note.kind == kind);
        let count = |kind| of(kind).map(|note| note.count).sum::<u64>() as usize;
        let gates = || self.stops.iter().flat_map(|stops| stops.gates.values());
        let held = gates().map(|gate| gate.held).sum::<u64>();
        let given_up = gates().map(|gate| gate.given_up).sum::<u64>();
        let parts = [
            counted(count(NoteKind::Refusal), "call refused", "calls refused"),
            counted(count(NoteKind::Rollback), "rollback", "rollbacks"),
            format!("gates held {held}× and gave up {given_up}×"),
        ];
        format!("sessions without a run: {}", parts.join(", "))
    }

    /// Returns how the run ended, in one line.
    pub fn ending(&self, is_running: bool) -> String {
        let reason = self.reason.as_deref().and_then(|reason| reason.lines().next());
        let Some(finish) = self.finish.as_deref() else {
            let killed = "it was killed; `ralph-loop` continues it";
            return if is_running { "it is still running" } else { killed }.to_owned();
        };
        match (finish, reason) {
            ("error", Some(reason)) => line(&format!("error: {reason}")),
            (_, Some(reason)) => line(reason),
            ("complete", None) => "complete".to_owned(),
            ("max_iterations", None) => "the limit of iterations was reached".to_owned(),
            ("no_changes", None) => "several stories in a row changed nothing".to_owned(),
            ("manual", None) => "it was interrupted".to_owned(),
            (other, None) => other.replace('_', " "),
        }
    }
}
