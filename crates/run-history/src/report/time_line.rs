//! The time line of a run: attempts, waits and landings.

use std::collections::BTreeMap;

use ralph_base::state::StoryKey;
use serde::Serialize;

use crate::run::Run;
use crate::words::{epoch, hour, line, local_time};

/// How wide the drawing is, in its own units.
const WIDTH: f64 = 1000.0;

/// Nothing is drawn narrower: it could not be seen.
const NARROWEST: f64 = 2.0;

/// A drawing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct TimeLine {
    /// One below the other: each of several workers has its own.
    pub(crate) lanes: Vec<Lane>,
    pub(crate) from: String,
    pub(crate) to: String,
}

/// What one worker did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Lane {
    /// Which one, where there are several.
    pub(crate) worker: Option<String>,
    pub(crate) bars: Vec<Bar>,
}

/// Something that took a while.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Bar {
    pub(crate) x: String,
    pub(crate) width: String,
    /// `success`, `failed` or `wait`.
    pub(crate) kind: &'static str,
    /// From when to when.
    pub(crate) when: String,
    pub(crate) title: String,
    /// Where it landed, if it did.
    pub(crate) landed: Option<String>,
}

/// Draws a run.
pub(super) fn of(run: &Run, name: impl Fn(&StoryKey) -> String) -> TimeLine {
    let (Some(start), Some(end)) = (epoch(&run.started_at), epoch(&run.ended_at)) else {
        return TimeLine::default();
    };
    let scale = WIDTH / (end - start).max(1.0);
    let place = |at: f64| ((at - start) * scale).clamp(0.0, WIDTH - NARROWEST);
    let bar = |from: f64, to: f64, kind, title: String| Bar {
        x: format!("{:.1}", place(from)),
        width: format!("{:.1}", ((to - from) * scale).clamp(NARROWEST, WIDTH - place(from))),
        kind,
        when: format!("{} to {}", hour(from), hour(to)),
        title: line(&title),
        landed: None,
    };
    // When each began, and by which worker.
    let attempts = run.attempts.iter().filter_map(|attempt| {
        let outcome = if attempt.outcome.is_empty() { "under way" } else { &attempt.outcome };
        let (from, to) = (epoch(&attempt.began_at)?, epoch(&attempt.ended_at).unwrap_or(end));
        let kind = if attempt.outcome == "success" { "success" } else { "failed" };
        let title = format!("{} {}: {outcome}", name(&attempt.key), attempt.title);
        let landed = attempt.commit.as_ref().map(|_| format!("{:.1}", place(to)));
        let bar = Bar { landed, ..bar(from, to, kind, title) };
        Some((from, attempt.worker.clone(), bar))
    });
    let waits = run.waits.iter().filter_map(|wait| {
        let to = epoch(&wait.ended_at)?;
        let from = to - wait.seconds;
        Some((from, wait.worker.clone(), bar(from, to, "wait", wait.why.clone())))
    });
    let mut all: Vec<_> = attempts.chain(waits).collect();
    all.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
    // Workers by their numbers, others by their names.
    let mut lanes: BTreeMap<(Option<u64>, Option<String>), Lane> = BTreeMap::new();
    for (_, worker, bar) in all {
        let number = worker.as_ref().and_then(|worker| worker.parse().ok());
        let lane = lanes.entry((number, worker.clone())).or_default();
        lane.worker = worker;
        lane.bars.push(bar);
    }
    TimeLine {
        lanes: lanes.into_values().collect(),
        from: local_time(&run.started_at),
        to: local_time(&run.ended_at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Attempt, Wait};

    fn at(minute: u32) -> String {
        format!("2026-01-01T00:{minute:02}:00.000Z")
    }

    #[test]
    fn bars_stand_where_things_happened() {
        let attempt = Attempt {
            began_at: at(10),
            ended_at: at(15),
            outcome: "success".into(),
            commit: Some("c".into()),
            ..Attempt::default()
        };
        let wait = Wait { worker: None, ended_at: at(20), seconds: 120.0, why: "limit".into() };
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
        assert_eq!(places, [("500.0", "250.0", "success"), ("900.0", "100.0", "wait")]);
        assert_eq!(lane.bars[0].landed.as_deref(), Some("750.0"));
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
