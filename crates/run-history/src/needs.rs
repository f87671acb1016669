//! Lists what needs a person, and what is worth a second look.

use std::collections::BTreeMap;

use ralph_base::state::{Scale, StoryKey};
use ralph_core::plan::State;

use crate::history::{RunHistory, Story};
use crate::run::{Note, NoteKind, Run};
use crate::saved::{SavedAttempt, retry_command};
use crate::words::{line, needed, printable};

/// Facts that only the loop's own files and the repository contain.
#[derive(Debug, Clone, Default)]
pub struct Situation {
    /// Whether a loop runs.
    pub is_running: bool,
    /// A message about landed work that is not in the user's files, and its branch.
    pub waiting: Option<(String, String)>,
    /// How many stories landed there, and not where they were to land.
    pub waiting_stories: usize,
    /// Other tasks for a person: merge requests, what a killed run left behind.
    pub notes: Vec<String>,
    /// Files that only the loop writes, relative to the top of the repository.
    pub own_files: Vec<camino::Utf8PathBuf>,
}

/// Everything that needs a person.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    /// Blocked stories.
    pub stories: Vec<BlockedStory>,
    /// Everything else, one line each.
    pub others: Vec<String>,
}

/// A blocked story.
#[derive(Debug, Clone, Default)]
pub struct BlockedStory {
    /// The story.
    pub key: StoryKey,
    /// Its id, with the plan if there are several.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Why it was set aside.
    pub why: String,
    /// The stories that wait for it.
    pub waits: Vec<String>,
    /// The failed attempts, oldest first.
    pub attempts: Vec<SavedAttempt>,
}

/// What is worth a second look.
#[derive(Debug, Clone, Default)]
pub struct Review {
    /// Landed stories with their names and why each should be reviewed.
    pub stories: Vec<(StoryKey, String, String)>,
    /// What is known about each landed story.
    scales: BTreeMap<StoryKey, Scale>,
    /// Everything else, one line each.
    pub others: Vec<String>,
}

impl Review {
    /// Returns why a story should be reviewed; empty if there is no reason.
    pub(crate) fn of(&self, key: &StoryKey) -> &str {
        self.stories.iter().find(|(story, ..)| story == key).map_or("", |(.., why)| why)
    }

    /// Returns the state of a story that landed, by the name that it has everywhere.
    pub(crate) fn state_of(&self, key: &StoryKey) -> &'static str {
        self.scales.get(key).map_or("", |scale| scale.word())
    }

    /// Returns the names of the landed stories about which this is known.
    pub fn names(&self, scale: Scale) -> Vec<&str> {
        let stories = self.stories.iter().filter(|(key, ..)| self.scales.get(key) == Some(&scale));
        stories.map(|(_, name, _)| &**name).collect()
    }

    /// Returns a line for each reason, with its stories.
    pub fn story_lines(&self) -> Vec<String> {
        let mut by_why: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        self.stories.iter().for_each(|(_, name, why)| by_why.entry(why).or_default().push(name));
        by_why.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect()
    }

    /// Returns the lines for stories and for everything else.
    pub fn lines(&self) -> Vec<String> {
        self.story_lines().into_iter().chain(self.others.iter().cloned()).collect()
    }
}

impl Needs {
    /// Returns how many things need a person.
    pub fn count(&self) -> usize {
        self.stories.len() + self.others.len()
    }

    /// Returns in words how much a person has to do, with what is to review.
    pub fn in_words(&self, review: &Review) -> String {
        needed(self.count(), review.stories.len())
    }

    /// Returns one line for each of them.
    pub fn lines(&self) -> Vec<String> {
        let stories = self.stories.iter().map(BlockedStory::line);
        self.others.iter().cloned().chain(stories).collect()
    }
}

impl BlockedStory {
    /// Returns the question that its agent asked, if that is why it is blocked.
    pub fn question(&self) -> Option<&str> {
        self.why.strip_prefix(ASKS)
    }

    /// Returns the command that reopens the story.
    pub fn retry(&self) -> String {
        retry_command(&self.key, self.name != self.key.story)
    }

    fn line(&self) -> String {
        let Self { name, title, why, waits, .. } = self;
        let mut text = format!("{name} is blocked: {title}");
        if !why.is_empty() {
            text.push_str(&format!(" ({})", printable(why)));
        }
        if !waits.is_empty() {
            let verb = if waits.len() == 1 { "waits" } else { "wait" };
            text.push_str(&format!("; {} {verb} for it", waits.join(", ")));
        }
        if why.starts_with(ASKS) {
            return format!("{text}; answer it with `ralph-loop answer {name} \"…\"`");
        }
        // Attempts without changes are not saved.
        let look = if self.attempts.is_empty() { "logs" } else { "attempts" };
        if !why.is_empty() {
            text.push_str(&format!("; see what was tried with `ralph-loop {look} {name}`"));
        }
        let may_be_done = !why.is_empty() && may_be_done(self.attempts.is_empty(), why);
        let tick = if may_be_done { "tick it if it is done, or " } else { "" };
        format!("{text}; {tick}reopen it with `{}`", self.retry())
    }
}

/// How the reason of a story begins whose agent asked a question.
pub const ASKS: &str = "the agent asks: ";

/// Whether a blocked story may be done already: its attempts changed nothing, and nothing was refused.
pub(crate) fn may_be_done(changed_nothing: bool, why: &str) -> bool {
    changed_nothing && !why.contains(" refused ") && !why.starts_with(ASKS)
}

impl RunHistory {
    /// Returns what needs a person after or during a run.
    pub fn needs(&self, run: Option<&Run>, situation: &Situation) -> Needs {
        let waiting = situation.waiting.iter();
        let waiting = waiting.filter(|(_, branch)| self.request_of(branch).is_none());
        let mut others: Vec<String> = waiting.map(|(text, _)| line(text)).collect();
        let nothing = Run::default();
        if run.is_some_and(Run::is_unfinished) && !situation.is_running {
            others.push("the last run was killed; `ralph-loop` continues it".to_owned());
        }
        let is_trouble = |finish: &str| ["error", "hook_abort", "no_changes"].contains(&finish);
        if let Some(run) = run.filter(|run| run.finish.as_deref().is_some_and(is_trouble)) {
            others.push(format!("the run could not continue: {}", run.ending(false)));
        }
        others.extend(run.into_iter().flat_map(|run| self.requests(run)));
        others.extend(situation.notes.iter().map(|note| line(note)));
        others.extend(self.stories.iter().filter(|story| story.is_held).map(|story| {
            let retry = retry_command(&story.key, false);
            let title = line(&story.title);
            format!("{} waits to be accepted: {title}; `{retry}` has it worked on", story.key.story)
        }));
        Needs { stories: self.blocked(run.unwrap_or(&nothing)), others }
    }

    /// Returns how many stories wait on which branch, unless a pull request takes them on.
    pub fn waiting_stories<'a>(&self, situation: &'a Situation) -> Option<(usize, &'a str)> {
        let (_, branch) = situation.waiting.as_ref()?;
        let is_waiting = situation.waiting_stories > 0 && self.request_of(branch).is_none();
        is_waiting.then_some((situation.waiting_stories, branch))
    }

    /// Returns the address of the pull request of a run's branch, unless the last try failed.
    pub fn request_of(&self, branch: &str) -> Option<&str> {
        let mut runs = self.runs.iter().rev().filter(|run| run.branch == branch);
        let (address, why) = runs.find_map(|run| run.requests.get(&None))?;
        address.as_deref().filter(|_| why.is_none())
    }

    /// Returns the latest pull requests of open stories: address, and why one needs a person.
    fn of_stories(&self) -> impl Iterator<Item = (&StoryKey, &(Option<String>, Option<String>))> {
        let all = self.runs.iter().flat_map(|run| &run.requests);
        let newest: BTreeMap<_, _> =
            all.filter_map(|(key, it)| Some((key.as_ref()?, it))).collect();
        newest.into_iter().filter(|(key, _)| {
            self.stories.iter().any(|story| story.key == **key && story.state == State::Open)
        })
    }

    /// Returns the open stories with a pull request: its address, and why it needs a person.
    pub fn requests_of_stories(&self) -> Vec<(&StoryKey, &str, Option<&str>)> {
        self.of_stories()
            .filter_map(|(key, (address, why))| Some((key, address.as_deref()?, why.as_deref())))
            .collect()
    }

    /// Returns a line for each pull request that needs a person.
    fn requests(&self, run: &Run) -> Vec<String> {
        let of_run = run.requests.get(&None).and_then(|(_, why)| why.as_ref()).map(|why| {
            let again = "`ralph-loop pr` tries again";
            format!("{} has no pull request: {why}; {again}", run.branch)
        });
        let of_stories = self.of_stories().filter_map(|(key, (address, why))| {
            let newest = self.saved.iter().find(|saved| saved.is_at(key));
            let why = why.as_ref().filter(|_| !newest.is_some_and(SavedAttempt::is_retry))?;
            let name = self.name(run, key);
            Some(match address {
                None => format!("{name} has no open pull request: {why}"),
                Some(address) => format!("{name}: {address}: {why}"),
            })
        });
        of_run.into_iter().chain(of_stories).map(|text| line(&text)).collect()
    }

    /// Returns the blocked stories of the plans, and those that the run set aside in other plans.
    fn blocked(&self, run: &Run) -> Vec<BlockedStory> {
        let is_blocked = |story: &&Story| story.state == State::Blocked && !story.is_held;
        let blocked = self.stories.iter().filter(is_blocked);
        let mut found: Vec<(&StoryKey, &str)> =
            blocked.map(|story| (&story.key, story.title.as_str())).collect();
        let is_known = |key: &StoryKey| self.stories.iter().any(|story| story.key == *key);
        let is_retried = |key: &StoryKey| {
            let newest = self.saved.iter().find(|saved| saved.is_at(key));
            newest.is_some_and(SavedAttempt::is_retry)
        };
        let others = run.set_aside.keys().filter(|key| !is_known(key) && !is_retried(key));
        found.extend(others.map(|key| {
            let attempt = run.attempts.iter().find(|attempt| attempt.key == *key);
            (key, attempt.map_or("", |attempt| attempt.title.as_str()))
        }));
        let story = |(key, title): (&StoryKey, &str)| {
            let tried = self.saved.iter().filter(|saved| saved.is_failed() && saved.is_at(key));
            let attempts: Vec<SavedAttempt> = tried.rev().cloned().collect();
            // The journal may be gone.
            let why = self.runs.iter().rev().find_map(|run| run.set_aside.get(key)).cloned();
            let why = why.or_else(|| attempts.last().map(|attempt| attempt.why.clone()));
            let waits = self.stories.iter().filter(|story| {
                story.state == State::Open
                    && story.key.plan == key.plan
                    && story.depends.contains(&key.story)
            });
            BlockedStory {
                name: self.name(run, key),
                title: title.to_owned(),
                why: why.unwrap_or_default(),
                waits: waits.map(|story| story.key.story.clone()).collect(),
                attempts,
                key: key.clone(),
            }
        };
        found.into_iter().map(story).collect()
    }

    /// Returns what is worth a second look after or during a run.
    pub fn review(&self, run: &Run) -> Review {
        let mut review = Review::default();
        for attempt in run.landed() {
            let remarks = run
                .notes
                .iter()
                .filter(|note| note.kind == NoteKind::Remark && note.key == attempt.key);
            let mut why: Vec<String> =
                remarks.map(|Note { rule, what, .. }| line(&format!("{rule}: {what}"))).collect();
            if attempt.checks.is_empty() {
                why.push("no check ran".to_owned());
            }
            let red = attempt.checks.iter().filter(|check| check.ended == "failed as before");
            why.extend(red.map(|check| line(&format!("`{}` still fails as before", check.check))));
            let found = match why.is_empty() {
                _ if attempt.checks.is_empty() => Scale::Unchecked,
                true => Scale::Checked,
                false => Scale::ToReview,
            };
            // The run may have been killed before it wrote the remarks down.
            let scale = match attempt.scale {
                Some(scale) if found.needs_review() => scale.max(found),
                Some(scale) => scale,
                None => found,
            };
            if scale.needs_review() && why.is_empty() {
                why.push("landed with remarks".to_owned());
            }
            let known = review.scales.entry(attempt.key.clone()).or_insert(scale);
            *known = scale.max(*known);
            if !why.is_empty() && review.of(&attempt.key).is_empty() {
                let name = self.name(run, &attempt.key);
                review.stories.push((attempt.key.clone(), name, why.join("; ")));
            }
        }
        for kind in [NoteKind::Change, NoteKind::Rollback, NoteKind::Refusal, NoteKind::HookError] {
            review.others.extend(self.notes(run, kind));
        }
        review
    }

    /// Returns the changes of other processes to plan and settings during a run, one line each.
    pub fn changes(&self, run: &Run) -> Vec<String> {
        self.notes(run, NoteKind::Change)
    }

    fn notes(&self, run: &Run, kind: NoteKind) -> Vec<String> {
        let one = |Note { rule, what, key, count, .. }: &Note| {
            let story = if key.story.is_empty() { String::new() } else { self.name(run, key) };
            let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
            line(&match kind {
                NoteKind::Change if story.is_empty() => what.clone(),
                NoteKind::Change | NoteKind::Remark => format!("{story}: {what}"),
                NoteKind::Rollback => format!("rolled back in a session{times}: {what} [{story}]"),
                NoteKind::Refusal => format!("refused by {rule}{times}: {what} [{story}]"),
                NoteKind::HookError => format!("a hook failed{times}: {what} [{story}]"),
            })
            .replace(" []", "")
        };
        run.notes.iter().filter(|note| note.kind == kind).map(one).collect()
    }
}
