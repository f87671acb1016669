//! The time line of a run: attempts, waits and landings.

use std::collections::BTreeMap;

use ralph_base::state::StoryKey;
use serde::Serialize;

use crate::run::Run;
use crate::words::{epoch, hour, line};

/// The minimum width of a bar in percent, so that it is visible.
const NARROWEST: f64 = 0.5;

/// Candidates for the tick interval in seconds: the first with at most `MOST_TICKS` ticks is used.
const STEPS: [f64; 9] =
    [60.0, 300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 43_200.0, 86_400.0];
const MOST_TICKS: f64 = 6.0;

/// The data of the drawing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct TimeLine {
    /// The labels of the ticks, and their positions in percent.
    pub(crate) ticks: Vec<(String, String)>,
    /// The lanes from top to bottom, one for each worker.
    pub(crate) lanes: Vec<Lane>,
    /// When and why no worker was active.
    pub(crate) waits: Vec<String>,
}

/// What one worker did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Lane {
    /// The worker's name, if there are several workers.
    pub(crate) worker: Option<String>,
    pub(crate) bars: Vec<Bar>,
}

/// An attempt or a wait.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Bar {
    /// Its position and width in percent.
    pub(crate) x: String,
    pub(crate) width: String,
    /// `success`, `failed` or `wait`.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// Its start and end time.
    pub(crate) when: String,
    pub(crate) title: String,
}

/// Computes the time line of a run.
pub(super) fn of(run: &Run, name: impl Fn(&StoryKey) -> String) -> TimeLine {
    let (Some(start), Some(end)) = (epoch(&run.started_at), epoch(&run.ended_at)) else {
        return TimeLine::default();
    };
    let scale = 100.0 / (end - start).max(1.0);
    let place = |at: f64| ((at - start) * scale).clamp(0.0, 100.0 - NARROWEST);
    let bar = |from: f64, to: f64, kind, (name, title): (String, String)| Bar {
        x: format!("{:.2}", place(from)),
        width: format!("{:.2}", ((to - from) * scale).clamp(NARROWEST, 100.0 - place(from))),
        kind,
        name: line(&name),
        when: format!("{} to {}", hour(from), hour(to)),
        title: line(&title),
    };
    // Each bar with its start time and worker.
    let mut all: Vec<_> = (run.attempts.iter())
        .filter_map(|attempt| {
            let outcome = if attempt.outcome.is_empty() { "under way" } else { &attempt.outcome };
            let (from, to) = (epoch(&attempt.began_at)?, epoch(&attempt.ended_at).unwrap_or(end));
            let kind = if attempt.outcome == "success" { "success" } else { "failed" };
            let name = name(&attempt.key);
            let title = format!("{name} {}: {}", attempt.title, outcome.replace('_', " "));
            Some((from, attempt.worker.clone(), bar(from, to, kind, (name, title))))
        })
        .collect();
    // Nobody works while the run waits for the agent's service.
    let mut workers: Vec<_> = all.iter().map(|(_, worker, _)| worker.clone()).collect();
    workers.sort();
    workers.dedup();
    for wait in &run.waits {
        let Some(to) = epoch(&wait.ended_at) else { continue };
        let from = to - wait.seconds;
        let one = || bar(from, to, "wait", ("wait".to_owned(), wait.why.clone()));
        let workers = if workers.is_empty() { &[None][..] } else { &workers };
        all.extend(workers.iter().map(|worker| (from, worker.clone(), one())));
    }
    all.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
    // Numbered workers are sorted by number, others by name.
    let mut lanes: BTreeMap<(Option<u64>, Option<String>), Lane> = BTreeMap::new();
    for (_, worker, bar) in all {
        let number = worker.as_ref().and_then(|worker| worker.parse().ok());
        let lane = lanes.entry((number, worker.clone())).or_default();
        lane.worker = worker;
        lane.bars.push(bar);
    }
    let too_many = |step: &&f64| (end - start) / **step > MOST_TICKS;
    let step = STEPS.iter().find(|step| !too_many(step)).unwrap_or(&86_400.0);
    let mut ticks = Vec::new();
    let mut at = (start / step).ceil() * step;
    while at < end {
        ticks.push((hour(at), format!("{:.2}", place(at))));
        at += step;
    }
    let lanes: Vec<Lane> = lanes.into_values().collect();
    let waits = lanes.first().into_iter().flat_map(|lane| &lane.bars);
    let waits =
        waits.filter(|bar| bar.kind == "wait").map(|bar| format!("{}: {}", bar.when, bar.title));
    TimeLine { ticks, waits: waits.collect(), lanes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Attempt, Wait};

    fn at(minute: u32) -> String {
        format!("2026-01-01T00:{minute:02}:00.000Z")
    }

    #[test]
    fn bars_are_placed_by_time() {
        let attempt = Attempt {
            began_at: at(10),
            ended_at: at(15),
            outcome: "success".into(),
            commit: Some("c".into()),
            ..Attempt::default()
        };
        let wait = Wait { ended_at: at(20), seconds: 120.0, why: "limit".into() };
        let run = Run {
            started_at: at(0),
            ended_at: at(20),
            attempts: vec![attempt],
            waits: vec![wait],
            ..Run::default()
        };
        let line = of(&run, |key| key.story.clone());
        let [lane] = line.lanes.as_slice() else { panic!("one lane") };
        let places: Vec<_> = lane.bars.iter().map(|bar| (&*bar.x, &*bar.width, bar.kind)).collect();
        assert_eq!(places, [("50.00", "25.00", "success"), ("90.00", "10.00", "wait")]);
        let ticks: Vec<&str> = line.ticks.iter().map(|(_, place)| &**place).collect();
        assert_eq!(ticks, ["0.00", "25.00", "50.00", "75.00"], "every five minutes");
    }

    #[test]
    fn each_worker_has_a_lane() {
        let attempt = |(worker, minute): (&str, u32)| Attempt {
            worker: Some(worker.into()),
            began_at: at(minute),
            ended_at: at(minute + 1),
            ..Attempt::default()
        };
        let workers = ["10", "2", "10", "host-b", "host-a"].into_iter().zip(0..);
        let run = Run {
            started_at: at(0),
            ended_at: at(20),
            attempts: workers.map(attempt).collect(),
            ..Run::default()
        };
        let line = of(&run, |key| key.story.clone());
        let lanes: Vec<_> =
            line.lanes.iter().map(|lane| (lane.worker.as_deref(), lane.bars.len())).collect();
        let machines = [(Some("host-a"), 1), (Some("host-b"), 1)];
        assert_eq!(lanes, [&machines[..], &[(Some("2"), 1), (Some("10"), 2)]].concat());
    }
}
