//! `--pr story`: runs the ordinary loop for each story, all under one run's name. Each story's work is on a branch that
//! starts at the server's, and becomes a pull request.

mod pulls;
mod server;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::{self, Event, Lock, RunDir};
use ralph_core::git::{Git, Repo};
use ralph_core::plan::{State, Story};
use ralph_project::config::{Config, Mode};
use ralph_project::project::Project;
use run_history::{LOOP, RunHistory};

use crate::boards::fleet::BLOCKED;
use crate::exit::Failure;
use crate::exit::TRY_LATER;
use crate::forge::{Forge, find_forge};
use crate::plan_choice::PlanChoice;
use crate::record::{Pause, RunRecord, run_dir, run_name, take};
use crate::run::decide::{Picked, pick};
use crate::saved;
use crate::terminal::{counted, in_words, say};
use crate::{here, report};
use board::forget;
use client::signals::{Interrupts, Signal};
use jiff::Timestamp;
use server::Due;

const INCOMPLETE: u8 = 7;
const BUDGET: u8 = 6;

const STOPPED: &str = "stopped by `ralph-loop stop`";

/// The pause between two queries of the server.
const PAUSE: Duration = Duration::from_secs(10);

/// The longest wait that is shown; without a limit, the wait has no end.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// Values shared by all stories.
struct Requests<'a> {
    config: &'a Config,
    project: Project,
    git: Git,
    run_dir: RunDir,
    /// The plan's path from the top of the repository.
    plan: Utf8PathBuf,
    remote: String,
    /// The branch that pull requests are merged into.
    target: String,
    forge: Forge,
    interrupts: Interrupts,
    /// The name of the whole run, and its start.
    run: String,
    begun: Instant,
    /// Keeps other loops out, except the one that works on a story.
    lock: Cell<Option<Lock>>,
}

/// How the run ends.
struct End {
    code: u8,
    finish: String,
    why: String,
}

impl End {
    fn new(code: u8, finish: &str, why: impl Into<String>) -> Self {
        Self { code, finish: finish.to_owned(), why: why.into() }
    }
}

/// What has been shown or counted so far.
#[derive(Default)]
struct Seen {
    /// Stories that need a person.
    blocked: BTreeSet<String>,
    /// Addresses of open pull requests, and whether their checks failed on the forge.
    requests: BTreeMap<String, bool>,
    /// How often each story was worked on, and how many were merged: each merge may cause another rebase.
    worked: BTreeMap<String, u64>,
    merged: u64,
}

/// Works on all stories that can be worked on.
pub(crate) fn run(env: &Env, config: &Config) -> Result<ExitCode, Failure> {
    let refused = [
        ("--workers", config.run.workers > 1),
        ("--mode planning", config.run.mode == Mode::Planning),
        ("--in-place", config.workspace.in_place),
        ("--fleet", !config.run.fleet.is_empty()),
    ];
    if let Some((option, _)) = refused.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format!("`--pr story` cannot be combined with {option}")));
    }
    let project = here::project(env)?;
    let repo = Repo::open(project.root())?;
    let git = repo.git().clone();
    let plan = here::plan(&project, env, config)?.path().to_owned();
    let (run_dir, interrupts) = (run_dir(&repo)?, Interrupts::listen()?);
    let whole = take(&run_dir.requests_lock(), LOOP)?;
    let (remote, forge) = find_forge(project.root(), &git, &config.run.branch)?;
    let top = Utf8Path::from_path(repo.top()).unwrap_or(project.root()).to_owned();
    let mut requests = Requests {
        config,
        run_dir,
        plan: plan.strip_prefix(&top).map_or_else(|_| plan.clone(), Utf8Path::to_owned),
        git,
        remote,
        target: config.run.branch.clone(),
        forge,
        interrupts,
        run: run_name(),
        begun: Instant::now(),
        lock: Cell::default(),
        project,
    };
    requests.begin()?;
    let worked = requests.work_on_all();
    let code = requests.conclude(worked)?;
    drop((requests.lock.take(), whole));
    let run = requests.history()?.find(&requests.run);
    if run.is_some_and(|run| run.iterations > 0) && !config.run.json_events {
        report::show(env, &requests.project, &PlanChoice::of(&plan), &requests.run)?;
    }
    Ok(code)
}

impl Requests<'_> {
    /// Records the run's end.
    fn conclude(&self, worked: Result<End, Failure>) -> Result<ExitCode, Failure> {
        let asked = self.interrupts.signal();
        let (mut end, failure) = match worked {
            Ok(end) => (end, None),
            Err(failure @ Failure::Away(_)) => {
                (End::new(TRY_LATER, "waiting", failure.to_string()), Some(failure))
            }
            Err(failure) => (End::new(1, "error", failure.to_string()), Some(failure)),
        };
        let remain = || Ok::<_, Failure>(self.plan_on_server()?.counts().open > 0);
        if let Some(signal) = asked {
            end = End::new(0, "manual", "interrupted; run the same command to continue");
            end.code = if signal == Signal::Interrupt { 130 } else { 143 };
        } else if end.code == 0 && self.config.run.fail_if_incomplete && remain()? {
            end.code = INCOMPLETE;
        }
        let reason = Some(end.why.clone());
        let mut record = self.record()?;
        if record.process.run == self.run {
            (record.finish, record.reason) = (Some(end.finish.clone()), reason.clone());
            record.save(&self.run_dir)?;
        }
        self.append(None, &Event::LoopFinished { finish_type: end.finish, reason })?;
        if let Some(failure) = failure
            && asked.is_none()
        {
            return Err(failure);
        }
        self.say(end.why);
        Ok(ExitCode::from(end.code))
    }

    /// The run's record, which other commands read.
    fn record(&self) -> Result<RunRecord, Failure> {
        Ok(RunRecord::load(&self.run_dir)?.unwrap_or_else(|| {
            let mut record = RunRecord::new();
            self.run_dir.in_git().clone_into(&mut record.process.folder);
            record.process.run.clone_from(&self.run);
            record.finish = Some("complete".to_owned());
            record
        }))
    }

    fn history(&self) -> Result<RunHistory, Failure> {
        Ok(RunHistory::open(self.project.root(), self.project.own_state())?)
    }

    /// Prints a line, unless events are printed instead.
    fn say(&self, text: impl AsRef<str>) {
        if !self.config.run.json_events {
            say(text);
        }
    }

    /// Works until nothing is left to do, or a limit, the user or a signal ends the run.
    fn work_on_all(&self) -> Result<End, Failure> {
        let mut seen = Seen::default();
        let mut idle_since = Instant::now();
        loop {
            self.fetch()?;
            let plan = self.plan_on_server()?;
            seen.merged += self.note_merged(&plan)?;
            let mut waiting = BTreeSet::new();
            let mut next = None;
            for story in plan.stories().iter().filter(|story| story.state == State::Open) {
                match self.due(story)? {
                    Due::Work => continue,
                    Due::Rebase(tip) => {
                        let (id, target) = (&story.id, &self.target);
                        self.say(format!("{id}: its branch conflicts with {target}; rebasing it"));
                        next = Some((story, Some(tip)));
                        break;
                    }
                    other => self.settle(story, other, &mut seen)?,
                }
                waiting.insert(story.id.clone());
            }
            waiting.retain(|id| !seen.blocked.contains(id));
            let picked = match next {
                None => pick(&plan, &seen.blocked, &waiting),
                Some(_) => Picked::Wait,
            };
            if let Picked::Story(id) = &picked {
                next = plan.story(id).map(|story| (story, None));
            }
            let end = match (next, picked) {
                (Some(_), _) if self.is_late() => {
                    Some(End::new(BUDGET, "budget", "the time limit is reached"))
                }
                (Some((story, begun)), _) => {
                    let end = self.work_again(story, begun, &mut seen)?;
                    idle_since = Instant::now();
                    end
                }
                (None, Picked::Complete) => {
                    let pull = format!("`git pull {} {}`", self.remote, self.target);
                    let why =
                        format!("all stories are done on {}; run {pull} to get them", self.target);
                    Some(End::new(0, "complete", why))
                }
                (None, Picked::Stuck(why) | Picked::Depends(why)) => {
                    Some(End::new(BLOCKED, "blocked", why))
                }
                (None, _) => self.wait(idle_since, &waiting)?,
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Works on a story, unless that has been tried too often.
    fn work_again(
        &self,
        story: &Story,
        begun: Option<String>,
        seen: &mut Seen,
    ) -> Result<Option<End>, Failure> {
        // The request may have been closed and its branch deleted.
        if begun.is_none()
            && let Some(due) = self.rejection(story)?
        {
            return self.settle(story, due, seen).map(|()| None);
        }
        let worked = seen.worked.entry(story.id.clone()).or_default();
        *worked += 1;
        if *worked <= self.config.limits.attempts_per_story + seen.merged {
            return self.work(story, begun, &mut seen.blocked);
        }
        seen.blocked.insert(story.id.clone());
        let why = "it could not be merged after several tries".to_owned();
        self.say(format!("{} is blocked: {why}", story.id));
        self.append(Some(story), &Event::StorySetAside { why })?;
        saved::forget_retry(&self.git, &self.key(story))?;
        Ok(None)
    }

    fn is_late(&self) -> bool {
        self.config.limits.max_duration.limit().is_some_and(|most| self.begun.elapsed() >= most)
    }

    /// Takes the next step for a story that needs no agent.
    fn settle(&self, story: &Story, due: Due, seen: &mut Seen) -> Result<(), Failure> {
        let id = &story.id;
        match due {
            Due::Push => self.push(story),
            Due::Open => self.open(story),
            Due::Wait(address, is_red)
                if seen.requests.insert(address.clone(), is_red) != Some(is_red) =>
            {
                self.see(story, address, is_red)
            }
            Due::Person(address, why) if seen.blocked.insert(id.clone()) => {
                let about = address.as_ref().map_or(String::new(), |it| format!("{it}: "));
                self.say(format!("{id}: {about}{why}"));
                // A story that needs a person must not hide the others.
                saved::forget_retry(&self.git, &self.key(story))?;
                self.note(story, address, Some(why))
            }
            _ => Ok(()),
        }
    }

    /// Works on a story; `begun` is existing work to rebase. Returns how the run ends, if it does.
    fn work(
        &self,
        story: &Story,
        begun: Option<String>,
        blocked: &mut BTreeSet<String>,
    ) -> Result<Option<End>, Failure> {
        let branch = self.ours(story);
        let (name, waiting) =
            (format!("refs/heads/{branch}"), format!("refs/heads/ralph/{branch}"));
        forget(&self.git, &waiting)?;
        self.git.run(&["update-ref", &name, &self.tracking(&self.target)])?;
        // Rebase only once; if that failed, the work was saved as an attempt, and the story starts over.
        let newest = saved::newest(saved::at_story(&self.git, &self.key(story))?);
        let begun = if newest.is_some_and(|one| one.outcome.is_none()) { begun } else { None };
        if let Some(tip) = &begun {
            self.git.run(&["update-ref", &waiting, tip])?;
        }
        let code = self.run_loop(story, &branch)?;
        let mut record = self.record()?;
        let mut ended = (None, None);
        if record.process.run == self.run {
            ended = (record.finish.clone(), record.reason.clone());
            // Work on the story's branch is not work that waits for the user's branch.
            record.target.clear();
        }
        record.process.pid = std::process::id();
        record.save(&self.run_dir)?;
        forget(&self.git, &waiting)?;
        let has_landed = self.has_story(story, &name)?;
        if has_landed {
            self.push(story)?;
        } else {
            forget(&self.git, &name)?;
        }
        if code == BLOCKED {
            blocked.insert(story.id.clone());
            saved::forget_retry(&self.git, &self.key(story))?;
            return Ok(None);
        }
        if self.interrupts.count() > 0 {
            return Ok(Some(End::new(
                code,
                "manual",
                "interrupted; run the same command to continue",
            )));
        }
        if self.takes_stop()? {
            return Ok(Some(End::new(0, "manual", STOPPED)));
        }
        let finish = ended.0.unwrap_or_else(|| "error".to_owned());
        let goes_on = finish == "complete" && (has_landed || begun.is_some());
        let why = ended.1.unwrap_or_else(|| finish.clone());
        Ok(if goes_on { None } else { Some(End::new(code, &finish, why)) })
    }

    /// Whether `ralph-loop stop` was run.
    fn takes_stop(&self) -> Result<bool, Failure> {
        let request = self.run_dir.stop_request();
        let asked = state::read_text(&request).unwrap_or_default();
        let is_meant = !asked.is_empty() && self.record()?.process.run == asked;
        if is_meant {
            state::remove_if_there(request)?;
        }
        Ok(is_meant)
    }

    /// Waits for pull requests to be merged; returns how the run ends if none is merged for long enough.
    fn wait(&self, since: Instant, waiting: &BTreeSet<String>) -> Result<Option<End>, Failure> {
        let limit = self.config.run.wait.limit().unwrap_or(Duration::MAX);
        let left = limit.saturating_sub(since.elapsed());
        let requests = counted(waiting.len(), "pull request is", "pull requests are");
        let why = format!("{requests} not merged yet; run the same command to continue");
        if left.is_zero() {
            return Ok(Some(End::new(TRY_LATER, "waiting", why)));
        }
        if self.is_late() {
            let why = format!("the time limit is reached; {why}");
            return Ok(Some(End::new(BUDGET, "budget", why)));
        }
        // Other commands see who holds the lock, and can stop it.
        let mut record = self.record()?;
        let until = Timestamp::now() + left.min(LONGEST);
        let words = format!("{requests} not merged yet");
        if since.elapsed() < PAUSE {
            let how_long = in_words(left.min(LONGEST));
            self.say(format!("{words}; waiting up to {how_long} (--wait)"));
        }
        record.pause = Some(Pause { why: words, until: until.to_string() });
        record.save(&self.run_dir)?;
        let is_asked = self.interrupts.wait(left.min(PAUSE)).is_some();
        let is_stopped = self.takes_stop()?;
        record.pause = None;
        record.save(&self.run_dir)?;
        let why = if is_stopped { STOPPED.to_owned() } else { why };
        Ok(if is_asked || is_stopped { Some(End::new(0, "manual", why)) } else { None })
    }
}
