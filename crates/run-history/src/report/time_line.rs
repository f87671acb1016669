//! The night from left to right: attempts, waits and landings. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::text::{self, epoch, hour};
use crate::history::PastRun;
use crate::terminal::local_time;

/// How wide the drawing is, in its own units.
pub(super) const WIDTH: f64 = 1000.0;

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
    pub(crate) dots: Vec<Dot>,
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
}

/// Something that happened in an instant.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Dot {
    pub(crate) x: String,
    pub(crate) title: String,
}

/// Draws a run.
pub(super) fn of(run: &PastRun) -> TimeLine {
    let (Some(start), Some(end)) = (epoch(&run.started_at), epoch(&run.ended_at)) else {
        return TimeLine::default();
    };
    let scale = WIDTH / (end - start).max(1.0);
    let place = |at: f64| ((at - start) * scale).clamp(0.0, WIDTH - NARROWEST);
    let bar = |from: f64, to: f64, kind, title| Bar {
        x: format!("{:.1}", place(from)),
        width: format!("{:.1}", ((to - from) * scale).clamp(NARROWEST, WIDTH - place(from))),
        kind,
        when: format!("{} to {}", hour(from), hour(to)),
        title,
    };
    // Workers by their numbers, machines of a fleet by their names.
    let mut lanes: BTreeMap<(Option<u64>, Option<&str>), Lane> = BTreeMap::new();
    for Moment { worker, from, to, kind, title, is_landing } in moments(run, end) {
        let number = worker.and_then(|worker| worker.parse().ok());
        let lane = lanes.entry((number, worker)).or_default();
        lane.worker = worker.map(str::to_owned);
        lane.bars.push(bar(from, to, kind, title.clone()));
        if is_landing {
            lane.dots.push(Dot { x: format!("{:.1}", place(to)), title });
        }
    }
    TimeLine {
        lanes: lanes.into_values().collect(),
        from: local_time(&run.started_at),
        to: local_time(&run.ended_at),
    }
}

/// An attempt or a wait.
struct Moment<'a> {
    worker: Option<&'a str>,
    from: f64,
    to: f64,
    kind: &'static str,
    title: String,
    is_landing: bool,
}

/// All of a run, in the order in which they began.
fn moments(run: &PastRun, end: f64) -> Vec<Moment<'_>> {
    let attempts = run.attempts.iter().filter_map(|attempt| {
        let outcome = if attempt.outcome.is_empty() { "under way" } else { &attempt.outcome };
        Some(Moment {
            worker: attempt.worker.as_deref(),
            from: epoch(&attempt.began_at)?,
            to: epoch(&attempt.ended_at).unwrap_or(end),
            kind: if attempt.outcome == "success" { "success" } else { "failed" },
            title: text::line(&format!("{} {}: {outcome}", attempt.story, attempt.title)),
            is_landing: attempt.commit.is_some(),
        })
    });
    let waits = run.waits.iter().filter_map(|wait| {
        let (worker, to) = (wait.worker.as_deref(), epoch(&wait.ended_at)?);
        let (from, title) = (to - wait.seconds, text::line(&wait.why));
        Some(Moment { worker, from, to, kind: "wait", title, is_landing: false })
    });
    let mut moments: Vec<Moment<'_>> = attempts.chain(waits).collect();
    moments.sort_by(|one, other| one.from.total_cmp(&other.from));
    moments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{PastAttempt, Wait};

    #[test]
    fn bars_stand_where_things_happened() {
        let at = |minute: u32| format!("2026-01-01T00:{minute:02}:00.000Z");
        let attempt = PastAttempt {
            story: "A".into(),
            began_at: at(10),
            ended_at: at(15),
            outcome: "success".into(),
            commit: Some("c".into()),
            ..PastAttempt::default()
        };
        let wait = Wait { worker: None, ended_at: at(20), seconds: 120.0, why: "limit".into() };
        let run = PastRun {
            started_at: at(0),
            ended_at: at(20),
            attempts: vec![attempt],
            waits: vec![wait],
            ..PastRun::default()
        };
        let line = of(&run);
        let [lane] = line.lanes.as_slice() else { panic!("one lane") };
        let places: Vec<_> = lane.bars.iter().map(|bar| (&*bar.x, &*bar.width, bar.kind)).collect();
        assert_eq!(places, [("500.0", "250.0", "success"), ("900.0", "100.0", "wait")]);
        assert_eq!(lane.dots[0].x, "750.0");
    }

    #[test]
    fn each_worker_has_a_lane() {
        let at = |minute: u32| format!("2026-01-01T00:{minute:02}:00.000Z");
        let attempt = |worker: &str, minute| PastAttempt {
            worker: Some(worker.into()),
            began_at: at(minute),
            ended_at: at(minute + 1),
            ..PastAttempt::default()
        };
        let run = PastRun {
            started_at: at(0),
            ended_at: at(20),
            attempts: ["10", "2", "10", "host-b", "host-a"]
                .into_iter()
                .zip(0..)
                .map(|(worker, minute)| attempt(worker, minute))
                .collect(),
            ..PastRun::default()
        };
        let line = of(&run);
        let lanes: Vec<_> =
            line.lanes.iter().map(|lane| (lane.worker.as_deref(), lane.bars.len())).collect();
        let machines = [(Some("host-a"), 1), (Some("host-b"), 1)];
        assert_eq!(lanes, [&machines[..], &[(Some("2"), 1), (Some("10"), 2)]].concat());
    }
}
