//! Runs a hook as a program: one input, one reply, and no failure that stops the client.

use std::io::{self, Read, Write};
use std::panic::set_hook;
use std::process::ExitCode;
use std::sync::OnceLock;

use super::{Decision, Input, Reply};

/// The maximum size of the input.
const INPUT_LIMIT: u64 = 16 * 1024 * 1024;

/// The initial capacity, enough for typical input: every touched page costs time.
const USUAL_INPUT: usize = 4 * 1024;

/// The input, kept until the end so that a panic can be reported with it.
static INPUT: OnceLock<Vec<u8>> = OnceLock::new();

/// Runs a custom hook: reads the input, decides, replies. Any failure, including a panic, results
/// in no opinion, exit code 0 and a line on stderr.
///
/// ```no_run
/// use ralph_core::hook::{self, Decision};
///
/// fn main() -> std::process::ExitCode {
///     hook::run(|input| match input.bash() {
///         Some(bash) if bash.command.contains("rm -rf /") => Decision::Deny("no".into()),
///         _ => Decision::NoOpinion,
///     })
/// }
/// ```
pub fn run(decide: impl FnOnce(&Input) -> Decision) -> ExitCode {
    let report = |error: &str| drop(writeln!(io::stderr(), "{error}"));
    let answer = |input: io::Result<&[u8]>| {
        let decided = input.map_err(|error| error.to_string()).and_then(|bytes| {
            let input = Input::parse(bytes).map_err(|error| error.to_string())?;
            decide(&input).reply_to(&input.event).map_err(|error| error.to_string())
        });
        decided.unwrap_or_else(|error| {
            report(&error);
            Reply::default()
        })
    };
    exchange(answer, move |panic, _| report(panic))
}

/// Runs a hook that parses the input itself. `panicked` gets the panic message and the input; then
/// the process exits with code 0.
pub fn exchange(
    answer: impl FnOnce(io::Result<&[u8]>) -> Reply,
    panicked: impl Fn(&str, &[u8]) + Send + Sync + 'static,
) -> ExitCode {
    set_hook(Box::new(move |panic| {
        let input = INPUT.get().map_or(&[][..], Vec::as_slice);
        panicked(&panic.to_string().replace('\n', " "), input);
        end();
    }));
    let read = read_bounded(io::stdin().lock()).map(|bytes| INPUT.get_or_init(|| bytes).as_slice());
    let reply = answer(read);
    // If the client has closed the pipe, it no longer wants the reply.
    if let Some(text) = &reply.stdout {
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }
    if let Some(text) = &reply.stderr {
        let _ = io::stderr().write_all(text.as_bytes());
    }
    ExitCode::from(reply.exit_code)
}

#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "there is nothing to return to after a panic"
)]
fn end() -> ! {
    std::process::exit(0)
}

fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_INPUT);
    reader.take(INPUT_LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > INPUT_LIMIT {
        return Err(io::Error::other("the hook input is larger than 16 MiB"));
    }
    Ok(bytes)
}
