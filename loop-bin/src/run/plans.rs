//! The numbered plans of a project.

use camino::Utf8Path;
use ralph_base::state::StateDir;
use ralph_core::plan::Plan;

use super::books::Books;
use super::state::Conductor;
use crate::exit::Failure;

/// The files of another plan.
pub(super) fn books_of(run: &Conductor, plan: &Utf8Path) -> Books {
    let context = &run.context;
    Books::of(plan, &context.project, &context.config, &run.source, &context.run_dir)
}

/// The other numbered plans.
pub(super) fn other_prds_of(run: &Conductor) -> Result<Vec<(u32, Plan)>, Failure> {
    let load = |path: &Utf8Path| books_of(run, path).load(&run.board);
    other_prds(run.context.state(), &run.books.plan, &load)
}

/// The other numbered plans, the lowest number first; none if this one is not a numbered one.
pub(super) fn other_prds(
    state: &StateDir,
    own: &Utf8Path,
    load: &dyn Fn(&Utf8Path) -> Result<Plan, Failure>,
) -> Result<Vec<(u32, Plan)>, Failure> {
    let mut others = Vec::new();
    if prd_number(state, own).is_none() {
        return Ok(others);
    }
    for number in state.prd_numbers() {
        let path = state.plan(number);
        if path != own && path.is_file() {
            others.push((number, load(&path)?));
        }
    }
    Ok(others)
}

fn prd_number(state: &StateDir, plan: &Utf8Path) -> Option<u32> {
    state.prd_numbers().into_iter().find(|number| state.plan(*number) == plan)
}

/// Those that follow with open stories, in one line.
pub(super) fn followed_by(others: &[(u32, Plan)]) -> Option<String> {
    let open = others.iter().filter(|(_, plan)| plan.counts().open > 0);
    let shown = open.map(|(number, plan)| format!("PRD-{number} ({})", plan.counts().open));
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { None } else { Some(format!("then {}", shown.join(", "))) }
}

/// All plans of the run as it ends.
pub(super) fn plans_of_run(run: &Conductor, own: Plan) -> Vec<Plan> {
    let mut plans = vec![own];
    if run.context.config.run.all_prds {
        let others = other_prds_of(run).unwrap_or_default();
        plans.extend(others.into_iter().map(|(_, plan)| plan));
    }
    plans
}
