//! Registers the hooks with the client, and removes the registrations.
//!
//! The settings file belongs to the user: everything that is not ours keeps its bytes and its
//! order. The caller asks the client for its version, and prints messages.
//!
//! ```
//! use ralph_project::install::{ClientVersion, Registrations, merge, remove};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client: ClientVersion = "2.1.325 (Claude Code)".parse()?;
//! let registrations = Registrations::of(client, r#""$CLAUDE_PROJECT_DIR"/.claude/hooks"#);
//! let before = "{\n    \"model\": \"opus\"\n}\n";
//! let after = merge(before, &registrations)?;
//! assert!(after.starts_with("{\n    \"model\": \"opus\",\n    \"hooks\": {\n"));
//! assert_eq!(merge(&after, &registrations)?, after);
//! assert_eq!(remove(&after)?, before);
//! # Ok(())
//! # }
//! ```

mod apply;
mod part;
mod place;
mod plugin;
mod registration;
mod settings;
mod version;

#[cfg(test)]
mod apply_tests;
#[cfg(test)]
mod settings_tests;

pub use apply::{Change, InstallError, plan_install, plan_uninstall};
pub use part::{merge_toml, plugin_script};
pub use place::{HookTarget, quoted};
pub use plugin::{data_folders, plugin_hooks, sources};
pub use registration::{HOOK_NAMES, LeftOut, Registrations, STOP_TIMEOUT};
pub use settings::{
    Registered, SettingsProblem, hooks_are_off, is_registered, merge, registered, remove,
};
pub use version::{ClientVersion, NotAVersion};
