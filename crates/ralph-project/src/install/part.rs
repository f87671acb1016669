//! Hooks in settings that are not JSON: TOML tables, and a plugin in a file of its own.

use camino::Utf8Path;

use super::{HOOK_NAMES, Registrations, SettingsProblem};

/// The plugin for opencode and similar agents.
const PLUGIN: &str = include_str!("opencode.js");

/// Returns the plugin of an agent with hooks in this folder.
pub fn plugin_script(agent: &str, folder: &Utf8Path) -> String {
    let folder = serde_json::Value::from(format!("{folder}/"));
    format!("const AGENT = \"{agent}\", FOLDER = {folder}\n{PLUGIN}")
}

/// Returns the plugin for a person's own sessions. Our runs bring their own.
pub(super) fn own_script(agent: &str, folder: &Utf8Path) -> String {
    let own = "FOLDER = process.env.RALPH_RUN ? \"/dev/null/\" : ";
    plugin_script(agent, folder).replacen("FOLDER = ", own, 1)
}

/// Replaces our hooks in the text by these, as TOML tables.
pub fn merge_toml(text: &str, registrations: &Registrations) -> Result<String, SettingsProblem> {
    let after = remove_toml(text) + &registrations.in_toml();
    match after.parse::<toml::Table>() {
        Ok(_) => Ok(after),
        Err(error) => Err(SettingsProblem::in_toml(&after, &error)),
    }
}

/// Returns the text without our tables.
pub(super) fn remove_toml(text: &str) -> String {
    let (mut kept, mut table) = (String::new(), String::new());
    let mut end = |table: &mut String| {
        let is_ours =
            table.starts_with("[[hooks]]") && HOOK_NAMES.iter().any(|h| table.contains(h));
        kept.push_str(if is_ours { "" } else { table });
        table.clear();
    };
    for line in text.split_inclusive('\n') {
        if line.starts_with('[') {
            end(&mut table);
        }
        table.push_str(line.trim_end_matches('\n'));
        table.push('\n');
    }
    end(&mut table);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;

    #[test]
    fn our_tables_are_added_and_removed_and_the_rest_is_kept() {
        let kimi = Dialect::find("kimi").unwrap();
        let hooks = Registrations::of_agent(kimi, "/a 'b'".into());
        let theirs = "a = 1\n[[hooks]]\nevent = \"Stop\"\ncommand = \"./mine\"\n[b]\n";
        for text in ["", "model = \"x\"\n", theirs] {
            let after = merge_toml(text, &hooks).unwrap();
            let table: toml::Table = after.parse().unwrap();
            let last = table["hooks"].as_array().unwrap().last().unwrap();
            let command = last["command"].as_str().unwrap();
            assert_eq!(command, r"'/a '\''b'\'''/ralph-on-stop --agent kimi");
            assert_eq!(merge_toml(&after, &hooks).unwrap(), after, "twice changes nothing");
            assert_eq!(remove_toml(&(after + "[later]\n")), format!("{text}[later]\n"));
        }
        let script = own_script("kilo", "/x".into());
        assert!(script.contains("RALPH_RUN ? \"/dev/null/\" : \"/x/\"\n"), "{script}");
    }

    #[test]
    fn toml_that_cannot_be_changed_is_refused_with_its_line() {
        let hooks = Registrations::of_agent(Dialect::find("kimi").unwrap(), "/h".into());
        for text in ["a = 1\nb =\n", "a = 1\nhooks = []\n"] {
            let problem = merge_toml(text, &hooks).unwrap_err().to_string();
            assert!(problem.starts_with("line "), "{text}: {problem}");
        }
    }
}
