//! Which agent works on a story, and who takes over at a usage limit.

use jiff::Timestamp;
use ralph_core::plan::{Plan, Story};
use ralph_project::dialect::Dialect;
use ralph_project::under_way::Attempt;

use super::decide::pause;
use super::state::{Conductor, UnderWay};

/// The agent and the model for a story: those that it names, or the run's own; while that has reached its usage
/// limit, the first other one that has not. The run's own agent has no name here.
pub(super) fn choose_agent(run: &Conductor, plan: &Plan, story: &Story) -> (String, String) {
    let model = plan.setting(story, "model").unwrap_or_default();
    if let Some(name) = plan.setting(story, "agent") {
        let is_limited = !is_free(run, &name) && !run.context.config.agent.fallback.is_empty();
        match Dialect::find(&name) {
            Some(_) if !is_limited => return (name, model),
            Some(_) => {}
            None => run.view.warn(format!("{}: `{name}` is not a known agent", story.id)),
        }
    }
    (free_agents(run).next().unwrap_or_default().to_owned(), model)
}

/// The run's own agent and those that take over, as far as their usage limits are not reached.
pub(super) fn free_agents(run: &Conductor) -> impl Iterator<Item = &str> {
    let others = run.context.config.agent.fallback.iter().map(String::as_str);
    [""].into_iter().chain(others).filter(|name| is_free(run, name))
}

fn is_free(run: &Conductor, agent: &str) -> bool {
    let limited = run.record.tally.run.limited.get(agent);
    limited.is_none_or(|until| *until <= Timestamp::now().as_second())
}

/// Whether another agent continues while the limit of this one lasts.
pub(super) fn take_over(run: &mut Conductor, work: &UnderWay, reset: Option<i64>) -> bool {
    if run.context.config.agent.fallback.is_empty() {
        return false;
    }
    let agent = &work.attempt.agent;
    let now = Timestamp::now().as_second();
    let until = now + i64::try_from(pause(reset, now, 1).as_secs()).unwrap_or(0);
    run.record.tally.run.limited.insert(agent.clone(), until);
    let Some(next) = free_agents(run).next().map(str::to_owned) else { return false };
    let named = |name: String| run.context.agent_name(&Attempt { agent: name, ..Attempt::now() });
    let [limited, next] = [named(agent.clone()), named(next)];
    let (limited, next) = (limited.unwrap_or("the agent"), next.unwrap_or("the agent"));
    run.view.warn(format!("{limited}: usage limit reached; {next} takes over while it lasts"));
    true
}
