//! Planning: the agent writes or refreshes the plan in its copy.

use super::begin::prepare;
use super::watch::{self, Watched};
use super::{Around, Course, Desk, Planned, Stopped};
use crate::run::decide::{Allowance, Judged, judge};
use client::AgentRun;
use work_copy::Start;

/// Lets an agent write the plan.
pub(super) fn plan(
    around: Around<'_>,
    desk: &mut Desk,
    course: &mut Course,
    (before, prompt, allowance): (Option<&[u8]>, &str, Allowance),
) -> Result<Planned, Stopped> {
    let (context, books) = (around.context, around.books);
    let (start, stop) = (Start::of(&course.attempt), || context.is_interrupted());
    prepare((&context.config, &stop), around.reporter, &mut desk.copy, start, &desk.run)?;
    if let Some(before) = before {
        desk.copy.give(&books.plan, before)?;
    }
    let Watched { ended, used: turn, .. } =
        watch::start(around, desk, course, allowance, (prompt, None))?;
    course.used.push(turn);
    let facts = &mut course.facts;
    facts.exit_code = ended.as_ref().and_then(AgentRun::exit_code);
    let left = desk.copy.left(&books.plan);
    let end = judge(&Judged {
        run: ended.as_ref(),
        claim: None,
        agents: None,
        last_verdict: None,
        took: facts.duration.unwrap_or_default(),
        has_changed: &|| left.as_deref() != before,
        allowance,
        limits: &context.config.limits,
        time_left: context.time_left(),
        quota_streak: 0,
        signal: context.interrupts.signal(),
    });
    Ok(Planned { end, left })
}
