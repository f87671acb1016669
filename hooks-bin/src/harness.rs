//! The failure policy of every hook, in one place: a hook never crashes the client and never
//! blocks by accident.
//!
//! The input is bounded, and the answer is a single write. Any error, including a panic, results in
//! no opinion, exit code 0 and a record for the loop and the user.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use camino::Utf8PathBuf;
use ralph_base::env::Env;
use ralph_core::hook::{Decision, Input, Reply, exchange};
use ralph_project::config::FindMistake;
use ralph_project::dialect::{Dialect, inputs};
use ralph_project::failure::with_causes;
use serde_json::Value;

use crate::call::Call;

/// The reason why no decision could be made.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A hook.
#[derive(Debug, Clone, Copy)]
pub struct Hook {
    /// The name of its binary.
    pub name: &'static str,
    /// What it does, in a sentence for users.
    pub purpose: &'static str,
    /// The events that it handles.
    pub events: &'static [&'static str],
    /// The function that decides about a call.
    pub decide: fn(&Call<'_>) -> Result<Decision, Failure>,
    /// What finds a mistake in the settings.
    pub mistake: FindMistake,
}

/// Runs a hook as a program, with the process's arguments and standard input.
pub fn run(hook: &'static Hook) -> ExitCode {
    let env = Env::process();
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    let given: Vec<&str> = words.iter().map(String::as_str).collect();
    if io::stdin().is_terminal()
        || matches!(given.as_slice(), ["--help" | "-h" | "--version" | "-V"])
    {
        // A user runs it by hand.
        let _ = writeln!(io::stderr(), "{}", about(hook));
        return ExitCode::SUCCESS;
    }
    // Copilot runs the hooks from Claude's settings, without arguments.
    let usual = env.get("COPILOT_CLI").and_then(|_| Dialect::find("copilot"));
    let (agent, is_known) = match given.as_slice() {
        [] => (usual, true),
        // By a run, for its own session.
        ["--run"] => (None, true),
        ["--agent", name] => {
            Dialect::find(name).map_or((usual, false), |agent| (Some(agent), true))
        }
        _ => (usual, false),
    };
    if given.is_empty() && env.brings_hooks() {
        return exchange(|bytes| stand_by(hook, &env, agent, bytes), |_, _| ());
    }
    if is_known {
        return speak(hook, agent);
    }
    // A hook with a typing error in its registration must guard nevertheless.
    let what = format!(
        "the hook is registered with the arguments `{}`, which it does not know, so they are \
         ignored; it knows `--agent NAME`. Correct the registration, or run `ralph-loop install`",
        words.join(" ")
    );
    exchange(
        |bytes| {
            let input = bytes.as_ref().ok().and_then(|bytes| Input::parse(bytes).ok());
            Call::new(hook.name, &input.unwrap_or_default(), &env).record("starting", &what);
            serve(hook, &env, agent, bytes)
        },
        |said, bytes| note_panic(hook, said, bytes),
    )
}

/// Leaves the run's own session to the hooks that the run passed to it. The sessions that its agent
/// starts in turn have no others.
fn stand_by(
    hook: &'static Hook,
    env: &Env,
    agent: Option<&'static Dialect>,
    bytes: io::Result<&[u8]>,
) -> Reply {
    let input = bytes.as_ref().ok().and_then(|bytes| Input::parse(bytes).ok()).unwrap_or_default();
    let is_covered = Call::new(hook.name, &input, env).is_of_our_loop();
    if is_covered { Reply::default() } else { serve(hook, env, agent, bytes) }
}

/// Reads standard input and answers it on behalf of a hook.
pub fn speak(hook: &'static Hook, agent: Option<&'static Dialect>) -> ExitCode {
    let panicked = |said: &str, bytes: &[u8]| note_panic(hook, said, bytes);
    exchange(|bytes| serve(hook, &Env::process(), agent, bytes), panicked)
}

fn note_panic(hook: &Hook, said: &str, bytes: &[u8]) {
    let input = Input::parse(bytes).unwrap_or_default();
    Call::new(hook.name, &input, &Env::process()).record("deciding", said);
}

/// Decides about one input and formats the answer. Never fails.
pub fn serve(
    hook: &Hook,
    env: &Env,
    agent: Option<&'static Dialect>,
    bytes: io::Result<&[u8]>,
) -> Reply {
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) => {
            Call::new(hook.name, &Input::default(), env).record("reading", &with_causes(&error));
            return Reply::default();
        }
    };
    let own = |agent| serde_json::from_slice::<Value>(bytes).ok().map(|payload| (agent, payload));
    let Some((agent, payload)) = agent.and_then(own) else {
        return decide(hook, env, agent, bytes, |decision, event| Ok(decision.reply_to(event)?));
    };
    // One input of another agent may correspond to several of Claude's; the first one with a
    // decision counts.
    let name =
        payload.get("hook_event_name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let replies = inputs(agent, payload).into_iter().map(|input| {
        let worded = |decision: Decision, event: &str| Ok(agent.reply(decision, &name, event));
        decide(hook, env, Some(agent), input.to_string().as_bytes(), worded)
    });
    replies.into_iter().find(|reply| *reply != Reply::default()).unwrap_or_default()
}

/// Decides about one input in Claude's format.
fn decide(
    hook: &Hook,
    env: &Env,
    agent: Option<&'static Dialect>,
    bytes: &[u8],
    worded: impl Fn(Decision, &str) -> Result<Reply, Failure>,
) -> Reply {
    let mut input = match Input::parse(bytes) {
        Ok(input) => input,
        Err(error) => {
            Call::new(hook.name, &Input::default(), env).record("parsing", &with_causes(&error));
            return Reply::default();
        }
    };
    if input.event.is_empty() {
        input.event = input.event_among(hook.events).unwrap_or_default().to_owned();
    }
    let below_home = |path: &Utf8PathBuf| Some(env.home()?.join(path.strip_prefix("~").ok()?));
    input.transcript_path = input.transcript_path.map(|path| below_home(&path).unwrap_or(path));
    let mut call = Call::new(hook.name, &input, env);
    (call.agent, call.mistake) = (agent, hook.mistake);
    if !hook.events.contains(&input.event.as_str()) {
        let error = format!("{} does not handle the event `{}`", hook.name, input.event);
        call.record("parsing", &error);
        return Reply::default();
    }
    if agent.is_some() && input.agent_id.is_none() {
        call.claim_work();
    }
    let reply = (hook.decide)(&call).and_then(|decision| worded(decision, &input.event));
    let reply = reply.unwrap_or_else(|error| {
        call.record("deciding", &with_causes(error.as_ref()));
        Reply::default()
    });
    // The process ends now; freeing the call's memory would only take time.
    std::mem::forget(call);
    reply
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
