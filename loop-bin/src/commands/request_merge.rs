//! `ralph-loop request-merge`: records a merge request for the user, instead of a push.

use clap::Args;
use jiff::Timestamp;
use ralph_base::env::Env;
use ralph_base::state;
use ralph_core::git::{Repo, Status};
use serde::Deserialize;

use super::{Subcommand, said};
use crate::exit::Failure;
use crate::here;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "request-merge",
    args: RequestMerge::augment_args,
    run: |call| said(call.parsed::<RequestMerge>()?.answer(call.env)),
};

/// Leave a merge request for the user instead of pushing (for the agent)
#[derive(Debug, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestMerge {
    /// What to merge, and why
    #[arg(long)]
    summary: String,
}

impl RequestMerge {
    /// Records the request for the user.
    pub(crate) fn answer(&self, env: &Env) -> Result<String, Failure> {
        // An empty request would not help the user.
        let summary = self.summary.trim();
        if summary.is_empty() {
            return Err(Failure::usage("the summary is empty; say what to merge, and why"));
        }
        let project = here::project(env)?;
        let status = Status::read(&Repo::open(project.root())?)?;
        let state = project.own_state();
        state.prepare()?;
        let story = state::read_text(state.current_story()).unwrap_or_default();
        let text = format!(
            "# Merge request\n\n- Branch: {}\n- Commit: {}\n- Story: {}\n- Time: {}\n\n{}\n",
            status.branch.as_deref().unwrap_or("(detached)"),
            status.head.as_deref().unwrap_or("(none)"),
            if story.trim().is_empty() { "(none)" } else { story.trim() },
            state::now(),
            summary
        );
        let stamp = Timestamp::now().strftime("%Y%m%d-%H%M%S-%3f");
        let path = state.merge_requests().join(format!("{stamp}.md"));
        state::replace(&path, text.as_bytes())?;
        Ok(format!("Merge request saved for the user: {path}"))
    }
}
