//! The options for an agent other than Claude Code, and what to report about it.

use ralph_project::config::Config;
use ralph_project::diagnosis::Diagnosis;
use ralph_project::dialect::Dialect;
use ralph_project::install::{HOOK_NAMES, Registrations, merge};
use serde_json::{Value, json};

use super::options::{ClientOptions, completion};
use crate::command::{folder_of_this_program, is_executable};

/// The name of our MCP server in the agent's settings.
pub(super) const OUR_SERVER: &str = "ralph";

impl ClientOptions {
    /// Determines the options and findings for an agent other than Claude Code from its row.
    pub(super) fn of_other(
        agent: &'static Dialect,
        version: Option<String>,
        config: &Config,
    ) -> (Self, Vec<Diagnosis>) {
        let mut options = Self::default();
        options.version = version.clone().unwrap_or_default();
        let folder = folder_of_this_program().unwrap_or_default();
        let are_here = HOOK_NAMES.iter().all(|hook| is_executable(&folder.join(hook)));
        options.servers.extend(our_server());
        let name = agent.name;
        let mut findings: Vec<Diagnosis> = completion(&config.agent.command).into_iter().collect();
        if are_here {
            let text = merge("", &Registrations::of_agent(agent, &folder)).unwrap_or_default();
            options.settings = serde_json::from_str(&text).unwrap_or_default();
            options.hooked = Some(name);
            options.resumed_at_stop = agent.own_event("Stop").is_none().then_some(name);
            let passed = format!("the hooks next to ralph-loop are passed to {name}");
            findings.push(Diagnosis::Good(passed));
        } else {
            let why = format!("there are no hooks next to ralph-loop, so none guard {name}");
            findings.push(Self::without_hooks(&why, config));
            options.unguarded = Some(why);
        }
        let version = version.unwrap_or_else(|| "of an unknown version".to_owned());
        findings.push(Diagnosis::Good(format!("agent {name} {version}")));
        if !agent.lacks.is_empty() {
            let lacks = agent.lacks.join(", ");
            findings.push(Diagnosis::Note(format!("{name} has no {lacks}; see docs/agents.md")));
        }
        (options, findings)
    }
}

/// Returns the name and settings of our MCP server.
pub(super) fn our_server() -> Option<(String, Value)> {
    let program = std::env::current_exe().ok()?;
    Some((OUR_SERVER.to_owned(), json!({"command": program.to_str()?, "args": ["mcp"]})))
}
