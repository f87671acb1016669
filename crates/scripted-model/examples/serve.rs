//! The scripted model by hand: `serve AGENT STEP...` prints its address and then, for each request,
//! what the model received. A step is `say:TEXT`, `bash:COMMAND`, `read:PATH`, `write:PATH:TEXT`,
//! `edit:PATH:OLD:NEW`, `limit:SECONDS`, `key`, `context` or `overload`.
#![expect(clippy::print_stdout, reason = "a person reads what it says")]

use std::time::Duration;

use scripted_model::{Answer, Model, Script};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let agent = arguments.next().ok_or("which agent?")?;
    let steps: Result<Vec<Answer>, String> = arguments.map(|step| answer(&step)).collect();
    let model = Model::start_for(&agent, Script::of(steps?))?;
    println!("{}", model.base_url());
    let mut shown = 0;
    loop {
        std::thread::sleep(Duration::from_millis(200));
        for request in model.requests().iter().skip(shown) {
            let kind = if request.is_conversation() { "turn" } else { "side question" };
            println!("--- {kind}, {}\n{}", request.path, request.received());
            shown += 1;
        }
    }
}

fn answer(step: &str) -> Result<Answer, String> {
    let mut parts = step.splitn(4, ':');
    let kind = parts.next().unwrap_or_default();
    let parts: Vec<&str> = parts.collect();
    let rest = step.strip_prefix(kind).unwrap_or_default().trim_start_matches(':');
    match (kind, parts.as_slice()) {
        ("say", _) => Ok(Answer::text(rest)),
        ("bash", _) => Ok(Answer::bash(rest)),
        ("read", [path]) => Ok(Answer::read(path)),
        ("write", [path, text]) => Ok(Answer::write(path, text)),
        ("edit", [path, old, new]) => Ok(Answer::edit(path, old, new)),
        ("limit", [seconds]) => {
            let seconds: u64 = seconds.parse().map_err(|_| format!("not a number: {seconds}"))?;
            Ok(Answer::usage_limit(seconds))
        }
        ("key", []) => Ok(Answer::wrong_key()),
        ("context", []) => Ok(Answer::prompt_too_long()),
        ("overload", []) => Ok(Answer::overloaded()),
        _ => Err(format!("not a step: {step}")),
    }
}
