//! All scenarios, by what they prove.

mod agent_tools;
mod beside_a_run;
mod client_facts;
mod commit_messages;
mod cut_short;
mod guard;
mod installation;
mod kept_by_client;
mod other_tools;
mod plugin;
mod prompt;
mod reads;
mod rollback;
mod second_look;
mod skills;
mod stop;
mod team;
mod test_runs;
mod whole_loop;

use super::scenario::Scenario;

/// All scenarios.
pub(super) fn all() -> Vec<&'static Scenario> {
    [
        client_facts::SCENARIOS,
        guard::SCENARIOS,
        reads::SCENARIOS,
        other_tools::SCENARIOS,
        test_runs::SCENARIOS,
        rollback::SCENARIOS,
        stop::SCENARIOS,
        prompt::SCENARIOS,
        installation::SCENARIOS,
        whole_loop::SCENARIOS,
        commit_messages::SCENARIOS,
        cut_short::SCENARIOS,
        kept_by_client::SCENARIOS,
        beside_a_run::SCENARIOS,
        second_look::SCENARIOS,
        plugin::SCENARIOS,
        skills::SCENARIOS,
        team::SCENARIOS,
        agent_tools::SCENARIOS,
    ]
    .into_iter()
    .flatten()
    .collect()
}
