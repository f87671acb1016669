//! `cargo xtask plugin`: the plugin with its binaries included, in its own marketplace. The plugin
//! in the sources has none, and finds them in PATH.

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use ralph_project::install::{ClientVersion, Registrations, merge};

use crate::{dist, run};

/// The client version for whose events the plugin is built.
const CLIENT: ClientVersion = ClientVersion::new(2, 1, 325);

/// The name of the plugin's folder, in the sources and in the marketplace that is built.
const PLUGIN: &str = "plugin";

const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

const HOOKS: &str = "hooks/hooks.json";

/// Where the binaries come from.
#[derive(Args)]
pub(crate) struct Plugin {
    /// Take the binaries from this folder, target/dist for instance, instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<Utf8PathBuf>,
    /// Where the marketplace goes.
    #[arg(long, value_name = "DIR", default_value = "target/plugin")]
    output: Utf8PathBuf,
}

/// Builds the plugin and prints how to install it.
pub(crate) fn run(arguments: &Plugin) -> Result<()> {
    let binaries = match &arguments.binaries {
        Some(folder) => folder.clone(),
        None => dist::run()?,
    };
    let folder = run::root().join(&arguments.output);
    build(&binaries, &folder)?;
    println!("claude plugin marketplace add {folder}\nclaude plugin install ralph-loop@ralph");
    Ok(())
}

/// Creates a marketplace in this folder, with the plugin and these binaries.
fn build(binaries: &Utf8Path, folder: &Utf8Path) -> Result<()> {
    if folder.exists() {
        fs_err::remove_dir_all(folder)?;
    }
    let source = run::root();
    copy(&source.join(MARKETPLACE), &folder.join(MARKETPLACE))?;
    let (from, to) = (source.join(PLUGIN), folder.join(PLUGIN));
    let listed = run::output(run::command("git").args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        PLUGIN,
    ]))?;
    for file in listed.lines().filter_map(|line| Utf8Path::new(line).strip_prefix(PLUGIN).ok()) {
        copy(&from.join(file), &to.join(file))?;
    }
    for name in dist::BINARIES {
        copy(&binaries.join(name), &to.join("bin").join(name))?;
    }
    let inside = Registrations::of(CLIENT, r#""${CLAUDE_PLUGIN_ROOT}"/bin"#);
    Ok(fs_err::write(to.join(HOOKS), merge("", &inside)?)?)
}

fn copy(from: &Utf8Path, to: &Utf8Path) -> Result<()> {
    to.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    fs_err::copy(from, to)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use ralph_core::plan::{Options, Plan};
    use ralph_project::gate::new_orchestrator;
    use ralph_project::install::HOOK_NAMES;
    use serde_json::Value;

    use super::*;

    fn read(name: &str) -> String {
        fs_err::read_to_string(run::root().join(PLUGIN).join(name)).unwrap()
    }

    #[test]
    fn the_plugin_version_matches_the_programs() {
        let manifest: Value = serde_json::from_str(&read(".claude-plugin/plugin.json")).unwrap();
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn the_orchestrator_skill_lists_every_condition() {
        let skill = read("skills/orchestrator/SKILL.md");
        let rows = skill.lines().filter(|line| line.starts_with("| `"));
        let mut named: Vec<&str> = rows.filter_map(|row| row.split('`').nth(3)).collect();
        named.sort_unstable();
        let begun = new_orchestrator("x");
        let mut conditions: Vec<&String> =
            begun["conditions"].as_object().unwrap().keys().collect();
        conditions.sort_unstable();
        assert_eq!(named, conditions);
    }

    #[test]
    fn the_example_plan_of_the_skill_is_readable() {
        let skill = read("skills/plan/SKILL.md");
        let example = skill.split("```markdown\n").nth(1).unwrap().split("```").next().unwrap();
        let lines = example.lines().map(|line| line.strip_prefix("   ").unwrap_or(line));
        let text = lines.collect::<Vec<_>>().join("\n");
        let plan = Plan::parse("plan.md".into(), text.into_bytes(), &Options::default()).unwrap();
        let stories =
            plan.stories().iter().map(|story| (story.id.as_str(), story.depends.concat()));
        let expected = [("US-001", String::new()), ("US-002", "US-001".to_owned())];
        assert_eq!(stories.collect::<Vec<_>>(), expected);
        assert_eq!(plan.warnings(), []);
    }

    /// The plugin looks up the hooks in PATH, and its first entry warns if they are missing.
    #[test]
    fn the_plugin_has_the_same_hooks_as_an_installation() {
        let mut installed = merge("", &Registrations::of(CLIENT, "HOOKS")).unwrap();
        for hook in HOOK_NAMES {
            let sought = format!("command -v {hook} >/dev/null || exit 0; exec {hook}");
            installed = installed.replace(&format!("HOOKS/{hook}"), &sought);
        }
        let installed: Value = serde_json::from_str(&installed).unwrap();
        let mut written: Value = serde_json::from_str(&read(HOOKS)).unwrap();
        let notice = written["hooks"]["SessionStart"].as_array_mut().unwrap().remove(0);
        let notice = notice["hooks"][0]["command"].as_str().unwrap();
        assert!(notice.starts_with("command -v ralph-pre-prompt >/dev/null || echo '{"));
        assert_eq!(written, installed);
    }
}
