//! What is passed to an agent that is the client, besides its own command line: the hooks that lie
//! beside this program, where it does not have them already, what the client keeps by folder, and what
//! it may spend.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::{self, RunDir};
use ralph_core::git::Git;
use ralph_project::config::Config;
use ralph_project::install::{
    ClientVersion, HOOK_NAMES, Place, Registrations, hooks_are_off, merge, registered,
};
use ralph_project::project::Project;
use serde_json::{Map, Value, json};

use super::client::Client;
use super::command::quoted;
use super::kept_by_client::KeptByClient;
use crate::finding::Finding;
use crate::lifecycle::is_executable;

/// The first version of which we know that it has the option `--max-budget-usd`.
const BUDGETED: ClientVersion = ClientVersion::new(2, 0, 77);

/// Its option for what it may spend.
const BUDGET: &str = "--max-budget-usd";

/// What is passed to the agent besides its own command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClientOptions {
    settings: Map<String, Value>,
    /// MCP servers.
    servers: Map<String, Value>,
    /// Whether it can be told what it may spend.
    takes_budget: bool,
}

impl ClientOptions {
    /// Looks for what the agent of this project has and what it lacks.
    pub(crate) fn find(env: &Env, project: &Project, config: &Config) -> (Self, Vec<Finding>) {
        let Some(client) = Client::find(&config.agent.command) else {
            let why = "the agent is not known as Claude Code, so no hook guards it";
            return (Self::default(), vec![Finding::Note(why.to_owned())]);
        };
        let asked = installer::version_text(client.program(), project.root());
        let version: Option<ClientVersion> = asked.and_then(|text| text.parse().ok());
        let mut options = Self {
            takes_budget: version.is_some_and(|version| version >= BUDGETED),
            ..Self::default()
        };
        let hooks = hooks_to_pass(env, project, config, &client, version);
        let mut findings = vec![match hooks {
            Ok(hooks) if hooks.is_empty() => Finding::Good("hooks are installed".to_owned()),
            Ok(hooks) => {
                options.settings = hooks;
                Finding::Good("the hooks beside ralph-loop are passed to the agent".to_owned())
            }
            Err(why) => Finding::Note(why.to_owned()),
        }];
        if !config.workspace.in_place {
            findings.extend(options.take(KeptByClient::find(env, project), &client));
        }
        (options, findings)
    }

    /// Takes over what the client keeps for the project's folder, and does not find from a copy.
    fn take(&mut self, kept: KeptByClient, client: &Client<'_>) -> Option<Finding> {
        if !client.has("--strict-mcp-config") {
            self.servers = kept.servers;
        }
        if client.has("--settings") && !kept.settings.is_empty() {
            let keys: Vec<&str> = kept.settings.keys().map(String::as_str).collect();
            return Some(Finding::Note(format!(
                "the agent's command has settings of its own, so what the client keeps for the \
                 project is not passed to it: {}",
                keys.join(", ")
            )));
        }
        self.settings.extend(kept.settings);
        let passed = kept.passed.join(", ");
        (!passed.is_empty())
            .then(|| Finding::Good(format!("passed to the agent in the copy: {passed}")))
    }

    /// The agent's command line with further options. The settings are in a file that they name,
    /// written each time, because an agent before may have removed it.
    pub(crate) fn applied_to(
        &self,
        line: &str,
        budget_usd: Option<f64>,
        run_dir: &RunDir,
    ) -> io::Result<String> {
        let Some(client) = Client::find(line) else { return Ok(line.to_owned()) };
        let mut options = Vec::new();
        if !self.settings.is_empty() {
            let path = run_dir.passed_settings();
            state::replace(&path, json!(self.settings).to_string().as_bytes())?;
            options.push(format!("--settings {}", quoted(&path)));
        }
        if !self.servers.is_empty() {
            let path = run_dir.passed_servers();
            write_private(&path, &json!({"mcpServers": self.servers}).to_string())?;
            // With a space, it would take the next words for further files.
            options.push(format!("--mcp-config={}", quoted(&path)));
        }
        let budget = budget_usd.filter(|_| self.takes_budget && !client.has(BUDGET));
        options.extend(budget.map(|sum| format!("{BUDGET} {sum:.4}")));
        Ok(if options.is_empty() { line.to_owned() } else { client.with(&options.join(" ")) })
    }
}

/// The hooks beside this program that the client lacks, as settings; or why no hook guards it.
fn hooks_to_pass(
    env: &Env,
    project: &Project,
    config: &Config,
    client: &Client<'_>,
    version: Option<ClientVersion>,
) -> Result<Map<String, Value>, &'static str> {
    let mut installed = Vec::new();
    for text in settings_of(env, project, client, !config.workspace.in_place) {
        if hooks_are_off(&text) {
            return Err(
                "the client's settings have `disableAllHooks`, so no hook guards the agent",
            );
        }
        installed.extend(registered(&text).unwrap_or_default());
    }
    if client.has("--bare") {
        return Err("the agent's command has --bare, so no hook guards it");
    }
    let version = version.ok_or("the client does not say its version, so it is given no hooks")?;
    let folder = crate::install::folder_of_this_program().unwrap_or_default();
    let beside = hooks_in(&folder);
    let passed = Registrations::of_folder(version, &folder).only(|event, hook| {
        let is_installed = installed.iter().any(|(known, of)| known == event && *of == hook);
        beside.contains(&hook) && !is_installed
    });
    if passed.events().is_empty() && installed.is_empty() {
        return Err("no hook guards the agent: copy the four hooks beside ralph-loop, or install \
                    them");
    }
    if !passed.events().is_empty() && client.has("--settings") {
        return Err("the agent's command has settings of its own, so the hooks beside ralph-loop \
                    are not passed; `ralph-loop install` registers them");
    }
    if passed.events().is_empty() {
        return Ok(Map::new());
    }
    // An empty text always takes registrations.
    let text = merge("", &passed).unwrap_or_default();
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

/// The texts of the settings that this client reads. One that it cannot read either does not count.
fn settings_of(env: &Env, project: &Project, client: &Client<'_>, in_copy: bool) -> Vec<String> {
    let sources = client.value_of("--setting-sources").unwrap_or("project,local,user");
    let root = project.root();
    let places = [
        ("project", Some(Place::project(root))),
        ("local", Some(Place::project_local(root))),
        ("user", Place::user(env)),
    ];
    let read = places.into_iter().filter(|(name, _)| sources.split(',').any(|s| s.trim() == *name));
    let files = read.filter_map(|(_, place)| Some(place?.settings));
    let text = |path: Utf8PathBuf| match path.strip_prefix(root) {
        Ok(below) if in_copy => text_in_copy(root, below),
        _ => fs_err::read_to_string(path).ok(),
    };
    files.filter_map(text).collect()
}

/// Servers are often given keys, so nobody else may read the file.
fn write_private(path: &Utf8Path, text: &str) -> io::Result<()> {
    state::remove_if_there(path)?;
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create_new(true).options_mut().mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// A file of the project as the copy has it: as it is committed or, where git does not have it, as it
/// is on disk.
fn text_in_copy(root: &Utf8Path, below: &Utf8Path) -> Option<String> {
    let committed = Git::at(root.as_std_path()).run(&["show", &format!("HEAD:./{below}")]);
    match committed {
        Ok(text) => String::from_utf8(text).ok(),
        Err(_) => fs_err::read_to_string(root.join(below)).ok(),
    }
}

/// The hooks in a folder that can be started.
fn hooks_in(folder: &Utf8Path) -> Vec<&'static str> {
    HOOK_NAMES.into_iter().filter(|name| is_executable(&folder.join(name))).collect()
}
