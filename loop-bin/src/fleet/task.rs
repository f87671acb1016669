//! A task: one story, worked on in a clone of the server by the loop as it is, and pushed.

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use ralph_base::env::Env;
use ralph_base::linux::own_program;
use ralph_base::state::plan_name;
use ralph_base::supervised;
use ralph_core::git::Git;
use ralph_core::plan::Plan;
use ralph_project::config::{Config, Flag, LoopSettings, Mode, PullRequests};
use run_history::RunHistory;

use super::home::{BLOCKED, Home, Show, TRY_LATER};
use super::server::{MISLEADING, Server, refusal};
use crate::exit::Failure;
use crate::forge::{Forge, PullRequest, remote_of};
use crate::here;
use crate::in_task::IN_TASK;
use crate::run::decide::{Picked, pick_only};
use crate::terminal::say;
use board::forget;
use client::signals::Interrupts;
use work_copy::remove_all;

const TERMINATED: u8 = 143;

/// The shortest and the longest pause before a task that waits looks at the server again.
const PAUSE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// How often the loop is started for one task: each time others landed first.
const MOST_STARTS: usize = 20;

/// One story of a plan on a server.
struct Task<'a> {
    story: &'a str,
    branch: &'a str,
    server: &'a Server,
    flags: &'a [Flag],
    patience: &'a Patience,
    /// Whether it only shows what it would do.
    is_trial: bool,
    /// Where it gets a pull request, in the place of landing.
    forge: Option<Forge>,
    /// The project for which that is, unless a server was named.
    home: Option<&'a Home>,
}

/// Works on the story, or on each open one if they get pull requests; returns the exit code for the engine.
pub(crate) fn task(
    env: &Env,
    config: &Config,
    flags: &[Flag],
    show: Show,
) -> Result<ExitCode, Failure> {
    let LoopSettings { story, fleet, branch, wait, .. } = &config.run;
    let gets_request = config.finish.pr == PullRequests::Story;
    if story.is_empty() && !gets_request {
        return Err(Failure::usage("--fleet works on one story; name it with --story"));
    }
    let refused = [
        ("--workers", config.run.workers > 1),
        ("--mode planning", config.run.mode == Mode::Planning),
        ("--in-place", config.workspace.in_place),
        ("--pr run", config.finish.pr == PullRequests::Run),
    ];
    if let Some((option, _)) = refused.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format!("a task of a fleet cannot be combined with {option}")));
    }
    let here = here::project(env)?.root().to_owned();
    let is_here = fleet.is_empty() && !config.run.dry_run;
    let home = if is_here { Some(Home::new(env, config, show)?) } else { None };
    let url = if fleet.is_empty() { remote_of(&Git::at(&here), branch)?.1 } else { fleet.clone() };
    let forge = if gets_request { Some(Forge::of(&url, &here)?) } else { None };
    let wait = wait.limit().unwrap_or(Duration::MAX);
    let patience = &Patience { interrupts: Interrupts::listen()?, wait, gets_request };
    let server = patience.tried(|| Server::open(env, &url, "task"));
    let worked = server.and_then(|server| {
        let branch = server.branch(branch);
        let is_trial = config.run.dry_run;
        let (server, branch, home) = (&server, &*branch, home.as_ref());
        let task = Task { story, branch, server, flags, patience, is_trial, forge, home };
        if gets_request { task.work_on_all() } else { task.work() }
    });
    let (code, why) = match worked {
        Ok(end) => end,
        Err(failure) if patience.interrupts.count() > 0 => (TERMINATED, failure.to_string()),
        Err(Failure::Locked(why)) => (TRY_LATER, format!("{why}; try again later")),
        Err(failure) => {
            home.map_or(Ok(()), |home| home.conclude(1, &failure.to_string()))?;
            return Err(failure);
        }
    };
    if !why.is_empty() {
        say(&why);
    }
    home.map_or(Ok(()), |home| home.conclude(code, &why))?;
    Ok(ExitCode::from(code))
}

impl Task<'_> {
    /// Works on the story that was named, or on each open one; ends with the first that a person or another time is
    /// needed for, unless the next ones can be worked on.
    fn work_on_all(&self) -> Result<(u8, String), Failure> {
        let begun = self.begin();
        let plan = self.reported(begun)?;
        let open = super::tasks(&plan).into_iter().map(|(story, ..)| story);
        let stories: Vec<String> =
            if self.story.is_empty() { open.collect() } else { vec![self.story.to_owned()] };
        let mut end = (0, "no story of the plan is open".to_owned());
        for story in &stories {
            let is_blocked =
                self.home.is_some_and(|home| home.is_blocked(self.server, &plan, story));
            let (code, why) = if is_blocked {
                let how = format!("reopen it with `ralph-loop retry {story}`");
                (BLOCKED, format!("{story} is blocked in the plan here; {how}"))
            } else {
                self.reported(Task { story, ..*self }.work())?
            };
            if stories.len() == 1 || !matches!(code, 0 | BLOCKED) {
                return Ok((code, why));
            }
            say(why);
            end = (end.0.max(code), "every open story was worked on".to_owned());
        }
        Ok(end)
    }

    /// Pushes what a killed task left, and reads the plan.
    fn begin(&self) -> Result<Plan, Failure> {
        self.home.map_or(Ok(()), |home| home.give(self.server))?;
        self.tried(|server| server.publish(self.branch))?;
        self.bring_up_to_date()?;
        self.home.map_or(Ok(()), |home| home.check(self.server, self.branch))?;
        Ok(self.read()?.1)
    }

    /// Gives the project what was done by now, and says where work is whose push was refused.
    fn reported<T>(&self, done: Result<T, Failure>) -> Result<T, Failure> {
        let refused = done.as_ref().err().and_then(refusal);
        let give = |home: &Home| home.take(self.server, refused.as_deref());
        let kept = self.home.map_or(Ok(Vec::new()), give)?.join(", ");
        let Some(why) = refused else { return done };
        let work = match kept.as_str() {
            "" => "the server refused the push of earlier work".to_owned(),
            ids => format!(
                "{ids} passed the checks and is kept as an attempt, but the server refused its push"
            ),
        };
        Err(Failure::because(format!(
            "{work}: {why}; allow that push, then run the command again: it pushes the work that is there"
        )))
    }

    /// Works on the story; returns the exit code, and what there is to say about it.
    fn work(&self) -> Result<(u8, String), Failure> {
        // What a killed task left.
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
            // Without a pull request, the plan on the server says that the story is blocked.
            if !matches!(code, 0 | BLOCKED) || (code == BLOCKED && self.forge.is_some()) {
                self.bring_up_to_date()?;
                if let (BLOCKED, Some(home)) = (code, self.home) {
                    home.block(self.server, &self.read()?.1, self.story)?;
                    return Ok((code, format!("{} is blocked, in the plan here", self.story)));
                }
                return Ok((code, format!("{}: the loop ended with exit code {code}", self.story)));
            }
        }
        Ok((TRY_LATER, format!("{}: gave up, because other tasks kept landing first", self.story)))
    }

    fn tried<T>(&self, act: impl Fn(&Server) -> Result<T, Failure>) -> Result<T, Failure> {
        self.patience.tried(|| act(self.server))
    }

    /// Fetches, and pushes what the loop landed, or lays it aside to be rebased where the server has moved; false if
    /// the server is to be looked at again.
    fn bring_up_to_date(&self) -> Result<bool, Failure> {
        let Self { server, branch, story, .. } = self;
        let waiting = format!("refs/heads/ralph/{branch}");
        self.tried(Server::fetch)?;
        let unpushed = server.unpushed(branch)?;
        if unpushed.is_empty() {
            // What could not be rebased is kept as an attempt, and the story begins again.
            forget(&server.git, &waiting)?;
        } else if self.forge.is_some() {
            // It may be the work of a killed task. Where another one was faster, it is kept as an attempt.
            if let Some((_, landed)) = unpushed.iter().rfind(|(_, of)| !of.is_empty()) {
                let to = self.request(&self.read()?.1, landed);
                self.tried(|server| server.push(branch, &to))?;
            }
        } else if self.tried(|server| server.push(branch, branch))? {
            return Ok(false);
        } else {
            self.tried(Server::fetch)?;
            if unpushed.iter().all(|(_, of)| of.is_empty() || of.eq_ignore_ascii_case(story)) {
                // The next run rebases what waits there and checks it again.
                server.git.run(&["update-ref", &waiting, &format!("refs/heads/{branch}")])?;
            } else {
                // What a killed task at another story left is kept as an attempt: that story may have landed since.
                remove_all(server.folder.join(".git/ralph").as_std_path())?;
            }
        }
        server.check_out(branch)?;
        Ok(true)
    }

    /// Waits until the story can be worked on; returns how the task ends, if it cannot, or need not be.
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
            let request = self.request(&plan, self.story);
            return Ok(Some(match pick_only(&plan, self.story, &BTreeSet::new()) {
                Picked::Complete => (0, format!("{} is done", self.story)),
                _ if self.has(&request)? => self.open(&request)?,
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

    /// The settings and the plan on the server.
    fn read(&self) -> Result<(Config, Plan), Failure> {
        let env = &self.server.env;
        let project = here::project(env)?;
        let config = here::config(&project, env, self.flags)?;
        let none = |why| Failure::usage(format!("{} on the server: {why}", self.branch));
        let plan = here::plan(&project, env, &config).map_err(none)?;
        Ok((config, plan))
    }

    /// The name of the branch that the pull request of a story has.
    fn request(&self, plan: &Plan, story: &str) -> String {
        super::named(&format!("{}-{story}", plan_name(&self.server.folder, plan.path())))
    }

    /// Whether the story has the branch of a pull request on the server.
    fn has(&self, request: &str) -> Result<bool, Failure> {
        let list = ["ls-remote", "origin", &format!("refs/heads/{request}")];
        Ok(self.forge.is_some() && !self.tried(|server| Ok(server.git.line(&list)?))?.is_empty())
    }

    /// Opens the pull request of a branch, unless a killed task did, with the commit's message as its text.
    fn open(&self, request: &str) -> Result<(u8, String), Failure> {
        let (folder, git) = (&self.server.folder, &self.server.git);
        let Some(forge) = self.forge else { return Ok((0, String::new())) };
        let message =
            |part| git.line(&["log", "-1", part, &format!("refs/remotes/origin/{request}")]);
        let (title, body) = (message("--format=%s")?, message("--format=%b")?);
        let text = PullRequest {
            branch: request,
            title: &title,
            body: &body,
            is_draft: false,
            replaces: false,
        };
        let address = forge.open(folder, &text)?;
        let then = match forge.merge_later(folder, request, &address) {
            Ok(()) => "it is merged as soon as the forge allows".to_owned(),
            Err(why) => format!("merge it by hand: {why}"),
        };
        Ok((0, format!("{}: {address}; {then}", self.story)))
    }

    /// How the task ends if all tasks together have spent as much as they may.
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
    #[expect(clippy::disallowed_methods, reason = "our own program, as the user started it")]
    fn run_loop(&self) -> Result<u8, Failure> {
        let mut command = Command::new(own_program()?);
        command.args(std::env::args_os().skip(1));
        let run = self.home.map_or("", |home| &home.run);
        command.env(IN_TASK, format!("{} {run}", std::process::id()));
        command.env("RALPH_BRANCH", self.branch).env("RALPH_FLEET_STORY", self.story);
        let [root, other_root] = MISLEADING;
        command.env_remove(root).env_remove(other_root);
        let mut child = command.spawn()?;
        while child.try_wait()?.is_none() {
            if self.patience.interrupts.wait(Duration::from_millis(50)).is_some() {
                supervised::signal("TERM", &[child.id().to_string()]);
                break;
            }
        }
        let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
        // Where nobody asked it to end, it was killed, and may be started again.
        let is_asked = self.patience.interrupts.count() > 0;
        Ok(code.unwrap_or(if is_asked { TERMINATED } else { TRY_LATER }))
    }
}

/// How long a task tries again what its server refuses, unless somebody asks it to end.
struct Patience {
    interrupts: Interrupts,
    wait: Duration,
    /// Whether the server is that of a person who waits for a pull request: what it refuses is said at once.
    gets_request: bool,
}

impl Patience {
    fn tried<T>(&self, act: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
        let begun = Instant::now();
        loop {
            match act() {
                Err(failure) if self.gets_request && refusal(&failure).is_some() => {
                    return Err(failure);
                }
                Err(Failure::Error(why)) if self.is_over(begun) => {
                    return Err(Failure::Locked(why));
                }
                Err(Failure::Error(why)) => say(format!("{why}; trying again")),
                done => return done,
            }
        }
    }

    /// Waits a moment, unless that was done for long enough since then; whether it was, or we are to end.
    fn is_over(&self, since: Instant) -> bool {
        let (waited, [shortest, longest]) = (since.elapsed(), PAUSE);
        let pause = (waited / 4).clamp(shortest, longest);
        waited >= self.wait || self.interrupts.wait(pause).is_some()
    }
}
