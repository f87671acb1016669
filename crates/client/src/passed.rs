//! Passes hooks and MCP servers to an agent for one run, without changing the user's files.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::{self, RunDir};
use ralph_project::dialect::Dialect;
use ralph_project::install::{HookTarget, Registrations, merge_toml, plugin_script, quoted};
use serde_json::{Map, Value, json};
use shell_reader::quoted as quoted_text;

use crate::command::folder_of_this_program;

/// What is added to the agent's command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Options after the agent's name.
    pub(super) options: Vec<String>,
    /// Shell commands before the line.
    pub(super) before: String,
}

/// Passes settings, including the hooks, and servers. The files are written each time, because an
/// earlier agent may have removed them.
pub(super) fn pass(
    agent: &'static Dialect,
    settings: &Map<String, Value>,
    servers: &Map<String, Value>,
    run_dir: &RunDir,
) -> io::Result<Passed> {
    let mut passed = Passed::default();
    let hooks = settings.get("hooks").and_then(Value::as_object);
    let file = run_dir.passed_settings();
    match agent.pass {
        "config" => {
            let hooks = hooks.into_iter().flatten().map(|(event, groups)| ("hooks", event, groups));
            let servers = servers.iter().map(|(name, server)| ("mcp_servers", name, server));
            passed.options.extend(hooks.chain(servers).map(|(table, key, value)| {
                format!("-c {}", quoted_text(&format!("{table}.{key}={}", inline(value))))
            }));
            return Ok(passed);
        }
        "variable" => {
            let mut all = settings.clone();
            all.insert("mcpServers".to_owned(), json!(servers));
            write_private(&file, &json!(all).to_string())?;
            passed.before = format!("export {}={}; ", agent.variable, quoted(&file));
            return Ok(passed);
        }
        "home" => {
            passed.before = export_home(agent, &file.with_extension("toml"))?;
            return Ok(passed);
        }
        "script" => {
            passed.before = export_plugin(agent, servers, &file.with_extension("js"))?;
            return Ok(passed);
        }
        "plugin_dir" => {
            let folder = file.with_extension("plugin");
            fs_err::create_dir_all(folder.join("hooks"))?;
            let about = json!({"name": "ralph", "version": env!("CARGO_PKG_VERSION")});
            state::replace(&folder.join("plugin.json"), about.to_string().as_bytes())?;
            let hooks = json!({"version": 1, "hooks": hooks}).to_string();
            state::replace(&folder.join("hooks/hooks.json"), hooks.as_bytes())?;
            passed.options.push(format!("--plugin-dir {}", quoted(&folder)));
        }
        _ if !settings.is_empty() => {
            state::replace(&file, json!(settings).to_string().as_bytes())?;
            passed.options.push(format!("--settings {}", quoted(&file)));
        }
        _ => {}
    }
    if !servers.is_empty() && !agent.servers.is_empty() {
        let path = run_dir.passed_servers();
        write_private(&path, &json!({"mcpServers": servers}).to_string())?;
        passed.options.push(agent.servers.replace("{}", &quoted(&path)));
    }
    Ok(passed)
}

/// Writes the plugin; returns the export of a variable that adds it and the servers.
fn export_plugin(
    agent: &Dialect,
    servers: &Map<String, Value>,
    file: &Utf8PathBuf,
) -> io::Result<String> {
    let folder = folder_of_this_program().unwrap_or_default();
    state::replace(file, plugin_script(agent.name, &folder).as_bytes())?;
    let local = |server: &Value| {
        let words = server.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
        let command = server.get("command").into_iter().cloned().chain(words);
        json!({"type": "local", "command": command.collect::<Vec<_>>()})
    };
    let servers: Map<String, Value> =
        servers.iter().map(|(name, server)| (name.clone(), local(server))).collect();
    let own = Env::process().get(agent.variable);
    let own = own.and_then(|text| serde_json::from_str(&text).ok());
    let mut all: Map<String, Value> = own.unwrap_or_default();
    all.insert("plugin".to_owned(), json!([format!("file://{file}")]));
    all.insert("mcp".to_owned(), json!(servers));
    Ok(format!("export {}={}; ", agent.variable, quoted_text(&json!(all).to_string())))
}

/// Writes a copy of the user's settings with the hooks; returns commands that put it into a home
/// folder of the agent's own, which the sandbox may have created already.
fn export_home(agent: &'static Dialect, file: &Utf8Path) -> io::Result<String> {
    let place =
        HookTarget::of_agent(agent, None, &Env::process()).ok_or(io::ErrorKind::NotFound)?;
    let users = state::read_if_there(&place.settings)?.unwrap_or_default();
    let folder = folder_of_this_program().unwrap_or_default();
    let hooks = Registrations::of_agent(agent, &folder);
    let text = merge_toml(&String::from_utf8_lossy(&users), &hooks).map_err(io::Error::other)?;
    write_private(file, &text)?;
    let (variable, name, file) = (agent.home, agent.name, quoted(file));
    let users = quoted(place.settings.parent().unwrap_or(&place.settings));
    let settings = place.settings.file_name().unwrap_or_default();
    Ok(format!(
        "r=$RALPH_STATE_DIR/{name}; [ \"${variable}\" = \"$r\" ] || {{ mkdir -p \"$r\"; ln -sf {users}/* \"$r\"; }}; \
         rm -f \"$r/{settings}\"; cp {file} \"$r/{settings}\"; export {variable}=\"$r\"; "
    ))
}

/// Formats a value as one line of TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name}={}", inline(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// Writes a file that only the user can read, because server settings often contain keys.
fn write_private(path: &Utf8Path, text: &str) -> io::Result<()> {
    state::remove_if_there(path)?;
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create_new(true).options_mut().mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_toml_in_one_line() {
        let value =
            json!([{"matcher": "*", "hooks": [{"command": "/a b/c \"d\"", "timeout": 10}]}]);
        let expected = r#"[{hooks=[{command="/a b/c \"d\"",timeout=10}],matcher="*"}]"#;
        assert_eq!(inline(&value), expected);
    }
}
