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
use ralph_project::failure::with_causes;

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
    let argument = std::env::args_os().nth(1);
    if argument.is_some() || io::stdin().is_terminal() {
        // Somebody tries it by hand.
        let _ = writeln!(stderr, "{}", about(hook));
        return ExitCode::SUCCESS;
    }
    let reply = serve(hook, &Env::process(), io::stdin().lock());
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
    static SILENCED: Once = Once::new();
    SILENCED.call_once(silence_panics);
    let nothing = Input::default();
    let bytes = match read_bounded(reader) {
        Ok(bytes) => bytes,
        Err(error) => {
            return fail(&Call::new(hook.name, &nothing, env), "reading", &with_causes(&error));
        }
    };
    let mut input = match Input::parse(&bytes) {
        Ok(input) => input,
        Err(error) => {
            return fail(&Call::new(hook.name, &nothing, env), "parsing", &with_causes(&error));
        }
    };
    if input.event.is_empty() {
        input.event = input.event_among(hook.events).unwrap_or_default().to_owned();
    }
    let call = Call::new(hook.name, &input, env);
    if !hook.events.contains(&input.event.as_str()) {
        let error = format!("{} does not handle the event `{}`", hook.name, input.event);
        return fail(&call, "parsing", &error);
    }
    DECIDING.set(true);
    let decided = catch_unwind(AssertUnwindSafe(|| (hook.decide)(&call)));
    DECIDING.set(false);
    match decided {
        Ok(Ok(decision)) => decision.reply_to(&input.event),
        Ok(Err(error)) => fail(&call, "deciding", &with_causes(error.as_ref())),
        Err(_) => {
            let said = PANIC.with_borrow_mut(Option::take).unwrap_or_default();
            fail(&call, "deciding", &said)
        }
    }
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
fn fail(call: &Call<'_>, phase: &str, error: &str) -> Reply {
    let _ = catch_unwind(AssertUnwindSafe(|| call.record(phase, error)));
    Reply::default()
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
         docs/hooks.md explains.",
        hook.name,
        env!("CARGO_PKG_VERSION"),
        hook.purpose,
        hook.events.join(", ")
    )
}
