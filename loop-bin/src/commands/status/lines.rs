//! The text output of `status`.

use jiff::Timestamp;
use ralph_core::plan::StoryCounts;
use run_history::words::needed;

use super::{Now, RunStatus};
use crate::terminal::printable_lines;

/// Wide enough for all parts of the live view.
const WIDE: usize = 200;

impl RunStatus {
    /// The status as one line, including whether a person is needed.
    pub(super) fn verdict(&self) -> String {
        let Now { running, pause, interrupted, .. } = &self.now;
        let state = match (running, pause, &self.last.last_finish) {
            (Some(_), ..) if *interrupted => "stopping",
            (Some(_), Some(_), _) => "waiting",
            (Some(_), None, _) => "running",
            (None, _, Some(finish)) if finish == "complete" && self.stories.open == 0 => "complete",
            (None, _, Some(_)) => "ended",
            (None, _, None) if self.last.iteration > 0 => "interrupted",
            (None, _, None) => "not started",
        };
        let StoryCounts { open, done, .. } = &self.stories;
        let review = [(self.last.to_review, "to review"), (self.last.unchecked, "unchecked")];
        let review = review.iter().filter(|(count, _)| *count > 0);
        let review: String = review.map(|(count, what)| format!(" {count} {what},")).collect();
        let (open, requests) = match self.requested.len() {
            0 => (*open, String::new()),
            count => (open.saturating_sub(count), format!(" {count} in pull requests,")),
        };
        format!(
            "{state}: {done} done,{review}{requests} {open} open; {}",
            needed(self.waiting.len(), self.last.to_review + self.last.unchecked)
        )
    }

    /// Whether the run is going on or how it ended; details of the end have lines of their own.
    pub(super) fn running(&self) -> String {
        match (self.now.running, &self.last.last_finish) {
            (Some(pid), _) => return format!("Running   process {pid}"),
            (None, None) => return "Not running   no run has finished here yet".to_owned(),
            (None, Some(_)) => {}
        }
        let reason = printable_lines(self.last.last_reason.as_deref().unwrap_or_default());
        let more: String =
            reason.iter().skip(1).map(|line| format!("\n          {line}")).collect();
        format!("Not running   the last run ended: {}{more}", self.last.ending)
    }

    /// The live view's lines: one for each worker and one for the run.
    pub(super) fn view(&self) -> Vec<String> {
        let Some(scene) = &self.now.now else { return Vec::new() };
        let now = Timestamp::now();
        let workers = scene.workers.iter().map(|worker| worker.line(now, WIDE));
        let lines = workers.chain([scene.totals_line(now, WIDE)]);
        lines.filter(|line| !line.is_empty()).collect()
    }
}
