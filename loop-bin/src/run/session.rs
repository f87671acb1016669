//! Sessions in which the stop hook settled stories: what the loop makes of them afterwards.

use jiff::Timestamp;
use ralph_core::config::RollbackOn;
use ralph_core::git;
use ralph_core::plan::Plan;
use ralph_core::project_plan;
use ralph_core::settle::{self, Attempt, Claim, Recovered};
use ralph_core::state::{self, Record, StateDir};

use super::finish::receipt;
use super::heard::OURS;
use super::shares::Course;
use super::stage::Stage;
use super::work::spent_by;
use crate::agent::Run;
use crate::exit::Failure;
use crate::step::{Spent, WorkEnd};
use crate::terminal::{self, counted};

/// What the stop hook settled in a session.
pub(super) struct SettledThere {
    pub(super) stories: u64,
    /// Which stories, and when; as far as the journal tells.
    pub(super) settled: Vec<(String, String)>,
    /// The number of the session's last iteration: each story that the hook gave out was one.
    pub(super) iteration: u64,
    /// The attempt that the hook began last, if it is still under way.
    pub(super) next: Option<Attempt>,
}

/// An iteration that the stop hook closed in the session, when it sent the agent on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Closed {
    pub(crate) iteration: u64,
    pub(crate) story: String,
    pub(crate) seconds: f64,
}

impl Stage {
    /// What was settled in the session, if the story of `attempt` was. The hook may have begun
    /// another one, and what the agent did since is to be judged as an attempt at that.
    pub(super) fn settled_in_session(
        &mut self,
        attempt: &Attempt,
        recovered: &Recovered,
    ) -> Result<Option<SettledThere>, Failure> {
        let on_disk = Attempt::load(self.state())?;
        if on_disk.as_ref().is_some_and(|now| now.story == attempt.story) {
            return Ok(None);
        }
        let heard = self.heard_of_settling(recovered)?;
        let done = heard.iter().rev().filter(|record| record.event == state::Event::StoryDone);
        let settled: Vec<(String, String)> =
            done.map(|line| (line.story.clone().unwrap_or_default(), line.at.clone())).collect();
        let stories = settled.len() as u64;
        if stories == 0 {
            return Ok(None);
        }
        self.take_over_closed(attempt, &heard);
        let told = counted(stories as usize, "story", "stories");
        self.view.line(format!("settled in the session: {told}"));
        let next = on_disk.filter(|next| next.run == self.run);
        let last = attempt.iteration.saturating_add(stories.saturating_sub(1));
        let iteration = next.as_ref().map_or(last, |next| next.iteration);
        Ok(Some(SettledThere { stories, settled, iteration, next }))
    }

    /// What each story of the session cost; those that were settled in it get their receipts.
    pub(super) fn share_out(
        &self,
        attempt: &Attempt,
        settled: &[(String, String)],
        next: Option<&str>,
        run: &Run,
    ) -> Result<Vec<(String, Spent)>, Failure> {
        let spent = spent_by(run);
        if settled.is_empty() && next.is_none() {
            return Ok(vec![(attempt.story.clone(), spent)]);
        }
        let ended = Timestamp::now();
        let shares = Course { began: &attempt.began, settled, next, ended }.shares(spent);
        let done = shares.iter().take(settled.len());
        let receipts: Vec<(String, String)> =
            done.map(|(story, spent)| (story.clone(), receipt(*spent))).collect();
        if !receipts.is_empty() {
            settle::log_receipts(&attempt.progress, &receipts)?;
        }
        Ok(shares)
    }

    /// What the journal tells of the session. A hook that could not finish its bookkeeping may not
    /// have told it of its last story; that is made up for.
    fn heard_of_settling(&self, recovered: &Recovered) -> Result<Vec<Record>, Failure> {
        let heard = self.heard();
        let Recovered::Finished { story, .. } = recovered else { return Ok(heard) };
        let is_told = heard.iter().any(|record| {
            record.event == state::Event::StoryDone && record.story.as_ref() == Some(story)
        });
        if is_told {
            return Ok(heard);
        }
        self.journal().for_story(story).append(&state::Event::StoryDone)?;
        Ok(self.heard())
    }

    /// Notes the iterations that the stop hook closed, for `post_iteration`, and tells them to
    /// whoever reads our events from the output.
    fn take_over_closed(&mut self, attempt: &Attempt, heard: &[Record]) {
        let mut iteration = attempt.iteration;
        for record in heard.iter().rev().filter(|record| record.source != OURS) {
            match &record.event {
                state::Event::IterationFinished { duration_s, .. } => {
                    let story = record.story.clone().unwrap_or_default();
                    self.closed.push(Closed { iteration, story, seconds: *duration_s });
                }
                state::Event::IterationStarted { iteration: number } => {
                    iteration = u64::from(*number);
                }
                state::Event::Committed { .. } | state::Event::StoryDone => {}
                state::Event::WorkNotReturned { kept_as, files } => {
                    let story = record.story.as_deref().unwrap_or_default();
                    let id = git::saved_id(kept_as).to_owned();
                    let files = files.iter().map(std::path::PathBuf::from).collect();
                    let kept = git::Unreturned { id, name: kept_as.clone(), files };
                    self.tell_taken_out(story, Some(&kept));
                }
                _ => continue,
            }
            if let (true, Ok(line)) = (self.config.run.json_events, serde_json::to_vec(record)) {
                terminal::echo(&line);
            }
        }
    }

    /// The story that the session was sent on to and did not get to: not held against it.
    pub(super) fn drop_untouched(&self, next: &Attempt, end: &WorkEnd) -> Result<bool, Failure> {
        let journal = self.journal();
        let is_untouched = *end == WorkEnd::Well
            && Claim::load(self.state(), &next.story).is_none()
            && settle::changed_files(&self.place(&journal), next)?.is_empty();
        if is_untouched {
            settle::end(self.state())?;
        }
        Ok(is_untouched)
    }

    /// What the agent did after the last story was settled, with none under way that it could
    /// belong to: nobody checked it, so it goes the way of an attempt in vain.
    pub(super) fn take_back_afterthoughts(&self, attempt: &Attempt) -> Result<(), Failure> {
        let heard = self.heard();
        self.keep_plan_as_settled(attempt, &heard)?;
        let settled = heard.into_iter().find_map(|record| match record.event {
            state::Event::Committed { commit } => Some(commit),
            _ => None,
        });
        let changed = self.dirty_files()?;
        let head = self.repo.head()?;
        let Some(commit) = settled.or_else(|| head.clone()) else { return Ok(()) };
        let what = match changed.len() {
            0 if head.as_ref() == Some(&commit) => return Ok(()),
            0 => "the agent committed after the last story was settled".to_owned(),
            files => format!(
                "the agent changed {} after the last story was settled",
                counted(files, "file", "files")
            ),
        };
        if self.config.rollback.on == RollbackOn::Never {
            self.view.warn(format!("{what}; left as it is, and checked by nobody"));
            return Ok(());
        }
        // The progress is written after the commit, so the commit does not have all of it.
        let ours =
            [&attempt.plan, &attempt.progress, &StateDir::loop_progress_beside(&attempt.plan)]
                .map(|path| (path.clone(), fs_err::read(path).ok()));
        let restored = git::return_to(&self.repo, self.state(), &commit, &what)?;
        for (path, content) in ours {
            if let Some(content) =
                content.filter(|old| fs_err::read(&path).ok().as_ref() != Some(old))
            {
                state::replace_users(&path, &content)?;
            }
        }
        let (saved_as, id) = (restored.saved.name.clone(), restored.saved.id());
        self.view.warn(format!("{what}; taken back, `ralph-loop undo {id}` brings it back"));
        self.tell_left_alone(&restored.left_alone);
        self.note(&state::Event::RolledBack { to: commit, saved_as, why: what });
        Ok(())
    }

    /// The plan is the one that the session began with, and the stories that were settled in it
    /// are ticked; what the agent did to it afterwards is undone.
    fn keep_plan_as_settled(&self, attempt: &Attempt, heard: &[Record]) -> Result<(), Failure> {
        let options = project_plan::options(&self.config);
        let done = heard.iter().filter(|record| record.event == state::Event::StoryDone);
        let mut known = attempt.plan_before.clone();
        for story in done.filter_map(|record| record.story.as_ref()).chain([&attempt.story]) {
            let plan = Plan::parse(&attempt.plan, known.clone(), &options)?;
            // A story that was added in the session is not in the plan as it was.
            known = plan.tick(story).unwrap_or(known);
        }
        let journal = self.journal();
        let settled = Attempt { plan_before: known, ..attempt.clone() };
        let repaired = settle::repair_plan(&self.place(&journal), &settled)?;
        self.tell_findings("the agent", &repaired.findings);
        Ok(())
    }

    /// A hook that failed guards nothing, silently; so the user is told.
    pub(super) fn show_hook_error(&self, since: &str) {
        let Ok(text) = fs_err::read(self.state().hook_error()) else { return };
        let Ok(error) = serde_json::from_slice::<serde_json::Value>(&text) else { return };
        let part =
            |name: &str| error.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        if part("at") >= since {
            self.view.warn(format!(
                "{} failed while {}: {}",
                part("source"),
                part("phase"),
                part("error")
            ));
        }
    }
}
