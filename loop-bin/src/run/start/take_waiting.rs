//! Work of an earlier run that waits beside its branch lands first, if it can: where the branch has
//! moved on, the work is rebased onto it and checked again, commit by commit.
//!
//! Nothing is moved before all of it fits and has passed, so that there is nothing to recover.

use ralph_base::state;

use crate::board::{self, Advance};
use crate::exit::Failure;
use crate::git_output::{RAW, differences};
use crate::run::Run;
use crate::run::decide::{NotLanded, WorkEnd};
use crate::terminal::counted;
use crate::workspace::Start;

impl Run {
    /// Takes what waits onto its branch, or says why that cannot be.
    pub(in crate::run) fn take_waiting(&mut self) -> Result<(), Failure> {
        // In place the branch is moved by the commits themselves.
        let waiting = self.target.look()?.branch;
        if waiting == self.target.branch || self.workspace.is_in_place {
            return Ok(());
        }
        if let Some((tip, work)) = self.target.diverged()? {
            if !self.workspace.exists() {
                // The copy was thrown away meanwhile.
                let branch = self.target.branch.clone();
                self.prepare_workspace(Start { tip: Some(&tip), branch: &branch })?;
            }
            let why = match self.rebased(tip, &work) {
                Ok(new) => {
                    self.target.replace_waiting(&work, &new)?;
                    None
                }
                Err(NotLanded::Work(
                    WorkEnd::Failed(_, why)
                    | WorkEnd::Conflict(why)
                    | WorkEnd::RedWithOthers(why)
                    | WorkEnd::Impossible(why),
                )) => Some(why),
                Err(NotLanded::Work(_)) => return Ok(()),
                Err(NotLanded::Failure(failure)) => Some(failure.to_string()),
            };
            if let Some(why) = why {
                let branch = &self.target.branch;
                let why = why.lines().next().unwrap_or_default();
                self.record.misfit = Some(why.to_owned());
                self.context.view.warn(format!(
                    "the work on {waiting} cannot be rebased onto {branch}: {why}; the run \
                     continues from {waiting}; merge it by hand with `git merge {waiting}`"
                ));
                return Ok(());
            }
        }
        if self.follow_waiting()? {
            let branch = &self.target.branch;
            self.context.view.line(format!("the waiting work is now on {branch}"));
        }
        Ok(())
    }

    /// Brings the user's branch along to work that waits; returns whether it has followed.
    pub(in crate::run) fn follow_waiting(&self) -> Result<bool, Failure> {
        let tip = self.target.look()?.commit.unwrap_or_default();
        Ok(self.target.follow(&self.books.files_that_wait(&tip))? == Advance::Landed)
    }

    /// The commits up to `work` on top of `tip`, each of them checked.
    fn rebased(&mut self, tip: String, work: &str) -> Result<String, NotLanded> {
        let git = self.workspace.source.git();
        let list = ["rev-list", "--reverse", "--first-parent", "--right-only", "--cherry-pick"];
        let listed = git.line(&[&list[..], &[&format!("{tip}...{work}")]].concat())?;
        let (commits, branch) = (listed.lines().count(), self.target.branch.clone());
        let commits = counted(commits, "waiting commit", "waiting commits");
        self.context.view.line(format!("rebasing {commits} onto {branch}"));
        let mut tip = tip;
        for commit in listed.lines() {
            let start = Start { tip: Some(&tip), branch: &branch };
            let format = "--format=%s%n%(trailers:key=Ralph-Story,valueonly=true,separator=)";
            let told = git.line(&["log", "-1", format, commit])?;
            let (title, story) = told.split_once('\n').unwrap_or((&told, &told));
            let work = self.without_loop_files(commit)?;
            let staged = self.lay_over(&work, start)?;
            let files = self.books.files_of(commit, &tip)?;
            let attempt = self.new_attempt(story, title, 0, start);
            let passed = self.check_work(&attempt, staged)?;
            let message = git.line(&["log", "-1", "--format=%B", commit])?;
            tip = self.commit(&attempt, Some(&message), passed, &files)?.0.commit;
        }
        Ok(tip)
    }

    /// A commit with all that another one changed, but for plan, progress and lessons: those change
    /// by themselves, whatever a person did to them meanwhile.
    fn without_loop_files(&self, commit: &str) -> Result<String, Failure> {
        let index = self.context.run_dir.root().join("index-rebase");
        let git = self.workspace.git().on_index(index.clone().into());
        let parent = git.line(&["rev-parse", &format!("{commit}^1")])?;
        let changed = [&["diff-tree", "-r"], &RAW[..], &[&parent, commit]].concat();
        let (changed, ours) = (differences(&git.run(&changed)?), self.books.ours());
        let ours = changed.iter().filter(|one| ours.contains(&one.path));
        let restored: Vec<u8> = ours.flat_map(|one| one.old.line(&one.path)).collect();
        git.run(&["read-tree", commit])?;
        git.feed(&["update-index", "-z", "--index-info"], &restored)?;
        let tree = git.line(&["write-tree"])?;
        state::remove_if_there(index)?;
        Ok(board::commit_tree(&git, &tree, &[&parent], "work that waits")?)
    }
}
