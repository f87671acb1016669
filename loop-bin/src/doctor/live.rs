//! Do the hooks really fire under the installed client? One short run of the agent shows it: the
//! prompt hook journals every prompt.

use std::time::Duration;

use ralph_core::config::Config;
use ralph_core::env::Env;
use ralph_core::git::Repo;
use ralph_core::project::Project;
use ralph_core::state::{self, Event, Journal};

use super::Finding;
use crate::agent::{AgentCommand, Client, ClientOptions, Supervision, supervise};
use crate::exit::Failure;
use crate::run::start::run_dir;
use crate::signals::Interrupts;
use crate::terminal::say;

const PROMPT: &str = "Answer with the single word ok. Use no tools.\n";

/// More than enough for one word, retries included.
const DEADLINE: Duration = Duration::from_secs(300);

/// How far back the journal is looked through.
const LINES: usize = 200;

/// Runs the agent once and looks for what the hooks leave in the journal.
pub(super) fn try_hooks(env: &Env, project: &Project, config: &Config) -> Result<Finding, Failure> {
    say("Running the agent once; this may cost a little.");
    let state = project.own_state();
    state.prepare()?;
    let log = ralph_core::state::open_log(&state.logs().join("doctor.log"))?;
    let run_dir = run_dir(&Repo::open(project.root())?)?;
    let options = ClientOptions::find(env, project, &config.agent.command, false);
    let command = AgentCommand {
        line: options.applied_to(&config.agent.command, None, &run_dir)?,
        root: project.root().to_owned(),
        project: project.root().to_owned(),
        vars: vec![("RALPH_ROOT".to_owned(), project.root().to_string())],
    };
    let interrupts = Interrupts::listen()?;
    let grace = Duration::from_secs(config.agent.grace.0);
    let watch = Supervision {
        deadline: Some(DEADLINE),
        silence: config.agent.silence.limit(),
        grace,
        interrupts: &interrupts,
        log,
        beat: &|| (),
    };
    let begun = state::now();
    let run = supervise(&command, PROMPT, &watch, &mut |_| ())?;
    let journal = Journal::new(state, "ralph-loop").tail(LINES).unwrap_or_default();
    let fired = journal
        .iter()
        .any(|record| record.at >= begun && matches!(record.event, Event::Prompt { .. }));
    let said = run.seen.complaints.lines().last().unwrap_or_default().to_owned();
    let is_client = Client::find(&config.agent.command).is_some();
    Ok(match (fired, run.exit_code()) {
        (false, Some(0)) if !is_client => Finding::Worth(
            "the agent runs; it is not Claude Code, so hooks do not apply to it: the guard and the \
             gates watch no other agent"
                .to_owned(),
        ),
        (true, _) => Finding::Good("the hooks fire under the installed client".to_owned()),
        (false, Some(0)) => Finding::Bad(
            "the agent ran, but no hook fired; `ralph-loop install` registers them".to_owned(),
        ),
        (false, _) => Finding::Bad(format!("the agent does not run: {said}")),
    })
}
