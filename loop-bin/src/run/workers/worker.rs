//! What one of several workers does besides what every loop does: it leaves stories alone that others
//! have, waits while there is nothing for it, and lands when nobody else does.
//!
//! A story is taken by the worker's own record, written under the lock for choosing; so it is taken for
//! as long as that worker, or the one that is started in its place, has not ended it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use ralph_base::env::Env;
use ralph_base::state::{self, Lock, LockError};
use ralph_core::plan::{Plan, Story};
use ralph_project::config::Scope;

use super::part::Part;
use crate::agent::Descendants;
use crate::board;
use crate::exit::Failure;
use crate::run::decide::Finish;
use crate::run::record::Pause;
use crate::run::{Run, RunRecord, start};

/// How often a worker looks whether there is something for it.
const PULSE: Duration = Duration::from_millis(100);

/// How long it does not look at the plan meanwhile: a person may have added a story.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// What the other workers of a run are about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Others {
    /// The stories that they have, and which worker has each.
    pub(crate) taken: BTreeMap<String, String>,
    /// What one of them waits for, if the agent's service let it wait.
    pub(crate) pause: Option<Pause>,
}

/// Works until nothing is left to do. Returns the exit code of the process.
pub(crate) fn work(env: &Env) -> Result<ExitCode, Failure> {
    let part = Part::read()?;
    let preflight = start::preflight_of_worker(env, &part)?;
    let mut run = start::start_worker(env, preflight, part)?;
    run.save();
    let ended = run.work_on_stories();
    let finish = ended.unwrap_or_else(|failure| run.ended_by(&failure));
    Ok(run.end_part(finish))
}

impl Run {
    /// Looks at what the others have done and what they have; nothing where there are none.
    pub(in crate::run) fn look_at_others(&mut self) -> Result<(), Failure> {
        let Some(part) = &self.context.part else { return Ok(()) };
        let shared = self.context.run_dir.of_run();
        let mut rest = vec![RunRecord::load(&shared)?.unwrap_or_default().counters];
        let mut others = Others::default();
        for (name, record) in RunRecord::of_workers(&shared)? {
            if name.as_str() == part.worker {
                continue;
            }
            rest.push(record.counters);
            let is_services = |pause: &Pause| pause.is_services;
            others.pause = others.pause.or(record.pause.filter(is_services));
            others.taken.extend(record.story.map(|story| (story, name.as_str().to_owned())));
        }
        self.record.counters.rest = rest;
        self.others = others;
        Ok(())
    }

    /// The stories that are not ours to choose: given up by any worker, or another one's.
    pub(in crate::run) fn passed_over(&self) -> BTreeSet<String> {
        let mut stories = self.record.counters.all_set_aside();
        stories.extend(self.others.taken.keys().cloned());
        stories
    }

    /// The story to work on: the first one whose scope is apart from what others work on, else the first
    /// one.
    pub(in crate::run) fn preferred(
        &self,
        plan: &Plan,
        passed_over: &BTreeSet<String>,
    ) -> Option<String> {
        let ready = plan.ready_stories(passed_over);
        let (scope, taken) = (&self.context.config.scope, &self.others.taken);
        let is_apart = |story: &&&Story| taken.keys().all(|one| are_apart(scope, &story.id, one));
        let apart: Vec<&Story> = ready.iter().filter(is_apart).copied().collect();
        let choice = if apart.is_empty() { ready } else { apart };
        choice.first().map(|story| story.id.clone())
    }

    /// Held while a worker chooses; nothing where there is only one.
    pub(in crate::run) fn lock_for_choosing(&self) -> Result<Option<Lock>, Failure> {
        if self.context.part.is_none() {
            return Ok(None);
        }
        let interrupts = &self.context.interrupts;
        let path = self.context.run_dir.choosing();
        lock_unless(&path, "choosing a story", || interrupts.count() > 0).map(Some)
    }

    /// Waits until no other worker lands or writes into plan, progress and lessons, and keeps all of them
    /// from it until the iteration has ended; tells whether the lock had to be taken. Whoever is asked
    /// to end so often does not wait for it.
    pub(in crate::run) fn lock_landing(
        &mut self,
        doing: &str,
        signals: u32,
    ) -> Result<bool, Failure> {
        if self.context.part.is_none() || self.landing.is_some() {
            return Ok(false);
        }
        let (context, path) = (&self.context, self.context.run_dir.landing());
        context.view.doing("waiting for another story to land");
        let is_enough = || context.interrupts.count() >= signals;
        self.landing = Some(lock_unless(&path, doing, is_enough)?);
        let source = &self.workspace.source;
        if board::is_interrupted(source) {
            // A worker died while its work landed, and is not back yet.
            board::finish_interrupted(source)?;
        }
        Ok(true)
    }

    /// Others may land.
    pub(in crate::run) fn free_landing(&mut self) {
        self.landing = None;
    }

    /// Nothing can be begun while others are at work; this one looks again soon.
    pub(in crate::run) fn wait_for_others(&mut self) -> Result<Option<Finish>, Failure> {
        self.end_session("another worker has the stories that are left")?;
        if self.record.story.take().is_some() {
            self.save();
        }
        let doing = match &self.others.pause {
            Some(pause) => pause.why.clone(),
            None => "waiting for other stories".to_owned(),
        };
        self.context.view.doing(&doing);
        // The plan is read again when one of them has ended its story, or now and then.
        let (before, until) = (self.others.clone(), Instant::now() + LONGEST_WAIT);
        while self.others == before && Instant::now() < until {
            if let Some(signal) = self.context.interrupts.wait(PULSE) {
                return Ok(Some(Finish::Manual(signal)));
            }
            self.look_at_others()?;
        }
        Ok(None)
    }

    /// The end of a worker: the run's process tells of it.
    fn end_part(mut self, finish: Finish) -> ExitCode {
        if let Err(failure) = self.end_session("the run has ended") {
            self.context.view.warn(failure.to_string());
        }
        let interrupts = &self.context.interrupts;
        Descendants::all().end(Duration::from_secs(2), &|| interrupts.count() > 1);
        let code = finish.exit_code(false);
        self.record.ended = Some(finish);
        if self.attempt.is_none() {
            self.record.story = None;
        }
        self.save();
        let _ = state::remove_if_there(self.context.run_dir.live());
        ExitCode::from(code)
    }
}

/// Takes a lock of the workers, unless we are asked to end: it dies with its holder, so the wait has an
/// end.
pub(in crate::run) fn lock_unless(
    path: &Utf8Path,
    doing: &str,
    is_enough: impl Fn() -> bool,
) -> Result<Lock, Failure> {
    match Lock::take_unless(path, doing, is_enough) {
        Err(LockError::Held(_)) => Err(Failure::because("interrupted; the next start goes on")),
        taken => Ok(taken?),
    }
}

/// Whether two stories have scopes that cannot meet: by what stands in their patterns before the first
/// wildcard.
fn are_apart(scope: &Scope, one: &str, other: &str) -> bool {
    let of = |story: &str| scope.stories.get(story).filter(|globs| !globs.is_empty());
    let (Some(one), Some(other)) = (of(one), of(other)) else { return false };
    let fixed =
        |glob: &'_ String| glob.split(['*', '?', '[', '{']).next().unwrap_or_default().to_owned();
    one.iter().map(fixed).all(|one| {
        other.iter().map(fixed).all(|other| !one.starts_with(&other) && !other.starts_with(&one))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_that_cannot_meet_are_known_by_their_beginnings() {
        let globs = |list: &[&str]| list.iter().map(|glob| (*glob).to_owned()).collect();
        let stories = [
            ("A", globs(&["src/a/**"])),
            ("B", globs(&["src/b/**", "docs/b.md"])),
            ("C", globs(&["src/**"])),
            ("D", globs(&[])),
        ];
        let stories = stories.into_iter().map(|(id, globs)| (id.to_owned(), globs)).collect();
        let scope = Scope { stories, ..Scope::default() };
        for (one, other, expected) in
            [("A", "B", true), ("A", "C", false), ("A", "D", false), ("A", "E", false)]
        {
            assert_eq!(are_apart(&scope, one, other), expected, "{one} {other}");
        }
    }
}
