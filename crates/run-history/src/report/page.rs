//! What a report holds.

use std::collections::BTreeSet;

use ralph_base::state::StoryKey;
use ralph_core::git::{Git, GitError};
use ralph_core::plan::State;
use serde::Serialize;

use super::commits::{found, landed};
use super::proposals::{self, Proposal};
use super::time_line::{self, TimeLine};
use crate::cost::{CostSum, money, price};
use crate::history::RunHistory;
use crate::needs::{BlockedStory, Needs, Situation};
use crate::run::{Attempt, Run, tests_passed};
use crate::saved::SavedAttempt;
use crate::stops::Stops;
use crate::words::{block, counted, epoch, line, local_time, thousands, time};

/// How much of a difference is kept.
const LONGEST_DIFF: usize = 60_000;

/// The differences of so many attempts are kept.
const MOST_DIFFS: usize = 60;

/// The report on a run. Its names are those of the JSON.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// In one line: what came of it.
    pub verdict: String,
    /// The run's name.
    pub run: String,
    pub(crate) plan: String,
    pub(crate) when: String,
    pub(crate) ended: String,
    pub(crate) needs: Vec<Need>,
    pub(crate) also_needed: Vec<String>,
    /// What there is to say about the end beyond its first line: the output of a failing check.
    pub(crate) trouble: String,
    pub(crate) done: Vec<Done>,
    pub(crate) open: Vec<String>,
    pub(crate) twice: Vec<String>,
    pub(crate) time_line: TimeLine,
    pub(crate) costs: Vec<Cost>,
    pub(crate) total: String,
    pub(crate) failed_cost: String,
    pub(crate) forecast: Vec<String>,
    pub(crate) stops: Vec<StopRow>,
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) undo: Vec<String>,
}

/// A story that waits for a person.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Need {
    pub(crate) story: String,
    pub(crate) title: String,
    pub(crate) why: String,
    pub(crate) keeps_waiting: String,
    pub(crate) attempts: Vec<Tried>,
    pub(crate) commands: Vec<String>,
}

/// A failed attempt.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Tried {
    pub(crate) id: String,
    pub(crate) worker: Option<String>,
    pub(crate) outcome: String,
    pub(crate) why: String,
    pub(crate) failing: String,
    pub(crate) files: String,
    pub(crate) cost: String,
    pub(crate) at: String,
    pub(crate) diff: String,
}

/// A story that landed.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Done {
    pub(crate) story: String,
    pub(crate) title: String,
    pub(crate) commit: String,
    pub(crate) stat: String,
    pub(crate) tests: String,
    pub(crate) checks: String,
    pub(crate) proof: String,
    pub(crate) review: String,
    pub(crate) attempts: usize,
    pub(crate) worker: Option<String>,
    pub(crate) agent: String,
    pub(crate) time: String,
    pub(crate) cost: String,
    /// The agent's own words.
    pub(crate) claim: String,
}

/// What a story cost.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Cost {
    pub(crate) story: String,
    pub(crate) all: String,
    pub(crate) failed: String,
}

/// What the stop hook did in one session.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct StopRow {
    pub(crate) session: String,
    pub(crate) held: String,
    pub(crate) followed: String,
    pub(crate) let_go: String,
}

/// What a report is made of.
struct Sources<'a> {
    history: &'a RunHistory,
    run: &'a Run,
    price: Option<f64>,
    git: &'a Git,
}

impl RunHistory {
    /// The report on a run.
    pub fn report(&self, run: &Run, situation: &Situation, git: &Git) -> Result<Report, GitError> {
        let sources = Sources { history: self, run, price: price(&self.runs), git };
        let (needs, cost) = (self.needs(Some(run), situation), self.cost(run));
        let done = sources.done(situation)?;
        let failed = CostSum::of(run.attempts.iter().filter(|one| one.is_failed()), sources.price);
        let rest = run.reason.as_deref().and_then(|reason| reason.split_once('\n'));
        Ok(Report {
            verdict: sources.verdict(&needs),
            run: run.name.clone(),
            plan: line(run.plan.strip_prefix(&format!("{}/", self.root)).unwrap_or(&run.plan)),
            when: sources.when(),
            ended: run.ending(situation.is_running),
            needs: sources.needs(&needs.stories)?,
            also_needed: needs.others,
            trouble: rest.map_or_else(String::new, |(_, rest)| block(rest)),
            open: sources.open(),
            twice: self.to_review(run),
            time_line: time_line::of(run, |key| self.name(run, key)),
            costs: sources.costs(),
            total: format!("{cost}, {} tokens", thousands(cost.tokens)),
            failed_cost: failed.to_string(),
            forecast: sources.forecast(&cost),
            stops: run.stops.iter().map(stop_row).filter(|row| !row.held.is_empty()).collect(),
            proposals: proposals::of(run),
            undo: sources.undo(situation),
            done,
        })
    }
}

impl Sources<'_> {
    fn name(&self, attempt: &Attempt) -> String {
        line(&self.history.name(self.run, &attempt.key))
    }

    fn verdict(&self, needs: &Needs) -> String {
        let mut parts = vec![format!("{} done", counted(self.run.done(), "story", "stories"))];
        let numbers = [
            (self.run.unchecked().len(), "of them unchecked"),
            (needs.stories.len(), "blocked"),
            (self.history.counts().open, "still open"),
        ];
        let numbers = numbers.iter().filter(|(count, _)| *count > 0);
        parts.extend(numbers.map(|(count, what)| format!("{count} {what}")));
        parts.push(needs.in_words());
        parts.join(", ")
    }

    fn when(&self) -> String {
        let Run { started_at, ended_at, sandbox, .. } = self.run;
        let sandbox = sandbox.iter().map(|words| format!(", sandbox {words}")).collect::<String>();
        let took = epoch(ended_at).zip(epoch(started_at)).map(|(end, start)| end - start);
        let (from, to) = (local_time(started_at), local_time(ended_at));
        format!("{from} to {to} ({}){sandbox}", time(took.unwrap_or(0.0)))
    }

    fn needs(&self, stories: &[BlockedStory]) -> Result<Vec<Need>, GitError> {
        let (mut found, mut diffs) = (Vec::new(), 0);
        for story in stories {
            let mut attempts = Vec::new();
            for saved in &story.attempts {
                attempts.push(self.tried(saved, diffs < MOST_DIFFS)?);
                diffs += 1;
            }
            let looks = attempts.last().map(|last| {
                ["attempts", "attempts take"].map(|look| format!("ralph-loop {look} {}", last.id))
            });
            let retry = format!("{} --hint \"…\"", story.retry());
            found.push(Need {
                story: line(&story.name),
                title: line(&story.title),
                why: line(&story.why),
                keeps_waiting: line(&story.waits.join(", ")),
                commands: looks.into_iter().flatten().chain([line(&retry)]).collect(),
                attempts,
            });
        }
        Ok(found)
    }

    fn tried(&self, saved: &SavedAttempt, has_diff: bool) -> Result<Tried, GitError> {
        let is_this = |one: &&Attempt| saved.is_at(&one.key) && one.number == saved.number;
        let files = saved.changes(self.git, &["diff", "--name-only", "-z"])?;
        let files = String::from_utf8_lossy(&files).trim_end_matches('\0').replace('\0', ", ");
        let mut diff = Vec::new();
        if has_diff {
            diff = saved.changes(self.git, &["diff", "--no-ext-diff", "--no-color"])?;
            diff.truncate(LONGEST_DIFF);
        }
        Ok(Tried {
            id: line(&saved.id),
            worker: self.run.attempts.iter().rfind(is_this).and_then(|one| one.worker.clone()),
            outcome: saved.outcome.clone().unwrap_or_default(),
            why: line(&saved.why),
            failing: block(&saved.details),
            files: line(&files),
            cost: money(saved.cost_usd),
            at: saved.at.clone(),
            diff: block(&String::from_utf8_lossy(&diff)),
        })
    }

    fn done(&self, situation: &Situation) -> Result<Vec<Done>, GitError> {
        let run = self.run;
        let commits: Vec<&str> =
            run.attempts.iter().filter_map(|attempt| attempt.commit.as_deref()).collect();
        let commits = landed(self.git, &commits, &situation.own_files)?;
        let mut before = tests_passed(&run.baseline);
        let mut found = Vec::new();
        for attempt in run.landed() {
            let commit = attempt.commit.as_deref().unwrap_or_default();
            let landed = commits.get(commit).cloned().unwrap_or_default();
            let all: Vec<&Attempt> =
                run.attempts.iter().filter(|one| one.key == attempt.key).collect();
            let cost = CostSum::of(all.iter().copied(), self.price);
            let after = tests_passed(&attempt.checks);
            let tests = match (before, after) {
                (Some(before), Some(after)) => format!("{before} → {after}"),
                (None, Some(after)) => after.to_string(),
                _ => String::new(),
            };
            before = after.or(before);
            let title = if attempt.title.is_empty() { &landed.subject } else { &attempt.title };
            found.push(Done {
                story: self.name(attempt),
                title: line(title),
                commit: commit.chars().take(8).collect(),
                tests,
                checks: landed.trailer("Ralph-Checks:"),
                proof: landed.trailer("Ralph-Proof:"),
                review: landed.trailer("Ralph-Review:"),
                attempts: all.len(),
                worker: attempt.worker.clone(),
                agent: landed.trailer("Ralph-Agent:"),
                time: time(cost.seconds),
                cost: cost.to_string(),
                claim: landed.claim(),
                stat: landed.stat,
            });
        }
        Ok(found)
    }

    /// The open stories, with what the newest attempt at each came to.
    fn open(&self) -> Vec<String> {
        let history = self.history;
        let open = history.stories.iter().filter(|story| story.state == State::Open);
        let one = |story: &crate::history::Story| {
            let mut tried = history.saved.iter().filter(|saved| saved.is_at(&story.key));
            let tried =
                tried.find(|saved| saved.is_failed()).map(|SavedAttempt { id, why, .. }| {
                    format!(" (tried: {why}; `ralph-loop attempts {id}`)")
                });
            let name = history.name(self.run, &story.key);
            line(&format!("{name} {}{}", story.title, tried.unwrap_or_default()))
        };
        open.map(one).collect()
    }

    /// What each story cost, in the order in which they were begun.
    fn costs(&self) -> Vec<Cost> {
        let mut seen = BTreeSet::new();
        let keys = self.run.attempts.iter().map(|attempt| &attempt.key);
        let keys = keys.filter(|key| !key.story.is_empty() && seen.insert(*key));
        let one = |key: &StoryKey| {
            let all = || self.run.attempts.iter().filter(move |attempt| attempt.key == *key);
            let failed = all().filter(|attempt| attempt.is_failed());
            Cost {
                story: line(&self.history.name(self.run, key)),
                all: CostSum::of(all(), self.price).to_string(),
                failed: CostSum::of(failed, self.price).to_string(),
            }
        };
        keys.map(one).collect()
    }

    fn forecast(&self, cost: &CostSum) -> Vec<String> {
        let Some(expected) = &self.run.forecast else { return Vec::new() };
        let expected_time = expected.seconds.map_or_else(|| "unknown".to_owned(), time);
        vec![
            format!("stories: {} expected, {} done", expected.stories, self.run.done()),
            format!("agent time: {expected_time} expected, {} taken", time(cost.seconds)),
            format!("cost: {} expected, {cost} spent", money(expected.cost_usd)),
        ]
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

fn stop_row(stops: &Stops) -> StopRow {
    let held = stops.gates.iter().map(|(gate, counts)| format!("{gate} {}×", counts.held));
    let followed = stops.gates.iter().map(|(gate, counts)| {
        let parts =
            [(counts.met, "met"), (counts.held_again, "held again"), (counts.given_up, "given up")];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{what} {count}×")).collect();
        format!("{gate}: {}", parts.join(", "))
    });
    let let_go = match &*stops.note {
        "" => stops.let_go.clone(),
        // The loop's own words begin with it.
        note if note.starts_with(&stops.let_go) => note.to_owned(),
        note => format!("{}: {note}", stops.let_go),
    };
    StopRow {
        followed: line(&followed.collect::<Vec<_>>().join("; ")),
        session: line(&stops.session).chars().take(8).collect(),
        held: line(&held.collect::<Vec<_>>().join(", ")),
        let_go: line(&let_go),
    }
}
