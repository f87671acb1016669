//! `cargo xtask e2e`: the real client with our hooks, against a scripted model on loopback.
//!
//! A scenario is red when an expectation is not met. With `--mutate` the named hook does nothing,
//! and then every scenario that proves it must be red: a scenario that stays green proves nothing.

mod client;
mod expect;
pub(crate) mod npm;
mod processes;
mod scenario;
mod scenarios;
mod session;
mod stage;
mod terminal;

use std::time::Instant;

use anyhow::{Result, bail};
use camino::Utf8PathBuf;
use clap::Args;
use ralph_project::install::HOOK_NAMES;

use self::client::Client;
use self::expect::{Lacking, Unmet};
use self::scenario::Scenario;
use self::stage::Stage;
use crate::run;

/// The client that the scenarios are kept green with.
const PINNED: &str = "2.1.325";

/// Which client, and which scenarios.
#[derive(Args)]
pub(crate) struct E2e {
    /// The client's version, as the npm registry knows it.
    #[arg(long, value_name = "VERSION", default_value = PINNED)]
    client_version: String,
    /// Only the scenarios whose name contains this.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Make this hook do nothing; every scenario that proves it must go red.
    #[arg(long, value_name = "HOOK", value_parser = HOOK_NAMES)]
    mutate: Option<String>,
    /// Install the hooks from this folder, target/dist for instance, instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<Utf8PathBuf>,
    /// Run with each of these versions and print a table.
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',', conflicts_with = "client_version")]
    versions: Vec<String>,
}

/// How a scenario ended.
enum End {
    Green,
    Red(String),
    /// This client cannot do what the scenario needs.
    Skipped(&'static str),
}

/// Runs the scenarios.
pub(crate) fn run(arguments: &E2e) -> Result<()> {
    let versions = match arguments.versions.as_slice() {
        [] => vec![arguments.client_version.clone()],
        several => several.to_vec(),
    };
    let chosen = chosen(arguments)?;
    // Scenarios run elsewhere, so a path that is meant from here must be whole.
    let hooks = match &arguments.binaries {
        Some(folder) => camino::absolute_utf8(folder)?,
        None => run::built()?,
    };
    let mut results = Vec::new();
    for version in &versions {
        let client = client::install(version)?;
        println!("client {} with {} scenarios", client.version, chosen.len());
        let started = Instant::now();
        let ends = play_all(&chosen, &client, &hooks, arguments.mutate.as_deref())?;
        println!("{:.0} s", started.elapsed().as_secs_f32());
        results.push((client.version.to_string(), ends));
    }
    if versions.len() > 1 {
        print_table(&chosen, &results);
    }
    let ends = || results.iter().flat_map(|(_, ends)| ends);
    let red = ends().filter(|end| matches!(end, End::Red(_))).count();
    let green = ends().filter(|end| matches!(end, End::Green)).count();
    match &arguments.mutate {
        Some(hook) if green > 0 => {
            bail!("{green} scenarios do not notice that {hook} does nothing")
        }
        Some(hook) if red == 0 => bail!("no scenario proves {hook}"),
        None if red > 0 => bail!("{red} scenarios are red"),
        _ => Ok(()),
    }
}

fn chosen(arguments: &E2e) -> Result<Vec<&'static Scenario>> {
    let all = scenarios::all();
    let chosen: Vec<&Scenario> = all
        .into_iter()
        .filter(|scenario| match &arguments.only {
            Some(part) => scenario.name.contains(part.as_str()),
            None => true,
        })
        .filter(|scenario| match arguments.mutate.as_deref() {
            Some(hook) => scenario.proves.contains(&hook),
            None => true,
        })
        .collect();
    if chosen.is_empty() {
        bail!("no scenario is left; `cargo xtask e2e` alone runs them all");
    }
    Ok(chosen)
}

fn play_all(
    scenarios: &[&Scenario],
    client: &Client,
    hooks: &Utf8PathBuf,
    mutate: Option<&str>,
) -> Result<Vec<End>> {
    let mut ends = Vec::new();
    for scenario in scenarios {
        let started = Instant::now();
        let end = play(scenario, client, hooks, mutate)?;
        let (mark, words) = match &end {
            End::Green => ("green", String::new()),
            End::Red(why) => ("RED", format!(": {why}")),
            End::Skipped(why) => ("skipped", format!(": {why}")),
        };
        let seconds = started.elapsed().as_secs_f32();
        println!("{mark:8} {seconds:5.1} s  {}{words}", scenario.name);
        ends.push(end);
    }
    Ok(ends)
}

/// Only an unmet expectation makes a scenario red; any other trouble is our own and ends the task.
fn play(
    scenario: &Scenario,
    client: &Client,
    hooks: &Utf8PathBuf,
    mutate: Option<&str>,
) -> Result<End> {
    if let Some((_, why)) = scenario.needs.filter(|(since, _)| client.version < *since) {
        return Ok(End::Skipped(why));
    }
    let mut stage = Stage::new(scenario.name, client, hooks)?;
    if let Some(hook) = mutate {
        stage.stand_in(hook, stage::DOES_NOTHING)?;
    }
    let Err(error) = (scenario.play)(&mut stage) else { return Ok(End::Green) };
    if let Some(lacking) = error.downcast_ref::<Lacking>() {
        return Ok(End::Skipped(lacking.0));
    }
    match error.downcast::<Unmet>() {
        Ok(unmet) => Ok(End::Red(unmet.to_string())),
        Err(error) => Err(error.context(scenario.name)),
    }
}

/// The results as a table in Markdown, for docs/compatibility.md.
fn print_table(scenarios: &[&Scenario], results: &[(String, Vec<End>)]) {
    let versions: Vec<&str> = results.iter().map(|(version, _)| version.as_str()).collect();
    println!("| scenario | {} |", versions.join(" | "));
    println!("| --- |{}", " --- |".repeat(versions.len()));
    for (position, scenario) in scenarios.iter().enumerate() {
        let cells = results.iter().map(|(_, ends)| match ends.get(position) {
            Some(End::Green) => "green",
            Some(End::Red(_)) => "red",
            _ => "not possible",
        });
        println!("| {} | {} |", scenario.name, cells.collect::<Vec<_>>().join(" | "));
    }
}
