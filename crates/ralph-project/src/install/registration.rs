//! The hook for each event, and the first client version that knows the event.

use camino::Utf8Path;
use serde::Serialize;

use super::{ClientVersion, quoted};
use crate::dialect::Dialect;

/// The hook binaries.
pub const HOOK_NAMES: [&str; 4] =
    ["ralph-pre-prompt", "ralph-pre-tool", "ralph-post-tool", "ralph-on-stop"];

/// An event, the first client that accepts its name in a settings file, its hook and matcher, and
/// its timeout in seconds. Clients before 2.1.101 silently disable every hook of a file that
/// names an event they do not know.
type Row = (&'static str, ClientVersion, &'static str, Option<&'static str>, u32);

/// The timeout of the stop hook in seconds: enough for several of the user's verify commands, each
/// with its own limit, and for a loop that lands a story.
pub const STOP_TIMEOUT: u32 = 7200;

/// In a pattern, `Bash` matches no other tool; without one, it would match `Monitor` too.
const GUARDED: Option<&str> = Some("Bash|Monitor|Edit|MultiEdit|Write|NotebookEdit|mcp__.*");
const GUARDED_IN_RUNS: Option<&str> =
    Some("Bash|Monitor|Edit|MultiEdit|Write|NotebookEdit|CronCreate|SetGoal|mcp__.*");
const COMMANDS: Option<&str> = Some("Bash|Monitor|mcp__.*");
const RECORDED: Option<&str> = Some("Bash|Monitor|Read|Edit|MultiEdit|Write|NotebookEdit|mcp__.*");

/// The first client that refuses what a hook must judge if the hook is missing, broken or late, and
/// the events for which it does. A stop or a result is never refused for that.
const REFUSES_SINCE: ClientVersion = ClientVersion::new(2, 1, 295);
const REFUSED: [&str; 2] = ["PreToolUse", "UserPromptSubmit"];

/// The versions were found by comparing the event lists of the packages on the registry.
const TABLE: [Row; 13] = [
    ("UserPromptSubmit", ClientVersion::new(1, 0, 53), "ralph-pre-prompt", None, 10),
    ("SessionStart", ClientVersion::new(1, 0, 62), "ralph-pre-prompt", None, 10),
    ("SubagentStart", ClientVersion::new(2, 0, 44), "ralph-pre-prompt", None, 10),
    ("PreCompact", ClientVersion::new(1, 0, 48), "ralph-pre-prompt", None, 10),
    ("PreToolUse", ClientVersion::new(1, 0, 23), "ralph-pre-tool", GUARDED, 10),
    ("PostToolUse", ClientVersion::new(1, 0, 23), "ralph-post-tool", RECORDED, 120),
    ("PostToolUseFailure", ClientVersion::new(2, 0, 56), "ralph-post-tool", COMMANDS, 120),
    ("Stop", ClientVersion::new(1, 0, 31), "ralph-on-stop", None, STOP_TIMEOUT),
    ("SubagentStop", ClientVersion::new(1, 0, 41), "ralph-on-stop", None, STOP_TIMEOUT),
    ("StopFailure", ClientVersion::new(2, 1, 78), "ralph-on-stop", None, 10),
    ("SessionEnd", ClientVersion::new(1, 0, 85), "ralph-on-stop", None, 10),
    ("TaskCompleted", ClientVersion::new(2, 1, 33), "ralph-on-stop", None, 60),
    ("TeammateIdle", ClientVersion::new(2, 1, 33), "ralph-on-stop", None, 60),
];

/// An event that the client does not know, so that its hook is not registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The event.
    pub event: &'static str,
    /// The first client that knows it.
    pub since: ClientVersion,
}

/// The registrations for a settings file.
#[derive(Debug, Clone)]
pub struct Registrations {
    pub(super) groups: Vec<(&'static str, Group)>,
    left_out: Vec<LeftOut>,
}

/// Hooks that share a matcher, as the client writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Group {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) matcher: Option<&'static str>,
    pub(super) hooks: [Entry; 1],
}

/// One hook of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Entry {
    #[serde(rename = "type")]
    kind: &'static str,
    command: String,
    timeout: u32,
    #[serde(rename = "onFailure", skip_serializing_if = "Option::is_none")]
    on_failure: Option<&'static str>,
}

impl Registrations {
    /// Returns those for this client; `folder` holds the hooks and is in shell syntax.
    pub fn of(client: ClientVersion, folder: &str) -> Self {
        let (known, unknown): (Vec<Row>, Vec<Row>) =
            TABLE.into_iter().partition(|(_, since, ..)| *since <= client);
        let group = |(event, _, hook, matcher, timeout): Row| {
            let command = format!("{folder}/{hook}");
            let entry = Entry { kind: "command", command, timeout, on_failure: None };
            (event, Group { matcher, hooks: [entry] })
        };
        let left_out = |(event, since, ..): Row| LeftOut { event, since };
        Self {
            groups: known.into_iter().map(group).collect(),
            left_out: unknown.into_iter().map(left_out).collect(),
        }
    }

    /// Returns those that a run passes to this client. They say so, because hooks that are installed as
    /// well leave the session to them.
    pub fn of_run(client: ClientVersion, folder: &str) -> Self {
        let mut all = Self::of(client, folder);
        for (event, Group { matcher, hooks: [entry] }) in &mut all.groups {
            entry.command.push_str(" --run");
            if client >= REFUSES_SINCE && REFUSED.contains(event) {
                entry.on_failure = Some("block");
            }
            if *matcher == GUARDED {
                *matcher = GUARDED_IN_RUNS;
            }
        }
        all
    }

    /// Returns those for a run of an agent other than Claude Code, with the hooks in this folder.
    pub fn of_agent(agent: &'static Dialect, folder: &Utf8Path) -> Self {
        let folder = quoted(folder);
        Self::of_events(agent, |hook| format!("{folder}/{hook} --agent {}", agent.name))
    }

    /// Returns those for a person's own sessions with such an agent; `folder` is in shell syntax.
    /// Some agents refuse every call whose hook is missing. Our runs bring their own hooks.
    pub(super) fn own(agent: &'static Dialect, folder: &str) -> Self {
        Self::of_events(agent, |hook| {
            let (hook, name) = (format!("{folder}/{hook}"), agent.name);
            let found = format!("{SOUGHT}{hook}{FOUND}");
            format!(r#"{found} && [ -z "$RALPH_RUN" ] && exec {hook} --agent {name}; exit 0"#)
        })
    }

    /// Returns those for the events that the agent has, under its own names.
    fn of_events(agent: &'static Dialect, command: impl Fn(&str) -> String) -> Self {
        let group = |(event, _, hook, matcher, timeout): Row| {
            let timeout = if agent.millis { timeout * 1000 } else { timeout };
            let command = command(hook);
            let entry = Entry { kind: "command", command, timeout, on_failure: None };
            let group = Group { matcher: matcher.map(|_| "*"), hooks: [entry] };
            Some((agent.own_event(event)?, group))
        };
        Self { groups: TABLE.into_iter().filter_map(group).collect(), left_out: Vec::new() }
    }

    /// Formats them as TOML tables. The only agent that reads these refuses long timeouts.
    pub fn in_toml(&self) -> String {
        let table = |(event, group): &(&str, Group)| {
            let [Entry { command, timeout, .. }] = &group.hooks;
            let (command, timeout) = (toml::Value::from(&**command), (*timeout).min(600));
            format!("[[hooks]]\nevent = \"{event}\"\ncommand = {command}\ntimeout = {timeout}\n")
        };
        self.groups.iter().map(table).collect()
    }

    /// Keeps only those whose event and hook satisfy `wanted`.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&str, &str) -> bool) -> Self {
        let is_wanted = |(event, _, hook, ..): &Row| wanted(event, hook);
        self.groups.retain(|(name, _)| {
            TABLE.iter().find(|(event, ..)| event == name).is_some_and(is_wanted)
        });
        self
    }

    /// Returns the events that are registered.
    pub fn events(&self) -> Vec<&'static str> {
        self.groups.iter().map(|(event, _)| *event).collect()
    }

    /// Returns the events that this client does not know.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }
}

/// The text before and after a hook in a command that checks whether it exists.
pub(super) const SOUGHT: &str = "command -v ";
pub(super) const FOUND: &str = " >/dev/null";

#[cfg(test)]
mod tests {
    use super::*;

    fn check(client: &str, left_out: &[&str]) {
        let registrations = Registrations::of(client.parse().unwrap(), "hooks");
        let names: Vec<&str> = registrations.left_out().iter().map(|out| out.event).collect();
        assert_eq!(names, left_out, "{client}");
        assert_eq!(registrations.events().len() + left_out.len(), TABLE.len());
    }

    #[test]
    fn events_unknown_to_the_client_are_left_out() {
        check("2.1.325", &[]);
        check("2.1.63", &["StopFailure"]);
        check("2.0.77", &["StopFailure", "TaskCompleted", "TeammateIdle"]);
        check("2.0.55", &["PostToolUseFailure", "StopFailure", "TaskCompleted", "TeammateIdle"]);
    }

    #[test]
    fn a_run_has_calls_refused_that_no_hook_judges() {
        let refused = |client: &str| {
            let run = Registrations::of_run(client.parse().unwrap(), "h");
            let own = Registrations::of(client.parse().unwrap(), "h");
            let is_marked = |(_, group): &&(&'static str, Group)| {
                let [entry] = &group.hooks;
                entry.on_failure == Some("block")
            };
            assert_eq!(own.groups.iter().filter(is_marked).count(), 0);
            run.groups.iter().filter(is_marked).map(|(event, _)| *event).collect::<Vec<_>>()
        };
        assert_eq!(refused("2.1.295"), ["UserPromptSubmit", "PreToolUse"]);
        assert_eq!(refused("2.1.294"), [""; 0]);
    }

    #[test]
    fn the_documented_table_matches_the_code() {
        let path = test_support::fixtures().join("../docs/install.md");
        let document = fs_err::read_to_string(path).unwrap();
        let documented = document.lines().filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, event, since, hook, _, seconds, _, _] = cells.as_slice() else {
                return None;
            };
            let event = event.strip_prefix('`')?.strip_suffix('`')?;
            Some(format!("{event} {since} {} {seconds}", hook.trim_matches('`')))
        });
        let expected = TABLE
            .iter()
            .map(|(event, since, hook, _, timeout)| format!("{event} {since} {hook} {timeout}"));
        assert_eq!(documented.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}
