//! `cargo xtask e2e`: the real client with our hooks, against a scripted model on loopback.
//!
//! The scenarios are the files in `xtask/e2e`, those for all agents in `xtask/e2e/agents`; the
//! README there describes their format. A scenario is red if an expectation is not met. With
//! `--mutate` the named hook does nothing, and every scenario that proves it must then be red.

mod client;
pub(crate) mod npm;
mod processes;
mod scenario;
mod session;
mod stage;

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use ralph_project::install::{ClientVersion, HOOK_NAMES};

use self::client::{CLAUDE, Client};
use self::scenario::Scenario;
use self::stage::{Lacking, Stage, Unmet};
use crate::run;

/// Which client, and which scenarios.
#[derive(Args)]
pub(crate) struct E2e {
    /// Other agents, or `all`, in the scenarios that every agent plays.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    agent: Vec<String>,
    /// The client's version, as the npm registry knows it.
    #[arg(long, value_name = "VERSION")]
    client_version: Option<String>,
    /// Only the scenarios whose name contains this.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Only the few scenarios that are played before every change.
    #[arg(long)]
    smoke: bool,
    /// Make this hook do nothing; every scenario that proves it must go red.
    #[arg(long, value_name = "HOOK", value_parser = HOOK_NAMES)]
    mutate: Option<String>,
    /// Install the hooks from this folder, target/dist for instance, instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<Utf8PathBuf>,
    /// Run with each of these versions and print a table.
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',', conflicts_with_all = ["client_version", "agent"])]
    versions: Vec<String>,
}

impl E2e {
    fn wants(&self, scenario: &Scenario) -> bool {
        let is_named = |part: &String| scenario.name.contains(part.as_str());
        self.only.as_ref().is_none_or(is_named)
            && (!self.smoke || scenario.smoke)
            && self.mutate.as_ref().is_none_or(|hook| scenario.proves.contains(hook))
    }
}

/// The result of a scenario.
#[derive(PartialEq, Eq)]
enum End {
    Green,
    Red,
    /// The client cannot do what the scenario needs.
    Skipped,
}

/// Runs the scenarios.
pub(crate) fn run(arguments: &E2e) -> Result<()> {
    if !arguments.agent.is_empty() && !npm::is_installed() {
        println!("skipped: npm is missing, and with it every agent");
        return Ok(());
    }
    // Scenarios run in other folders, so a relative path must be made absolute.
    let binaries = match &arguments.binaries {
        Some(folder) => camino::absolute_utf8(folder)?,
        None => run::built()?,
    };
    let (agents, folder) = match arguments.agent.as_slice() {
        [] => (vec![CLAUDE.to_owned()], "xtask/e2e"),
        [all] if all == "all" => (client::rows()?.into_keys().collect(), "xtask/e2e/agents"),
        some => (some.to_vec(), "xtask/e2e/agents"),
    };
    let mut scenarios = Scenario::load(folder)?;
    scenarios.retain(|scenario| arguments.wants(scenario));
    ensure!(!scenarios.is_empty(), "no scenario is left; `cargo xtask e2e` alone runs them all");
    let one = [arguments.client_version.clone()];
    let several: Vec<Option<String>> = arguments.versions.iter().cloned().map(Some).collect();
    let versions = if several.is_empty() { one.as_slice() } else { &several };
    let mut played = Vec::new();
    for (agent, version) in agents.iter().flat_map(|agent| versions.iter().map(move |v| (agent, v)))
    {
        let client = client::install(agent, version.as_deref())?;
        println!("{agent} {} with {} scenarios", client.version, scenarios.len());
        let play = |scenario| play(scenario, &client, &binaries, arguments.mutate.as_deref());
        let ends = scenarios.iter().map(play).collect::<Result<Vec<End>>>()?;
        let name = if arguments.agent.is_empty() { "" } else { client.name.as_str() };
        played.push((format!("{name} {}", client.version).trim().to_owned(), ends));
    }
    if played.len() > 1 {
        print_table(&scenarios, &played);
    }
    let ends = || played.iter().flat_map(|(_, ends)| ends);
    let count = |end: &End| ends().filter(|one| *one == end).count();
    let (green, red) = (count(&End::Green), count(&End::Red));
    match &arguments.mutate {
        Some(hook) if green > 0 => {
            bail!("{green} scenarios do not notice that {hook} does nothing")
        }
        Some(hook) if red == 0 => bail!("no scenario proves {hook}"),
        None if red > 0 => bail!("{red} scenarios are red"),
        _ => Ok(()),
    }
}

/// Plays a scenario. Only an unmet expectation makes it red; any other error ends the task.
fn play(
    scenario: &Scenario,
    client: &Client,
    binaries: &Utf8Path,
    mutate: Option<&str>,
) -> Result<End> {
    let started = Instant::now();
    let played = played(scenario, client, binaries, mutate);
    let (end, mark, words) = match played {
        Ok(()) => (End::Green, "green", String::new()),
        Err(error) => match (error.downcast_ref::<Lacking>(), error.downcast_ref::<Unmet>()) {
            (Some(Lacking(why)), _) => (End::Skipped, "skipped", format!(": {why}")),
            (_, Some(Unmet(what))) => (End::Red, "RED", format!(": {what}")),
            _ => return Err(error.context(scenario.name.clone())),
        },
    };
    println!("{mark:8} {:5.1} s  {}{words}", started.elapsed().as_secs_f32(), scenario.name);
    Ok(end)
}

fn played(
    scenario: &Scenario,
    client: &Client,
    binaries: &Utf8Path,
    mutate: Option<&str>,
) -> Result<()> {
    if let Some((since, why)) = &scenario.needs {
        let version: ClientVersion = client.version.parse()?;
        ensure!(version >= since.parse()?, Lacking(why.clone()));
    }
    if let Some(why) = client.row.impossible.get(&scenario.name) {
        bail!(Lacking(why.clone()));
    }
    let mut stage = Stage::new(&scenario.name, client, binaries)?;
    if let Some(hook) = mutate {
        stage.script(&format!("stand_in {hook} 'cat >/dev/null'"))?;
    }
    stage.set_up(scenario)?;
    scenario.session.iter().try_for_each(|session| stage.play(session))
}

/// Prints the results as a Markdown table.
fn print_table(scenarios: &[Scenario], played: &[(String, Vec<End>)]) {
    let names: Vec<&str> = played.iter().map(|(name, _)| name.as_str()).collect();
    println!("| scenario | {} |", names.join(" | "));
    println!("| --- |{}", " --- |".repeat(names.len()));
    for (position, scenario) in scenarios.iter().enumerate() {
        let cells = played.iter().map(|(_, ends)| match ends.get(position) {
            Some(End::Green) => "green",
            Some(End::Red) => "red",
            _ => "not possible",
        });
        println!("| {} | {} |", scenario.name, cells.collect::<Vec<_>>().join(" | "));
    }
}
