//! What is said about limits of money that cannot hold as they are meant. The limits themselves are
//! `allowance.rs` and `step.rs`.

use ralph_core::config::{Config, StoriesPerSession};

use super::stage::Stage;
use crate::agent::{Run, RunEnd};
use crate::step::Spent;

impl Stage {
    /// What one story of several costs is known when their session is over, and nobody ends it
    /// between them.
    pub(super) fn tell_of_story_cost(&self) {
        let Config { limits, session, .. } = &self.config;
        let is_alone = session.stories_per_session == StoriesPerSession::AtMost(1);
        if limits.story_max_cost_usd > 0.0 && !is_alone {
            self.view.warn(
                "--story-max-cost cannot hold for each story of a session with several: what they \
                 cost is known at its end; --stories-per-session 1 makes it hold",
            );
        }
    }

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

    /// That more was spent than was allowed, in a run that ends for another reason.
    pub(super) fn tell_of_excess(&self, spent: Spent) {
        let most = self.config.limits.max_cost_usd;
        if most > 0.0 && spent.cost_usd > most {
            self.view.warn(format!(
                "--max-cost was exceeded: ${:.2} were spent, and ${most:.2} allowed; what a session \
                 cost is known at its end",
                spent.cost_usd
            ));
        }
    }
}
