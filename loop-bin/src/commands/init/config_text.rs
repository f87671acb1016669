//! The text of a new `config.toml`: each key with its default as a comment, and the detected commands.

use ralph_project::config::{Config, keys};

use crate::detect::{Detected, FoundCommand};
use crate::flags::CLAUDE;

/// Editors with TOML schemas (taplo, Even Better TOML) read this first line.
const HEAD: &str = "#:schema ./config.schema.json\n# All settings are optional; a commented-out key shows its default.\n";

/// Writes the text.
pub(super) fn config_text(found: &Detected, agent: &str) -> String {
    let default_of = Config::default().values();
    let (mut text, mut last) = (HEAD.to_owned(), "");
    for key in keys() {
        let (table, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if table != last {
            text.push_str(&format!("\n[{table}]\n"));
            last = table;
        }
        text.push_str(&format!("# {}\n", key.help));
        let default = default_of(key);
        text.push_str(&match key.name {
            "verify.commands" if !found.checks.is_empty() => {
                list(name, &found.checks, &found.proposed)
            }
            "agent.name" if agent != CLAUDE => format!("{name} = \"{agent}\"\n"),
            "workspace.setup" if !found.setup.is_empty() => list(name, &found.setup, &[]),
            _ => default.map(|value| format!("#{name} = {value}\n")).unwrap_or_default(),
        });
    }
    text
}

/// A list with a reason for each item; proposals are commented out.
fn list(name: &str, items: &[FoundCommand], proposed: &[FoundCommand]) -> String {
    let line = |lead: &str, item: &FoundCommand| {
        let command = toml::Value::from(item.command.as_str());
        format!("  {lead}{command}, # {}\n", item.why)
    };
    let mut text = format!("{name} = [\n");
    text.extend(items.iter().map(|item| line("", item)));
    text.extend(proposed.iter().map(|item| line("# ", item)));
    text + "]\n"
}

#[cfg(test)]
mod tests {
    use ralph_base::env::Env;

    use super::*;

    fn found() -> Detected {
        let one =
            |command: &str| FoundCommand { command: command.into(), why: "Cargo.toml".into() };
        Detected {
            checks: vec![one("cargo test"), one("echo \"hi\" \\ x"), one("a 'b'")],
            setup: vec![one("npm ci")],
            proposed: vec![one("cargo clippy")],
        }
    }

    fn read(text: &str) -> Config {
        let read = Config::from_parts("c", text, &Env::of([("", "")]), &[]);
        read.unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// The text with all commented-out settings enabled.
    fn uncommented(text: &str) -> String {
        let plain = text.lines().filter(|line| !line.starts_with("# ") && !line.starts_with("#:"));
        plain.map(|line| format!("{}\n", line.strip_prefix('#').unwrap_or(line))).collect()
    }

    #[test]
    fn detected_commands_can_be_read_back() {
        let config = read(&config_text(&found(), "codex"));
        assert_eq!(config.verify.commands, ["cargo test", "echo \"hi\" \\ x", "a 'b'"]);
        assert_eq!(config.workspace.setup, ["npm ci"]);
        assert!(config.agent.command.starts_with("codex exec "), "{}", config.agent.command);
    }

    #[test]
    fn every_key_is_listed_with_its_default() {
        let text = config_text(&Detected::default(), CLAUDE);
        assert_eq!(read(&text), Config::default());
        let all = uncommented(&text);
        assert_eq!(read(&all), Config::default());
        let table: toml::Table = all.parse().unwrap();
        for key in keys() {
            let (outer, inner) = key.name.split_once('.').unwrap();
            assert!(table[outer].get(inner).is_some(), "{} is missing", key.name);
        }
    }
}
