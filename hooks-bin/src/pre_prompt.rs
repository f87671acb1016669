//! Records the prompt, and adds what the agent should know about the current story. In a session of
//! a run, repeats that whenever the context starts afresh or is about to be compacted.

use ralph_base::secrets::mask;
use ralph_base::state::{Event, Id};
use ralph_core::hook::Decision;
use ralph_project::checks::one_line;
use ralph_project::config::check;
use ralph_project::gate::{LoopState, Reading, StateFile};
use ralph_project::strikes::{last_failure, lessons};
use ralph_project::under_way::Attempt;

use crate::call::Call;
use crate::harness::{Failure, Hook};

/// The hook.
pub const HOOK: Hook = Hook {
    name: "ralph-pre-prompt",
    purpose: "Records the prompt, and adds what the agent needs to know about the current story.",
    events: &["UserPromptSubmit", "SessionStart", "SubagentStart", "PreCompact"],
    decide,
    mistake: check::mistake_beside_guard,
};

/// How many characters of a prompt are recorded.
const KEPT_CHARS: usize = 2000;

/// How many more are read, so that a secret at the end is recognized as a whole.
const MARGIN_CHARS: usize = 4000;

/// How many lines of a failure are passed on, and of the guardrails.
const FAILURE_LINES: usize = 8;
const GUARDRAIL_LINES: usize = 20;

/// How many lessons a reminder contains.
const REMINDED: usize = 5;

/// How many characters of a line are passed on.
const LONGEST_LINE: usize = 300;

fn decide(call: &Call<'_>) -> Result<Decision, Failure> {
    if call.input.event == "UserPromptSubmit" {
        return Ok(with_prompt(call));
    }
    let own = call.env.run().filter(|_| call.is_of_our_loop());
    let Some(run) = own else { return Ok(Decision::NoOpinion) };
    let attempt = call.attempt()?.filter(|attempt| attempt.run == run);
    Ok(attempt.map_or(Decision::NoOpinion, |attempt| reminder(call, &attempt)))
}

/// Builds a reminder of story, checks and lessons. A subagent has a task of its own.
fn reminder(call: &Call<'_>, attempt: &Attempt) -> Decision {
    let (config, story) = (call.config(), format!("{} ({})", attempt.story, attempt.title));
    let mut text = match call.input.event.as_str() {
        "SubagentStart" => format!(
            "You are helping with the story {story}. Do only your own task: the session \
             that started you reports on the story."
        ),
        "PreCompact" => format!(
            "Keep in the summary: the current story is {story}, what was done for it, and what is \
             left."
        ),
        _ => {
            let most = match config.run.max_iterations {
                0 => String::new(),
                most => format!(" of {most}"),
            };
            let (iteration, number) = (attempt.iteration, attempt.number);
            format!("Current story: {story}, iteration {iteration}{most}, attempt {number}.")
        }
    };
    text.push_str(&format!("\nWork in {} and nowhere else.", attempt.work));
    if !config.verify.commands.is_empty() {
        let checks: Vec<String> = config.verify.commands.iter().map(|c| one_line(c)).collect();
        text.push_str(&format!(" These checks must pass: `{}`.", checks.join("`, `")));
    }
    if call.input.event != "SubagentStart" {
        let id = &attempt.story;
        text.push_str(&format!(" Report with `ralph-loop complete {id} --summary \"…\"`."));
    }
    if let Some(lessons) = guardrails(call, REMINDED) {
        text.push_str(&format!("\nLessons from earlier attempts:\n{lessons}"));
    }
    Decision::Context(text)
}

fn with_prompt(call: &Call<'_>) -> Decision {
    let prompt = call.input.prompt.as_deref().unwrap_or_default();
    call.journal(&Event::Prompt { prompt: kept(prompt) });
    call.claim_work();
    let Some(story) = call.story() else { return Decision::NoOpinion };
    let mut text = under_way(call, &story);
    for (title, part) in [
        ("Lessons from earlier attempts", guardrails(call, GUARDRAIL_LINES)),
        ("Last failure", failure(call)),
        ("From the user, just now", in_words(call)),
    ] {
        if let Some(part) = part.filter(|part| !prompt.contains(part.as_str())) {
            text.push_str(&format!("\n{title}:\n{part}"));
        }
    }
    Decision::Context(text)
}

/// Returns the beginning of a prompt, with secrets masked.
fn kept(prompt: &str) -> String {
    let beginning: String = prompt.chars().take(KEPT_CHARS + MARGIN_CHARS).collect();
    mask(&beginning).chars().take(KEPT_CHARS).collect()
}

fn under_way(call: &Call<'_>, story: &Id) -> String {
    let attempt = call.attempt().ok().flatten().filter(|attempt| attempt.story == story.as_str());
    let title = attempt.as_ref().map_or(String::new(), |attempt| format!(" ({})", attempt.title));
    let iteration = attempt.map(|attempt| attempt.iteration).or_else(|| iteration(call));
    match iteration {
        Some(number) => format!("Current story: {story}{title}, iteration {number}."),
        None => format!("Current story: {story}{title}."),
    }
}

/// Returns the iteration of another loop, for a session without an attempt of ours.
fn iteration(call: &Call<'_>) -> Option<u64> {
    match LoopState::load(&call.session()?) {
        Reading::Found(state) => state.iteration,
        _ => None,
    }
}

/// Returns messages from the user to the agents of our loop.
fn in_words(call: &Call<'_>) -> Option<String> {
    let path = call.run_dir().filter(|_| call.is_of_our_loop())?.messages();
    fs_err::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn guardrails(call: &Call<'_>, most: usize) -> Option<String> {
    let text = lessons(call.project().own_state(), call.run_dir().as_ref()).ok()?;
    let known = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let known: Vec<&str> = known.collect();
    // The newest lessons matter most.
    let newest = known.iter().skip(known.len().saturating_sub(most));
    let newest: Vec<String> =
        newest.map(|line| line.chars().take(LONGEST_LINE).collect()).collect();
    (!newest.is_empty()).then(|| newest.join("\n"))
}

fn failure(call: &Call<'_>) -> Option<String> {
    let text = mask(&last_failure(call.project().own_state(), &call.story_key()?)?);
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(FAILURE_LINES);
    let lines: Vec<String> = lines.map(|line| line.chars().take(LONGEST_LINE).collect()).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
