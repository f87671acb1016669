//! What is said about limits of money that cannot hold as they are meant. The limits themselves are
//! `allowance.rs` and `step.rs`.

use super::stage::Stage;
use crate::agent::{Run, RunEnd};

impl Stage {
    /// An agent that does not say what it cost can spend without end. It is told once.
    pub(super) fn tell_if_costless(&mut self, run: &Run) {
        let limits = &self.config.limits;
        let is_limited = limits.max_cost_usd > 0.0 || limits.story_max_cost_usd > 0.0;
        // One that was ended, or that the service refused, had no chance to say anything.
        let could_tell = matches!(run.end, RunEnd::Exited(_)) && run.usage_limit().is_none();
        if !is_limited || !could_tell || run.seen.cost_usd.is_some() || self.is_costless {
            return;
        }
        self.is_costless = true;
        self.view.warn(
            "the agent does not report what it costs, so --max-cost and --story-max-cost cannot \
             hold; --max-duration and --max-iterations do",
        );
    }
}
