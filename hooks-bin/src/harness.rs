//! The failure policy of every hook, in one place: a hook never crashes the client and never
//! blocks by accident.
//!
//! The input is bounded, the decision is made inside a panic boundary, the answer is one write,
//! and whatever goes wrong leaves no opinion, exit code 0 and a record for the loop and the user.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::io::{self, IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Once;

use ralph_base::env::Env;
use ralph_core::hook::{Decision, Input, Reply};
use ralph_project::dialect::{Dialect, inputs};
use ralph_project::failure::with_causes;
use serde_json::Value;

use crate::call::Call;

/// The most that a hook reads.
pub const INPUT_LIMIT: u64 = 16 * 1024 * 1024;

/// Room for what a pipe holds: a buffer that grows is copied, and every page of each copy costs.
const USUAL_INPUT: usize = 64 * 1024;

/// Why a decision could not be made.
pub type Failure = Box<dyn Error + Send + Sync>;

/// One hook.
#[derive(Debug, Clone, Copy)]
pub struct Hook {
    /// The name of its binary.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub purpose: &'static str,
    /// The events that it understands.
    pub events: &'static [&'static str],
    /// What it decides.
    pub decide: fn(&Call<'_>) -> Result<Decision, Failure>,
}

thread_local! {
    /// What the last panic said; the boundary itself only learns that there was one.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Whether this thread is inside the boundary.
    static DECIDING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a hook as a program.
pub fn run(hook: &Hook) -> ExitCode {
    let mut stdout = io::stdout().lock();
    let mut stderr = io::stderr().lock();
    let env = Env::process();
    let mut words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let agent = match (words.next().as_deref(), words.next()) {
        // Copilot runs the hooks in Claude's settings as they are.
        (None, _) => Ok(env.get("COPILOT_CLI").and_then(|_| Dialect::find("copilot"))),
        (Some("--agent"), Some(name)) => Dialect::find(&name).map(Some).ok_or(()),
        _ => Err(()),
    };
    let (Ok(agent), false) = (agent, io::stdin().is_terminal()) else {
        // Somebody tries it by hand.
        let _ = writeln!(stderr, "{}", about(hook));
        return ExitCode::SUCCESS;
    };
    let reply = match agent {
        None => serve(hook, &env, io::stdin().lock()),
        Some(agent) => serve_agent(hook, &env, agent, io::stdin().lock()),
    };
    if let Some(text) = &reply.stdout {
        // A client that closed the pipe does not want the answer any more.
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }
    if let Some(text) = &reply.stderr {
        let _ = stderr.write_all(text.as_bytes());
    }
    ExitCode::from(reply.exit_code)
}

/// Reads one input and decides. Never fails.
pub fn serve(hook: &Hook, env: &Env, reader: impl Read) -> Reply {
    let Some(bytes) = read(hook, env, reader) else { return Reply::default() };
    let (decision, event) = decide(hook, env, None, &bytes);
    decision.reply_to(&event)
}

/// The same for an agent that is not Claude Code. What it sends may be several of Claude's inputs; the first that
/// something is decided about counts.
pub fn serve_agent(hook: &Hook, env: &Env, agent: &'static Dialect, reader: impl Read) -> Reply {
    let Some(bytes) = read(hook, env, reader) else { return Reply::default() };
    let Ok(payload) = serde_json::from_slice::<Value>(&bytes) else {
        decide(hook, env, Some(agent), &bytes);
        return Reply::default();
    };
    let own = payload.get("hook_event_name").and_then(Value::as_str).unwrap_or_default().to_owned();
    for input in inputs(agent, payload) {
        let (decision, event) = decide(hook, env, Some(agent), input.to_string().as_bytes());
        if decision != Decision::NoOpinion {
            return agent.reply(decision, &own, &event);
        }
    }
    Reply::default()
}

fn read(hook: &Hook, env: &Env, reader: impl Read) -> Option<Vec<u8>> {
    let error = match read_bounded(reader) {
        Ok(bytes) => return Some(bytes),
        Err(error) => error,
    };
    fail(&Call::new(hook.name, &Input::default(), env), "reading", &with_causes(&error));
    None
}

/// Decides about one input of Claude's; returns its event as well.
fn decide(
    hook: &Hook,
    env: &Env,
    agent: Option<&'static Dialect>,
    bytes: &[u8],
) -> (Decision, String) {
    static SILENCED: Once = Once::new();
    SILENCED.call_once(silence_panics);
    let mut input = match Input::parse(bytes) {
        Ok(input) => input,
        Err(error) => {
            let nothing = Input::default();
            let call = Call::new(hook.name, &nothing, env);
            return (fail(&call, "parsing", &with_causes(&error)), String::new());
        }
    };
    if input.event.is_empty() {
        input.event = input.event_among(hook.events).unwrap_or_default().to_owned();
    }
    let mut call = Call::new(hook.name, &input, env);
    call.agent = agent;
    if !hook.events.contains(&input.event.as_str()) {
        let error = format!("{} does not handle the event `{}`", hook.name, input.event);
        return (fail(&call, "parsing", &error), String::new());
    }
    DECIDING.set(true);
    let decided = catch_unwind(AssertUnwindSafe(|| {
        if agent.is_some() && input.agent_id.is_none() {
            call.claim_work();
        }
        (hook.decide)(&call)
    }));
    DECIDING.set(false);
    let decision = match decided {
        Ok(Ok(decision)) => decision,
        Ok(Err(error)) => fail(&call, "deciding", &with_causes(error.as_ref())),
        Err(_) => {
            let said = PANIC.with_borrow_mut(Option::take).unwrap_or_default();
            fail(&call, "deciding", &said)
        }
    };
    (decision, input.event.clone())
}

/// A panic inside the boundary is kept for the record instead of being printed at the client.
fn silence_panics() {
    let ordinary = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if DECIDING.get() {
            PANIC.with_borrow_mut(|said| *said = Some(panic.to_string().replace('\n', " ")));
        } else {
            ordinary(panic);
        }
    }));
}

/// No opinion, and a record. Recording touches the disk and could itself run into trouble.
fn fail(call: &Call<'_>, phase: &str, error: &str) -> Decision {
    let _ = catch_unwind(AssertUnwindSafe(|| call.record(phase, error)));
    Decision::NoOpinion
}

fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_INPUT);
    reader.take(INPUT_LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > INPUT_LIMIT {
        return Err(io::Error::other("the hook input is larger than 16 MiB"));
    }
    Ok(bytes)
}

fn about(hook: &Hook) -> String {
    format!(
        "{} {}\n{}\n\nThe client runs it for these events, with one JSON object on standard input: \
         {}.\nCopy it into .claude/hooks and register it in .claude/settings.json, as \
         docs/hooks.md explains. With `--agent NAME` it speaks to another agent; see docs/agents.md.",
        hook.name,
        env!("CARGO_PKG_VERSION"),
        hook.purpose,
        hook.events.join(", ")
    )
}
