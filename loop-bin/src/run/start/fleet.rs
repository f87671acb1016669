//! What a run of a fleet needs before its first story: the server, and a part in what the machines do.

use camino::Utf8Path;
use ralph_base::env::Env;
use ralph_project::config::{Config, Mode, Workers};

use super::preflight::Preflight;
use crate::exit::Failure;
use crate::fleet::{Joining, Member, Server};
use crate::git_output::text_at;
use crate::here;
use crate::landing::Target;
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

impl Preflight {
    /// What keeps a run from being part of a fleet.
    pub(super) fn look_at_fleet(&mut self) {
        let Some(server) = &self.target.server else { return };
        let (remote, branch) = (server.remote.clone(), server.branch.clone());
        let run = &self.config.run;
        let mut problems = Vec::new();
        if self.workspace.is_in_place {
            problems
                .push("a machine of a fleet works in a copy; start without --in-place".to_owned());
        }
        if run.workers != Workers::Number(1) {
            problems.push(
                "with --fleet each process works on one story; start it once for each in clones of \
                 their own, without --workers"
                    .to_owned(),
            );
        }
        if run.mode == Mode::Planning {
            let plan = "write the plan first, without --fleet, then push it";
            problems.push(format!("a fleet works through a plan that is there; {plan}"));
        }
        if run.all_prds {
            problems.push("a fleet works through one plan; start without --all-prds".to_owned());
        }
        if run.lease.0 < SHORTEST_LEASE_S {
            let least = SHORTEST_LEASE_S;
            problems.push(format!("--lease is too short: at least {least} seconds are needed"));
        }
        if let Some(plan) = &self.plan
            && !is_on_server(server, &self.workspace.source, plan.path())
        {
            let path = here::shown(plan.path());
            problems.push(format!(
                "{path} is not on {branch} of {remote}, where the other machines look for it; \
                 commit it and run `git push {remote} {branch}`"
            ));
        }
        problems.into_iter().for_each(|problem| self.problem(problem));
    }
}

/// Whether the server's branch has a file.
fn is_on_server(server: &Server, source: &Source, path: &Utf8Path) -> bool {
    let (Ok(Some(tip)), Some(path)) = (server.tip(), source.below_top(path)) else { return false };
    text_at(server.git(), &tip, path.as_std_path()).is_some()
}

/// Makes this machine a part of its fleet, with what it had done before it was killed.
pub(super) fn join(
    context: &Context,
    target: &mut Target,
    record: &mut RunRecord,
    found: &Found,
) -> Result<Option<Member>, Failure> {
    let Some(server) = &target.server else { return Ok(None) };
    let server = server.patient(&context.interrupts, context.view.warner());
    let left = found.record.as_ref().filter(|record| record.machine.is_some());
    let unfinished = left.filter(|record| record.finish.is_none());
    record.machine = left.and_then(|record| record.machine.clone());
    let counters = unfinished.map(|record| record.counters.clone()).unwrap_or_default();
    let member = Member::join(Joining {
        server: server.clone(),
        lease: std::time::Duration::from_secs(context.config.run.lease.0),
        run_dir: context.run_dir.clone(),
        journal: context.state().journal(),
        record: RunRecord { counters, ..record.clone() },
    })?;
    record.machine = Some(member.name.clone());
    target.server = Some(server);
    Ok(Some(member))
}

impl Run {
    /// The last beat of this machine. Whoever is the last of all commits what the others could not.
    pub(in crate::run) fn leave_fleet(&mut self) -> Result<(), Failure> {
        let Some(member) = &mut self.member else { return Ok(()) };
        member.leave()?;
        member.look()?;
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
