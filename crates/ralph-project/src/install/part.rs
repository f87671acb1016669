//! Hooks in a settings file that is not JSON: they are a part of it, between two lines of ours.

use camino::Utf8Path;

use super::registration::{HOOK_NAMES, Registrations};
use super::settings::SettingsProblem;

/// The plugin for opencode and its kin.
const PLUGIN: &str = include_str!("opencode.js");

/// The settings of an agent with these hooks, as tables of TOML, in the place of those that they have.
pub fn merge_toml(text: &str, registrations: &Registrations) -> Result<String, SettingsProblem> {
    let after = with_part(text, "#", &registrations.in_toml())?;
    let refused = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        SettingsProblem::at(&after, at, error.message())
    };
    after.parse::<toml::Table>().map_err(refused)?;
    Ok(after)
}

/// The plugin of an agent with hooks in this folder; `/` stands behind it, and none is PATH.
pub fn plugin_script(agent: &str, folder: &str) -> String {
    format!("const AGENT = \"{agent}\", FOLDER = {}\n{PLUGIN}", serde_json::Value::from(folder))
}

/// The plugin for a person's own sessions. A run of ours brings one of its own.
pub(super) fn merge_script(
    text: &str,
    agent: &str,
    folder: &str,
) -> Result<String, SettingsProblem> {
    let own = "FOLDER = process.env.RALPH_RUN ? \"/dev/null/\" : ";
    with_part(text, "//", &plugin_script(agent, folder).replacen("FOLDER = ", own, 1))
}

fn with_part(text: &str, sign: &str, part: &str) -> Result<String, SettingsProblem> {
    let text = without_part(text);
    if let Some(at) = HOOK_NAMES.iter().find_map(|hook| text.find(hook)) {
        let why = "a hook of Ralph's that is not between its two lines";
        return Err(SettingsProblem::at(&text, at, why));
    }
    let [begin, end] = marks(sign);
    Ok(format!("{text}{begin}{part}{end}"))
}

/// The text without our part.
pub(super) fn without_part(text: &str) -> String {
    let cut = |sign: &str| {
        let [begin, end] = marks(sign);
        let (before, rest) = text.split_once(&begin)?;
        Some(format!("{before}{}", rest.split_once(&end)?.1))
    };
    cut("#").or_else(|| cut("//")).unwrap_or_else(|| text.to_owned())
}

fn marks(sign: &str) -> [String; 2] {
    [format!("\n{sign} hooks of Ralph: begin\n"), format!("{sign} hooks of Ralph: end\n")]
}

/// Whether a settings file is JSON.
pub(super) fn is_json(path: &Utf8Path) -> bool {
    path.extension() == Some("json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;

    #[test]
    fn our_part_comes_and_goes_and_the_rest_stays() {
        let kimi = Dialect::find("kimi").unwrap();
        let hooks = Registrations::of_agent(kimi, "/a 'b'".into());
        for text in ["", "model = \"x\"", "[a]\nb = 1\n# end\n"] {
            let after = merge_toml(text, &hooks).unwrap();
            let table: toml::Table = after.parse().unwrap();
            let first = &table["hooks"].as_array().unwrap()[0];
            assert_eq!(first["event"].as_str(), Some("UserPromptSubmit"));
            let command = first["command"].as_str().unwrap();
            assert_eq!(command, r"'/a '\''b'\'''/ralph-pre-prompt --agent kimi");
            assert_eq!(merge_toml(&after, &hooks).unwrap(), after, "twice changes nothing");
            let later = format!("{after}[later]\n");
            assert_eq!(without_part(&later), format!("{text}[later]\n"));
            let script = merge_script(text, "kilo", "/x/").unwrap();
            assert_eq!(without_part(&script), text);
        }
    }

    #[test]
    fn what_cannot_be_changed_is_refused_with_its_line() {
        let hooks = Registrations::of_agent(Dialect::find("kimi").unwrap(), "/h".into());
        for (text, expected) in [
            ("a = 1\nb =\n", "line 2, column 4: "),
            ("a = 1\nhooks = []\n", "line "),
            ("x = 1\ny = \"/old/ralph-pre-tool\"", "line 2, column 11: a hook of Ralph's"),
        ] {
            let problem = merge_toml(text, &hooks).unwrap_err().to_string();
            assert!(problem.starts_with(expected), "{text}: {problem}");
        }
    }
}
