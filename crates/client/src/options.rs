//! The options that are added to the client's command line: the hooks next to this program, unless
//! they are installed already, settings that the client stores for each folder, and the budget.

use std::collections::BTreeSet;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::RunDir;
use ralph_core::git::{Git, Repo};
use ralph_project::client::Client;
use ralph_project::config::Config;
use ralph_project::install::{
    ClientVersion, HookTarget, Registered, Registrations, hooks_are_off, merge, plugin_hooks,
    quoted, registered,
};
use ralph_project::project::Project;
use serde_json::{Map, Value, json};

use super::other::{OUR_SERVER, our_server};
use super::passed::pass;
use super::{SessionSoFar, is_found};
use crate::command::{folder_of_this_program, is_executable, path_of_agent, version_text};
use crate::linux;
use ralph_project::diagnosis::Diagnosis;

/// The first version that is known to have the option `--max-budget-usd`.
const BUDGETED: ClientVersion = ClientVersion::new(2, 0, 77);

/// The client's option for its budget.
const BUDGET: &str = "--max-budget-usd";

/// The client's option to use only the servers that are passed to it.
const STRICT_SERVERS: &str = "--strict-mcp-config";

/// The file in which the client stores what it knows about each folder.
const FILE: &str = ".claude.json";

/// The setting for the folder of the memory.
const MEMORY: &str = "autoMemoryDirectory";

/// The message if two settings files, or one and the plugin, register the same hook.
const TWICE: &str = "the hooks are installed twice, so in your own sessions each event is handled \
                     twice and a failing test run counts as two; uninstall one of them, or disable the plugin";

/// Those of a project's permissions that apply only in a trusted folder.
const TRUSTED_ONLY: [&str; 2] = ["allow", "additionalDirectories"];

/// The options of one turn of the agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start<'a> {
    /// How much it may spend.
    pub budget_usd: Option<f64>,
    /// The session that it resumes.
    pub resumed: Option<&'a SessionSoFar>,
    /// The model, if one is chosen.
    pub model: &'a str,
}

/// What is added to the agent's own command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientOptions {
    pub(super) settings: Map<String, Value>,
    /// MCP servers.
    pub(super) servers: Map<String, Value>,
    /// Descriptions of what was taken over from the client's settings for the project.
    passed: Vec<String>,
    /// Whether the client has an option for its budget.
    takes_budget: bool,
    /// Why no hooks guard the agent, if none do.
    pub unguarded: Option<String>,
    /// Which promises do not hold with the agent, if a probe found that.
    pub probed: Option<String>,
    /// The version that the agent reports; empty if it reports none.
    pub version: String,
    /// The agent whose hooks report its first prompt, whether they were passed or are installed.
    pub hooked: Option<&'static str>,
    /// The agent that is held by resuming its session, because its stop fires no hook.
    pub resumed_at_stop: Option<&'static str>,
}

impl ClientOptions {
    /// Determines the options for this project's agent, and what to report about it.
    pub fn find(env: &Env, project: &Project, config: &Config) -> (Self, Vec<Diagnosis>) {
        let Some(client) = Client::find(&config.agent.command) else {
            let why = "Ralph does not know this agent, so no hooks guard it".to_owned();
            let options = Self { unguarded: Some(why.clone()), ..Self::default() };
            return (options, vec![Diagnosis::Note(why)]);
        };
        let asked = version_text(client.program(), project.root());
        if !client.is_claude() {
            return Self::of_other(client.dialect, asked, config);
        }
        let version: Option<ClientVersion> = asked.as_ref().and_then(|text| text.parse().ok());
        let mut options = Self {
            version: asked.unwrap_or_default(),
            takes_budget: version.is_some_and(|version| version >= BUDGETED),
            ..Self::default()
        };
        let settings = settings_of(env, project, &client, !config.workspace.in_place);
        let installed = installed(env, project, &settings);
        let hooks = hooks_to_pass(&settings, &installed, &client, version);
        options.hooked = hooks.as_ref().ok().map(|_| client.dialect.name);
        let mut findings = vec![match hooks {
            Ok(hooks) if hooks.is_empty() => Diagnosis::Good("hooks are installed".to_owned()),
            Ok(hooks) => {
                options.settings = hooks;
                Diagnosis::Good("the hooks next to ralph-loop are passed to the agent".to_owned())
            }
            Err(why) => {
                options.unguarded = Some(why.to_owned());
                Self::without_hooks(why, config)
            }
        }];
        findings.extend(completion(&config.agent.command));
        if is_twice(&installed) {
            findings.push(Diagnosis::Note(TWICE.to_owned()));
        }
        if !config.workspace.in_place {
            findings.extend(options.take_kept(env, project, &client));
        }
        if !client.has(STRICT_SERVERS) {
            options.offer_tools(env, project);
        }
        (options, findings)
    }

    /// Returns the finding about an agent that no hooks guard.
    pub fn without_hooks(why: &str, config: &Config) -> Diagnosis {
        if config.agent.unguarded {
            return Diagnosis::Note(why.to_owned());
        }
        Diagnosis::Problem(format!("{why}; `--unguarded` starts it anyway"))
    }

    /// Adds our own MCP server, unless the user has added one of that name for the project.
    fn offer_tools(&mut self, env: &Env, project: &Project) {
        let entry = entry(env, &folders_of(project)).unwrap_or_default();
        let is_taken = entry.get("mcpServers").is_some_and(|kept| kept.get(OUR_SERVER).is_some());
        self.servers.extend(our_server().filter(|_| !is_taken));
    }

    /// Takes over what the client stores for the project's folder and cannot find from a copy: MCP
    /// servers that the user added, the permissions of a trusted folder, and the memory. A server
    /// of `.mcp.json` needs no approval without a terminal, so only the names of disabled ones are
    /// passed.
    fn take_kept(
        &mut self,
        env: &Env,
        project: &Project,
        client: &Client<'_>,
    ) -> Option<Diagnosis> {
        let folders = folders_of(project);
        let entry = entry(env, &folders).unwrap_or_default();
        let mut kept = Self::default();
        kept.take_servers(&entry);
        if entry.get("hasTrustDialogAccepted").and_then(Value::as_bool) == Some(true) {
            kept.take_permissions(project.root());
        }
        kept.take_memory(env, &folders);
        if !client.has(STRICT_SERVERS) {
            self.servers = kept.servers;
        }
        if client.has("--settings") && !kept.settings.is_empty() {
            let keys: Vec<&str> = kept.settings.keys().map(String::as_str).collect();
            return Some(Diagnosis::Note(format!(
                "the agent's command has its own --settings, so these settings of the project are \
                 not passed to it: {}",
                keys.join(", ")
            )));
        }
        self.settings.extend(kept.settings);
        let passed = kept.passed.join(", ");
        (!passed.is_empty())
            .then(|| Diagnosis::Good(format!("passed to the agent in the copy: {passed}")))
    }

    fn take_servers(&mut self, entry: &Map<String, Value>) {
        let texts = |name: &str| -> Vec<&str> {
            let list = entry.get(name).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).collect()
        };
        let off = texts("disabledMcpServers");
        let servers = entry.get("mcpServers").and_then(Value::as_object).cloned();
        self.servers = servers.unwrap_or_default();
        self.servers.retain(|name, _| !off.contains(&name.as_str()));
        if !self.servers.is_empty() {
            let names: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            self.passed.push(format!("the MCP servers {}", names.join(", ")));
        }
        let unwanted = texts("disabledMcpjsonServers");
        if !unwanted.is_empty() {
            self.settings.insert("disabledMcpjsonServers".to_owned(), json!(unwanted));
        }
    }

    /// Takes over the permissions in the project's shared settings.
    fn take_permissions(&mut self, root: &Utf8Path) {
        let settings = object_in(&HookTarget::project(root).settings).unwrap_or_default();
        let permissions = settings.get("permissions").and_then(Value::as_object);
        let mut trusted = permissions.cloned().unwrap_or_default();
        trusted.retain(|name, _| TRUSTED_ONLY.contains(&name.as_str()));
        if !trusted.is_empty() {
            self.settings.insert("permissions".to_owned(), Value::Object(trusted));
            self.passed.push("the permissions in the project's settings".to_owned());
        }
    }

    /// Takes over the folder of the memory, unless the user has set one for all projects.
    fn take_memory(&mut self, env: &Env, folders: &[Utf8PathBuf]) {
        let Some(user) = HookTarget::user(env).map(|place| place.settings) else { return };
        let is_set = object_in(&user).is_some_and(|settings| settings.contains_key(MEMORY));
        let mut places = folders.iter().filter_map(|folder| {
            Some(user.parent()?.join("projects").join(named(folder)).join("memory"))
        });
        let has_entries = |place: &Utf8PathBuf| {
            place.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some())
        };
        if let Some(place) = places.find(has_entries)
            && !is_set
        {
            self.settings.insert(MEMORY.to_owned(), json!(place));
            self.passed.push("the project's memory".to_owned());
        }
    }

    /// Returns whether hooks are passed to the agent, so that installed ones have nothing to do.
    pub fn brings_hooks(&self) -> bool {
        self.settings.contains_key("hooks")
    }

    /// Returns the agent's command line with these options added.
    pub fn applied_to(&self, line: &str, turn: &Start<'_>, run_dir: &RunDir) -> io::Result<String> {
        let line = &completed(line);
        let Some(client) = Client::find(line) else { return Ok(line.to_owned()) };
        let (agent, mut options) = (client.dialect, Vec::new());
        let is_chosen = ["--resume", "-r", "--continue"].iter().any(|flag| client.has(flag))
            || client.is_claude() && client.has("-c");
        if let Some(session) = turn.resumed
            && !is_chosen
        {
            options.push(agent.resume.replace("{}", &quoted(Utf8Path::new(&session.id))));
        }
        if !turn.model.is_empty() && !client.has("--model") && !client.has("-m") {
            options.push(agent.model.replace("{}", &quoted(Utf8Path::new(turn.model))));
        }
        let passed = pass(agent, &self.settings, &self.servers, run_dir)?;
        options.extend(passed.options);
        let budget = if self.takes_budget && !client.has(BUDGET) { turn.budget_usd } else { None };
        options.extend(budget.map(|sum| format!("{BUDGET} {sum:.4}")));
        let line = if options.is_empty() { line.clone() } else { client.with(&options.join(" ")) };
        Ok(passed.before + &line)
    }
}

/// Returns the command line of a known agent with the options that its row starts it with and the line
/// lacks, by whichever name: a script that starts `claude -p` lets nothing be written or read.
pub fn completed(line: &str) -> String {
    let Some(client) = Client::find(line) else { return line.to_owned() };
    let missing = client.missing();
    if missing.is_empty() { line.to_owned() } else { client.with(&missing.join(" ")) }
}

/// Returns the finding about a command line that is completed.
pub(super) fn completion(line: &str) -> Option<Diagnosis> {
    let whole = completed(line);
    let is_changed = whole != line;
    is_changed.then(|| Diagnosis::Note(format!("the agent's command is completed: `{whole}`")))
}

/// Returns the hooks that these settings, and the plugin that they enable, register.
fn installed(env: &Env, project: &Project, settings: &[String]) -> Vec<Registered> {
    let plugin = plugin_hooks(env, settings).and_then(|path| fs_err::read_to_string(path).ok());
    let texts = settings.iter().chain(&plugin);
    let path = path_of_agent(&env.get("PATH").unwrap_or_default(), project.root());
    let is_there =
        |hook: &Registered| !hook.is_in_path || is_found(hook.hook, &path, project.root());
    texts.flat_map(|text| registered(text).unwrap_or_default()).filter(is_there).collect()
}

/// Whether an event would be handled twice.
fn is_twice(installed: &[Registered]) -> bool {
    let mut seen = BTreeSet::new();
    !installed.iter().all(|hook| seen.insert((&hook.event, hook.hook)))
}

/// Returns the hooks next to this program, or why no hook guards the agent. Installed ones are relied on
/// only where none can be passed: whether the client can run them is seen at its first prompt.
fn hooks_to_pass(
    settings: &[String],
    installed: &[Registered],
    client: &Client<'_>,
    version: Option<ClientVersion>,
) -> Result<Map<String, Value>, &'static str> {
    if settings.iter().filter_map(|text| hooks_are_off(text)).next_back() == Some(true) {
        return Err("the client's settings set `disableAllHooks`, so no hooks guard the agent");
    }
    if client.has("--bare") {
        return Err("the agent's command has --bare, so no hooks guard it");
    }
    let version = version.ok_or("the agent does not answer `--version`, so it gets no hooks")?;
    let folder = folder_of_this_program().unwrap_or_default();
    let is_beside = |hook: &str| is_executable(&folder.join(hook));
    let passed = Registrations::of_run(version, &quoted(&folder)).only(|_, hook| is_beside(hook));
    let is_guarded = installed.iter().any(|own| own.event == "PreToolUse");
    if passed.events().is_empty() {
        let why = "no hooks guard the agent; copy them next to ralph-loop";
        return if is_guarded { Ok(Map::new()) } else { Err(why) };
    }
    if client.has("--settings") {
        let why = "the agent's command has --settings, so no hooks are passed; install them";
        return if is_guarded { Ok(Map::new()) } else { Err(why) };
    }
    // Registrations can always be added to empty settings.
    let text = merge("", &passed).unwrap_or_default();
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

/// Returns the contents of the settings files that this client reads; the last one takes
/// precedence. A file that cannot be read is skipped.
fn settings_of(env: &Env, project: &Project, client: &Client<'_>, in_copy: bool) -> Vec<String> {
    let sources = client.value_of("--setting-sources").unwrap_or("project,local,user");
    let root = project.root();
    let places = [
        ("user", HookTarget::user(env)),
        ("project", Some(HookTarget::project(root))),
        ("local", Some(HookTarget::project_local(root))),
    ];
    let read = places.into_iter().filter(|(name, _)| sources.split(',').any(|s| s.trim() == *name));
    let files = read.filter_map(|(_, place)| Some(place?.settings));
    let text = |path: Utf8PathBuf| match path.strip_prefix(root) {
        Ok(below) if in_copy => text_in_copy(root, below),
        _ => fs_err::read_to_string(path).ok(),
    };
    // Settings of the machine and of the command line always apply.
    let own = client.value_of("--settings").map(|given| {
        let path = root.join(given.trim_matches(['\'', '"']));
        fs_err::read_to_string(path).unwrap_or_else(|_| given.to_owned())
    });
    let managed = fs_err::read_to_string(linux::MANAGED).ok();
    files.filter_map(text).chain(own).chain(managed).collect()
}

/// Returns a project file as the copy has it: the committed version or, if git has none, the file
/// on disk.
fn text_in_copy(root: &Utf8Path, below: &Utf8Path) -> Option<String> {
    let committed = Git::at(root.as_std_path()).run(&["show", &format!("HEAD:./{below}")]);
    match committed {
        Ok(text) => String::from_utf8(text).ok(),
        Err(_) => fs_err::read_to_string(root.join(below)).ok(),
    }
}

/// Returns the folders under which the client may know the project: newer versions use the main
/// work tree of the repository, older ones the folder in which they were started.
fn folders_of(project: &Project) -> Vec<Utf8PathBuf> {
    let mut folders = Vec::new();
    if let Ok(repo) = Repo::open(project.root()) {
        let shared = repo.shared_git_dir();
        let main = if shared.ends_with(".git") { shared.parent() } else { None };
        let found = main.into_iter().chain([repo.top()]).filter_map(Utf8Path::from_path);
        folders.extend(found.map(Utf8Path::to_owned));
    }
    folders.push(project.root().to_owned());
    folders.dedup();
    folders
}

/// Returns the client's entry for the first of these folders that has one.
fn entry(env: &Env, folders: &[Utf8PathBuf]) -> Option<Map<String, Value>> {
    let folder = env.client_config().or_else(|| env.home())?;
    let known = object_in(&folder.join(FILE))?;
    let known = known.get("projects")?;
    folders.iter().find_map(|folder| known.get(folder.as_str())?.as_object()).cloned()
}

fn object_in(path: &Utf8Path) -> Option<Map<String, Value>> {
    match serde_json::from_slice(&fs_err::read(path).ok()?).ok()? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// Returns the name that the client gives to its data folder for a project folder.
fn named(folder: &Utf8Path) -> String {
    folder.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enabled_servers_are_passed_and_malformed_entries_are_ignored() {
        let taken = |entry: Value| {
            let mut kept = ClientOptions::default();
            kept.take_servers(entry.as_object().unwrap());
            kept
        };
        let kept = taken(json!({
            "mcpServers": {"a": {"command": "a"}, "b": {}},
            "disabledMcpServers": ["b"],
            "disabledMcpjsonServers": ["c"],
        }));
        assert_eq!(kept.servers.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(Value::Object(kept.settings), json!({"disabledMcpjsonServers": ["c"]}));
        for odd in [json!({}), json!({"mcpServers": 3, "disabledMcpServers": {}, "x": []})] {
            assert_eq!(taken(odd), ClientOptions::default());
        }
    }
}
