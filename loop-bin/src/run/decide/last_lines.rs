//! The last lines of a run: what is done, what remains, and the command that goes on. Pure.

use ralph_core::plan::StoryCounts;

use super::words::Finish;
use crate::terminal::counted;

/// How a run ended.
#[derive(Debug, Clone)]
pub(crate) struct Ending<'a> {
    pub(crate) finish: &'a Finish,
    /// What the run did, and what that took.
    pub(crate) account: String,
    /// Where the plan stands, or all plans of the run together; none while it is being written, or
    /// if it cannot be read.
    pub(crate) stories: Option<StoryCounts>,
    /// How many plans these are.
    pub(crate) plans: usize,
    /// The ids of blocked stories; with the number of their plan, if there are several.
    pub(crate) blocked: Vec<(String, Option<u32>)>,
    /// Whether an attempt at the first of them is kept.
    pub(crate) has_attempt: bool,
    /// Checks that failed before the first story, and still do.
    pub(crate) still_red: Vec<String>,
    /// What others did to plan and settings.
    pub(crate) meanwhile: Vec<String>,
    /// Work that is not in the user's files, and how to take it.
    pub(crate) waiting: Option<String>,
    /// Whether the run was started with options of its own.
    pub(crate) has_options: bool,
    /// The other numbered plans: how many of their stories are open.
    pub(crate) other_prds: Vec<(u32, usize)>,
}

impl Ending<'_> {
    /// The lines, in this order.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let mut lines = vec![format!("finished ({}): {}", self.finish.word(), self.account)];
        lines.extend(self.stories.map(|stories| self.what_remains(stories)));
        if !self.still_red.is_empty() {
            lines.push(format!("still red (ignored): {}", self.still_red.join(", ")));
        }
        lines.extend(self.meanwhile.clone());
        lines.extend(self.waiting.clone());
        lines.extend(self.what_goes_on());
        if self.stories.is_some_and(|stories| stories.open == 0) {
            lines.extend(self.other_prds.iter().map(|(number, open)| {
                let open = counted(*open, "open story", "open stories");
                format!("PRD-{number} has {open}: `ralph-loop --prd {number}`, or --all-prds")
            }));
        }
        lines
    }

    fn what_remains(&self, stories: StoryCounts) -> String {
        let StoryCounts { open, done, blocked, .. } = stories;
        let all = counted(open + done + blocked, "story", "stories");
        let mut parts = vec![format!("{done} of {all} done")];
        if self.plans > 1 {
            parts = vec![format!("{done} of {all} in {} plans done", self.plans)];
        }
        if !self.blocked.is_empty() {
            let ids: Vec<String> = self.blocked.iter().map(in_plan).collect();
            let ids = ids.join(", ");
            parts.push(format!("{} blocked ({ids})", self.blocked.len()));
        }
        if open > 0 {
            parts.push(format!("{open} left"));
        }
        parts.join(", ")
    }

    fn what_goes_on(&self) -> Option<String> {
        let options = if self.has_options { " with the same options" } else { "" };
        let again = format!("`ralph-loop`{options}");
        if let (Some((story, prd)), false) = (self.blocked.first(), self.can_go_on()) {
            let prd = prd.map_or_else(String::new, |prd| format!(" --prd {prd}"));
            let shows = format!("see what was tried with `ralph-loop attempts {story}`; ");
            let shows = if self.has_attempt { shows } else { String::new() };
            return Some(format!(
                "{shows}reopen it with `ralph-loop retry {story}{prd} --hint \"…\"`, then run {again}"
            ));
        }
        Some(match self.finish {
            Finish::Complete => return None,
            Finish::MaxIterations | Finish::Stopped => format!("to continue, run {again}"),
            Finish::Manual(_) => format!("to continue where it was interrupted, run {again}"),
            Finish::NoChanges => {
                format!("no story made any changes; edit the plan or the prompt, then run {again}")
            }
            Finish::Blocked(_) => format!("once the plan has a story to work on, run {again}"),
            Finish::HookAbort(why) => format!("{why}; to continue, run {again}"),
            Finish::Budget(_) => {
                format!("to continue, run {again}; --max-cost and --max-duration start over")
            }
            Finish::RedBaseline(_) => {
                format!(
                    "no agent was started and nothing was spent; once the checks pass, run {again}"
                )
            }
            Finish::Error(_) => {
                format!("fix the problem, then run {again}; `ralph-loop doctor` checks for others")
            }
        })
    }

    /// Whether a start without anything else done would find something to do.
    fn can_go_on(&self) -> bool {
        let is_stuck = matches!(self.finish, Finish::Blocked(_) | Finish::NoChanges);
        self.stories.is_some_and(|stories| stories.open > 0) && !is_stuck
    }
}

fn in_plan((story, prd): &(String, Option<u32>)) -> String {
    prd.map_or_else(|| story.clone(), |prd| format!("{story} in PRD-{prd}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::Signal;

    fn told(finish: Finish, open: usize, blocked: &[&str]) -> String {
        let stories = StoryCounts { open, done: 1, blocked: blocked.len(), optional: 0 };
        let ending = Ending {
            finish: &finish,
            account: "1 story landed in 2 iterations".to_owned(),
            stories: Some(stories),
            plans: 1,
            blocked: blocked.iter().map(|id| ((*id).to_owned(), None)).collect(),
            has_attempt: !matches!(finish, Finish::NoChanges),
            still_red: Vec::new(),
            meanwhile: Vec::new(),
            waiting: None,
            has_options: false,
            other_prds: vec![(2, 3)],
        };
        ending.last_lines().join("\n")
    }

    #[test]
    fn complete_leaves_nothing_to_do_but_other_plans() {
        insta::assert_snapshot!(told(Finish::Complete, 0, &[]), @r"
        finished (complete): 1 story landed in 2 iterations
        1 of 1 story done
        PRD-2 has 3 open stories: `ralph-loop --prd 2`, or --all-prds
        ");
    }

    #[test]
    fn a_limit_of_iterations_names_what_is_left() {
        insta::assert_snapshot!(told(Finish::MaxIterations, 2, &["US-003"]), @r"
        finished (max_iterations): 1 story landed in 2 iterations
        1 of 4 stories done, 1 blocked (US-003), 2 left
        to continue, run `ralph-loop`
        ");
    }

    #[test]
    fn an_interrupted_run_goes_on() {
        insta::assert_snapshot!(told(Finish::Manual(Signal::Interrupt), 2, &[]), @r"
        finished (manual): 1 story landed in 2 iterations
        1 of 3 stories done, 2 left
        to continue where it was interrupted, run `ralph-loop`
        ");
    }

    #[test]
    fn stories_that_gave_nothing_are_reopened_by_a_person() {
        insta::assert_snapshot!(told(Finish::NoChanges, 1, &["US-002", "US-003"]), @r#"
        finished (no_changes): 1 story landed in 2 iterations
        1 of 4 stories done, 2 blocked (US-002, US-003), 1 left
        reopen it with `ralph-loop retry US-002 --hint "…"`, then run `ralph-loop`
        "#);
    }

    #[test]
    fn stories_that_gave_nothing_can_be_tried_again() {
        insta::assert_snapshot!(told(Finish::NoChanges, 1, &[]), @r"
        finished (no_changes): 1 story landed in 2 iterations
        1 of 2 stories done, 1 left
        no story made any changes; edit the plan or the prompt, then run `ralph-loop`
        ");
    }

    #[test]
    fn a_blocked_story_is_shown_and_reopened() {
        insta::assert_snapshot!(told(Finish::Blocked("x".into()), 1, &["US-003"]), @r#"
        finished (blocked): 1 story landed in 2 iterations
        1 of 3 stories done, 1 blocked (US-003), 1 left
        see what was tried with `ralph-loop attempts US-003`; reopen it with `ralph-loop retry US-003 --hint "…"`, then run `ralph-loop`
        "#);
    }

    #[test]
    fn stories_that_wait_for_each_other_need_another_plan() {
        insta::assert_snapshot!(told(Finish::Blocked("x".into()), 2, &[]), @r"
        finished (blocked): 1 story landed in 2 iterations
        1 of 3 stories done, 2 left
        once the plan has a story to work on, run `ralph-loop`
        ");
    }

    #[test]
    fn a_script_that_ended_the_run_is_named() {
        insta::assert_snapshot!(told(Finish::stopped_by("started"), 1, &[]), @r"
        finished (hook_abort): 1 story landed in 2 iterations
        1 of 2 stories done, 1 left
        the started script stopped the loop; to continue, run `ralph-loop`
        ");
    }

    #[test]
    fn a_budget_is_new_with_the_next_run() {
        insta::assert_snapshot!(told(Finish::Budget("x".into()), 1, &[]), @r"
        finished (budget): 1 story landed in 2 iterations
        1 of 2 stories done, 1 left
        to continue, run `ralph-loop`; --max-cost and --max-duration start over
        ");
    }

    #[test]
    fn an_error_is_fixed_first() {
        insta::assert_snapshot!(told(Finish::Error("x".into()), 1, &[]), @r"
        finished (error): 1 story landed in 2 iterations
        1 of 2 stories done, 1 left
        fix the problem, then run `ralph-loop`; `ralph-loop doctor` checks for others
        ");
    }

    #[test]
    fn work_that_waits_and_options_are_told() {
        let finish = Finish::MaxIterations;
        let ending = Ending {
            finish: &finish,
            account: "1 story landed in 1 iteration".to_owned(),
            stories: Some(StoryCounts { open: 1, done: 1, ..StoryCounts::default() }),
            plans: 3,
            blocked: vec![("US-007".to_owned(), Some(2))],
            has_attempt: false,
            still_red: vec!["`npm test`".into(), "`tsc`".into()],
            meanwhile: vec!["ticked by somebody else during the run: US-003; not checked".into()],
            waiting: Some("1 commit waits on feature/x: …".to_owned()),
            has_options: true,
            other_prds: Vec::new(),
        };
        insta::assert_snapshot!(ending.last_lines().join("\n"), @r"
        finished (max_iterations): 1 story landed in 1 iteration
        1 of 2 stories in 3 plans done, 1 blocked (US-007 in PRD-2), 1 left
        still red (ignored): `npm test`, `tsc`
        ticked by somebody else during the run: US-003; not checked
        1 commit waits on feature/x: …
        to continue, run `ralph-loop` with the same options
        ");
    }
}
