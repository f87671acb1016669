//! What an agent must not take from `.ralph/`: kept in memory while it works, put back after it.
//!
//! Settings, lifecycle scripts, prompt templates and the plans that a later run may choose are put
//! back as they were, and so are the lessons unless a hook of ours added one; what was found in their
//! place is kept, because the user may have changed them meanwhile. The progress keeps every line
//! that it had, see `append_only.rs`. What else agents may write into is put back only where it is
//! gone; so are our own notes, which the stop hook may have changed meanwhile. The plan itself is
//! repaired by the core. What is new among all that steers the loop is taken away: see
//! `strangers.rs`.

use std::borrow::Cow;
use std::io;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::state::{self, StateDir, is_same_file};
use serde::{Deserialize, Serialize};

use super::append_only;
use super::strangers::{Steering, prompts};

/// More than this is not kept; settings and scripts are small.
const MOST: usize = 8 * 1024 * 1024;

/// Files as they were.
#[derive(Debug, Default)]
pub(super) struct Keepsake {
    files: Vec<Kept>,
    room: usize,
    /// What steers us; none if that is not known.
    steering: Option<Steering>,
}

/// A file as it was.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) path: Utf8PathBuf,
    #[serde(skip)]
    pub(super) content: Vec<u8>,
    pub(super) mode: u32,
    pub(super) kind: Kind,
}

/// When a file is put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// When it was changed or removed.
    Fixed,
    /// When it was changed otherwise than by a hook of ours, which appends to it, or removed.
    Lessons,
    /// When it was changed otherwise than by appending, or removed. What was added stays in it.
    Log,
    /// When it was removed.
    Shared,
    /// When everything was removed: the stop hook removes it as well, when a story is settled.
    Note,
}

impl Keepsake {
    /// Reads what is worth keeping while an agent works on a plan; what cannot be read cannot be put
    /// back.
    pub(super) fn take(state: &StateDir, plan: &Utf8Path, progress: &Utf8Path) -> Self {
        let steering = Some(Steering::look(state, plan));
        let mut keepsake = Self { files: Vec::new(), room: MOST, steering };
        let entries = state.root().read_dir_utf8().into_iter().flatten().flatten();
        let users = entries.filter(|entry| StateDir::is_users(entry.file_name()));
        let fixed = [state.config(), state.lifecycle()];
        for entry in users {
            let kind = match entry.path() {
                path if fixed.iter().any(|fixed| fixed == path) => Kind::Fixed,
                path if *path == state.guardrails() => Kind::Lessons,
                _ => Kind::Shared,
            };
            keepsake.add(entry.path(), kind);
        }
        let plans = state.plans();
        let logs = plans.iter().filter(|plan| plan.starts_with(state.root()));
        let logs: Vec<_> = logs.map(|plan| StateDir::progress_beside(plan)).collect();
        let others = plans.into_iter().filter(|other| !is_same_file(other, plan));
        for path in prompts(state).into_iter().chain(others) {
            keepsake.add_as(&path, Kind::Fixed);
        }
        for path in logs.iter().map(Utf8PathBuf::as_path).chain([progress]) {
            keepsake.add_as(path, Kind::Log);
        }
        keepsake.add(&state.ignore_file(), Kind::Fixed);
        let notes = [state.checkpoint(), state.attempt(), state.current_story()];
        for path in notes.into_iter().chain([state.left_out(), state.planning()]) {
            keepsake.add(&path, Kind::Note);
        }
        keepsake.add(&state.run(), Kind::Shared);
        keepsake
    }

    /// One of files that were kept elsewhere.
    pub(super) fn of(files: Vec<Kept>) -> Self {
        Self { files, room: 0, steering: None }
    }

    /// The files.
    pub(super) fn files(&self) -> &[Kept] {
        &self.files
    }

    fn add(&mut self, path: &Utf8Path, kind: Kind) {
        let Ok(metadata) = fs_err::symlink_metadata(path) else { return };
        if metadata.is_dir() {
            for entry in path.read_dir_utf8().into_iter().flatten().flatten() {
                self.add(entry.path(), kind);
            }
        } else if let (true, Ok(content)) = (metadata.is_file(), fs_err::read(path))
            && content.len() <= self.room
        {
            self.room -= content.len();
            let mode = metadata.permissions().mode() & 0o7777;
            self.files.push(Kept { path: path.to_owned(), content, mode, kind });
        }
    }

    /// The same for one file that may be there already, as another kind.
    fn add_as(&mut self, path: &Utf8Path, kind: Kind) {
        match self.files.iter_mut().find(|kept| kept.path == path) {
            Some(kept) => kept.kind = kind,
            None => self.add(path, kind),
        }
    }

    /// Puts back what is gone, is no file any more or was not to be changed. What is in the place of
    /// the plan is left for its repair.
    pub(super) fn put_back(
        &self,
        state: &StateDir,
        plan: &Utf8Path,
        has_learned: impl Fn() -> bool,
    ) -> io::Result<Vec<PutBack>> {
        // Hooks that spoke since have made the journal again, but never the loop's lock.
        let wiped = !state.journal().exists() || !state.lock().exists();
        self.put_back_if(state, |kept| match kept.kind {
            Kind::Fixed => !kept.is_still(),
            Kind::Lessons => !(kept.is_still() || kept.is_begun_with() && has_learned()),
            Kind::Log => !kept.is_begun_with() || kept.is_obstructed(),
            Kind::Shared if kept.path == plan => kept.is_missing(),
            Kind::Shared => kept.is_missing() || kept.is_obstructed(),
            Kind::Note => kept.is_missing() && wiped,
        })
    }

    /// Plans that were not there before and that a later run chooses once this one's is done.
    pub(super) fn new_plans(&self, state: &StateDir) -> Vec<Utf8PathBuf> {
        self.steering.as_ref().map(|before| before.new_plans(state)).unwrap_or_default()
    }

    /// Takes away what steers us and was not there before; names it and where it is kept. Lessons
    /// stay if a hook of ours learned something.
    pub(super) fn take_away_new(
        &self,
        state: &StateDir,
        has_learned: impl Fn() -> bool,
    ) -> io::Result<Vec<(Utf8PathBuf, Utf8PathBuf)>> {
        let new = self.steering.as_ref().map(|before| before.new_since(state)).unwrap_or_default();
        let keep = |path: Utf8PathBuf| {
            let kept = state::keep_as_found(&path, &state.logs())?;
            Ok((path, kept))
        };
        new.into_iter()
            .filter(|path| *path != state.guardrails() || !has_learned())
            .map(keep)
            .collect()
    }

    /// Puts back the record of the run, which names the work that was kept aside.
    pub(super) fn put_back_run(&self, state: &StateDir) -> io::Result<Vec<PutBack>> {
        self.put_back_if(state, |kept| kept.path == state.run())
    }

    /// Puts back our own notes where they are gone.
    pub(super) fn put_back_notes(&self, state: &StateDir) -> io::Result<Vec<PutBack>> {
        self.put_back_if(state, |kept| kept.kind == Kind::Note && kept.is_missing())
    }

    /// Puts back whatever is gone, but for these files.
    pub(super) fn put_back_missing(
        &self,
        state: &StateDir,
        but: &[&Kept],
    ) -> io::Result<Vec<PutBack>> {
        let is_left = |kept: &Kept| but.iter().any(|left| left.path == kept.path);
        self.put_back_if(state, |kept| kept.is_missing() && !is_left(kept))
    }

    fn put_back_if(
        &self,
        state: &StateDir,
        is_wanted: impl Fn(&Kept) -> bool,
    ) -> io::Result<Vec<PutBack>> {
        state.prepare()?;
        let mut mended = Vec::new();
        for kept in self.files.iter().filter(|kept| is_wanted(kept)) {
            mended.push(kept.write(state)?);
        }
        Ok(mended)
    }
}

impl Kept {
    fn is_still(&self) -> bool {
        fs_err::read(&self.path).is_ok_and(|now| now == self.content)
    }

    /// Whether something was appended at most.
    fn is_begun_with(&self) -> bool {
        fs_err::read(&self.path).is_ok_and(|now| now.starts_with(&self.content))
    }

    fn is_missing(&self) -> bool {
        self.path.symlink_metadata().is_err()
    }

    fn is_obstructed(&self) -> bool {
        state::in_the_way(&self.path, false).is_some()
    }

    /// Whoever changed the file may have been the user: what is replaced is kept.
    pub(super) fn write(&self, state: &StateDir) -> io::Result<PutBack> {
        let mut found = None;
        // A folder that became a link would lead us outside, and what is no file cannot be replaced.
        while let Some(obstacle) = state::in_the_way(&self.path, false) {
            found = Some(state::keep_as_found(&obstacle, &state.logs())?);
        }
        let mut content = Cow::Borrowed(&self.content);
        if !self.is_missing() {
            found = Some(match fs_err::read(&self.path) {
                Ok(now) => {
                    if self.kind == Kind::Log {
                        content = Cow::Owned(append_only::restored(&self.content, &now));
                    }
                    state::keep_content_as_found(&self.path, &now, &state.logs())?
                }
                Err(_) => state::keep_as_found(&self.path, &state.logs())?,
            });
        }
        state::replace(&self.path, &content)?;
        fs_err::set_permissions(&self.path, std::fs::Permissions::from_mode(self.mode))?;
        Ok(PutBack { path: self.path.clone(), kind: self.kind, found })
    }
}

/// A file that was put back.
#[derive(Debug)]
pub(super) struct PutBack {
    path: Utf8PathBuf,
    kind: Kind,
    /// Where that is kept which was in its place.
    found: Option<Utf8PathBuf>,
}

impl PutBack {
    /// In words; `who` was at work meanwhile.
    pub(super) fn told(&self, who: &str) -> String {
        let path = &self.path;
        match &self.found {
            None => format!("{path} was removed while {who} worked; put back"),
            Some(found) if self.kind == Kind::Log => format!(
                "{path} lost lines while {who} worked; they are back, with what was added below \
                 them, and what was found is kept as {found}"
            ),
            Some(found) => format!(
                "{path} was changed while {who} worked; put back, and what was found is kept as \
                 {found}; to change it yourself, stop the loop first"
            ),
        }
    }
}
