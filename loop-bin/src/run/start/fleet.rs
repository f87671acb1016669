//! What a run of a fleet needs before its first story: the server, and a part in what the machines do.

use std::collections::BTreeSet;

use camino::Utf8Path;
use ralph_base::env::Env;
use ralph_core::plan::Next;
use ralph_project::config::{Config, Mode, Workers};

use super::preflight::Preflight;
use crate::exit::Failure;
use crate::fleet::{Joining, Member, Server};
use crate::git_output::text_at;
use crate::here;
use crate::landing::Target;
use crate::run::books::Books;
use crate::run::context::Context;
use crate::run::decide::Found;
use crate::run::{Run, RunRecord};
use crate::workspace::Source;

/// The shortest lease: a heart has four beats in it, and a beat takes a push.
const SHORTEST_LEASE_S: u64 = 4;

/// The branch on which the work lands: on the server of a fleet, or in the project.
pub(super) fn find_target(
    env: &Env,
    config: &Config,
    source: &Source,
    branch: &str,
) -> Result<Target, Failure> {
    let remote = config.run.fleet.as_str();
    if remote.is_empty() {
        return Target::find(source, branch);
    }
    let branch = Target::branch_name(source, branch)?;
    let server = Server::new(env, &source.git(), remote, &branch);
    server.look()?;
    Target::on_server(source, server)
}

/// What does not go with a fleet, as it is asked for.
pub(super) fn flaw_of_fleet(config: &Config) -> Option<String> {
    let run = &config.run;
    if run.fleet.is_empty() {
        None
    } else if config.workspace.in_place {
        Some("a machine of a fleet works in a copy; start without --in-place".to_owned())
    } else if run.workers != Workers::Number(1) {
        let instead = "start it once for each in clones of their own, without --workers";
        Some(format!("with --fleet each process works on one story; {instead}"))
    } else if run.mode == Mode::Planning {
        let instead = "write the plan first, without --fleet, then push it";
        Some(format!("a fleet works through a plan that is there; {instead}"))
    } else if run.all_prds {
        Some("a fleet works through one plan; start without --all-prds".to_owned())
    } else if run.lease.0 < SHORTEST_LEASE_S {
        Some(format!("--lease is too short: at least {SHORTEST_LEASE_S} seconds are needed"))
    } else {
        None
    }
}

impl Preflight {
    /// Whether the plan is on the server, and the same as here.
    pub(super) fn look_at_fleet(&mut self) {
        let (Some(server), Some(plan)) = (&self.target.server, &self.plan) else { return };
        let (path, Server { remote, branch, .. }) = (here::shown(plan.path()), server);
        let push = format!("commit and push it (`git push {remote} HEAD:{branch}`)");
        let Some(there) = on_server(server, &self.workspace.source, plan.path()) else {
            return self.problem(format!(
                "{path} is not on {branch} of {remote}, where the other machines look for it; \
                 {push}"
            ));
        };
        let here = fs_err::read_to_string(plan.path()).unwrap_or_default();
        if !has_all_of(&there, &here) {
            self.note(format!(
                "{path} is read from {branch} of {remote}, and has lines here that it does not \
                 have there; to add them, {push}"
            ));
        }
    }
}

/// Whether one text has the lines of another, apart from boxes that are ticked in one of them.
fn has_all_of(text: &str, other: &str) -> bool {
    let plain = |line: &str| line.replace("[x]", "[ ]").replace("[!]", "[ ]").trim().to_owned();
    let lines: BTreeSet<String> = text.lines().map(plain).collect();
    other.lines().all(|line| lines.contains(&plain(line)))
}

/// A file of the server's branch.
fn on_server(server: &Server, source: &Source, path: &Utf8Path) -> Option<String> {
    let (tip, path) = (server.tip().ok().flatten()?, source.below_top(path)?);
    let text = text_at(server.git(), &tip, path.as_std_path())?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Makes this machine a part of its fleet, with what it had done before it was killed.
pub(super) fn join(
    context: &Context,
    target: &mut Target,
    record: &mut RunRecord,
    found: &Found,
    books: &Books,
) -> Result<Option<Member>, Failure> {
    let Some(server) = &target.server else { return Ok(None) };
    let server = server.patient(&context.interrupts, context.view.warner());
    let left = found.record.as_ref().filter(|record| record.machine.is_some());
    let unfinished = left.filter(|record| record.finish.is_none());
    record.machine = left.and_then(|record| record.machine.clone());
    let counters = unfinished.map(|record| record.counters.clone()).unwrap_or_default();
    let has_work = matches!(books.load(target)?.next_story(&BTreeSet::new()), Next::Story(_));
    let member = Member::join(Joining {
        server: server.clone(),
        has_work,
        lease: std::time::Duration::from_secs(context.config.run.lease.0),
        run_dir: context.run_dir.clone(),
        journal: context.state().journal(),
        record: RunRecord { counters, ..record.clone() },
    })?;
    context.view.line(format!("this machine is {} of the fleet", member.name));
    (record.machine, record.fleet) = (Some(member.name.clone()), server.remote.clone());
    target.server = Some(server);
    Ok(Some(member))
}

impl Run {
    /// The last beat of this machine. Whoever is the last of all commits what the others could not.
    pub(in crate::run) fn leave_fleet(&mut self) -> Result<(), Failure> {
        let Some(member) = &mut self.member else { return Ok(()) };
        member.release()?;
        member.look()?;
        member.take_attempts()?;
        if member.is_last() { self.record_progress() } else { Ok(()) }
    }

    /// What the machines that have left did not commit of the progress.
    pub(in crate::run) fn take_left_progress(&self, tip: Option<&str>) -> Result<(), Failure> {
        match &self.member {
            Some(member) => Ok(self.books.take_left(tip, &member.left_progress())?),
            None => Ok(()),
        }
    }
}
