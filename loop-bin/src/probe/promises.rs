//! What an agent is held to, one row each, and what of a probe proves or disproves it.

use std::collections::BTreeSet;

use ralph_base::state::Event;
use serde::{Deserialize, Serialize};

use super::stage::Seen;

/// What was found about a promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Found {
    /// It holds, with details.
    Held(String),
    Broken(String),
    /// The probe does not tell, and why.
    Unknown(String),
}

/// The plays of one probe.
#[derive(Debug, Default)]
pub(super) struct Plays {
    pub(super) work: Seen,
    pub(super) limit: Seen,
    pub(super) key: Seen,
    pub(super) is_sandboxed: bool,
    /// Whether the agent has no event at its stop, so that its session is resumed instead.
    pub(super) is_held_by_resuming: bool,
}

/// A promise: its name, which an agent's row in the dialect table names where it `lacks` it.
pub(super) struct Promise {
    pub(super) name: &'static str,
    pub(super) find: fn(&Plays) -> Found,
}

/// The promises without which an agent is called unguarded.
pub(super) const GUARDED: [&str; 2] = ["hooks", "guard"];

pub(super) const ALL: [Promise; 14] = [
    Promise { name: "hooks", find: hooks },
    Promise { name: "guard", find: |plays| step(&plays.work, 0, "git push was refused") },
    Promise { name: "unread files", find: unread },
    Promise { name: "sandbox", find: sandbox },
    Promise { name: "verdicts", find: verdicts },
    Promise { name: "stop gate", find: stop },
    Promise { name: "context with the prompt", find: context },
    Promise { name: "tools", find: tools },
    Promise { name: "tokens", find: tokens },
    Promise { name: "model", find: model },
    Promise { name: "resume", find: resume },
    Promise { name: "usage limit", find: limit },
    Promise { name: "wrong key", find: key },
    Promise { name: "processes", find: processes },
];

/// How requests name the tools of our MCP server, or the server where its tools are looked up later.
const OUR_TOOLS: [&str; 2] = ["current_story", "mcp__ralph"];

fn held(text: impl Into<String>) -> Found {
    Found::Held(text.into())
}

fn broken(text: impl Into<String>) -> Found {
    Found::Broken(text.into())
}

/// The play did not get that far.
fn unreached(seen: &Seen) -> Found {
    let needs = seen.printed.lines().find_map(|line| Some(line.split_once("needs you: ")?.1));
    let last = needs.or_else(|| seen.printed.lines().last()).unwrap_or_default();
    let ended = format!("the run ended before: {}", first_line(last));
    Found::Unknown(if seen.is_over { ended } else { "it took too long".to_owned() })
}

/// What the model received after a step, against what it was to receive.
fn step(seen: &Seen, number: usize, what: &str) -> Found {
    match seen.unmet.get(number) {
        Some(None) => held(what),
        Some(Some(unmet)) => broken(first_line(unmet)),
        None => unreached(seen),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(160).collect()
}

fn hooks(plays: &Plays) -> Found {
    let kind = |event: &Event| match event {
        Event::Prompt { .. } => Some("prompt"),
        Event::Denied { .. } => Some("before a tool"),
        Event::Verdict { .. } => Some("after a tool"),
        Event::StopBlocked { .. } | Event::StopAllowed { .. } => Some("stop"),
        _ => None,
    };
    let ours = plays.work.journal.iter().filter(|(source, _)| source != run_history::LOOP);
    let events: BTreeSet<&str> = ours.filter_map(|(_, event)| kind(event)).collect();
    match (events.is_empty(), plays.work.turns.len()) {
        (false, _) => held(events.into_iter().collect::<Vec<_>>().join(", ")),
        (true, 0) => unreached(&plays.work),
        _ => broken("none was called"),
    }
}

fn unread(plays: &Plays) -> Found {
    match step(&plays.work, 1, "refused until it is read") {
        Found::Broken(_) if plays.work.notes == "first\n" => held("refused by the agent itself"),
        found => found,
    }
}

fn sandbox(plays: &Plays) -> Found {
    match step(&plays.work, 2, "writes outside of the copy failed") {
        _ if !plays.is_sandboxed => Found::Unknown("the sandbox is off".to_owned()),
        Found::Unknown(why) => Found::Unknown(why),
        _ if plays.work.escaped.is_empty() => held("writes outside of the copy failed"),
        _ => broken(format!("{} was written", plays.work.escaped.len())),
    }
}

fn verdicts(plays: &Plays) -> Found {
    let seen = |(_, event): &(String, Event)| matches!(event, Event::Verdict { verdict, .. } if verdict != "passed");
    match step(&plays.work, 3, "a failing test run was recorded") {
        Found::Unknown(why) => Found::Unknown(why),
        _ if plays.work.journal.iter().any(seen) => held("a failing test run was recorded"),
        _ => broken("a failing test run was not recorded"),
    }
}

fn stop(plays: &Plays) -> Found {
    let work = &plays.work;
    match step(work, 4, "held while the check failed, then let go") {
        Found::Unknown(_) if work.turns.len() == 5 && work.is_over => broken("not held"),
        Found::Held(_) if !work.has(|event| matches!(event, Event::StoryDone { .. })) => {
            broken("held, and not let go")
        }
        found => found,
    }
}

fn context(plays: &Plays) -> Found {
    match plays.work.turns.first() {
        None => unreached(&plays.work),
        Some(_) if plays.work.asked.contains("Current story: US-001") => {
            held("the story was named")
        }
        Some(_) => broken("what hooks add does not reach the model"),
    }
}

fn tools(plays: &Plays) -> Found {
    match plays.work.turns.first() {
        None => unreached(&plays.work),
        Some(_) if OUR_TOOLS.iter().any(|name| plays.work.asked.contains(name)) => {
            held("our MCP tools were offered")
        }
        Some(_) => broken("our MCP tools were not offered"),
    }
}

fn tokens(plays: &Plays) -> Found {
    let served = plays.work.turns.len() as u64 * 1020;
    let booked = plays.work.journal.iter().filter_map(|(_, event)| match event {
        Event::IterationFinished { tokens, .. } => *tokens,
        _ => None,
    });
    match booked.sum::<u64>() {
        _ if !plays.work.is_over || served == 0 => unreached(&plays.work),
        0 => broken("none were counted"),
        sum => held(format!("{sum} counted, {served} served")),
    }
}

fn model(plays: &Plays) -> Found {
    match plays.work.model.as_str() {
        _ if plays.work.turns.is_empty() => unreached(&plays.work),
        "" => broken("not in its output"),
        name => held(name),
    }
}

/// A session that goes on has its first command in what the model receives.
fn resume(plays: &Plays) -> Found {
    let has = |seen: &Seen, turn: usize, what: &str| {
        seen.turns.get(turn).is_some_and(|turn| turn.body.to_string().contains(what))
    };
    let goes_on = if plays.limit.outcomes().next() == Some("quota") && plays.limit.turns.len() > 2 {
        has(&plays.limit, 2, "echo wrong")
    } else if plays.is_held_by_resuming && plays.work.turns.len() > 5 {
        has(&plays.work, 5, "git push")
    } else {
        return Found::Unknown("nothing had to be resumed".to_owned());
    };
    if goes_on { held("the session went on") } else { broken("a new session began") }
}

fn limit(plays: &Plays) -> Found {
    let limit = &plays.limit;
    let outcomes: Vec<&str> = limit.outcomes().collect();
    match (limit.turns.len(), outcomes.as_slice()) {
        (0 | 1, _) => unreached(limit),
        (_, ["quota", .., "success"]) => held("waited for its end"),
        (_, ["quota"]) if !limit.is_over => held("no attempt was counted"),
        (_, ["success"]) => held("the agent itself waited"),
        (_, []) => unreached(limit),
        (_, ends) => broken(format!("the story ended as {}", ends.join(", "))),
    }
}

fn key(plays: &Plays) -> Found {
    let seen = &plays.key;
    let says = seen.printed.to_lowercase();
    let has_failed =
        seen.outcomes().any(|outcome| ["failed", "blocked", "success"].contains(&outcome));
    match (seen.turns.len(), seen.is_over) {
        (0, _) | (_, false) => unreached(seen),
        _ if has_failed => broken("it counts as a failed attempt"),
        _ if says.contains("key") => held("the run ended and said so"),
        _ => broken("the run does not say so"),
    }
}

fn processes(plays: &Plays) -> Found {
    let left = [&plays.work, &plays.limit, &plays.key].map(|seen| seen.left);
    match left.into_iter().sum::<Option<usize>>() {
        _ if !plays.work.is_over => unreached(&plays.work),
        None => Found::Unknown("this system does not list them".to_owned()),
        Some(0) => held("none was left"),
        Some(count) => broken(format!("{count} were left")),
    }
}
