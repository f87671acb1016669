//! A hook as a program: one input, one reply, and no accident that stops the client.

use std::io::{self, Read, Write};
use std::panic::set_hook;
use std::process::ExitCode;
use std::sync::OnceLock;

use super::{Decision, Input, Reply};

/// The most that a hook reads.
const INPUT_LIMIT: u64 = 16 * 1024 * 1024;

/// Room for what is usually sent: every page that is touched costs.
const USUAL_INPUT: usize = 4 * 1024;

/// What was read. It is kept until the end, for a panic to be reported with it.
static INPUT: OnceLock<Vec<u8>> = OnceLock::new();

/// Runs a hook of your own: reads the input, decides, answers. Whatever goes wrong, a panic
/// included, is no opinion, exit code 0 and a line on stderr.
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

/// The same for a hook that reads the input itself. `panicked` gets what a panic said and the input;
/// after it the process ends with exit code 0.
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
    // A client that closed the pipe does not want the answer any more.
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
