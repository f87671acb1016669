//! Plans what an installation changes on disk, and applies the changes.

use std::io;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};

use super::part::{merge_toml, own_script, remove_toml};
use super::{
    ClientVersion, HOOK_NAMES, HookTarget, LeftOut, Registrations, SettingsProblem, hooks_are_off,
    is_registered, merge, remove,
};
use ralph_base::state;

/// Why an installation is not possible.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The settings cannot be changed.
    #[error("{path}: {problem}")]
    Settings {
        /// The file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        problem: SettingsProblem,
    },
    /// A binary is missing.
    #[error("{0} does not exist; build the four hooks, or copy them into one folder")]
    NoBinary(Utf8PathBuf),
    /// The settings file is a dangling link.
    #[error("{0} is a link to a file that does not exist; create that file, or delete the link")]
    LeadsNowhere(Utf8PathBuf),
    /// An error of the disk.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

/// The planned changes on disk.
#[derive(Debug, Clone)]
pub struct Change {
    place: HookTarget,
    /// The current settings; `None` if there is no file.
    pub before: Option<String>,
    /// The new settings; `None` if there will be no file.
    pub after: Option<String>,
    /// Binaries to copy: source and target.
    pub copies: Vec<(Utf8PathBuf, Utf8PathBuf)>,
    /// Files to remove.
    pub removals: Vec<Utf8PathBuf>,
    /// Events that the client does not know.
    pub left_out: Vec<LeftOut>,
    /// Whether the settings disable all hooks.
    pub hooks_are_off: bool,
}

/// Plans to install the hooks from the folder `binaries`.
pub fn plan_install(
    place: &HookTarget,
    binaries: &Utf8Path,
    client: ClientVersion,
) -> Result<Change, InstallError> {
    let mut change = registering(place, client)?;
    for name in HOOK_NAMES {
        let (from, to) = (binaries.join(name), place.hooks.join(name));
        if !from.is_file() {
            return Err(InstallError::NoBinary(from));
        }
        if fs_err::read(&to).ok() != Some(fs_err::read(&from)?) {
            change.copies.push((from, to));
        }
    }
    Ok(change)
}

fn registering(place: &HookTarget, client: ClientVersion) -> Result<Change, InstallError> {
    // Checked first, because nothing is copied for settings that cannot be written.
    if place.settings.is_symlink() && !place.settings.exists() {
        return Err(InstallError::LeadsNowhere(place.settings.clone()));
    }
    let before = load(&place.settings)?;
    let registrations = match place.agent {
        Some(agent) => Registrations::own(agent, &place.in_shell),
        None => Registrations::of(client, &place.in_shell),
    };
    let (name, fresh) = place.agent.map_or(("", ""), |agent| (agent.name, agent.fresh));
    let text = before.as_deref().unwrap_or(fresh);
    let after = match place.settings.extension() {
        Some("toml") => merge_toml(text, &registrations),
        Some("js") => Ok(own_script(name, &place.hooks)),
        _ => merge(text, &registrations),
    };
    let refused = |problem| InstallError::Settings { path: place.settings.clone(), problem };
    let after = after.map_err(refused)?;
    Ok(Change {
        place: place.clone(),
        hooks_are_off: hooks_are_off(&after) == Some(true),
        before,
        after: Some(after),
        copies: Vec::new(),
        removals: Vec::new(),
        left_out: registrations.left_out().to_vec(),
    })
}

/// Returns the copied binaries, unless the other settings file of the folder registers them.
fn unused_binaries(place: &HookTarget) -> io::Result<Vec<Utf8PathBuf>> {
    let sibling = place.sibling.as_deref().map(load).transpose()?.flatten();
    if sibling.is_some_and(|text| is_registered(&text).unwrap_or(true)) {
        return Ok(Vec::new());
    }
    let binaries = HOOK_NAMES.map(|name| place.hooks.join(name));
    Ok(binaries.into_iter().filter(|path| path.symlink_metadata().is_ok()).collect())
}

/// Plans to remove the hooks.
pub fn plan_uninstall(place: &HookTarget) -> Result<Change, InstallError> {
    let refused = |problem| InstallError::Settings { path: place.settings.clone(), problem };
    let before = load(&place.settings)?;
    let remove = |text: &str| match place.settings.extension() {
        Some("toml") => Ok(remove_toml(text)),
        Some("js") => Ok(String::new()),
        _ => remove(text),
    };
    let without = before.as_deref().map(remove).transpose().map_err(refused)?;
    let fresh = place.agent.map_or("", |agent| agent.fresh).trim();
    let is_empty = |text: &str| ["", fresh].contains(&text.trim());
    let is_changed = without != before;
    Ok(Change {
        place: place.clone(),
        before,
        after: without.filter(|text| !is_changed || !is_empty(text)),
        copies: Vec::new(),
        removals: unused_binaries(place)?,
        left_out: Vec::new(),
        hooks_are_off: false,
    })
}

impl Change {
    /// Returns whether nothing has to change.
    pub fn is_empty(&self) -> bool {
        self.before == self.after && self.copies.is_empty() && self.removals.is_empty()
    }

    /// Returns the settings file that changes.
    pub fn settings(&self) -> &Utf8Path {
        &self.place.settings
    }

    /// Applies the changes: binaries first, so that every registration refers to an existing file.
    pub fn apply(&self) -> Result<(), InstallError> {
        for (from, to) in &self.copies {
            copy(from, to)?;
        }
        if self.before != self.after {
            match &self.after {
                Some(text) => state::replace_users(&self.place.settings, text.as_bytes())?,
                None => fs_err::remove_file(&self.place.settings)?,
            }
        }
        for path in &self.removals {
            fs_err::remove_file(path)?;
        }
        if !self.removals.is_empty() || self.after.is_none() {
            // Folders that are not empty are kept, which is not an error.
            let _ = fs_err::remove_dir(&self.place.hooks);
            if let Some(folder) = self.place.hooks.parent() {
                let _ = fs_err::remove_dir(folder);
            }
        }
        Ok(())
    }
}

fn load(path: &Utf8Path) -> io::Result<Option<String>> {
    let bytes = state::read_if_there(path)?;
    bytes.map(String::from_utf8).transpose().map_err(io::Error::other)
}

/// A running binary cannot be overwritten, but it can be replaced.
fn copy(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    let fresh = Utf8PathBuf::from(format!("{to}.new"));
    fs_err::copy(from, &fresh)?;
    fs_err::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755))?;
    fs_err::rename(&fresh, to)
}
