//! `ralph-loop fleet status`: the machines of a fleet, what each works on, and when it was last heard of.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use ralph_base::env::Env;
use ralph_core::git::Repo;
use serde::Serialize;

use super::machine::{Machine, claims, machines};
use super::server::Server;
use crate::exit::Failure;
use crate::here;
use crate::landing::Target;
use crate::run::RunRecord;
use crate::run::start::run_dir;
use crate::terminal::{counted, in_words, say};
use crate::workspace::Source;

/// Show what the machines of a fleet do
#[derive(Debug, Args)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Status(FleetStatus),
}

/// Show the machines of a fleet, their stories, and when each was last heard of
#[derive(Debug, Args)]
struct FleetStatus {
    /// The git remote, by name or address; defaults to the setting `loop.fleet`, then to origin
    remote: Option<String>,
    /// The branch on which the fleet lands its work; defaults to the one that is checked out
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Print it as one JSON object
    #[arg(long)]
    json: bool,
}

/// What there is to say of a fleet.
#[derive(Debug, Serialize)]
struct Account {
    remote: String,
    branch: String,
    /// The commit at the end of the branch.
    tip: Option<String>,
    machines: Vec<MachineLine>,
    claims: Vec<ClaimLine>,
}

#[derive(Debug, Serialize)]
struct MachineLine {
    name: String,
    /// `at work`, `gone`, or how its run ended.
    state: String,
    story: Option<String>,
    commits: u64,
    cost_usd: Option<f64>,
    /// When its heart beat last, by its own clock, and how long ago that is by ours.
    last_beat: String,
    age_s: u64,
    lease_s: u64,
}

#[derive(Debug, Serialize)]
struct ClaimLine {
    story: String,
    machine: String,
    /// Whether that machine is at work, as far as it said.
    holds: bool,
}

impl Fleet {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let What::Status(status) = &self.what;
        let server = status.server(env)?;
        server.look()?;
        let account = account(&server)?;
        if status.json {
            say(serde_json::to_string_pretty(&account)?);
        } else {
            account.lines().iter().for_each(say);
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl FleetStatus {
    fn server(&self, env: &Env) -> Result<Server, Failure> {
        of_project(env, self.remote.as_deref(), self.branch.as_deref())
    }
}

/// The server of the fleet to which a project belongs.
pub(crate) fn of_project(
    env: &Env,
    remote: Option<&str>,
    branch: Option<&str>,
) -> Result<Server, Failure> {
    let project = here::project(env)?;
    let config = here::config(&project, env, &[])?;
    let repo = Repo::open(project.root())?;
    let source = Source::of(&project, &repo)?;
    let set = Some(config.run.fleet.as_str()).filter(|remote| !remote.is_empty());
    let remote = remote.or(set).unwrap_or("origin");
    let last = RunRecord::load(&run_dir(&repo)?)?.filter(|last| last.fleet == remote);
    let branch = match (branch.unwrap_or(&config.run.branch), last) {
        // That of the last run here, if it was in this fleet.
        ("", Some(last)) => last.target,
        (branch, _) => Target::branch_name(&source, branch)?,
    };
    Ok(Server::new(env, &source.git(), remote, &branch))
}

fn account(server: &Server) -> Result<Account, Failure> {
    let machines = machines(server)?;
    let holds = |name: &str| machines.iter().any(|one| one.name == name && one.is_at_work());
    let claims = claims(server)?.into_iter().map(|claim| ClaimLine {
        holds: holds(&claim.machine),
        story: claim.story,
        machine: claim.machine,
    });
    let claims: Vec<ClaimLine> = claims.collect();
    Ok(Account {
        remote: server.remote.clone(),
        branch: server.branch.clone(),
        tip: server.tip()?,
        machines: machines.iter().map(|machine| line_of(machine, &claims)).collect(),
        claims,
    })
}

fn line_of(machine: &Machine, claims: &[ClaimLine]) -> MachineLine {
    let at = machine.at.parse::<Timestamp>().unwrap_or(Timestamp::UNIX_EPOCH);
    let age = Timestamp::now().duration_since(at).as_secs();
    let claimed = claims.iter().find(|claim| claim.machine == machine.name);
    let state = match (&machine.record.finish, machine.gone) {
        (Some(finish), _) => finish.as_str(),
        (None, true) => "gone",
        (None, false) => "at work",
    };
    MachineLine {
        name: machine.name.clone(),
        state: state.to_owned(),
        // The claim is there before the next beat.
        story: machine.record.story.clone().or(claimed.map(|claim| claim.story.clone())),
        commits: machine.record.counters.commits,
        cost_usd: machine.record.counters.known_cost(),
        last_beat: machine.at.clone(),
        age_s: u64::try_from(age).unwrap_or(0),
        lease_s: machine.lease_s,
    }
}

impl Account {
    fn lines(&self) -> Vec<String> {
        let Self { remote, branch, machines, claims, .. } = self;
        if machines.is_empty() {
            let start = format!("start one with `ralph-loop --fleet {remote}`");
            return vec![format!("no machine works on {branch} of {remote}; {start}")];
        }
        let at_work = machines.iter().filter(|one| one.state == "at work").count();
        let many = counted(machines.len(), "machine", "machines");
        let mut lines = vec![format!("{branch} of {remote}: {many}, {at_work} at work")];
        for one in machines {
            let MachineLine { name, state, commits, cost_usd, .. } = one;
            let story = one.story.as_deref().unwrap_or_default();
            let doing = match state.as_str() {
                "at work" | "gone" if story.is_empty() => state.clone(),
                "at work" => format!("at work on {story}"),
                "gone" => format!("gone, with {story} under way"),
                finish => format!("ended ({finish})"),
            };
            let landed = counted(*commits as usize, "story", "stories");
            let age = in_words(std::time::Duration::from_secs(one.age_s));
            let cost = cost_usd.filter(|cost| *cost > 0.0);
            let cost = cost.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
            lines.push(format!(
                "  {name}: {doing}; {landed} landed{cost}; last heard of {age} ago by its clock"
            ));
        }
        for ClaimLine { story, machine, holds } in claims {
            let free =
                if *holds { "" } else { ", which is not at work: the next one takes it over" };
            lines.push(format!("  {story} is claimed by {machine}{free}"));
        }
        lines
    }
}
