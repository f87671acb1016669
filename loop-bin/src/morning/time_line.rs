//! The night from left to right: attempts, waits and landings. Pure.

use serde::Serialize;

use super::text::{self, epoch};
use crate::history::PastRun;
use crate::terminal::local_time;

/// How wide the drawing is, in its own units.
pub(super) const WIDTH: f64 = 1000.0;

/// Nothing is drawn narrower: it could not be seen.
const NARROWEST: f64 = 2.0;

/// A drawing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct TimeLine {
    pub(crate) bars: Vec<Bar>,
    pub(crate) dots: Vec<Dot>,
    pub(crate) from: String,
    pub(crate) to: String,
}

/// Something that took a while.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Bar {
    pub(crate) x: String,
    pub(crate) width: String,
    /// `success`, `failed` or `wait`.
    pub(crate) kind: &'static str,
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
        title,
    };
    let mut line = TimeLine {
        from: local_time(&run.started_at),
        to: local_time(&run.ended_at),
        ..TimeLine::default()
    };
    for attempt in &run.attempts {
        let Some(from) = epoch(&attempt.began_at) else { continue };
        let to = epoch(&attempt.ended_at).unwrap_or(end);
        let kind = if attempt.outcome == "success" { "success" } else { "failed" };
        let outcome = if attempt.outcome.is_empty() { "under way" } else { &attempt.outcome };
        let title = text::line(&format!("{} {}: {outcome}", attempt.story, attempt.title));
        line.bars.push(bar(from, to, kind, title.clone()));
        if attempt.commit.is_some() {
            line.dots.push(Dot { x: format!("{:.1}", place(to)), title });
        }
    }
    for wait in &run.waits {
        let Some(to) = epoch(&wait.ended_at) else { continue };
        line.bars.push(bar(to - wait.seconds, to, "wait", text::line(&wait.why)));
    }
    line
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
        let wait = Wait { ended_at: at(20), seconds: 120.0, why: "limit".into() };
        let run = PastRun {
            started_at: at(0),
            ended_at: at(20),
            attempts: vec![attempt],
            waits: vec![wait],
            ..PastRun::default()
        };
        let line = of(&run);
        let places: Vec<_> = line.bars.iter().map(|bar| (&*bar.x, &*bar.width, bar.kind)).collect();
        assert_eq!(places, [("500.0", "250.0", "success"), ("900.0", "100.0", "wait")]);
        assert_eq!(line.dots[0].x, "750.0");
    }
}
