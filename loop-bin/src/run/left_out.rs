//! What was uncommitted in `.ralph/` and `.claude/` when the run began: part of no commit and of no
//! checkpoint, so a copy of its own is kept while an agent is at work.
//!
//! What is gone afterwards is put back. What was changed stays, because it may be the story's work or
//! the user's own, and the warning names the command for what was there before. Settings and scripts
//! of ours are put back by the keepsake.

use std::path::PathBuf;

use ralph_core::git::{Fate, KeptFiles, Repo};
use ralph_core::settle::named_files;

use super::stage::Stage;

/// Such files, and the newest copy of them.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    files: Vec<PathBuf>,
    kept: Option<KeptFiles>,
}

impl LeftOut {
    /// Of a run that begins; nothing is copied before an agent is started.
    pub(super) fn of(repo: &Repo, mut files: Vec<PathBuf>) -> Self {
        files.retain(|path| repo.is_in_own_folder(path));
        Self { files, kept: None }
    }
}

impl Stage {
    /// Copies the files, unless nobody touched them since the last copy.
    pub(super) fn keep_left_out(&mut self) {
        let LeftOut { files, kept } = &self.left_out;
        if files.is_empty() || kept.as_ref().is_some_and(|kept| kept.is_as_it_is(&self.repo)) {
            return;
        }
        self.release_left_out();
        match KeptFiles::take(&self.repo, &self.left_out.files) {
            Ok(kept) => self.left_out.kept = kept,
            Err(error) => self.view.warn(format!(
                "no copy could be made of what is uncommitted in .ralph and .claude: {error}"
            )),
        }
    }

    /// The agent has ended: what is gone is put back, and what was changed is told.
    pub(super) fn put_back_left_out(&self) {
        let Some(kept) = &self.left_out.kept else { return };
        let told = kept.fate(&self.repo).and_then(|fate| {
            kept.put_back(&self.repo, &fate.gone)?;
            Ok(fate)
        });
        match told {
            Ok(Fate { gone, changed }) => {
                if !gone.is_empty() {
                    let gone = named_files(&gone);
                    self.view.warn(format!("{gone}: removed while the agent worked; put back"));
                }
                self.tell_changed(kept, &changed, "changed while the agent worked");
            }
            Err(error) => self.view.warn(format!(
                "what was uncommitted in .ralph and .claude could not be looked at: {error}"
            )),
        }
    }

    /// Gives the copy up, but for files that are missing: checks and scripts may have been at work
    /// since, and so may the user.
    pub(super) fn release_left_out(&mut self) {
        let Some(kept) = self.left_out.kept.take() else { return };
        let gone = kept.fate(&self.repo).unwrap_or_default().gone;
        self.tell_changed(&kept, &gone, "removed since the agent ended");
        self.forget(kept);
    }

    /// After a crash it may have been the user: they are told, and that is all.
    pub(super) fn tell_of_left_out(&self) {
        for kept in KeptFiles::left(&self.repo).unwrap_or_default() {
            let Fate { gone, changed } = kept.fate(&self.repo).unwrap_or_default();
            let files: Vec<PathBuf> = gone.into_iter().chain(changed).collect();
            self.tell_changed(
                &kept,
                &files,
                "changed or removed since a run began that was killed",
            );
            self.forget(kept);
        }
    }

    fn tell_changed(&self, kept: &KeptFiles, files: &[PathBuf], how: &str) {
        if files.is_empty() {
            return;
        }
        let named = named_files(files);
        self.view.warn(match kept.keep_for_good(&self.repo) {
            Ok(name) => format!(
                "{named}: {how}; `git restore --source={name} --worktree -- <file>` brings back what \
                 was there, uncommitted"
            ),
            Err(error) => format!("{named}: {how}, and the copy could not be kept: {error}"),
        });
    }

    fn forget(&self, kept: KeptFiles) {
        if let Err(error) = kept.forget(&self.repo) {
            self.view.warn(error.to_string());
        }
    }
}
