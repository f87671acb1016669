//! Work of an earlier run that waits beside its branch lands first, if it can: where the branch has
//! moved on, the work is rebased onto it and checked again, commit by commit.
//!
//! Nothing is moved before all of it fits and has passed, so that there is nothing to recover.

use ralph_core::under_way::Attempt;

use crate::exit::Failure;
use crate::git_output::text_at;
use crate::landing::{Change, LoopFile};
use crate::run::Run;
use crate::run::decide::Landing;
use crate::terminal::counted;
use crate::workspace::{Overlay, Start};

impl Run {
    /// Takes what waits onto its branch, or says why that cannot be.
    pub(in crate::run) fn take_waiting(&mut self) -> Result<(), Failure> {
        // In place the branch is moved by the commits themselves.
        if !self.target.is_waiting() || self.workspace.is_in_place() {
            return Ok(());
        }
        if let Some((tip, work)) = self.target.diverged()? {
            match self.rebased(tip, &work)? {
                Ok(new) => self.target.replace_waiting(&work, &new)?,
                Err(Landing::Failed(why) | Landing::Conflict(why) | Landing::Impossible(why)) => {
                    let (branch, waiting) = (self.target.branch(), self.target.current_branch());
                    self.context.view.warn(format!(
                        "the work on {waiting} cannot be rebased onto {branch}: {}; the run goes on \
                         from {waiting}, and `git merge {waiting}` takes it by hand",
                        why.lines().next().unwrap_or_default()
                    ));
                    return Ok(());
                }
                Err(_) => return Ok(()),
            }
        }
        let tip = self.target.tip()?;
        let mut files = self.books.files_for(false, tip.as_deref(), Vec::new(), None)?;
        // What is not committed yet goes with the next story.
        files.retain(|file| !file.is_changed());
        if let Some(tip) = &tip {
            self.target.advance(Some(tip), tip, &files)?;
        }
        if !self.target.is_waiting() {
            let branch = self.target.branch();
            self.context.view.line(format!("the work that waited is on {branch} now"));
        }
        Ok(())
    }

    /// The commits up to `work` on top of `tip`, each of them checked.
    fn rebased(&mut self, tip: String, work: &str) -> Result<Result<String, Landing>, Failure> {
        let git = self.workspace.source().git();
        let list = ["rev-list", "--reverse", "--first-parent", "--right-only", "--cherry-pick"];
        let listed = git.line(&[&list[..], &[&format!("{tip}...{work}")]].concat())?;
        let (commits, branch) = (listed.lines().count(), self.target.branch().to_owned());
        let commits = counted(commits, "commit", "commits");
        self.context.view.line(format!("rebasing {commits} that wait onto {branch}"));
        let mut tip = tip;
        for commit in listed.lines() {
            let start = Start { tip: Some(&tip), branch: &branch };
            self.prepare_workspace(start)?;
            let format = "--format=%s%n%(trailers:key=Ralph-Story,valueonly=true,separator=)";
            let told = git.line(&["log", "-1", format, commit])?;
            let (title, story) = told.split_once('\n').unwrap_or((&told, &told));
            if let Overlay::Conflict(said) = self.workspace.overlay(commit, start)? {
                return Ok(Err(Landing::Conflict(format!("`{title}` does not fit: {said}"))));
            }
            let attempt = self.new_attempt(story, title, 0, start);
            tip = match self.commit_again(&attempt, commit)? {
                Ok(made) => made,
                Err(landing) => return Ok(Err(landing)),
            };
        }
        Ok(Ok(tip))
    }

    /// Checks what is in the workspace, and commits it with the message of a commit.
    fn commit_again(
        &mut self,
        attempt: &Attempt,
        commit: &str,
    ) -> Result<Result<String, Landing>, Failure> {
        let git = self.workspace.source().git();
        let (ours, base) = (self.books.ours(), attempt.base.as_deref().unwrap_or_default());
        let start = Start { tip: Some(base), branch: &attempt.target };
        let staged = self.workspace.stage(start, &ours)?;
        let mut files = Vec::new();
        for path in ours {
            // As the commit has them: its tick and its entries are part of it.
            let Ok(after) = fs_err::read(self.workspace.top().as_std_path().join(&path)) else {
                continue;
            };
            let before = text_at(&git, base, &path);
            if text_at(&git, commit, &path).is_some() {
                files.push(LoopFile { path, before, after, change: Change::AsOnDisk });
            }
        }
        let passed = match self.check_work(attempt, staged)? {
            Ok(passed) => passed,
            Err(landing) => return Ok(Err(landing)),
        };
        let message = git.line(&["log", "-1", "--format=%B", commit])?;
        Ok(self.commit(attempt, Some(&message), passed, &files)?.map(|(made, _)| made.commit))
    }
}
