//! Our hooks as a plugin of the client, whose files record whether it is enabled and where it is.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use serde_json::Value;

use super::{HookTarget, registered};

/// The name of the plugin, up to that of its marketplace.
const NAME: &str = "ralph-loop@";

/// The list of plugins that the client has fetched.
const FETCHED: &str = "plugins/installed_plugins.json";

/// The file with a plugin's hooks.
const HOOKS: &str = "hooks/hooks.json";

/// Returns the file with the plugin's hooks, if these settings enable it; the last setting takes
/// precedence.
pub fn plugin_hooks(env: &Env, settings: &[String]) -> Option<Utf8PathBuf> {
    let switched = |text: &String| {
        let value: Value = serde_json::from_str(text).ok()?;
        let plugins = value.get("enabledPlugins")?.as_object()?.clone();
        plugins.into_iter().find(|(name, _)| name.starts_with(NAME))
    };
    let (name, is_on) = settings.iter().filter_map(switched).next_back()?;
    let list = HookTarget::user(env)?.settings.parent()?.join(FETCHED);
    let list: Value = serde_json::from_slice(&fs_err::read(list).ok()?).ok()?;
    let fetched = list.get("plugins")?.get(&name)?.as_array()?;
    let mut folders = fetched.iter().filter_map(|entry| entry.get("installPath")?.as_str());
    let folder = folders.next().filter(|_| is_on == Value::Bool(true))?;
    Some(Utf8PathBuf::from(folder).join(HOOKS))
}

/// Returns the folders in which plugins keep data. The client makes them at a plugin's first use,
/// and runs none of its hooks where it cannot.
pub fn data_folders(env: &Env) -> Vec<Utf8PathBuf> {
    let Some(folder) = HookTarget::user(env).and_then(|it| Some(it.settings.parent()?.to_owned()))
    else {
        return Vec::new();
    };
    let list = fs_err::read(folder.join(FETCHED)).unwrap_or_default();
    let list: Value = serde_json::from_slice(&list).unwrap_or_default();
    let names = list.get("plugins").and_then(Value::as_object).into_iter().flatten();
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name = |name: &String| name.replace(|c| !is_kept(c), "-");
    names.map(|(plugin, _)| folder.join("plugins/data").join(name(plugin))).collect()
}

/// Returns every file that registers our hooks while the client works in a project. The client uses
/// all of them, so with two files every event is handled twice.
pub fn sources(env: &Env, root: &Utf8Path) -> Vec<Utf8PathBuf> {
    // The client reads a person's own settings first.
    let files: Vec<Utf8PathBuf> =
        HookTarget::all(root, env).into_iter().map(|place| place.settings).rev().collect();
    let texts = |file: &Utf8PathBuf| fs_err::read_to_string(file).ok();
    let plugin = plugin_hooks(env, &files.iter().filter_map(texts).collect::<Vec<_>>());
    let holds_ours = |file: &Utf8PathBuf| {
        texts(file).is_some_and(|text| registered(&text).is_ok_and(|hooks| !hooks.is_empty()))
    };
    files.into_iter().chain(plugin).filter(holds_ours).collect()
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    const HOOK: &str =
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x/ralph-on-stop"}]}]}}"#;

    #[test]
    fn an_enabled_plugin_is_a_source_of_hooks() {
        let scratch = Scratch::new();
        let env = Env::of([("HOME", scratch.path("home").as_str())]);
        let project = scratch.dir("app");
        assert!(sources(&env, &project).is_empty());
        let hooks = scratch.file("cache/ralph-loop/hooks/hooks.json", HOOK);
        let list = format!(
            r#"{{"plugins":{{"ralph-loop@ralph":[{{"installPath":"{}"}}]}}}}"#,
            scratch.path("cache/ralph-loop")
        );
        scratch.file("home/.claude/plugins/installed_plugins.json", list);
        let switch = |is_on| format!(r#"{{"enabledPlugins":{{"ralph-loop@ralph":{is_on}}}}}"#);
        scratch.file("home/.claude/settings.json", switch(true));
        assert_eq!(sources(&env, &project), std::slice::from_ref(&hooks));
        let shared = scratch.file("app/.claude/settings.json", HOOK);
        assert_eq!(sources(&env, &project), [shared, hooks]);
        scratch.file("app/.claude/settings.json", switch(false));
        assert!(sources(&env, &project).is_empty());
    }

    #[test]
    fn invalid_plugin_lists_are_ignored() {
        let scratch = Scratch::new();
        let env = Env::of([("HOME", scratch.path("home").as_str())]);
        let on = [r#"{"enabledPlugins":{"ralph-loop@ralph":true}}"#.to_owned()];
        for list in ["", "[]", r#"{"plugins":[]}"#, r#"{"plugins":{"ralph-loop@ralph":[3]}}"#] {
            scratch.file("home/.claude/plugins/installed_plugins.json", list);
            assert_eq!(plugin_hooks(&env, &on), None, "{list}");
        }
        assert_eq!(plugin_hooks(&env, &["{".to_owned(), "3".to_owned()]), None);
    }
}
