//! `--dry-run`: what a run would do.

use std::collections::BTreeSet;
use std::time::Duration;

use ralph_base::listing::first_few;
use ralph_core::plan::{Next, Plan};
use ralph_project::checks::one_line;
use ralph_project::config::{Config, Limits, LoopSettings, Mode, PullRequests};
use run_history::{REQUESTS, RunHistory};

use super::preflight::Preflight;
use crate::exit::Failure;
use crate::forge::find_forge;
use crate::here;
use crate::record::RunRecord;
use crate::run::attempt::verify::Verifier;
use crate::saved;
use crate::terminal::{counted, dollars, in_words};
use board::Waiting;
use ralph_project::diagnosis::Diagnosis;
use work_copy::doors;

/// How many pull requests of stories are listed.
const REQUESTS_NAMED: usize = 3;

impl Preflight {
    /// Adds the outline to the findings.
    pub(super) fn outline(&mut self, path: &str) -> Result<(), Failure> {
        let Config { run, agent, verify, limits, .. } = &self.config;
        let is_planning = run.mode == Mode::Planning;
        let good = Diagnosis::Good;
        let mut findings = vec![good(format!("project {}", self.project.root()))];
        if is_planning {
            findings.push(good("planning: the agent only writes the plan".to_owned()));
        }
        if let Some(plan) = &self.plan {
            let lines =
                here::story_lines(plan).into_iter().map(|line| format!("\n         {line}"));
            findings.push(good(stories(plan) + &lines.collect::<String>()));
            findings.extend(here::warnings(plan).into_iter().map(Diagnosis::Note));
        }
        let model = match agent.model.as_str() {
            "" => String::new(),
            model => format!(", model {model}"),
        };
        let workers = match self.most_workers() {
            1 => String::new(),
            count => format!(", {count} workers"),
        };
        findings.push(good(format!("agent `{}`{model}{workers}", agent.command)));
        let past = RunHistory::open(self.project.root(), self.project.own_state());
        let mut past = past.unwrap_or_default();
        let one = past.forecast();
        let took = |check: &str| {
            let checks = past.runs().last()?.baseline.iter().find(|past| past.check == check)?;
            let took = in_words(Duration::try_from_secs_f64(checks.seconds).ok()?);
            Some(format!(" (took {took} last time)"))
        };
        for check in verify.commands.iter().map(|check| one_line(check)) {
            let took = took(&check).unwrap_or_default();
            findings.push(Diagnosis::Later(format!("check `{check}`{took}")));
        }
        if verify.commands.is_empty() && !is_planning {
            findings.push(Diagnosis::Note(
                "no verify commands are set, so everything lands unchecked".to_owned(),
            ));
        }
        if !is_planning {
            findings.extend(self.of_extensions(path)?);
        }
        let (top, target) = (self.workspace.top(), &self.target.branch);
        let for_requests = self.config.finish.pr == PullRequests::Story;
        let place = if for_requests { "a branch for each story" } else { target };
        findings.push(good(format!("the agent works in {top}; work lands on {place}")));
        findings.extend(self.sandbox());
        findings.extend(if for_requests { self.forge() } else { self.waiting()? });
        findings.extend(self.requested(&mut past)?);
        findings.push(good(limited(run.max_iterations, agent.timeout.0, limits)));
        if let Some(plan) = self.plan.as_ref()
            && !is_planning
        {
            let open = plan.counts().open;
            findings.push(good(one.of_stories(open).line(limits.max_cost_usd)));
        }
        self.findings.extend(findings);
        self.history = past;
        Ok(())
    }

    fn of_extensions(&self, path: &str) -> Result<Vec<Diagnosis>, Failure> {
        let Self { project, config, plan, extensions, .. } = self;
        let of = |verifier: &&dyn Verifier| verifier.before(project, config, plan.as_ref(), path);
        let found = extensions.verifiers.iter().map(of);
        let mut found = found.collect::<Result<Vec<_>, _>>()?.concat();
        found.extend(
            extensions.observers.iter().flat_map(|observer| observer.before(project, config)),
        );
        Ok(found)
    }

    fn sandbox(&self) -> Vec<Diagnosis> {
        let doors = &self.workspace.doors;
        let words = format!("sandbox {}", doors::in_words(&self.config));
        let is_on =
            if doors.are_sandboxed() { Diagnosis::Good(words) } else { Diagnosis::Note(words) };
        let missing = doors.missing().into_iter().map(|path| {
            Diagnosis::Note(format!(
                "{path} in [sandbox] write does not exist, so it cannot be written; create it first"
            ))
        });
        [is_on].into_iter().chain(missing).collect()
    }

    /// The forge for pull requests of stories, if they are wanted. Story branches are not the user's.
    fn forge(&self) -> Vec<Diagnosis> {
        let LoopSettings { story, branch, .. } = &self.config.run;
        let (root, git) = (self.project.root(), self.workspace.source.git());
        let find = || {
            let (_, forge) = find_forge(root, &git, branch)?;
            forge.request_of(root, REQUESTS).map(drop)
        };
        let missing = if story.is_empty() { find().err() } else { None };
        missing.map(|failure| Diagnosis::Problem(failure.to_string())).into_iter().collect()
    }

    /// Lists stories with pull requests, whose work is not on the target yet.
    fn requested(&self, past: &mut RunHistory) -> Result<Option<Diagnosis>, Failure> {
        let LoopSettings { story, fleet, .. } = &self.config.run;
        let is_other = !story.is_empty() || !fleet.is_empty();
        let Some(plan) = self.plan.as_ref().filter(|_| !is_other) else { return Ok(None) };
        let git = self.workspace.source.git();
        past.add_plans([plan]);
        let mut requests = Vec::new();
        for (key, address, _) in past.requests_of_stories() {
            // The user may have asked to do it again.
            let newest = saved::newest(saved::at_story(&git, key)?);
            if !newest.is_some_and(|newest| newest.is_retry()) {
                requests.push(format!("{}: {address}", key.story));
            }
        }
        let named = first_few(&requests, REQUESTS_NAMED);
        if self.config.finish.pr == PullRequests::Story {
            let text = format!("in pull requests already: {named}");
            return Ok((!requests.is_empty()).then_some(Diagnosis::Note(text)));
        }
        let problem = format!(
            "stories have pull requests whose work is not here ({named}); run `git pull` if they were \
             merged, start with `--pr story` to continue with them, or redo one with \
             `ralph-loop retry`"
        );
        Ok((!requests.is_empty()).then_some(Diagnosis::Problem(problem)))
    }

    /// Work of earlier runs that is not in the user's files, for this target or the last one.
    fn waiting(&self) -> Result<Vec<Diagnosis>, Failure> {
        let last = RunRecord::load(&self.run_dir)?.unwrap_or_default();
        let mut found = Vec::new();
        for branch in BTreeSet::from([&self.target.branch, &last.target]) {
            let waiting = Waiting::find(&self.workspace.source, branch)?;
            let Some(waiting) = waiting else { continue };
            let words =
                waiting.in_words(last.rebase_problem.as_deref().filter(|_| *branch == last.target));
            found.push(if waiting.is_landed() && *branch == self.target.branch {
                Diagnosis::Good(words)
            } else if waiting.is_landed() {
                let here = &self.target.branch;
                Diagnosis::Note(format!(
                    "{words}, or start with `--branch {branch}` to continue there; this run begins \
                     on {here}, without that work"
                ))
            } else {
                Diagnosis::Note(words)
            });
        }
        Ok(found)
    }
}

fn stories(plan: &Plan) -> String {
    let counts = plan.counts();
    let next = match plan.next_story(&Default::default()) {
        Next::Story(story) => format!("next: {} {}", story.id, story.title),
        Next::Complete => "all stories are done".to_owned(),
        Next::Stuck { .. } => "the rest is blocked".to_owned(),
    };
    format!(
        "plan {}: {} open, {} done, {} blocked, {} optional; {next}",
        here::shown(plan.path()),
        counts.open,
        counts.done,
        counts.blocked,
        counts.optional
    )
}

/// All limits that are set.
fn limited(max_iterations: u64, timeout_s: u64, limits: &Limits) -> String {
    let mut parts =
        vec![counted(limits.attempts_per_story as usize, "attempt", "attempts") + " per story"];
    if max_iterations > 0 {
        parts.push(counted(max_iterations as usize, "iteration", "iterations"));
    }
    let time = |seconds: u64| in_words(Duration::from_secs(seconds));
    let cost = limits.max_cost_usd;
    for (is_set, limit, of) in [
        (timeout_s > 0, time(timeout_s), "iteration"),
        (cost > 0.0, dollars(cost), "run"),
        (limits.max_duration.0 > 0, time(limits.max_duration.0), "run"),
    ] {
        if is_set {
            parts.push(format!("{limit} per {of}"));
        }
    }
    format!("limits: {}", parts.join(", "))
}
