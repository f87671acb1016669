//! Refuses work that no commit can contain, whatever the checks say.

use ralph_base::listing::named_files;
use ralph_project::verification::Finding;
use work_copy::Staged;

use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Stage, Verifier, Work};

#[derive(Debug)]
pub(super) struct Committable;

impl Verifier for Committable {
    fn name(&self) -> &'static str {
        "committable"
    }

    fn is_due(&self, work: &Work<'_>) -> bool {
        work.stage != Stage::Committed
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let why = refusal(&work.staged);
        Ok(why.into_iter().map(|why| Finding::refused(self.name(), why)).collect())
    }
}

fn refusal(staged: &Staged) -> Option<String> {
    if staged.refusal.is_some() {
        return staged.refusal.clone();
    }
    if staged.leaves_nothing {
        return Some("the agent deleted all files, or the folder it worked in".to_owned());
    }
    if !staged.embedded.is_empty() {
        return Some(format!(
            "all of the work is in a git repository or work tree that the agent created, which \
             cannot be committed: {}; work in the project's own folder",
            named_files(&staged.embedded)
        ));
    }
    if !staged.dirty_submodules.is_empty() {
        return Some(format!(
            "there is uncommitted work in submodules, which a commit here cannot include: {}; \
             commit it there first",
            named_files(&staged.dirty_submodules)
        ));
    }
    None
}
