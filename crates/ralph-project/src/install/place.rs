//! Where the settings and the binaries go.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::CLIENT_FOLDER;

use crate::dialect::Dialect;

const SHARED: &str = "settings.json";
const LOCAL: &str = "settings.local.json";
const HOOKS: &str = "hooks";

/// Where the settings and the binaries go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookTarget {
    /// The settings file.
    pub settings: Utf8PathBuf,
    /// The folder for the binaries.
    pub hooks: Utf8PathBuf,
    /// That folder in shell syntax, for commands that the client runs.
    pub(super) in_shell: String,
    /// Another settings file that may register the same binaries.
    pub(super) sibling: Option<Utf8PathBuf>,
    /// The agent, if it is not Claude Code.
    pub agent: Option<&'static Dialect>,
}

impl HookTarget {
    /// Returns a project's settings that everybody shares.
    pub fn project(root: &Utf8Path) -> Self {
        Self::in_project(root, SHARED, LOCAL)
    }

    /// Returns a project's settings for one person, which are not committed.
    pub fn project_local(root: &Utf8Path) -> Self {
        Self::in_project(root, LOCAL, SHARED)
    }

    /// Returns a person's settings for all projects: in the folder that `CLAUDE_CONFIG_DIR` names,
    /// else in the home folder; `None` if there is neither.
    pub fn user(env: &Env) -> Option<Self> {
        let own = env.client_config();
        let at_home = || format!(r#""$HOME"/{CLIENT_FOLDER}/{HOOKS}"#);
        let in_shell = own.as_ref().map_or_else(at_home, |folder| quoted(&folder.join(HOOKS)));
        let folder = own.or_else(|| Some(env.home()?.join(CLIENT_FOLDER)))?;
        let (settings, hooks) = (folder.join(SHARED), folder.join(HOOKS));
        Some(Self { settings, hooks, in_shell, sibling: None, agent: None })
    }

    /// Returns all places where the client looks while it works in a project.
    pub fn all(root: &Utf8Path, env: &Env) -> Vec<Self> {
        let user = Self::user(env);
        [Self::project(root), Self::project_local(root)].into_iter().chain(user).collect()
    }

    fn in_project(root: &Utf8Path, own: &str, other: &str) -> Self {
        let folder = root.join(CLIENT_FOLDER);
        Self {
            settings: folder.join(own),
            hooks: folder.join(HOOKS),
            in_shell: format!(r#""$CLAUDE_PROJECT_DIR"/{CLIENT_FOLDER}/{HOOKS}"#),
            sibling: Some(folder.join(other)),
            agent: None,
        }
    }

    /// Returns the place for another agent's hooks: a project's, or a person's for all projects;
    /// `None` if it has no such place.
    pub fn of_agent(agent: &'static Dialect, root: Option<&Utf8Path>, env: &Env) -> Option<Self> {
        let file = if root.is_some() { agent.project } else { agent.user };
        let own = env.get(agent.home).filter(|own| !own.is_empty());
        let settings = match (root, own, file.split_once('/')?) {
            (Some(root), ..) => root.join(file),
            (None, Some(own), (_, below)) => Utf8PathBuf::from(own).join(below),
            (None, None, _) => env.home()?.join(file),
        };
        let folder = settings.parent()?;
        let hooks = if folder.ends_with(HOOKS) { folder.into() } else { folder.join(HOOKS) };
        let in_shell = quoted(&hooks);
        Some(Self { settings, hooks, in_shell, sibling: None, agent: Some(agent) })
    }
}

/// Quotes a path for a shell, whatever characters it has.
pub fn quoted(path: &Utf8Path) -> String {
    format!("'{}'", path.as_str().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_settings_are_where_the_client_looks_for_them() {
        let check = |vars: &[(&str, &str)], expected: Option<(&str, &str)>| {
            let place = HookTarget::user(&Env::of(vars.iter().copied()));
            let found = place.as_ref().map(|place| (place.settings.as_str(), &*place.in_shell));
            assert_eq!(found, expected);
        };
        let home = ("HOME", "/home/dev");
        check(&[home], Some(("/home/dev/.claude/settings.json", r#""$HOME"/.claude/hooks"#)));
        check(
            &[home, ("CLAUDE_CONFIG_DIR", "/etc/dev's own")],
            Some(("/etc/dev's own/settings.json", r"'/etc/dev'\''s own/hooks'")),
        );
        check(&[], None);
    }
}
