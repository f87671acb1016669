//! A fleet's task: runs the ordinary loop for one story in a clone of the server, and pushes the result.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ralph_base::env::Env;
use ralph_core::plan::Plan;
use ralph_project::config::{Config, Flag, LoopSettings, Mode, PullRequests};
use run_history::RunHistory;

use super::server::{PROJECT_VARS, Server};
use crate::exit::{Failure, TRY_LATER};
use crate::run::decide::{Picked, pick_only};
use crate::terminal::say;
use crate::{here, in_task};
use board::forget;
use client::signals::Interrupts;
use work_copy::remove_all;

/// The exit code if only a person can continue.
pub(crate) const BLOCKED: u8 = 8;

const TERMINATED: u8 = 143;

/// The shortest and the longest pause between two fetches of a waiting task.
const PAUSE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// How often one task starts the loop, each time because another task landed first.
const MOST_STARTS: usize = 20;

/// One story of a plan on a server.
struct Task<'a> {
    story: &'a str,
    branch: &'a str,
    server: &'a Server,
    flags: &'a [Flag],
    patience: &'a Patience,
    /// Whether this is a dry run.
    is_trial: bool,
}

/// Runs the task; returns the exit code for the engine.
pub(crate) fn task(env: &Env, config: &Config, flags: &[Flag]) -> Result<ExitCode, Failure> {
    let LoopSettings { story, fleet, branch, wait, .. } = &config.run;
    if story.is_empty() {
        return Err(Failure::usage("--fleet works on one story; name it with --story"));
    }
    let refused = [
        ("--workers", config.run.workers > 1),
        ("--mode planning", config.run.mode == Mode::Planning),
        ("--in-place", config.workspace.in_place),
        ("--pr", config.finish.pr != PullRequests::None),
    ];
    if let Some((option, _)) = refused.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format!("a task of a fleet cannot be combined with {option}")));
    }
    let wait = wait.limit().unwrap_or(Duration::MAX);
    let patience = &Patience { interrupts: Interrupts::listen()?, wait };
    let server = patience.tried(|| Server::open(env, fleet, "task"));
    let worked = server.and_then(|server| {
        let branch = server.branch(branch);
        let is_trial = config.run.dry_run;
        Task { story, branch: &branch, server: &server, flags, patience, is_trial }.work()
    });
    let (code, why) = match worked {
        Ok(end) => end,
        Err(failure) if patience.interrupts.count() > 0 => (TERMINATED, failure.to_string()),
        Err(Failure::Locked(why)) => (TRY_LATER, format!("{why}; try again later")),
        Err(failure) => return Err(failure),
    };
    if !why.is_empty() {
        say(&why);
    }
    Ok(ExitCode::from(code))
}

impl Task<'_> {
    /// Works on the story; returns the exit code and a message.
    fn work(&self) -> Result<(u8, String), Failure> {
        // Left by a killed task.
        self.tried(|server| server.publish(self.branch))?;
        for _ in 0..MOST_STARTS {
            if !self.bring_up_to_date()? {
                continue;
            }
            if let Some(end) = self.wait_for_turn()? {
                return Ok(end);
            }
            let code = self.run_loop()?;
            if self.is_trial {
                return Ok((code, String::new()));
            }
            self.tried(|server| server.publish(self.branch))?;
            // That a story is blocked is in the plan on the server.
            if !matches!(code, 0 | BLOCKED) {
                self.bring_up_to_date()?;
                return Ok((code, format!("{}: the loop ended with exit code {code}", self.story)));
            }
        }
        Ok((TRY_LATER, format!("{}: gave up, because other tasks kept landing first", self.story)))
    }

    fn tried<T>(&self, act: impl Fn(&Server) -> Result<T, Failure>) -> Result<T, Failure> {
        self.patience.tried(|| act(self.server))
    }

    /// Fetches and pushes what the loop landed. If the server has moved, that work is put on the waiting branch to be
    /// rebased. Returns false if the caller should try again.
    fn bring_up_to_date(&self) -> Result<bool, Failure> {
        let Self { server, branch, story, .. } = self;
        let waiting = format!("refs/heads/ralph/{branch}");
        self.tried(Server::fetch)?;
        let unpushed = server.unpushed(branch)?;
        if unpushed.is_empty() {
            // Work that could not be rebased has been saved as an attempt, and the story starts over.
            forget(&server.git, &waiting)?;
        } else if self.tried(|server| server.push(branch))? {
            return Ok(false);
        } else {
            self.tried(Server::fetch)?;
            if unpushed.iter().all(|(_, of)| of.is_empty() || of.eq_ignore_ascii_case(story)) {
                // The next run rebases and checks the waiting work.
                server.git.run(&["update-ref", &waiting, &format!("refs/heads/{branch}")])?;
            } else {
                // Left by a killed task at another story, which may have landed since; saved as an attempt.
                remove_all(server.folder.join(".git/ralph").as_std_path())?;
            }
        }
        server.check_out(branch)?;
        Ok(true)
    }

    /// Waits until the story can be worked on; returns how the task ends if that is impossible or unnecessary.
    fn wait_for_turn(&self) -> Result<Option<(u8, String)>, Failure> {
        let (begun, mut has_waited) = (Instant::now(), false);
        loop {
            let (config, plan) = self.read()?;
            if plan.story(self.story).is_none() {
                let (story, branch) = (self.story, self.branch);
                let why = format!(
                    "the plan on {branch} has no story {story}; `ralph-loop stories` lists them"
                );
                return Err(Failure::usage(why));
            }
            return Ok(Some(match pick_only(&plan, self.story, &BTreeSet::new()) {
                Picked::Complete => (0, format!("{} is done", self.story)),
                Picked::Stuck(why) => {
                    let see = "`ralph-loop status --fleet REMOTE` says what to do";
                    (BLOCKED, format!("{why}; {see}"))
                }
                Picked::Depends(why) if !has_waited => {
                    has_waited = true;
                    say(format!("{why} yet; waiting"));
                    continue;
                }
                Picked::Depends(why) if self.patience.is_over(begun) => {
                    let is_asked = self.patience.interrupts.count() > 0;
                    (if is_asked { TERMINATED } else { TRY_LATER }, why)
                }
                Picked::Depends(_) => {
                    self.bring_up_to_date()?;
                    continue;
                }
                _ => return self.over_budget(config.limits.max_cost_usd),
            }));
        }
    }

    /// Reads the settings and the plan from the server.
    fn read(&self) -> Result<(Config, Plan), Failure> {
        let env = &self.server.env;
        let project = here::project(env)?;
        let config = here::config(&project, env, self.flags)?;
        let none = |why| Failure::usage(format!("{} on the server: {why}", self.branch));
        let plan = here::plan(&project, env, &config).map_err(none)?;
        Ok((config, plan))
    }

    /// How the task ends if all tasks together have reached the cost limit.
    fn over_budget(&self, most: f64) -> Result<Option<(u8, String)>, Failure> {
        if most <= 0.0 {
            return Ok(None);
        }
        self.server.write_journal()?;
        let history = RunHistory::open(&self.server.folder, &self.server.state)?;
        let spent: f64 = history.runs().iter().filter_map(|run| history.cost(run).cost_usd).sum();
        let why = format!("budget exceeded: all tasks spent ${spent:.2} of ${most:.2}");
        Ok(if spent < most { None } else { Some((6, why)) })
    }

    /// Runs the loop in the clone; returns its exit code.
    fn run_loop(&self) -> Result<u8, Failure> {
        let code = in_task::run_loop(&self.patience.interrupts, &[], |command| {
            command.env("RALPH_BRANCH", self.branch).env("RALPH_FLEET_STORY", self.story);
            let [root, other_root] = PROJECT_VARS;
            command.env_remove(root).env_remove(other_root);
        })?;
        // If nobody asked it to stop, it was killed, and may be started again.
        let is_asked = self.patience.interrupts.count() > 0;
        Ok(code.unwrap_or(if is_asked { TERMINATED } else { TRY_LATER }))
    }
}

/// How long a task retries operations that the server refuses, unless a signal arrives.
struct Patience {
    interrupts: Interrupts,
    wait: Duration,
}

impl Patience {
    fn tried<T>(&self, act: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
        let begun = Instant::now();
        loop {
            match act() {
                Err(Failure::Error(why)) if self.is_over(begun) => {
                    return Err(Failure::Locked(why));
                }
                Err(Failure::Error(why)) => say(format!("{why}; trying again")),
                done => return done,
            }
        }
    }

    /// Pauses, and returns whether the time since `since` is over or a signal has arrived.
    fn is_over(&self, since: Instant) -> bool {
        let (waited, [shortest, longest]) = (since.elapsed(), PAUSE);
        let pause = (waited / 4).clamp(shortest, longest);
        waited >= self.wait || self.interrupts.wait(pause).is_some()
    }
}
