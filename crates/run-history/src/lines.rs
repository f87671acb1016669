//! Past runs in a few lines each, for a terminal. Pure.

use serde::Serialize;

use super::costs::{CostSum, money};
use super::page::{Done, Page};
use super::text::line;
use crate::history::PastRun;
use crate::terminal::{counted, local_time};

/// A run in one line.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct RunLine {
    /// As `--run` takes it.
    pub(crate) number: usize,
    pub(crate) run: String,
    pub(crate) started_at: String,
    pub(crate) finish: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) stories_done: usize,
    pub(crate) attempts: usize,
    pub(crate) cost_usd: Option<f64>,
}

/// All of them, oldest first.
pub(super) fn lines(runs: &[PastRun]) -> Vec<RunLine> {
    let one = |(at, run): (usize, &PastRun)| RunLine {
        number: at + 1,
        run: run.run.clone(),
        started_at: run.started_at.clone(),
        finish: run.finish.clone(),
        reason: run.reason.clone(),
        stories_done: run.attempts.iter().filter(|attempt| attempt.commit.is_some()).count(),
        attempts: run.attempts.len(),
        cost_usd: CostSum::of_run(run).cost_usd,
    };
    runs.iter().enumerate().map(one).collect()
}

impl RunLine {
    /// For a terminal.
    pub(crate) fn told(&self) -> String {
        let done = counted(self.stories_done, "story", "stories");
        let attempts = counted(self.attempts, "attempt", "attempts");
        let finish = self.finish.as_deref().unwrap_or("did not end");
        let reason = self.reason.as_ref().map(|why| format!(": {}", line(why)));
        format!(
            "{:>3}  {}  {done} done in {attempts}, {}; {finish}{}",
            self.number,
            local_time(&self.started_at),
            money(self.cost_usd),
            reason.unwrap_or_default()
        )
    }
}

/// The most important parts of a page.
pub(crate) fn told(page: &Page) -> Vec<String> {
    let mut lines = vec![page.verdict.clone(), page.when.clone(), format!("ended: {}", page.ended)];
    lines.push(format!("cost: {}, failed attempts {}", page.total, page.failed_cost));
    lines.extend(page.also_needed.iter().map(|told| format!("needs you: {told}")));
    for need in &page.needs {
        lines.push(format!("needs you: {} {}: {}", need.story, need.title, need.why));
        lines.extend(need.commands.iter().map(|command| format!("    {command}")));
    }
    for done in &page.done {
        let worker = done.worker.as_ref().map(|worker| format!(", worker {worker}"));
        let Done { story, title, commit, cost, .. } = done;
        let worker = worker.unwrap_or_default();
        lines.push(format!("done: {story} {title} ({commit}, {cost}{worker})"));
    }
    lines.extend(page.twice.iter().map(|told| format!("look twice: {told}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::PastAttempt;

    #[test]
    fn a_run_is_one_line() {
        let attempt = PastAttempt {
            commit: Some("c".into()),
            cost_usd: Some(0.5),
            duration_s: 60.0,
            ..PastAttempt::default()
        };
        let run = PastRun {
            attempts: vec![attempt.clone(), PastAttempt { commit: None, ..attempt }],
            finish: Some("blocked".into()),
            reason: Some("US-2\nwaits".into()),
            ..PastRun::default()
        };
        let told = lines(&[run])[0].told();
        assert_eq!(told, "  1    1 story done in 2 attempts, $1.00; blocked: US-2; waits");
    }
}
