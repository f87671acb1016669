//! Where the settings and the binaries go.

use camino::{Utf8Path, Utf8PathBuf};

use crate::state::CLIENT_FOLDER;

const SHARED: &str = "settings.json";
const LOCAL: &str = "settings.local.json";

/// Where the settings and the binaries go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The settings file.
    pub settings: Utf8PathBuf,
    /// The folder for the binaries.
    pub hooks: Utf8PathBuf,
    /// That folder as a shell that the client starts would write it.
    pub(super) in_shell: &'static str,
    /// The settings file that may register the same binaries.
    pub(super) sibling: Option<Utf8PathBuf>,
}

impl Place {
    /// A project's settings, which its people share.
    pub fn project(root: &Utf8Path) -> Self {
        Self::in_project(root, SHARED, LOCAL)
    }

    /// A project's settings for one person, which are not committed.
    pub fn project_local(root: &Utf8Path) -> Self {
        Self::in_project(root, LOCAL, SHARED)
    }

    /// A person's settings for all projects.
    pub fn user(home: &Utf8Path) -> Self {
        Self {
            settings: home.join(CLIENT_FOLDER).join(SHARED),
            hooks: home.join(CLIENT_FOLDER).join("hooks"),
            in_shell: r#""$HOME"/.claude/hooks"#,
            sibling: None,
        }
    }

    /// Where the settings as they were before the installation are kept.
    pub fn backup(&self) -> Utf8PathBuf {
        Utf8PathBuf::from(format!("{}.before-ralph", self.settings))
    }

    fn in_project(root: &Utf8Path, own: &str, other: &str) -> Self {
        let folder = root.join(CLIENT_FOLDER);
        Self {
            settings: folder.join(own),
            hooks: folder.join("hooks"),
            in_shell: r#""$CLAUDE_PROJECT_DIR"/.claude/hooks"#,
            sibling: Some(folder.join(other)),
        }
    }
}
