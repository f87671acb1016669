//! An agent whose stop fires no hook: the stop hook is asked when it has stopped, and its session is resumed.

use camino::Utf8Path;
use ralph_base::state;
use ralph_base::supervised::Door;
use ralph_project::install::quoted;
use serde_json::{Value, json};

use super::prepare::agent_variables;
use super::watch::{Watched, log_of, supervision};
use super::{Course, Desk, Job};
use crate::exit::Failure;
use client::{Session, SessionSoFar, Totals, Turn, folder_of_this_program};

/// Why an agent that has stopped may not, where its stop fires no hook: what the stop hook would say. The session
/// is the one to continue.
pub(super) fn unmet(
    job: &Job,
    desk: &Desk,
    course: &Course,
    watched: &Watched,
) -> Result<Option<(SessionSoFar, String)>, Failure> {
    let context = &job.context;
    let (_, options) = context.agent_of(&course.attempt);
    let (Some(agent), Some(run)) = (options.resumed_at_stop, &watched.ended) else {
        return Ok(None);
    };
    let is_error = run.seen.verdict.as_ref().is_some_and(|verdict| verdict.is_error);
    let (Some(0), false, None, Some(id)) =
        (run.exit_code(), is_error, run.refusal(), &watched.session)
    else {
        return Ok(None);
    };
    let folder = folder_of_this_program().unwrap_or_default();
    let line = format!("{}/ralph-on-stop --agent {}", quoted(&folder), agent);
    let event = json!({
        "hook_event_name": "Stop", "session_id": id, "cwd": desk.copy.root(),
        "last_assistant_message": watched.said,
    });
    let path = log_of(context.state(), &course.attempt).with_extension("stop.log");
    let door = desk.copy.doors.for_agent(&course.attempt.agent)?;
    let reason = ask(job, desk, (&line, &door), &event.to_string(), &path)?;
    let session = SessionSoFar { id: id.clone(), totals: watched.totals, agent: agent.to_owned() };
    Ok(reason.map(|reason| (session, reason)))
}

/// Runs the stop hook where the agent ran; returns why it blocks, if it does.
fn ask(
    job: &Job,
    desk: &Desk,
    (line, door): (&str, &Door),
    event: &str,
    path: &Utf8Path,
) -> Result<Option<String>, Failure> {
    state::remove_if_there(path)?;
    let (log, vars) = (state::open_log(path)?, agent_variables(job, desk));
    let root = desk.copy.root();
    let mut hook = Session::start(line, root, (&vars, door), (event, Totals::default()), &log)?;
    let run = loop {
        if let Turn::Ended(run) = hook.watch(&supervision(&job.context), None, &mut |_| ())? {
            break run;
        }
    };
    let printed = state::read_text(path)?;
    let answer: Value = serde_json::from_str(printed.trim()).unwrap_or_default();
    let reason = answer.get("reason").and_then(Value::as_str).map(str::to_owned);
    Ok(reason.or_else(|| (run.exit_code() == Some(2)).then_some(printed)))
}
