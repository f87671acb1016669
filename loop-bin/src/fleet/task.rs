//! A task: one story, worked on in a clone of the server by the loop as it is, and pushed.

use std::cell::Cell;
use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ralph_base::env::Env;
use ralph_base::linux::own_program;
use ralph_base::state::{self, StateDir};
use ralph_core::plan::{Plan, State};
use ralph_project::config::{Config, Flag};
use run_history::RunHistory;

use super::server::Server;
use crate::exit::Failure;
use crate::here;
use crate::terminal::say;
use board::resolve;
use client::signals::Interrupts;

/// Engines start a task again that ends with it.
const TRY_LATER: u8 = 75;

/// Nothing is left that can be done without a person.
const BLOCKED: u8 = 8;

const BUDGET: u8 = 6;

const TERMINATED: u8 = 143;

/// How often the server is looked at while a task waits.
const PULSE: Duration = Duration::from_secs(5);

/// How often the loop is started for one task: each time others landed first, or its limits were reached.
const MOST_STARTS: usize = 20;

/// Options of a task that the loop in the clone does not get.
const OWN: [&str; 2] = ["--fleet", "--wait"];

/// How the story stands.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    Done,
    Blocked(String),
    Waits(String),
    Open,
}

/// Works on the story and returns the exit code for the engine.
pub(crate) fn task(env: &Env, config: &Config, flags: &[Flag]) -> Result<ExitCode, Failure> {
    let story = config.run.story.as_str();
    if story.is_empty() {
        return Err(Failure::usage("--fleet works on one story; name it with --story"));
    }
    let until = Instant::now() + config.run.wait.limit().unwrap_or(Duration::MAX / 4);
    let patiently =
        Patiently { interrupts: Interrupts::listen()?, until, is_over: Cell::default() };
    let (code, why) = match work(env, config, flags, &patiently) {
        Ok(end) => end,
        Err(failure) if patiently.is_interrupted() => (TERMINATED, failure.to_string()),
        Err(failure) if patiently.is_over.get() => {
            (TRY_LATER, format!("{failure}; try again later"))
        }
        Err(failure) => return Err(failure),
    };
    if !why.is_empty() {
        say(format!("{story}: {why}"));
    }
    Ok(ExitCode::from(code))
}

fn work(
    env: &Env,
    config: &Config,
    flags: &[Flag],
    patiently: &Patiently,
) -> Result<(u8, String), Failure> {
    let (remote, story) = (config.run.fleet.as_str(), config.run.story.as_str());
    let server = patiently.tried(|| Server::open(env, remote))?;
    server.enter()?;
    // What a killed task could not push.
    patiently.tried(|| server.publish())?;
    let env =
        env.those(|name| !["RALPH_ROOT", "CLAUDE_PROJECT_DIR", "RALPH_FLEET"].contains(&name));
    let branch = match config.run.branch.as_str() {
        "" => server.default_branch()?,
        named => named.to_owned(),
    };
    // Landings are journalled once they are on the server.
    let mut landings = String::new();
    for _ in 0..MOST_STARTS {
        patiently.tried(|| server.fetch())?;
        if !bring_up_to_date(&server, &branch, story, patiently)? {
            server.keep_journal(story, &std::mem::take(&mut landings))?;
            patiently.tried(|| server.publish())?;
            continue;
        }
        loop {
            let project = here::project(&env)?;
            let own: Vec<Flag> =
                flags.iter().filter(|flag| flag.key != "loop.fleet").cloned().collect();
            let config = here::config(&project, &env, &own)?;
            let plan = here::plan(&project, &env, &config).map_err(|error| {
                Failure::usage(format!(
                    "{branch} on {remote}: {error}; is the plan committed and pushed?"
                ))
            })?;
            match standing(&plan, story) {
                Standing::Done => return Ok((0, "done".to_owned())),
                Standing::Blocked(why) => return Ok((BLOCKED, why)),
                Standing::Open => break,
                Standing::Waits(why) if patiently.is_late() => return Ok((TRY_LATER, why)),
                Standing::Waits(_) => patiently.pause()?,
            }
            patiently.tried(|| server.fetch())?;
            server.check_out(&branch)?;
        }
        let most = config.limits.max_cost_usd;
        let spent = spent(&server)?;
        if most > 0.0 && spent >= most {
            return Ok((BUDGET, format!("budget exceeded: spent ${spent:.2} of ${most:.2}")));
        }
        let length = state::read_if_there(server.journal())?.map_or(0, |text| text.len());
        let code = run_loop(&branch, patiently)?;
        let (new, landed) = server.journal_since(length)?;
        server.keep_journal(story, &new)?;
        landings = if landed.is_empty() { landings } else { landed };
        patiently.tried(|| server.publish())?;
        if patiently.is_interrupted() {
            return Ok((TERMINATED, "ended; its work is kept on the server".to_owned()));
        }
        if !matches!(code, 0 | BLOCKED) {
            patiently.tried(|| server.fetch())?;
            bring_up_to_date(&server, &branch, story, patiently)?;
            return Ok((code, String::new()));
        }
    }
    Ok((TRY_LATER, "others keep landing first".to_owned()))
}

/// Pushes what the loop landed, or lays it aside to be rebased where the server has moved; false if the server is to
/// be looked at again.
fn bring_up_to_date(
    server: &Server,
    branch: &str,
    story: &str,
    patiently: &Patiently,
) -> Result<bool, Failure> {
    let waiting = format!("refs/heads/ralph/{branch}");
    if server.is_ahead(branch)? {
        if patiently.tried(|| server.push(branch))? {
            return Ok(false);
        }
        patiently.tried(|| server.fetch())?;
        // The next run rebases what waits there and checks it again. What a killed task at another story left is
        // kept as an attempt: that story may have landed since.
        if server.unpushed(branch)?.iter().all(|landed| landed == story) {
            server.git.run(&["update-ref", &waiting, &format!("refs/heads/{branch}")])?;
        }
    } else if resolve(&server.git, &waiting)?.is_some() {
        // It could not be rebased. It is kept as an attempt, and the story begins again.
        server.git.run(&["update-ref", "-d", &waiting])?;
    }
    server.check_out(branch)?;
    Ok(true)
}

/// How a story stands in the plan of the server.
fn standing(plan: &Plan, story: &str) -> Standing {
    let Some(found) = plan.story(story) else {
        return Standing::Blocked(format!("there is no such story in {}", plan.path()));
    };
    let open = |id: &&String| plan.story(id).is_some_and(|other| other.state != State::Done);
    match found.state {
        State::Done => Standing::Done,
        State::Blocked => {
            Standing::Blocked("it is blocked; see `ralph-loop report --fleet`".to_owned())
        }
        State::Open => match found.depends.iter().find(open) {
            Some(id) if plan.story(id).is_some_and(|other| other.state == State::Blocked) => {
                Standing::Blocked(format!("it depends on {id}, which is blocked"))
            }
            Some(id) => Standing::Waits(format!("it depends on {id}, which is not done")),
            None => Standing::Open,
        },
    }
}

/// What all tasks have spent so far.
fn spent(server: &Server) -> Result<f64, Failure> {
    let state = StateDir::of_project(&server.folder);
    let history = RunHistory::open(&server.folder, &state)?;
    Ok(history.runs().iter().filter_map(|run| history.cost(run).cost_usd).sum())
}

/// Runs the loop in the clone, with the options that the task was given.
#[expect(clippy::disallowed_methods, reason = "our own program, as the user started it")]
fn run_loop(branch: &str, patiently: &Patiently) -> Result<u8, Failure> {
    let mut args: Vec<OsString> = std::env::args_os().skip(1).collect();
    for name in OWN {
        while let Some(at) =
            args.iter().position(|arg| arg.to_string_lossy().split('=').next() == Some(name))
        {
            let is_apart = args.get(at).is_some_and(|arg| arg == name);
            args.drain(at..=at + usize::from(is_apart));
        }
    }
    let mut command = Command::new(own_program()?);
    for name in ["RALPH_ROOT", "CLAUDE_PROJECT_DIR", "RALPH_FLEET", "RALPH_BRANCH"] {
        command.env_remove(name);
    }
    command.args(args).env("RALPH_BRANCH", branch);
    let mut child = command.spawn()?;
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(TERMINATED));
        }
        if patiently.is_interrupted() && !told {
            told = true;
            let pid = i32::try_from(child.id()).unwrap_or_default();
            // One that has just ended needs no signal.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Tries again what the server refuses, until it is time to give up or somebody asks us to end.
struct Patiently {
    interrupts: Interrupts,
    until: Instant,
    /// Whether it gave up.
    is_over: Cell<bool>,
}

impl Patiently {
    fn is_interrupted(&self) -> bool {
        self.interrupts.signal().is_some()
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }

    fn tried<T, E: Into<Failure>>(&self, act: impl Fn() -> Result<T, E>) -> Result<T, Failure> {
        loop {
            match act().map_err(Into::into) {
                Err(failure) if self.is_late() || self.is_interrupted() => {
                    self.is_over.set(true);
                    return Err(failure);
                }
                Err(failure) => {
                    say(format!("{failure}; trying again"));
                    self.pause()?;
                }
                Ok(done) => return Ok(done),
            }
        }
    }

    fn pause(&self) -> Result<(), Failure> {
        let until = Instant::now() + PULSE;
        while Instant::now() < until {
            if self.is_interrupted() {
                return Err(Failure::because("asked to end"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}
