//! `--pr story`: ordinary runs of the project, one for each story and all under one name. The work of each is a branch
//! that begins where the server's is, and becomes a pull request.

mod server;

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::linux::own_program;
use ralph_base::state::{self, Event, Journal, Marks, RunDir};
use ralph_base::supervised;
use ralph_core::git::{Git, Repo};
use ralph_core::plan::{self, Plan, State, Story};
use ralph_project::config::{Config, Mode};
use ralph_project::project::Project;
use run_history::{LOOP, RunHistory};

use crate::exit::Failure;
use crate::forge::{Forge, remote_of};
use crate::in_task::IN_TASK;
use crate::plan_choice::PlanChoice;
use crate::run::decide::{Picked, pick};
use crate::run::record::{Pause, RunRecord};
use crate::run::start::{name_in_branch, run_dir, run_name, take_lock};
use crate::saved::{self};
use crate::terminal::{counted, say};
use crate::{here, report};
use board::forget;
use client::signals::{Interrupts, Signal};
use jiff::Timestamp;
use server::Due;

const TRY_LATER: u8 = 75;
const BLOCKED: u8 = 8;
const INCOMPLETE: u8 = 7;

/// The pause before the server is asked again.
const PAUSE: Duration = Duration::from_secs(10);

/// What all stories have in common.
struct Requests<'a> {
    config: &'a Config,
    project: Project,
    git: Git,
    run_dir: RunDir,
    /// The plan, from the top of the repository, and its name in branches.
    plan: Utf8PathBuf,
    in_branches: String,
    remote: String,
    /// The branch that pull requests are merged into.
    target: String,
    forge: Forge,
    interrupts: Interrupts,
    /// The name of the run that all of them are.
    run: String,
}

/// What was said already.
#[derive(Default)]
struct Seen {
    /// Stories that wait for a person.
    blocked: BTreeSet<String>,
    /// The addresses of pull requests that are waited for.
    requests: BTreeSet<String>,
}

/// Works on each story that can be worked on.
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
    let (remote, url) = remote_of(&git, &config.run.branch)?;
    let forge = Forge::of(&url, project.root())?;
    let top = Utf8Path::from_path(repo.top()).unwrap_or(project.root()).to_owned();
    let mut requests = Requests {
        config,
        run_dir: run_dir(&repo)?,
        in_branches: name_in_branch(&plan, &config.plan.tag),
        plan: plan.strip_prefix(&top).map_or_else(|_| plan.clone(), Utf8Path::to_owned),
        git,
        remote,
        target: config.run.branch.clone(),
        forge,
        interrupts: Interrupts::listen()?,
        run: run_name(),
        project,
    };
    let worked = requests.begin().and_then(|()| requests.work_on_all());
    let asked = requests.interrupts.signal();
    let (code, why) = match worked {
        Err(failure) if asked.is_none() => return Err(failure),
        Err(failure) => (0, failure.to_string()),
        Ok(end) => end,
    };
    let remain = || Ok::<_, Failure>(requests.plan_on_server()?.counts().open > 0);
    let code = match asked {
        Some(Signal::Interrupt) => 130,
        Some(Signal::Terminate) => 143,
        None if code == 0 && config.run.fail_if_incomplete && remain()? => INCOMPLETE,
        None => code,
    };
    say(&why);
    let last = RunRecord::load(&requests.run_dir)?;
    if let Some(last) = last.filter(|last| last.process.run == requests.run) {
        let finish_type = match code {
            BLOCKED => "blocked".to_owned(),
            _ => last.finish.unwrap_or_default(),
        };
        requests.append(None, &Event::LoopFinished { finish_type, reason: Some(why) })?;
        report::show(env, &requests.project, &PlanChoice::of(&plan), &requests.run)?;
    }
    Ok(ExitCode::from(code))
}

impl Requests<'_> {
    /// Ends when nothing is left to do, or a limit, a person or a signal asks for it.
    fn work_on_all(&self) -> Result<(u8, String), Failure> {
        let mut seen = Seen::default();
        let mut idle_since = Instant::now();
        loop {
            self.fetch()?;
            let plan = self.plan_on_server()?;
            self.note_merged(&plan)?;
            let mut waiting = BTreeSet::new();
            let mut next = None;
            for story in plan.stories().iter().filter(|story| story.state == State::Open) {
                match self.due(story)? {
                    Due::Work => continue,
                    Due::Rebase(tip) => {
                        let (id, target) = (&story.id, &self.target);
                        say(format!("{id}: its branch does not fit {target} any more"));
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
                (Some((story, begun)), _) => {
                    let end = self.work(story, begun, &mut seen.blocked)?;
                    idle_since = Instant::now();
                    end
                }
                (None, Picked::Complete) => {
                    let Self { target, remote, .. } = self;
                    Some((0, format!("every story is done on {target} of {remote}")))
                }
                (None, Picked::Stuck(why) | Picked::Depends(why)) => Some((BLOCKED, why)),
                (None, _) => self.wait(idle_since, &plan, &waiting)?,
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Does for a story with work that passed what needs no agent.
    fn settle(&self, story: &Story, due: Due, seen: &mut Seen) -> Result<(), Failure> {
        let id = &story.id;
        match due {
            Due::Push => self.push(story),
            Due::Open => self.open(story),
            Due::Wait(address) if seen.requests.insert(address.clone()) => {
                say(format!("{id}: waiting for {address} to be merged"));
                Ok(())
            }
            Due::Person(why) if seen.blocked.insert(id.clone()) => {
                say(format!("{id}: {why}"));
                self.note(story, None, Some(why))
            }
            _ => Ok(()),
        }
    }

    /// Writes down which pull requests were merged.
    fn note_merged(&self, plan: &Plan) -> Result<(), Failure> {
        let mut history = RunHistory::open(self.project.root(), self.project.own_state())?;
        history.see_plans([&plan::load(&self.plan_here(), &self.config.plan)?]);
        for (key, _) in history.requested() {
            let story = plan.story(&key.story).filter(|story| story.state == State::Done);
            if let Some(story) = story {
                say(format!("{}: merged", story.id));
                self.note(story, None, None)?;
            }
        }
        Ok(())
    }

    /// Works on a story; `begun` is work of it that is to be rebased. Returns how the run ends, if it does.
    fn work(
        &self,
        story: &Story,
        begun: Option<String>,
        blocked: &mut BTreeSet<String>,
    ) -> Result<Option<(u8, String)>, Failure> {
        let branch = self.branch(story);
        let (name, waiting) =
            (format!("refs/heads/{branch}"), format!("refs/heads/ralph/{branch}"));
        forget(&self.git, &waiting)?;
        self.git.run(&["update-ref", &name, &self.tracking(&self.target)])?;
        // Rebased once; if that failed, it was kept as an attempt, and the story begins again.
        let newest = saved::newest(saved::at_story(&self.git, &self.key(story))?);
        let begun = begun.filter(|_| newest.is_some_and(|one| one.outcome.is_none()));
        if let Some(tip) = &begun {
            self.git.run(&["update-ref", &waiting, tip])?;
        }
        let code = self.run_loop(story, &branch)?;
        let mut record = RunRecord::load(&self.run_dir)?.unwrap_or_default();
        // What is on the branch is the server's, not work that waits for the user's.
        record.target.clear();
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
            return self.block(story).map(|()| None);
        }
        let why = match record.finish {
            _ if self.interrupts.count() > 0 => "interrupted; the same command goes on".to_owned(),
            _ if self.takes_stop()? => "stopped by `ralph-loop stop`".to_owned(),
            Some(finish) if finish == "complete" && (has_landed || begun.is_some()) => {
                return Ok(None);
            }
            finish => record.reason.or(finish).unwrap_or_default(),
        };
        Ok(Some((code, why)))
    }

    /// Whether `ralph-loop stop` was asked for.
    fn takes_stop(&self) -> Result<bool, Failure> {
        let request = self.run_dir.stop_request();
        let asked = state::read_text(&request).unwrap_or_default();
        let record = RunRecord::load(&self.run_dir)?;
        let is_meant = record.is_some_and(|record| record.process.run == asked);
        if is_meant {
            state::remove_if_there(request)?;
        }
        Ok(is_meant)
    }

    /// Runs the loop for one story; returns its exit code.
    #[expect(clippy::disallowed_methods, reason = "our own program, as the user started it")]
    fn run_loop(&self, story: &Story, branch: &str) -> Result<u8, Failure> {
        let mut command = Command::new(own_program()?);
        command.args(std::env::args_os().skip(1));
        let [process, run] = [&std::process::id().to_string(), &self.run];
        command.env(IN_TASK, [process, run, branch, &story.id].join(" "));
        let mut child = command.spawn()?;
        while child.try_wait()?.is_none() {
            if self.interrupts.wait(Duration::from_millis(50)).is_some() {
                supervised::signal("TERM", &[child.id().to_string()]);
                break;
            }
        }
        let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
        Ok(code.filter(|code| *code != INCOMPLETE).unwrap_or_default())
    }

    /// Writes down what became of the pull request of a story.
    fn note(
        &self,
        story: &Story,
        address: Option<String>,
        why: Option<String>,
    ) -> Result<(), Failure> {
        self.append(Some(story), &Event::PullRequest { address, why })
    }

    fn append(&self, story: Option<&Story>, event: &Event) -> Result<(), Failure> {
        let key = story.map(|story| self.key(story));
        let marks = Marks {
            run: Some(self.run.clone()),
            plan_name: key.as_ref().map(|key| key.plan.clone()),
            story: key.map(|key| key.story),
            ..Marks::default()
        };
        Ok(Journal::new(self.project.own_state(), LOOP).marked(marks).append(event)?)
    }

    /// Marks a story as blocked in the user's plan: what is on the server changes only by pull requests.
    fn block(&self, story: &Story) -> Result<(), Failure> {
        let plan = plan::load(&self.plan_here(), &self.config.plan)?;
        if plan.story(&story.id).is_some_and(|one| one.state == State::Open) {
            state::replace_users(plan.path(), &plan.block(&story.id)?)?;
        }
        say(format!("{} is blocked, in the plan here", story.id));
        Ok(saved::forget_wish(&self.git, &self.key(story))?)
    }

    /// Waits a while for pull requests to be merged; returns how the run ends if none was for long enough.
    fn wait(
        &self,
        since: Instant,
        plan: &Plan,
        waiting: &BTreeSet<String>,
    ) -> Result<Option<(u8, String)>, Failure> {
        let limit = self.config.run.wait.limit().unwrap_or(Duration::MAX);
        let left = limit.saturating_sub(since.elapsed());
        let requests = counted(waiting.len(), "pull request is", "pull requests are");
        let again = "yet to be merged; the same command goes on";
        if left.is_zero() {
            let open =
                plan.stories().iter().filter(|one| one.state == State::Open && !one.optional);
            let is_blocked = plan.stories().iter().any(|one| one.state == State::Blocked);
            let code = match open.count() > waiting.len() {
                true => TRY_LATER,
                false if is_blocked => BLOCKED,
                false => 0,
            };
            return Ok(Some((code, format!("{requests} {again}"))));
        }
        // Commands see who waits, and can end it.
        let lock = take_lock(&self.run_dir, LOOP)?;
        let mut record = RunRecord::load(&self.run_dir)?.unwrap_or_else(RunRecord::new);
        let finish = record.finish.take().or(Some("complete".to_owned()));
        let until = Timestamp::now() + left.min(PAUSE);
        let why = format!("{requests} yet to be merged");
        record.pause = Some(Pause { why, until: until.to_string() });
        record.process.pid = std::process::id();
        self.run_dir.in_git().clone_into(&mut record.process.folder);
        record.save(&self.run_dir)?;
        let is_asked = self.interrupts.wait(left.min(PAUSE)).is_some();
        let is_stopped = self.takes_stop()?;
        (record.finish, record.pause) = (finish, None);
        record.save(&self.run_dir)?;
        drop(lock);
        let end = Some((0, format!("{requests} {again}")));
        Ok(end.filter(|_| is_asked || is_stopped))
    }
}
