//! The content of a report.

use std::collections::BTreeSet;

use ralph_base::state::{Scale, StoryKey};
use ralph_core::git::{Git, GitError};
use serde::Serialize;

use super::commits::found;
use super::proposals::{self, Proposal};
use super::stories::StoryPart;
use super::time_line::{self, TimeLine};
use crate::forecast::{CostSum, Forecast, price};
use crate::history::RunHistory;
use crate::needs::{Needs, Review, Situation};
use crate::run::{Run, SESSIONS};
use crate::stops::Stops;
use crate::words::{block, counted, epoch, line, local_time, thousands, time};

/// The report on a run. Its field names are the keys in the JSON.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// The outcome in one line.
    pub verdict: String,
    /// The run's name.
    pub run: String,
    pub(crate) plan: String,
    pub(crate) when: String,
    pub(crate) ended: String,
    /// The cost in short form.
    pub(crate) cost: String,
    /// The stories that the run landed, and those that are not done.
    pub(crate) stories: Vec<StoryPart>,
    pub(crate) also_needed: Vec<String>,
    /// The details of the end after its first line, such as the output of a failing check.
    pub(crate) trouble: String,
    /// What is worth a second look, apart from the stories to review.
    pub(crate) review: Vec<String>,
    pub(crate) time_line: TimeLine,
    pub(crate) total: String,
    pub(crate) failed_cost: String,
    /// The estimate, if there were earlier stories to base it on.
    pub(crate) forecast: Option<Forecast>,
    /// How long the agents worked.
    pub(crate) agent_time: String,
    pub(crate) stops: Vec<Stops>,
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) undo: Vec<String>,
}

/// The sources of a report.
pub(super) struct Sources<'a> {
    pub(super) history: &'a RunHistory,
    pub(super) run: &'a Run,
    pub(super) price: Option<f64>,
    pub(super) git: &'a Git,
    pub(super) needs: Needs,
    pub(super) review: Review,
    pub(super) is_running: bool,
}

impl RunHistory {
    /// Creates the report on a run.
    pub fn report(&self, run: &Run, situation: &Situation, git: &Git) -> Result<Report, GitError> {
        let (needs, cost) = (self.needs(Some(run), situation), self.cost(run));
        let (review, is_running) = (self.review(run), situation.is_running);
        let price = price(&self.runs);
        let sources = Sources { history: self, run, price, git, needs, review, is_running };
        let failed = CostSum::of(run.attempts.iter().filter(|one| one.is_failed()), price);
        let rest = run.reason.as_deref().and_then(|reason| reason.split_once('\n'));
        Ok(Report {
            verdict: sources.verdict(),
            run: run.name.clone(),
            plan: line(run.plan.strip_prefix(&format!("{}/", self.root)).unwrap_or(&run.plan)),
            when: sources.when(),
            ended: run.ending(is_running),
            cost: cost.short(),
            stories: sources.stories(situation)?,
            also_needed: sources.needs.others.clone(),
            trouble: rest.map_or_else(String::new, |(_, rest)| block(rest)),
            review: sources.review.others.clone(),
            time_line: time_line::of(run, |key| self.name(run, key)),
            total: format!("{cost}, {} tokens", thousands(cost.tokens)),
            failed_cost: failed.to_string(),
            forecast: run.forecast.clone().filter(|expected| expected.seconds.is_some()),
            agent_time: time(cost.seconds),
            stops: run.stops.iter().filter(|stops| !stops.gates.is_empty()).cloned().collect(),
            proposals: proposals::of(run),
            undo: sources.undo(situation),
        })
    }
}

impl Sources<'_> {
    fn verdict(&self) -> String {
        if self.run.name == SESSIONS {
            return self.run.hooks_in_words();
        }
        let requested = self.history.requests_of_stories();
        let landed = self.run.landed().into_iter().map(|attempt| &attempt.key);
        let is_merged = |key: &&StoryKey| !requested.iter().any(|(other, ..)| other == key);
        let done: BTreeSet<_> = landed.filter(is_merged).collect();
        let mut parts = vec![format!("{} done", counted(done.len(), "story", "stories"))];
        let requested = requested.len();
        let numbers = [
            (self.review.names(Scale::ToReview).len(), "to review"),
            (self.review.names(Scale::Unchecked).len(), "unchecked"),
            (self.needs.stories.len(), "blocked"),
            (requested, "in pull requests"),
            (self.history.counts().open.saturating_sub(requested), "open"),
        ];
        let numbers = numbers.iter().filter(|(count, _)| *count > 0);
        parts.extend(numbers.map(|(count, what)| format!("{count} {what}")));
        format!("{}; {}", parts.join(", "), self.needs.in_words(&self.review))
    }

    fn when(&self) -> String {
        let Run { started_at, ended_at, sandbox, branch, .. } = self.run;
        let on = if branch.is_empty() {
            String::new()
        } else {
            format!(", landing on {}", line(branch))
        };
        let sandbox = sandbox.iter().map(|words| format!(", sandbox {words}")).collect::<String>();
        let took = epoch(ended_at).zip(epoch(started_at)).map(|(end, start)| end - start);
        let (from, to) = (local_time(started_at), local_time(ended_at));
        format!("{from} to {to} ({}){on}{sandbox}", time(took.unwrap_or(0.0)))
    }

    fn undo(&self, situation: &Situation) -> Vec<String> {
        if let Some((_, branch)) = &situation.waiting {
            return vec![format!("git branch -D {branch}   # your own branch has none of it")];
        }
        let landed = self.run.landed();
        let mut commits = landed.iter().filter_map(|attempt| attempt.commit.as_deref());
        let Some(first) = commits.next() else { return Vec::new() };
        let records = found(self.git, &format!("Ralph-Run: {}", self.run.name));
        let last = records.as_deref().or(commits.next_back()).unwrap_or(first);
        let [first, last] = [first, last].map(|id| id.chars().take(12).collect::<String>());
        let range = format!("{first}^..{last}");
        vec![format!("git revert --no-edit $(git rev-list --grep='^Ralph-' {range})")]
    }
}
