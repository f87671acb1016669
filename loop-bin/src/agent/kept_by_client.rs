//! What the client keeps for a project by its folder, and would not find from the copy: MCP servers
//! that the user added, what a trusted folder may do, and the memory.
//!
//! A server of `.mcp.json` needs no approval without a terminal, so only those that the user turned
//! off are passed on.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::env::Env;
use ralph_core::git::Repo;
use ralph_core::install::Place;
use ralph_core::project::Project;
use serde_json::{Map, Value, json};

/// The file in which the client keeps what it knows of each folder.
const FILE: &str = ".claude.json";

/// A setting for where the memory is.
const MEMORY: &str = "autoMemoryDirectory";

/// What of a project's permissions counts only in a folder that is trusted.
const TRUSTED_ONLY: [&str; 2] = ["allow", "additionalDirectories"];

/// What is passed on, and what cannot be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeptByClient {
    /// The MCP servers, as a file for the client has them.
    pub(super) servers: Map<String, Value>,
    /// Settings, those of permissions apart.
    settings: Map<String, Value>,
    permissions: Map<String, Value>,
    /// For the user: what is passed on, in a few words each.
    pub(crate) passed: Vec<String>,
    /// For the user: what the agent has to do without, or should not do.
    pub(crate) left: Vec<String>,
}

impl KeptByClient {
    /// Looks for it.
    pub(super) fn find(env: &Env, project: &Project) -> Self {
        let folders = folders_of(project);
        let mut kept = Self::default();
        let is_trusted = match known(env).map(|known| entry(&known, &folders)) {
            Some(entry) => kept.take(&entry, &folders),
            None => false,
        };
        if is_trusted {
            kept.take_permissions(project.root());
        }
        kept.take_memory(env, project.root(), &folders, is_trusted);
        kept
    }

    /// The settings with those of permissions.
    pub(super) fn settings(&self) -> Map<String, Value> {
        let mut all = self.settings.clone();
        if !self.permissions.is_empty() {
            all.insert("permissions".to_owned(), Value::Object(self.permissions.clone()));
        }
        all
    }

    /// What is known of the folder; returns whether it is trusted.
    fn take(&mut self, entry: &Map<String, Value>, folders: &[Utf8PathBuf]) -> bool {
        let off = texts(entry.get("disabledMcpServers"));
        let servers = entry.get("mcpServers").and_then(Value::as_object);
        for (name, server) in servers.into_iter().flatten() {
            if off.contains(&name.as_str()) {
                continue;
            }
            if let Some(path) = path_into(server, folders) {
                self.left.push(format!(
                    "the MCP server {name} is given {path}, so it works in the project, not in the \
                     copy; give it a relative path"
                ));
            }
            self.servers.insert(name.clone(), server.clone());
        }
        if !self.servers.is_empty() {
            let names: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            self.passed.push(format!("the MCP servers {}", names.join(", ")));
        }
        let own = |name: &&str| servers.is_some_and(|servers| servers.contains_key(*name));
        let denied: Vec<String> = off.iter().filter(|name| !own(name)).map(rule_for).collect();
        if !denied.is_empty() {
            self.permissions.insert("deny".to_owned(), json!(denied));
        }
        let unwanted = texts(entry.get("disabledMcpjsonServers"));
        if !unwanted.is_empty() {
            self.settings.insert("disabledMcpjsonServers".to_owned(), json!(unwanted));
        }
        if is_true(entry, "hasClaudeMdExternalIncludesApproved") {
            self.left.push(
                "CLAUDE.md imports files from outside of the project, which the client reads there \
                 and not in the copy; copy what they say into CLAUDE.md"
                    .to_owned(),
            );
        }
        is_true(entry, "hasTrustDialogAccepted")
    }

    /// What the settings that the project's people share allow.
    fn take_permissions(&mut self, root: &Utf8Path) {
        let settings = object_in(&Place::project(root).settings).unwrap_or_default();
        let permissions = settings.get("permissions").and_then(Value::as_object);
        for name in TRUSTED_ONLY {
            if let Some(list) = permissions.and_then(|permissions| permissions.get(name)) {
                self.permissions.insert(name.to_owned(), list.clone());
                self.passed.push(format!("permissions.{name} of the project's settings"));
            }
        }
    }

    /// The folder of the memory, unless the user has one for all projects.
    fn take_memory(
        &mut self,
        env: &Env,
        root: &Utf8Path,
        folders: &[Utf8PathBuf],
        is_trusted: bool,
    ) {
        let set = |place: Option<Place>| object_in(&place?.settings)?.get(MEMORY).cloned();
        let local = set(Some(Place::project_local(root))).filter(|_| is_trusted);
        if local.is_none() && set(Place::user(env)).is_some() {
            return;
        }
        let kept = || {
            let all = config_folder(env)?.join("projects");
            let mut places = folders.iter().map(|folder| all.join(named(folder)).join("memory"));
            places.find(|place| has_entries(place)).map(|place| json!(place))
        };
        if let Some(place) = local.or_else(kept) {
            self.settings.insert(MEMORY.to_owned(), place);
            self.passed.push("the project's memory".to_owned());
        }
    }
}

/// The folders by which the client may know the project: the newer ones go by the main work tree of
/// the repository, the older ones by the folder that they were started in.
fn folders_of(project: &Project) -> Vec<Utf8PathBuf> {
    let mut folders = Vec::new();
    if let Ok(repo) = Repo::open(project.root()) {
        let shared = repo.shared_git_dir();
        let main = shared.parent().filter(|_| shared.ends_with(".git"));
        let found = main.into_iter().chain([repo.top()]).filter_map(Utf8Path::from_path);
        folders.extend(found.map(Utf8Path::to_owned));
    }
    folders.push(project.root().to_owned());
    folders.dedup();
    folders
}

fn config_folder(env: &Env) -> Option<Utf8PathBuf> {
    Place::user(env)?.settings.parent().map(Utf8Path::to_owned)
}

/// All that the client knows of folders.
fn known(env: &Env) -> Option<Map<String, Value>> {
    let folder = env.client_config().or_else(|| env.home())?;
    let mut all = object_in(&folder.join(FILE))?;
    match all.remove("projects") {
        Some(Value::Object(projects)) => Some(projects),
        _ => None,
    }
}

/// What it knows of the first of these folders that it knows.
fn entry(known: &Map<String, Value>, folders: &[Utf8PathBuf]) -> Map<String, Value> {
    let mut found = folders.iter().filter_map(|folder| known.get(folder.as_str())?.as_object());
    found.next().cloned().unwrap_or_default()
}

fn object_in(path: &Utf8Path) -> Option<Map<String, Value>> {
    match serde_json::from_slice(&fs_err::read(path).ok()?).ok()? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn is_true(entry: &Map<String, Value>, name: &str) -> bool {
    entry.get(name).and_then(Value::as_bool) == Some(true)
}

/// The rule that names all tools of a server. A client cannot be told by a setting that one of the
/// user's own servers is off for this project.
fn rule_for(name: &&str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    format!("mcp__{}", name.chars().map(plain).collect::<String>())
}

/// The name of a folder's own folder among the client's.
fn named(folder: &Utf8Path) -> String {
    folder.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn has_entries(folder: &Utf8Path) -> bool {
    folder.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some())
}

/// A folder of the project among the arguments of a server.
fn path_into(server: &Value, folders: &[Utf8PathBuf]) -> Option<String> {
    let arguments = texts(server.get("args"));
    let is_inside =
        |text: &&&str| folders.iter().any(|folder| Utf8Path::new(text).starts_with(folder));
    arguments.iter().find(is_inside).map(|text| (*text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(entry: Value) -> (KeptByClient, bool) {
        let mut kept = KeptByClient::default();
        let is_trusted = kept.take(entry.as_object().unwrap(), &["/srv/app".into()]);
        (kept, is_trusted)
    }

    #[test]
    fn servers_that_are_on_are_passed_and_others_stay_off() {
        let (kept, is_trusted) = taken(json!({
            "mcpServers": {"a": {"command": "a", "args": ["-x", "/srv/app/data"]}, "b": {}},
            "disabledMcpServers": ["b", "my db"],
            "disabledMcpjsonServers": ["c"],
        }));
        assert_eq!(kept.servers.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(
            Value::Object(kept.settings()),
            json!({"permissions": {"deny": ["mcp__my_db"]}, "disabledMcpjsonServers": ["c"]})
        );
        assert!(
            matches!(&kept.left[..], [one] if one.contains("/srv/app/data")),
            "{:?}",
            kept.left
        );
        assert!(!is_trusted);
    }

    #[test]
    fn entries_of_any_shape_do_no_harm() {
        for odd in [json!({}), json!({"mcpServers": 3, "disabledMcpServers": {}, "x": []})] {
            assert_eq!(taken(odd), (KeptByClient::default(), false));
        }
    }

    #[test]
    fn folders_are_named_as_the_client_names_them() {
        assert_eq!(named("/tmp/my_app.x".into()), "-tmp-my-app-x");
    }
}
