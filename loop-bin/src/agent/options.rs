//! What is passed to an agent that is the client, besides its own command line: the hooks that lie
//! beside this program, where it does not have them already, what the client keeps by folder, and what
//! it may spend.

use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::env::Env;
use ralph_core::git::Git;
use ralph_core::install::{
    ClientVersion, HOOK_NAMES, Place, Registrations, hooks_are_off, merge, registered,
};
use ralph_core::project::Project;
use ralph_core::state::{self, RunDir};

use serde_json::{Value, json};

use super::client::Client;
use super::kept_by_client::KeptByClient;

/// Whose events are known to every client that has the option `--settings`; for one that does not
/// say its version.
const OLDEST: ClientVersion = ClientVersion::new(2, 0, 0);

/// The first version of which we know that it has the option `--max-budget-usd`.
const BUDGETED: ClientVersion = ClientVersion::new(2, 0, 77);

/// Its option for what it may spend.
const BUDGET: &str = "--max-budget-usd";

/// Newer than every client.
const NEWEST: ClientVersion = ClientVersion::new(u32::MAX, 0, 0);

/// What is passed to the agent besides its own command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClientOptions {
    /// The settings to pass; none if nothing is passed.
    settings: Option<String>,
    /// Whether it can be told what it may spend.
    takes_budget: bool,
    /// For the user: what is passed, in one line.
    pub(crate) told: Option<String>,
    /// For the user: why the agent works with fewer hooks than it could.
    pub(crate) warning: Option<String>,
    /// What the client keeps for the project, and does not find from a copy.
    pub(crate) kept: KeptByClient,
}

impl ClientOptions {
    /// Looks for what the agent of this project has and what it lacks, in a copy or in place.
    pub(crate) fn find(env: &Env, project: &Project, line: &str, in_copy: bool) -> Self {
        let Some(client) = Client::find(line) else { return Self::default() };
        let asked = installer::version_text(client.program(), project.root());
        let version: Option<ClientVersion> = asked.and_then(|text| text.parse().ok());
        let takes_budget = version.is_some_and(|version| version >= BUDGETED);
        let plain = Self { takes_budget, ..Self::default() };
        let warned = |text: &str| Self { warning: Some(text.to_owned()), ..plain.clone() };
        if client.has("--bare") {
            return warned("the agent's command has --bare, so no hook guards it");
        }
        let installed = Installed::look(env, project, &client, in_copy);
        if installed.are_off {
            return warned(
                "the client's settings have `disableAllHooks`, so no hook guards the agent",
            );
        }
        let lacking = |event: &str, hook: &str| !installed.has(event, hook);
        if Registrations::of(NEWEST, "", false).only(lacking).events().is_empty() {
            return plain;
        }
        let folder = crate::install::folder_of_this_program().unwrap_or_default();
        let beside = hooks_in(&folder);
        if beside.is_empty() {
            let none =
                "no hook guards the agent: copy the four hooks beside ralph-loop, or install them";
            return if installed.pairs.is_empty() { warned(none) } else { plain };
        }
        if client.has("--settings") {
            return warned(
                "the agent's command has settings of its own, so the hooks beside ralph-loop are \
                 not passed; `ralph-loop install` registers them",
            );
        }
        let passed = Registrations::of_folder(version.unwrap_or(OLDEST), &folder)
            .only(|event, hook| beside.contains(&hook) && lacking(event, hook));
        if passed.events().is_empty() {
            return plain;
        }
        let unknown = "the client does not say its version; it gets the hooks for events that \
                       every client knows";
        Self {
            // An empty text always takes registrations.
            settings: merge("", &passed).ok(),
            told: Some(format!("the hooks in {folder} are passed to the agent")),
            warning: version.is_none().then(|| unknown.to_owned()),
            takes_budget,
            kept: KeptByClient::default(),
        }
    }

    /// The same for an agent that works in a copy: with what the client keeps by folder.
    pub(crate) fn for_copy(mut self, env: &Env, project: &Project, line: &str) -> Self {
        let Some(client) = Client::find(line) else { return self };
        let mut kept = KeptByClient::find(env, project);
        if client.has("--strict-mcp-config") {
            kept.servers.clear();
        }
        let settings = kept.settings();
        if client.has("--settings") && !settings.is_empty() {
            let keys: Vec<&str> = settings.keys().map(String::as_str).collect();
            kept.left.push(format!(
                "the agent's command has settings of its own, so what the client keeps for the \
                 project is not passed to it: {}",
                keys.join(", ")
            ));
        } else if !settings.is_empty() {
            let hooks = self.settings.and_then(|text| serde_json::from_str::<Value>(&text).ok());
            let mut all = hooks.and_then(|hooks| hooks.as_object().cloned()).unwrap_or_default();
            all.extend(settings);
            self.settings = Some(Value::Object(all).to_string());
        }
        Self { kept, ..self }
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
        if let Some(settings) = &self.settings {
            let path = run_dir.passed_settings();
            state::replace(&path, settings.as_bytes())?;
            options.push(format!("--settings {}", quoted(&path)));
        }
        if !self.kept.servers.is_empty() {
            let path = run_dir.passed_servers();
            write_private(&path, &json!({"mcpServers": self.kept.servers}).to_string())?;
            // With a space, it would take the next words for further files.
            options.push(format!("--mcp-config={}", quoted(&path)));
        }
        let budget = budget_usd.filter(|_| self.takes_budget && !client.has(BUDGET));
        options.extend(budget.map(|sum| format!("{BUDGET} {sum:.4}")));
        Ok(if options.is_empty() { line.to_owned() } else { client.with(&options.join(" ")) })
    }
}

fn quoted(path: &Utf8Path) -> String {
    format!("'{}'", path.as_str().replace('\'', r"'\''"))
}

/// Servers are often given keys, so nobody else may read the file.
fn write_private(path: &Utf8Path, text: &str) -> io::Result<()> {
    state::remove_if_there(path)?;
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create_new(true).options_mut().mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// What the client's own settings register.
#[derive(Debug, Default)]
pub(crate) struct Installed {
    /// Events, and the hook of ours that is registered for each.
    pairs: Vec<(String, &'static str)>,
    are_off: bool,
}

impl Installed {
    /// Reads the settings that this client reads. A file that it cannot read either does not count.
    fn look(env: &Env, project: &Project, client: &Client<'_>, in_copy: bool) -> Self {
        let sources = client.value_of("--setting-sources").unwrap_or("project,local,user");
        let sources: Vec<&str> = sources.split(',').map(str::trim).collect();
        let root = project.root();
        let places = [
            ("project", Some(Place::project(root))),
            ("local", Some(Place::project_local(root))),
            ("user", Place::user(env)),
        ];
        let read = places.into_iter().filter(|(name, _)| sources.contains(name));
        let files = read.filter_map(|(_, place)| Some(place?.settings));
        Self::of(files.filter_map(|path| match path.strip_prefix(root) {
            Ok(below) if in_copy => text_in_copy(root, below),
            _ => fs_err::read_to_string(path).ok(),
        }))
    }

    /// All settings of a project, whatever the agent's command line says.
    pub(crate) fn anywhere(env: &Env, project: &Project) -> Self {
        let files = Place::all(project.root(), env).into_iter().map(|place| place.settings);
        Self::of(files.filter_map(|path| fs_err::read_to_string(path).ok()))
    }

    fn of(texts: impl Iterator<Item = String>) -> Self {
        let mut all = Self::default();
        for text in texts {
            all.are_off |= hooks_are_off(&text);
            all.pairs.extend(registered(&text).unwrap_or_default());
        }
        all
    }

    fn has(&self, event: &str, hook: &str) -> bool {
        self.pairs.iter().any(|(known, of)| known == event && *of == hook)
    }

    /// Whether a hook is registered for anything.
    pub(crate) fn has_any(&self, hook: &str) -> bool {
        self.pairs.iter().any(|(_, of)| *of == hook)
    }
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
    let executable = |path: Utf8PathBuf| {
        let metadata = fs_err::metadata(path);
        metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    HOOK_NAMES.into_iter().filter(|name| executable(folder.join(name))).collect()
}
