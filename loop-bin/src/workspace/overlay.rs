//! The changes of a saved attempt, laid over the commit that the workspace stands at.

use ralph_base::listing::named_files;

use super::{Start, Workspace};
use crate::exit::Failure;
use crate::git_output::paths;

impl Workspace {
    /// Lays the changes between a saved attempt and its first parent over the files, uncommitted. Where
    /// they do not fit, it says why, and the files are those of the commit.
    pub(crate) fn overlay(
        &mut self,
        attempt: &str,
        start: Start<'_>,
    ) -> Result<Option<String>, Failure> {
        self.is_clean = false;
        let git = self.git();
        let Some(tip) = start.tip else {
            git.run(&["read-tree", "--reset", "-u", attempt])?;
            git.run(&["read-tree", "--empty"])?;
            self.lend_index()?;
            return Ok(None);
        };
        let parent = git.line(&["rev-parse", "--quiet", "--verify", &format!("{attempt}^1")]);
        match parent {
            Ok(parent) if parent == tip => {
                git.run(&["read-tree", "--reset", "-u", attempt])?;
            }
            _ => {
                let pick = ["cherry-pick", "--no-commit", "--mainline", "1", attempt];
                if let Err(error) = git.run(&pick) {
                    let unmerged = ["diff", "--name-only", "--diff-filter=U", "-z"];
                    let why = match paths(&git.run(&unmerged).unwrap_or_default()) {
                        files if files.is_empty() => error.to_string(),
                        files => format!("both changed {}", named_files(&files)),
                    };
                    // A conflict leaves marks of the operation in the git folder.
                    let _ = git.run(&["cherry-pick", "--quit"]);
                    self.match_files_to(start.tip)?;
                    self.lend_index()?;
                    return Ok(Some(why));
                }
            }
        }
        git.run(&["read-tree", "-m", tip])?;
        // Tells which files are as they were; that some are not is no failure.
        let _ = git.run(&["update-index", "-q", "--refresh"]);
        self.lend_index()?;
        Ok(None)
    }
}
