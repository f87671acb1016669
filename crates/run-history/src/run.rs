//! One run, advanced by the events of the journal.

use std::collections::{BTreeMap, BTreeSet};

use ralph_base::state::{Event, Record, Scale, StoryKey};

use crate::forecast::Forecast;
use crate::stops::Stops;
use crate::words::{counted, line};

/// The loop's name as a source in the journal, to which hooks write as well.
pub const LOOP: &str = "ralph-loop";

/// The name of the pseudo-run for sessions that no run started.
pub(crate) const SESSIONS: &str = "sessions";

/// How many different notes of a run are kept; each has a count.
const MOST_NOTES: usize = 1_000;

/// A run. A run that was killed and its continuation are one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// Its name; the newest one, if it was resumed.
    pub name: String,
    /// The file of its first plan, and that plan's name.
    pub plan: String,
    pub(crate) plan_name: String,
    pub(crate) is_planning: bool,
    /// The branch on which its work lands.
    pub(crate) branch: String,
    /// Whether its stories become pull requests of their own, on branches of their own.
    pub(crate) is_for_requests: bool,
    /// A description of its sandbox; `None` for runs of older versions.
    pub sandbox: Option<String>,
    /// Iterations begun, as the loop counts them: a repeated one that was interrupted counts once.
    pub iterations: u64,
    pub(crate) started_at: String,
    /// The time of its last event.
    pub(crate) ended_at: String,
    /// How it ended; `None` if it is running or was killed.
    pub finish: Option<String>,
    /// Details about its end.
    pub reason: Option<String>,
    /// The pull requests of the run, or of a story: the address, and why one needs a person.
    pub(crate) requests: BTreeMap<Option<StoryKey>, (Option<String>, Option<String>)>,
    pub(crate) forecast: Option<Forecast>,
    pub(crate) attempts: Vec<Attempt>,
    /// The checks before the first story.
    pub baseline: Vec<Check>,
    pub(crate) waits: Vec<Wait>,
    /// Why each story was set aside.
    pub(crate) set_aside: BTreeMap<StoryKey, String>,
    pub(crate) notes: Vec<Note>,
    pub(crate) stops: Vec<Stops>,
}

/// One attempt at a story.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attempt {
    pub(crate) key: StoryKey,
    pub(crate) title: String,
    /// Its number, as in the name of its ref.
    pub(crate) number: u64,
    /// The name of its log.
    pub log: String,
    /// The worker that made it, if there are several.
    pub(crate) worker: Option<String>,
    pub(crate) began_at: String,
    pub(crate) ended_at: String,
    /// `success`, `failed`, …; empty while it is running.
    pub(crate) outcome: String,
    /// Why it did not land.
    pub(crate) why: Option<String>,
    pub(crate) duration_s: f64,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
    /// The commit on the target, and its time.
    pub(crate) commit: Option<String>,
    pub(crate) landed_at: String,
    pub(crate) checks: Vec<Check>,
    /// What is known about its work, if it landed and the journal says so.
    pub(crate) scale: Option<Scale>,
}

impl Attempt {
    /// Returns how it ended, in one line.
    pub fn in_words(&self) -> String {
        let (id, why) = (format!("{}/{}", self.key.story, self.number), self.why.as_ref());
        match (&self.commit, why.unwrap_or(&self.outcome).as_str()) {
            (Some(commit), _) => format!("{id} landed as {commit:.8}"),
            (None, "") => format!("{id} is under way"),
            (None, "success") => format!("{id} passed its checks and did not land"),
            (None, why) => line(&format!("{id} did not land: {why}")),
        }
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.outcome != "success" && !self.outcome.is_empty()
    }
}

/// Whether an id means this attempt: `US-001`, `US-001/2`, or the same with the plan in front.
pub(crate) fn is_called(StoryKey { plan, story }: &StoryKey, number: u64, id: &str) -> bool {
    let names = [
        story.clone(),
        format!("{plan}/{story}"),
        format!("{story}/{number}"),
        format!("{plan}/{story}/{number}"),
    ];
    names.iter().any(|name| name.eq_ignore_ascii_case(id))
}

/// The latest result of a check.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Check {
    /// Its command.
    pub check: String,
    /// `passed`, or how else it ended.
    pub(crate) ended: String,
    /// Tests that passed, if its runner counts them.
    pub(crate) passed: Option<u64>,
    /// How long it took.
    pub seconds: f64,
}

/// Returns how many tests passed in these checks; `None` if no runner counted them.
pub(crate) fn tests_passed(checks: &[Check]) -> Option<u64> {
    checks.iter().filter_map(|check| check.passed).reduce(|sum, more| sum + more)
}

/// A wait for the agent's service.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Wait {
    pub(crate) ended_at: String,
    pub(crate) seconds: f64,
    pub(crate) why: String,
}

/// Something that is worth a second look, and how often it occurred.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Note {
    pub(crate) kind: NoteKind,
    /// The rule; empty if it is about none.
    pub(crate) rule: String,
    pub(crate) what: String,
    pub(crate) key: StoryKey,
    pub(crate) count: u64,
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NoteKind {
    /// A remark about work that landed.
    Remark,
    /// Another process changed plan or settings.
    Change,
    /// A hook rolled back inside a session.
    Rollback,
    Refusal,
    HookError,
}

/// Records a check; only its latest result counts.
fn checked(checks: &mut Vec<Check>, record: &Record) {
    if let Event::Checked { check, ended, passed, seconds, .. } = &record.event {
        let (check, ended) = (check.clone(), ended.clone());
        checks.retain(|earlier| earlier.check != check);
        checks.push(Check { check, ended, passed: *passed, seconds: *seconds });
    }
}

impl Run {
    /// Advances the run by one event.
    pub(crate) fn take(&mut self, record: &Record) {
        self.ended_at.clone_from(&record.at);
        let key = self.key_of(record);
        match &record.event {
            Event::Forecast { stories, based_on, seconds, cost_usd } => {
                let (stories, based_on) = (*stories, *based_on);
                let (seconds, cost_usd) = (*seconds, *cost_usd);
                self.forecast = Some(Forecast { stories, based_on, seconds, cost_usd });
            }
            Event::PullRequest { address, why } => {
                let key = record.story.as_ref().map(|_| key);
                self.requests.insert(key, (address.clone(), why.clone()));
            }
            Event::LoopFinished { finish_type, reason } => {
                (self.finish, self.reason) = (Some(finish_type.clone()), reason.clone());
                // Waiting work that was checked again is not an attempt of this run.
                self.attempts.retain(|one| !one.log.is_empty() || !one.outcome.is_empty());
                self.iterations = if self.attempts.is_empty() { 0 } else { self.iterations };
            }
            Event::IterationStarted { iteration, title, attempt } => {
                self.iterations = self.iterations.max(u64::from(*iteration));
                let (title, number, began_at) = (title.clone(), *attempt, record.at.clone());
                let worker = record.worker.clone();
                let run = record.run.iter().chain(&worker).cloned().collect::<Vec<_>>().join(".");
                let log = format!("{run}-{iteration:03}-{}.log", key.story);
                let new =
                    Attempt { key, title, number, log, worker, began_at, ..Attempt::default() };
                self.attempts.push(new);
            }
            Event::Waited { why, seconds } => {
                let (why, ended_at) = (why.clone(), record.at.clone());
                self.waits.push(Wait { ended_at, seconds: *seconds, why });
            }
            Event::StorySetAside { why } => drop(self.set_aside.insert(key, why.clone())),
            Event::Denied { rule, target, .. } => self.note(NoteKind::Refusal, rule, target, key),
            Event::Remarked { about, what } => self.note(NoteKind::Remark, about, what, key),
            Event::ChangedMeanwhile { what } => self.note(NoteKind::Change, "", what, key),
            // Rollbacks by the loop itself are attempts.
            Event::RolledBack { why, .. } if record.source != LOOP => {
                self.note(NoteKind::Rollback, "", why, key);
            }
            Event::HookError { failure } => self.note(NoteKind::HookError, "", &failure.error, key),
            Event::StopBlocked { stop, .. } => self.stops_of(record, |s| s.held(&stop.gates)),
            Event::StopAllowed { status, note, stop } => {
                self.stops_of(record, |s| s.allowed(&stop.gates, status, note.as_deref()));
            }
            Event::Checked { .. } if key.story.is_empty() => checked(&mut self.baseline, record),
            Event::Checked { .. }
            | Event::Committed { .. }
            | Event::CostReported { .. }
            | Event::StoryDone { .. }
            | Event::IterationFinished { .. } => self.advance_attempt(key, record),
            _ => {}
        }
    }

    /// Returns the story of an event; without a plan name, the run's first plan counts.
    pub(crate) fn key_of(&self, record: &Record) -> StoryKey {
        let plan = record.plan_name.as_deref().unwrap_or(&self.plan_name);
        StoryKey::new(plan, record.story.as_deref().unwrap_or_default())
    }

    /// Advances the newest attempt at a story. If an earlier run began it and left it to be landed,
    /// it counts as an iteration of this run.
    fn advance_attempt(&mut self, key: StoryKey, record: &Record) {
        let found = self.attempts.iter().rposition(|attempt| attempt.key == key);
        let at = found.unwrap_or_else(|| {
            self.iterations = self.iterations.max(1);
            let (key, worker, began_at) = (key.clone(), record.worker.clone(), record.at.clone());
            self.attempts.push(Attempt { key, worker, began_at, ..Attempt::default() });
            self.attempts.len() - 1
        });
        if let Event::IterationFinished { includes_earlier: true, .. } = &record.event {
            let earlier = self.attempts.iter_mut().take(at).filter(|attempt| attempt.key == key);
            earlier.for_each(|attempt| attempt.cost_usd = attempt.cost_usd.or(Some(0.0)));
        }
        let Some(attempt) = self.attempts.get_mut(at) else { return };
        match &record.event {
            Event::Checked { .. } => checked(&mut attempt.checks, record),
            Event::Committed { commit } => {
                (attempt.commit, attempt.landed_at) = (Some(commit.clone()), record.at.clone());
            }
            Event::CostReported { cost_usd } => {
                *attempt.cost_usd.get_or_insert_default() += cost_usd;
            }
            Event::StoryDone { scale } => {
                self.set_aside.remove(&key);
                attempt.scale = *scale;
                attempt.outcome = "success".to_owned();
            }
            Event::IterationFinished { outcome, duration_s, tokens, cost_usd, why, .. } => {
                (attempt.ended_at, attempt.outcome) = (record.at.clone(), outcome.clone());
                (attempt.duration_s, attempt.why) = (*duration_s, why.clone());
                (attempt.tokens, attempt.cost_usd) = (*tokens, *cost_usd);
            }
            _ => {}
        }
    }

    pub(crate) fn note(&mut self, kind: NoteKind, rule: &str, what: &str, key: StoryKey) {
        self.add(Note { kind, rule: rule.to_owned(), what: what.to_owned(), key, count: 1 });
    }

    fn add(&mut self, note: Note) {
        let has_room = self.notes.len() < MOST_NOTES;
        let is_same = |one: &&mut Note| {
            (one.kind, &one.rule, &one.what, &one.key)
                == (note.kind, &note.rule, &note.what, &note.key)
        };
        match self.notes.iter_mut().find(is_same) {
            Some(one) => one.count += note.count,
            None if has_room => self.notes.push(note),
            None => {}
        }
    }

    /// Describes the refused calls of a story as the end of a sentence; empty if there were none.
    pub fn refusals(&self, key: &StoryKey) -> String {
        let notes = self.notes.iter().filter(|note| note.kind == NoteKind::Refusal);
        let of_story: Vec<&Note> = notes.filter(|note| note.key == *key).collect();
        let Some(first) = of_story.first() else { return String::new() };
        let count = of_story.iter().map(|note| note.count).sum::<u64>() as usize;
        let Note { rule, what, .. } = first;
        let (calls, others) =
            (counted(count, "call was", "calls were"), if count > 1 { ", first" } else { ":" });
        line(&format!("; {calls} refused so far{others} `{what}` (rule {rule})"))
    }

    fn stops_of(&mut self, record: &Record, change: impl FnOnce(&mut Stops)) {
        let session = record.session.clone().unwrap_or_default();
        match self.stops.iter_mut().find(|stops| stops.session == session) {
            Some(stops) => change(stops),
            None => {
                let mut stops = Stops { session, ..Stops::default() };
                change(&mut stops);
                self.stops.push(stops);
            }
        }
    }

    /// Returns the attempts that landed, in landing order.
    pub(crate) fn landed(&self) -> Vec<&Attempt> {
        let landed = self.attempts.iter().filter(|attempt| attempt.commit.is_some());
        let mut landed: Vec<&Attempt> = landed.collect();
        landed.sort_by(|one, other| one.landed_at.cmp(&other.landed_at));
        landed
    }

    /// Returns whether this run opened or updated a pull request of a story.
    pub fn asked_for(&self, story: &StoryKey) -> bool {
        self.requests.contains_key(&Some(story.clone()))
    }

    /// Returns how many stories landed.
    pub fn done(&self) -> usize {
        let landed = self.attempts.iter().filter(|attempt| attempt.commit.is_some());
        landed.map(|attempt| &attempt.key).collect::<BTreeSet<_>>().len()
    }

    /// Returns the landed attempts that were not checked.
    pub fn unchecked(&self) -> Vec<&Attempt> {
        let mut landed = self.landed();
        landed.retain(|attempt| attempt.checks.is_empty());
        landed
    }

    /// Returns the plans of its stories.
    pub(crate) fn plans(&self) -> BTreeSet<&str> {
        self.attempts.iter().map(|attempt| attempt.key.plan.as_str()).collect()
    }

    /// Whether it is running or was killed.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.finish.is_none() && !self.is_planning
    }

    /// Merges two runs into one.
    pub(crate) fn and(mut self, next: &Self) -> Self {
        let next = next.clone();
        // Attempts of a killed run are not under way any more.
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.outcome.is_empty()) {
            attempt.ended_at.clone_from(&self.ended_at);
            attempt.outcome = "interrupted".to_owned();
        }
        self.iterations += next.iterations;
        self.attempts.extend(next.attempts);
        self.waits.extend(next.waits);
        self.set_aside.extend(next.set_aside);
        next.notes.into_iter().for_each(|note| self.add(note));
        self.stops.extend(next.stops);
        (self.name, self.ended_at) = ("all".to_owned(), next.ended_at);
        self.requests.extend(next.requests);
        (self.finish, self.reason, self.forecast) = (next.finish, next.reason, None);
        self
    }
}
