//! What the client keeps for a project by its folder, and would not find from the copy: MCP servers
//! that the user added, what a trusted folder may do, and the memory.
//!
//! A server of `.mcp.json` needs no approval without a terminal, so only those that the user turned
//! off are passed on.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_core::git::Repo;
use ralph_project::install::Place;
use ralph_project::project::Project;
use serde_json::{Map, Value, json};

/// The file in which the client keeps what it knows of each folder.
const FILE: &str = ".claude.json";

/// A setting for where the memory is.
const MEMORY: &str = "autoMemoryDirectory";

/// What of a project's permissions counts only in a folder that is trusted.
const TRUSTED_ONLY: [&str; 2] = ["allow", "additionalDirectories"];

/// What is passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeptByClient {
    /// The MCP servers, as a file for the client has them.
    pub(super) servers: Map<String, Value>,
    pub(super) settings: Map<String, Value>,
    /// For the user: what it is, in a few words each.
    pub(super) passed: Vec<String>,
}

impl KeptByClient {
    /// Looks for it.
    pub(super) fn find(env: &Env, project: &Project) -> Self {
        let folders = folders_of(project);
        let mut kept = Self::default();
        let entry = entry(env, &folders).unwrap_or_default();
        kept.take_servers(&entry);
        if entry.get("hasTrustDialogAccepted").and_then(Value::as_bool) == Some(true) {
            kept.take_permissions(project.root());
        }
        kept.take_memory(env, &folders);
        kept
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

    /// What the settings that the project's people share allow.
    fn take_permissions(&mut self, root: &Utf8Path) {
        let settings = object_in(&Place::project(root).settings).unwrap_or_default();
        let permissions = settings.get("permissions").and_then(Value::as_object);
        let mut trusted = permissions.cloned().unwrap_or_default();
        trusted.retain(|name, _| TRUSTED_ONLY.contains(&name.as_str()));
        if !trusted.is_empty() {
            self.settings.insert("permissions".to_owned(), Value::Object(trusted));
            self.passed.push("the permissions of the project's settings".to_owned());
        }
    }

    /// The folder of the memory, unless the user has one for all projects.
    fn take_memory(&mut self, env: &Env, folders: &[Utf8PathBuf]) {
        let Some(user) = Place::user(env).map(|place| place.settings) else { return };
        let is_set = object_in(&user).is_some_and(|settings| settings.contains_key(MEMORY));
        let mut places = folders.iter().filter_map(|folder| {
            Some(user.parent()?.join("projects").join(named(folder)).join("memory"))
        });
        if let Some(place) = places.find(|place| has_entries(place)).filter(|_| !is_set) {
            self.settings.insert(MEMORY.to_owned(), json!(place));
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

/// What the client knows of the first of these folders that it knows.
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

/// The name of a folder's own folder among the client's.
fn named(folder: &Utf8Path) -> String {
    folder.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn has_entries(folder: &Utf8Path) -> bool {
    folder.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(entry: Value) -> KeptByClient {
        let mut kept = KeptByClient::default();
        kept.take_servers(entry.as_object().unwrap());
        kept
    }

    #[test]
    fn servers_that_are_on_are_passed_and_others_stay_off() {
        let kept = taken(json!({
            "mcpServers": {"a": {"command": "a"}, "b": {}},
            "disabledMcpServers": ["b"],
            "disabledMcpjsonServers": ["c"],
        }));
        assert_eq!(kept.servers.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(Value::Object(kept.settings), json!({"disabledMcpjsonServers": ["c"]}));
    }

    #[test]
    fn entries_of_any_shape_do_no_harm() {
        for odd in [json!({}), json!({"mcpServers": 3, "disabledMcpServers": {}, "x": []})] {
            assert_eq!(taken(odd), KeptByClient::default());
        }
    }

    #[test]
    fn folders_are_named_as_the_client_names_them() {
        assert_eq!(named("/tmp/my_app.x".into()), "-tmp-my-app-x");
    }
}
