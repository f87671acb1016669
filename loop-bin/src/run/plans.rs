//! The numbered plans of a project.

use camino::Utf8Path;

use super::books::Books;
use super::state::Conductor;

/// The files of another plan.
pub(super) fn books_of(run: &Conductor, plan: &Utf8Path) -> Books {
    let context = &run.context;
    Books::of(plan, &context.project, &context.config, &run.source, &context.run_dir)
}

/// The other numbered plans that have open stories, the lowest number first, and how many; none if
/// the plan of this run is not a numbered one.
pub(super) fn other_open_prds(run: &Conductor) -> Vec<(u32, usize)> {
    let (state, own) = (run.context.state(), &run.books.plan);
    let numbers = state.prd_numbers();
    if !numbers.iter().any(|number| state.plan(*number) == *own) {
        return Vec::new();
    }
    let open = numbers.into_iter().filter_map(|number| {
        let path = state.plan(number);
        let is_other = path != *own && path.is_file();
        let plan = if is_other { books_of(run, &path).load(&run.board).ok() } else { None };
        Some((number, plan?.counts().open))
    });
    open.filter(|(_, open)| *open > 0).collect()
}
