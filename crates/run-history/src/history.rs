//! All runs of a project, the stories of its plans, and the saved attempts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{self, Event, Record, StateDir, StoryKey, plan_name};
use ralph_core::git::{Git, GitError};
use ralph_core::plan::{Plan, State, StoryCounts};

use crate::forecast::{CostSum, Forecast, price};
use crate::run::{Attempt, LOOP, NoteKind, Run, SESSIONS, is_called};
use crate::saved::{SavedAttempt, all};
use crate::{Needs, Review};

/// The prefix of the branches on which stories land before they become pull requests.
pub const REQUESTS: &str = "ralph-pr/";

/// The runs of a project, and the current state of its stories.
#[derive(Debug, Clone, Default)]
pub struct RunHistory {
    pub(crate) root: Utf8PathBuf,
    journal: Utf8PathBuf,
    /// How many bytes of the journal were read.
    read: u64,
    /// The run whose events are taken as they happen, and not again from the journal.
    own: Option<String>,
    /// Oldest first.
    pub(crate) runs: Vec<Run>,
    /// The events of sessions that no run started, as a run.
    sessions: Run,
    /// The index of each run by name; a resumed run has several names.
    names: BTreeMap<String, usize>,
    pub(crate) stories: Vec<Story>,
    pub(crate) saved: Vec<SavedAttempt>,
}

/// A story of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Story {
    pub(crate) key: StoryKey,
    pub(crate) title: String,
    pub(crate) state: State,
    pub(crate) is_optional: bool,
    pub(crate) is_held: bool,
    pub(crate) depends: Vec<String>,
}

impl RunHistory {
    /// Reads the journal of the project at `root`; without a journal, the history is empty.
    pub fn open(root: &Utf8Path, state: &StateDir) -> io::Result<Self> {
        let (root, journal) = (root.to_owned(), state.of_all().journal());
        let sessions = Run {
            name: SESSIONS.to_owned(),
            finish: Some("these are sessions that no run started".to_owned()),
            ..Run::default()
        };
        let mut history = Self { root, journal, sessions, ..Self::default() };
        history.read_on()?;
        Ok(history)
    }

    /// Takes the events that were appended since the last call. Torn and unreadable lines are
    /// skipped.
    pub fn read_on(&mut self) -> io::Result<()> {
        let mut file = match state::open_regular(&self.journal) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() < self.read {
            // An agent that works in place may have deleted it.
            self.read = 0;
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut lines = BufReader::with_capacity(1 << 16, file);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            self.read += line.len() as u64;
            match serde_json::from_slice(&line) {
                Ok(record) if !self.is_own(&record) => self.take(&record),
                _ => {}
            }
            line.clear();
        }
        Ok(())
    }

    /// Makes this the history of a running loop, which takes its own events as they happen.
    pub fn follow(&mut self, run: &str) {
        self.own = Some(run.to_owned());
    }

    fn is_own(&self, record: &Record) -> bool {
        record.source == LOOP && self.own.is_some() && record.run == self.own
    }

    /// Advances the history by one event.
    pub fn take(&mut self, record: &Record) {
        if record.run.is_none() && record.source != LOOP {
            if self.sessions.started_at.is_empty() {
                self.sessions.started_at.clone_from(&record.at);
            }
            return self.sessions.take(record);
        }
        let Some(run) = self.run_of(record).and_then(|at| self.runs.get_mut(at)) else { return };
        if let Event::LoopStarted { mode, plan, branch, unguarded, sandbox, probed } = &record.event
        {
            run.finish = None;
            let name = || plan_name(&self.root, Utf8Path::new(plan));
            run.plan_name = record.plan_name.clone().unwrap_or_else(name);
            (run.plan, run.branch) = (plan.clone(), branch.clone());
            run.is_for_requests |= branch.starts_with(REQUESTS);
            run.is_planning = mode == "planning" && run.attempts.is_empty();
            run.sandbox.clone_from(sandbox);
            if let Some(why) = unguarded {
                run.note(NoteKind::Change, "", &format!("unguarded: {why}"), StoryKey::default());
            }
            if let Some(what) = probed {
                run.note(NoteKind::Change, "", what, StoryKey::default());
            }
            if let Some(why) = sandbox.as_ref().filter(|sandbox| !sandbox.starts_with("on")) {
                let text = format!("sandbox {why}");
                run.note(NoteKind::Change, "", &text, StoryKey::default());
            }
        }
        run.take(record);
        let (key, state) = match &record.event {
            Event::StoryDone { .. } => (run.key_of(record), State::Done),
            Event::StorySetAside { .. } => (run.key_of(record), State::Blocked),
            _ => return,
        };
        if let Some(story) = self.stories.iter_mut().find(|story| story.key == key) {
            story.state = state;
        }
    }

    /// Returns the index of an event's run. The loop that resumes a killed run has a new name;
    /// hooks may name the run of another project.
    fn run_of(&mut self, record: &Record) -> Option<usize> {
        let name = record.run.as_ref()?;
        if let Some(at) = self.names.get(name) {
            return Some(*at);
        }
        if record.source != LOOP {
            return None;
        }
        let is_planning =
            matches!(&record.event, Event::LoopStarted { mode, .. } if mode == "planning");
        match self.runs.last_mut() {
            Some(last) if last.is_unfinished() && !is_planning => last.name.clone_from(name),
            _ => {
                let (name, started_at) = (name.clone(), record.at.clone());
                self.runs.push(Run { name, started_at, ..Run::default() });
            }
        }
        self.names.insert(name.clone(), self.runs.len() - 1);
        Some(self.runs.len() - 1)
    }

    /// Reads the state of the stories in plans, which events then advance. Stories that an
    /// unfinished run has set aside may not be marked in the plans yet.
    pub fn add_plans<'a>(&mut self, plans: impl IntoIterator<Item = &'a Plan>) {
        self.stories.clear();
        for plan in plans {
            let name = plan_name(&self.root, plan.path());
            self.stories.extend(plan.stories().iter().map(|story| Story {
                key: StoryKey::new(&name, &story.id),
                title: story.title.clone(),
                state: story.state,
                is_optional: story.optional,
                is_held: story.held,
                depends: story.depends.clone(),
            }));
        }
        let Some(run) = self.runs.last().filter(|run| run.finish.is_none()) else { return };
        let open = self.stories.iter_mut().filter(|story| story.state == State::Open);
        let given_up = open.filter(|story| run.set_aside.contains_key(&story.key));
        given_up.for_each(|story| story.state = State::Blocked);
    }

    /// Returns whether a run for pull requests gave up a story, which plans do not record. The user
    /// may have requested another attempt since.
    pub fn gave_up(&self, key: &StoryKey) -> bool {
        let landed =
            |run: &Run| run.attempts.iter().any(|it| it.key == *key && it.commit.is_some());
        let newest = self.runs.iter().rfind(|run| run.set_aside.contains_key(key) || landed(run));
        let is_retried =
            || self.saved.iter().find(|it| it.is_at(key)).is_some_and(SavedAttempt::is_retry);
        newest.is_some_and(|run| run.is_for_requests && run.set_aside.contains_key(key))
            && !is_retried()
    }

    /// Returns whether any stories of plans are known.
    pub fn has_plans(&self) -> bool {
        !self.stories.is_empty()
    }

    /// Reads the saved attempts.
    pub fn add_attempts(&mut self, git: &Git) -> Result<(), GitError> {
        self.saved = all(git)?;
        Ok(())
    }

    /// Returns the last run that did something, or else the last run.
    pub fn last(&self) -> Option<&Run> {
        let is_idle =
            |run: &Run| matches!(run.finish.as_deref(), Some("complete" | "blocked" | "waiting"));
        let did = |run: &&Run| !run.attempts.is_empty() || !is_idle(run);
        self.runs.iter().rfind(did).or(self.runs.last())
    }

    /// Returns the run with a number or a name, or the `last` one; `all` merges all runs, `on
    /// BRANCH` those that landed there, and `sessions` returns the sessions that no run started.
    pub fn find(&self, which: &str) -> Option<Run> {
        let branch = which.strip_prefix("on ");
        if which == "all" || branch.is_some() {
            let mut runs =
                self.runs.iter().filter(|run| branch.is_none_or(|branch| run.branch == branch));
            let first = runs.next()?.clone();
            return Some(runs.fold(first, Run::and));
        }
        let number = || which.parse::<usize>().ok()?.checked_sub(1);
        let sessions = Some(&self.sessions).filter(|sessions| !sessions.started_at.is_empty());
        let found = match self.names.get(which).copied().or_else(number) {
            _ if which == "last" => self.last().or(sessions),
            _ if which == SESSIONS => sessions,
            at => at.and_then(|at| self.runs.get(at)),
        };
        found.cloned()
    }

    /// Returns all runs, oldest first.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns all attempts, or those with this id of a story or attempt, with or without the plan;
    /// newest first.
    pub fn attempts<'a>(&'a self, id: Option<&'a str>) -> impl Iterator<Item = &'a Attempt> {
        let attempts = self.runs.iter().flat_map(|run| &run.attempts).rev();
        attempts.filter(move |one| id.is_none_or(|id| is_called(&one.key, one.number, id)))
    }

    /// Returns the number after a story's last attempt that left nothing to save.
    pub fn number_after(&self, key: &StoryKey) -> u64 {
        let attempts = self.runs.iter().flat_map(|run| &run.attempts);
        let empty = attempts.filter(|one| {
            one.key == *key && ["no_changes", "blocked"].contains(&one.outcome.as_str())
        });
        empty.map(|attempt| attempt.number).max().unwrap_or(0) + 1
    }

    /// Returns the estimate for one story.
    pub fn forecast(&self) -> Forecast {
        Forecast::from_runs(&self.runs)
    }

    /// Returns the cost of a run.
    pub fn cost(&self, run: &Run) -> CostSum {
        CostSum::of(&run.attempts, price(&self.runs))
    }

    /// Returns what tokens cost, going by the sessions that reported their cost.
    pub fn cost_of_tokens(&self, tokens: u64) -> Option<f64> {
        price(&self.runs).map(|price| price * tokens as f64)
    }

    /// Returns the time, tokens and cost of each story of a plan in a run.
    pub fn receipts(&self, run: &str, plan: &str) -> Vec<String> {
        let run = self.find(run).unwrap_or_default();
        let mut stories: BTreeMap<&str, Vec<&Attempt>> = BTreeMap::new();
        for attempt in run.attempts.iter().filter(|attempt| attempt.key.plan == plan) {
            stories.entry(&attempt.key.story).or_default().push(attempt);
        }
        let price = price(&self.runs);
        let receipt = |(story, attempts): (&str, Vec<&Attempt>)| {
            format!("{story}: {}", CostSum::of(attempts, price).receipt())
        };
        stories.into_iter().map(receipt).collect()
    }

    /// Returns how many stories of the plans are in which state.
    pub fn counts(&self) -> StoryCounts {
        let mut counts = StoryCounts::default();
        for story in &self.stories {
            *match story.state {
                _ if story.is_optional => &mut counts.optional,
                State::Open => &mut counts.open,
                State::Done => &mut counts.done,
                State::Blocked => &mut counts.blocked,
            } += 1;
        }
        counts
    }

    /// Returns the states of the stories that a run landed, by name, as its report has them.
    pub fn landed_states(
        &self,
        run: &Run,
        needs: &Needs,
        review: &Review,
    ) -> BTreeMap<String, &'static str> {
        let is_blocked = |key: &StoryKey| needs.stories.iter().any(|story| story.key == *key);
        let state = |key| if is_blocked(key) { "blocked" } else { review.state_of(key) };
        let landed = run.landed().into_iter();
        landed.map(|one| (self.name(run, &one.key), state(&one.key))).collect()
    }

    /// Returns the display name of a story: its id, with the plan if there are several.
    pub(crate) fn name(&self, run: &Run, key: &StoryKey) -> String {
        let mut plans: BTreeSet<&str> = run.plans();
        plans.extend(self.stories.iter().map(|story| story.key.plan.as_str()));
        if plans.len() > 1 { key.to_string() } else { key.story.clone() }
    }
}
