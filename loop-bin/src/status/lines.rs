//! What `status` says, in lines.

use jiff::Timestamp;
use ralph_core::plan::StoryCounts;

use super::Report;
use crate::here;
use crate::run::record::Pause;
use crate::terminal::{
    Scene, clock, counted, dollars, in_words, local_time, printable, printable_lines, thousands,
};

impl Report {
    /// In one line: how it stands, and whether a person is needed.
    pub(super) fn verdict(&self) -> String {
        let state = match (self.running, &self.pause, &self.last_finish) {
            (Some(_), ..) if self.interrupted => "stopping",
            (Some(_), Some(_), _) => "waiting",
            (Some(_), None, _) => "running",
            (None, _, Some(finish)) if finish == "complete" => "complete",
            (None, _, Some(_)) => "ended",
            (None, _, None) if self.iteration > 0 => "interrupted",
            (None, _, None) => "not started",
        };
        let StoryCounts { open, done, .. } = &self.stories;
        let needed = match self.waiting.len() {
            0 => "nothing needs you".to_owned(),
            1 => "1 thing needs you".to_owned(),
            more => format!("{more} things need you"),
        };
        format!("{state}: {done} done, {open} open; {needed}")
    }

    /// What a person is told, a line each.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.verdict()];
        let mut reason = self.last_reason.iter().flat_map(|why| printable_lines(why));
        lines.push(match (self.running, &self.last_finish) {
            (Some(pid), _) => format!("Running   process {pid}"),
            (None, Some(finish)) => {
                let why = reason.next().map(|why| format!(" ({why})")).unwrap_or_default();
                format!("Not running   the last run ended: {finish}{why}")
            }
            (None, None) => "Not running   no run has finished here yet".to_owned(),
        });
        if self.running.is_none() {
            lines.extend(reason.map(|line| format!("          {line}")));
        }
        match (&self.plan, &self.plan_problem) {
            (Some(plan), _) => {
                lines.push(format!("Plan      {}", here::shown(plan.as_str().into())))
            }
            (None, Some(problem)) => lines.push(format!("Plan      {problem}")),
            (None, None) => {}
        }
        let StoryCounts { open, done, blocked, .. } = &self.stories;
        lines.push(format!("Stories   {done} done, {open} open, {blocked} blocked"));
        if let Some(story) = &self.story {
            lines.push(format!("Story     {story}, iteration {}", self.iteration));
        }
        if let Some(now) = &self.now {
            lines.extend(told_now(now, Timestamp::now()));
        }
        if self.interrupted {
            lines.push("Stopping  now; the next run continues the attempt".to_owned());
        } else if self.stopping {
            lines.push("Stopping  before the next story".to_owned());
        }
        if let Some(Pause { why, until, .. }) = &self.pause {
            lines.push(format!("Waiting   {why}; until {}", local_time(until)));
        }
        if self.iteration > 0 {
            let commits = counted(self.commits as usize, "commit", "commits");
            let iterations = counted(self.iteration as usize, "iteration", "iterations");
            let mut spent = format!("Total     {commits} in {iterations}");
            if self.unchecked > 0 {
                spent.push_str(&format!(", {} unchecked", self.unchecked));
            }
            if self.tokens > 0 {
                spent.push_str(&format!(", {} tokens", thousands(self.tokens)));
            }
            let cost = self.cost_usd.map_or_else(|| "cost unknown".to_owned(), dollars);
            spent.push_str(&format!(", {cost}"));
            lines.push(spent);
        }
        self.meanwhile.iter().for_each(|line| lines.push(format!("Look at   {line}")));
        self.twice.iter().for_each(|line| lines.push(format!("Look at   {line}")));
        self.waiting.iter().for_each(|line| lines.push(format!("Needs you {line}")));
        lines
    }
}

/// The workers, and what is left.
fn told_now(now: &Scene, at: Timestamp) -> Vec<String> {
    let Scene { worker, totals, .. } = now;
    let mut lines = Vec::new();
    for worker in now.all() {
        let activity = worker.activity(at);
        let name = worker.worker.as_ref().map(|name| {
            let story = worker.story.as_ref().map(|story| format!(" {}", printable(story)));
            format!("worker {name}{}", story.unwrap_or_default())
        });
        // A wait has a line of its own.
        if worker.until.is_some() || worker.story.is_none() && activity.is_empty() {
            continue;
        }
        let mut parts = vec![name.unwrap_or_default()];
        if worker.attempts > 0 {
            let (elapsed, title) = (clock(worker.elapsed(at)), printable(&worker.title));
            let attempt = format!("attempt {} of {}, {elapsed}", worker.attempt, worker.attempts);
            parts.extend([title, attempt]);
        }
        parts.push(activity);
        parts.retain(|part| !part.is_empty());
        lines.push(format!("Now       {}", parts.join("; ")));
    }
    let left =
        totals.time_left(worker.elapsed(at)).map(|left| format!("about {} left", in_words(left)));
    let parts = [totals.cost(), left.unwrap_or_default()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if !parts.is_empty() {
        lines.push(format!("So far    {}", parts.join(", ")));
    }
    lines
}
