//! Another agent reads what a session without the loop has changed, before it may stop.

use std::process::Command;

use ralph_base::supervised::{self, CheckEnd};
use ralph_core::git::GitError;
use ralph_project::client::MISLEADING;
use ralph_project::gate::{self, Unmet};
use ralph_project::prompt::{REVIEW, Template, Values};
use ralph_project::review::{REVIEWER, ReviewAnswer, command_line, shown_diff};
use ralph_project::transcript;
use serde_json::Value;

use super::session::Session;

/// The gate, once a turn. No review is no reason to hold anybody: it is recorded.
pub(super) fn judge(session: &Session<'_>) -> Option<Unmet> {
    let call = session.call;
    let is_again = call.input.stop_hook_active || call.env.get(REVIEWER).is_some();
    if !session.config.stop.review || is_again || call.env.run().is_some() {
        return None;
    }
    let diff = match uncommitted(session) {
        Ok(diff) if diff.is_empty() => return None,
        Ok(diff) => diff,
        Err(error) => {
            call.record("gate", &error.to_string());
            return None;
        }
    };
    match ask(session, &diff) {
        Ok(answer) => gate::review(&answer),
        Err(why) => {
            call.record("gate", &format!("not reviewed: {why}"));
            None
        }
    }
}

/// All changes that are not committed, files that git does not know yet included.
fn uncommitted(session: &Session<'_>) -> Result<Vec<u8>, GitError> {
    let Ok(repo) = session.call.repo() else { return Ok(Vec::new()) };
    let git = repo.git();
    let mut diff = git.run(&["diff", "--no-color", "--no-ext-diff", "HEAD"])?;
    let new = git.run(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    for path in new.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let path = String::from_utf8_lossy(path);
        if repo.is_untouched(path.as_ref().as_ref()) {
            continue;
        }
        diff.extend(format!("\nnew file: {path}\n").into_bytes());
        // What a link leads to may be anywhere.
        let file = repo.top().join(&*path);
        let text = match fs_err::read_link(&file) {
            Ok(target) => format!("link to {}", target.display()),
            Err(_) => ralph_base::state::read_text(&file).unwrap_or_default(),
        };
        diff.extend(text.lines().flat_map(|line| format!("+{line}\n").into_bytes()));
    }
    Ok(diff)
}

fn ask(session: &Session<'_>, diff: &[u8]) -> Result<ReviewAnswer, String> {
    let (call, config) = (session.call, session.config);
    let path = call.input.transcript_path.as_deref();
    let asked_for = path.and_then(transcript::last_prompt).unwrap_or_default();
    let values = Values {
        story_id: "The task",
        story_title: "what the user asked for last",
        story_details: &asked_for,
        diff: &shown_diff(diff),
        ..Values::default()
    };
    let prompt = Template::parse(REVIEW).map_err(|error| error.to_string())?.render(&values);
    let command = reviewer(&command_line(config), session);
    let limit = config.review.timeout.limit();
    let ran = supervised::run(command, prompt.as_bytes(), limit, &|| false, false);
    let (end, output) = ran.map_err(|error| error.to_string())?;
    match end {
        CheckEnd::Exited(Some(0)) => {}
        CheckEnd::TimedOut => return Err("it took too long".to_owned()),
        _ => return Err(format!("the reviewer failed: {}", output.trim())),
    }
    ReviewAnswer::read(&said(&output)).ok_or_else(|| "the answer was not understood".to_owned())
}

#[expect(clippy::disallowed_methods, reason = "this is the door for the reviewer")]
fn reviewer(line: &str, session: &Session<'_>) -> Command {
    let mut command = Command::new("sh");
    for name in MISLEADING.split(' ') {
        command.env_remove(name);
    }
    command.arg("-c").arg(line).current_dir(session.call.work_root()).env(REVIEWER, "1");
    command
}

/// What the reviewer said: the result of the client, or all that another program printed.
fn said(output: &str) -> String {
    let results = output.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let result = results.filter(|event| event.get("type").is_some_and(|kind| kind == "result"));
    let text = result.filter_map(|event| Some(event.get("result")?.as_str()?.to_owned())).next();
    text.unwrap_or_else(|| output.to_owned())
}
