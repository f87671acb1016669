//! What arms the guards in the project: the client's settings that register our hooks, and the hooks
//! themselves. An agent that changes or removes them would work unguarded from then on, so they are
//! kept in memory while it works and put back after it.
//!
//! Settings that register none of ours are the project's like any other file; they only must not
//! switch all hooks off. The settings of the user's own home are left alone.

use std::io;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::git::Looks;
use ralph_core::install::{HOOK_NAMES, Place, hooks_are_off, is_registered};
use ralph_core::state::{self, StateDir};

use super::keepsake::{Kept, Kind, PutBack};

/// Larger files are not kept: a hook as it is released has a few megabytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Such files as they were.
#[derive(Debug, Default)]
pub(super) struct ClientFiles {
    known: Vec<Known>,
}

/// What became of one that was changed.
#[derive(Debug)]
pub(super) enum Mended {
    /// It is as it was.
    PutBack(PutBack),
    /// It was not there, and was moved away.
    TakenAway(Utf8PathBuf, Utf8PathBuf),
    /// It is not as it was, for this reason.
    Lost(Utf8PathBuf, io::Error),
}

/// One place, and what was there.
#[derive(Debug)]
struct Known {
    path: Utf8PathBuf,
    looks: Option<Looks>,
    kept: Option<Kept>,
    /// Whether it is a hook of ours, or registers one.
    is_ours: bool,
}

impl ClientFiles {
    /// What is there now; read again is only what somebody touched, because hooks are large.
    pub(super) fn renewed(self, root: &Utf8Path) -> Self {
        let mut before = self.known;
        let look = |path: Utf8PathBuf| {
            let looks = Looks::of(path.as_std_path());
            let is_it = |known: &Known| known.path == path && known.looks == looks;
            match before.iter().position(is_it) {
                Some(at) => before.swap_remove(at),
                None => Known::look(path, looks),
            }
        };
        Self { known: places(root).into_iter().map(look).collect() }
    }

    /// Puts back what was changed or removed.
    pub(super) fn put_back(&self, state: &StateDir) -> Vec<Mended> {
        self.known.iter().filter_map(|known| known.mended(state)).collect()
    }
}

impl Known {
    fn look(path: Utf8PathBuf, looks: Option<Looks>) -> Self {
        let kept = read(&path);
        let is_settings = path.extension().is_some();
        let is_ours = match &kept {
            Some(kept) if is_settings => registers_ours(&kept.content),
            _ => looks.is_some() && !is_settings,
        };
        Self { path, looks, kept, is_ours }
    }

    fn mended(&self, state: &StateDir) -> Option<Mended> {
        if Looks::of(self.path.as_std_path()) == self.looks {
            return None;
        }
        let now = read(&self.path);
        let is_wrong = match (&self.kept, &now) {
            (Some(kept), Some(now)) if self.is_ours => {
                (&kept.content, kept.mode) != (&now.content, now.mode)
            }
            _ => self.is_ours || is_off(now.as_ref()) && !is_off(self.kept.as_ref()),
        };
        is_wrong
            .then(|| self.mend(state).unwrap_or_else(|why| Mended::Lost(self.path.clone(), why)))
    }

    fn mend(&self, state: &StateDir) -> io::Result<Mended> {
        match (&self.kept, self.looks) {
            (Some(kept), _) => kept.write(state).map(Mended::PutBack),
            (None, None) => {
                let kept = state::keep_as_found(&self.path, &state.logs())?;
                Ok(Mended::TakenAway(self.path.clone(), kept))
            }
            (None, Some(_)) => Err(io::Error::other("no copy of it was made")),
        }
    }
}

fn places(root: &Utf8Path) -> Vec<Utf8PathBuf> {
    let (shared, local) = (Place::project(root), Place::project_local(root));
    let hooks = HOOK_NAMES.iter().map(|name| shared.hooks.join(name));
    [shared.settings.clone(), local.settings].into_iter().chain(hooks).collect()
}

fn read(path: &Utf8Path) -> Option<Kept> {
    let found = fs_err::symlink_metadata(path).ok()?;
    let is_small = found.is_file() && found.len() <= LARGEST;
    let content = is_small.then(|| fs_err::read(path).ok()).flatten()?;
    let mode = found.permissions().mode() & 0o7777;
    Some(Kept { path: path.to_owned(), content, mode, kind: Kind::Fixed })
}

/// Settings that the client cannot read register nothing, but they may be mended some day.
fn registers_ours(settings: &[u8]) -> bool {
    let text = String::from_utf8_lossy(settings);
    is_registered(&text).unwrap_or_else(|_| HOOK_NAMES.iter().any(|name| text.contains(name)))
}

fn is_off(file: Option<&Kept>) -> bool {
    file.is_some_and(|file| hooks_are_off(&String::from_utf8_lossy(&file.content)))
}
