//! A fleet of many machines in simulated time: what it asks of its server, and where it stops to become
//! faster. The times are assumptions, which the table names; what the machines do is as the loop does it.

mod fleet;
#[path = "../../loop-bin/src/fleet/rules.rs"]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the loop's own rules; some of them need no simulation")
)]
mod rules;
mod server;

use anyhow::Result;
use clap::Args;
use fleet::{Fleet, Landing, Outcome, Setting};

/// Which fleets are simulated.
#[derive(Args)]
pub(crate) struct Simulate {
    /// How many stories the plan has.
    #[arg(long, default_value_t = 10_000)]
    stories: usize,
    /// How long an agent works on a story, in seconds; from half of it to half as much again.
    #[arg(long, default_value_t = 1200)]
    story: u64,
    /// How long the checks take, in seconds.
    #[arg(long, default_value_t = 60)]
    check: u64,
    /// Where the randomness begins; the same seed gives the same fleets.
    #[arg(long, default_value_t = 20_260_101)]
    seed: u64,
}

const MACHINES: [usize; 7] = [1, 10, 20, 50, 100, 300, 1000];

/// Prints a table.
pub(crate) fn run(arguments: &Simulate) -> Result<()> {
    let Simulate { stories, story, check, seed } = *arguments;
    println!("stories of {story} s, checks of {check} s, a fetch of 50 ms, a push of 150 ms\n");
    println!("{}", HEAD.join(" | "));
    let (story, check) = (story * 1000, check * 1000);
    let setting = Setting { machines: 1, stories, landing: Landing::Race, story, check, seed };
    for landing in [Landing::Race, Landing::Turns, Landing::PatientTurns] {
        for machines in MACHINES {
            print(&Setting { machines, landing, ..setting });
        }
    }
    for stories in [10, 100, 1000] {
        print(&Setting { machines: 10, stories, ..setting });
    }
    Ok(())
}

/// Requests are fetches, pushes and heartbeats.
const HEAD: [&str; 13] = [
    "landing",
    "machines",
    "stories",
    "days",
    "ideal",
    "requests/s",
    "peak/s",
    "slowest s",
    "pushes/story",
    "fetches/story",
    "checks/story",
    "waiting to land",
    "lost attempts, given up",
];

fn print(setting: &Setting) {
    println!("{}", row(setting, &Fleet::new(*setting).run()).join(" | "));
}

fn row(setting: &Setting, outcome: &Outcome) -> Vec<String> {
    let Setting { machines, stories, landing, story, check, .. } = *setting;
    let Outcome { end, fetches, pushes, beats, checks, landed, .. } = *outcome;
    let (days, seconds) = (end as f64 / 86_400_000.0, end as f64 / 1000.0);
    let ideal = stories.div_ceil(machines) as f64 * (story + check) as f64 / 86_400_000.0;
    let each = |count: u64| format!("{:.1}", count as f64 / landed.max(1) as f64);
    let waiting = outcome.waited as f64 / (machines as f64 * end as f64);
    let word = match landing {
        Landing::Race => "race",
        Landing::Turns => "turns",
        Landing::PatientTurns => "patient turns",
    };
    vec![
        word.to_owned(),
        machines.to_string(),
        stories.to_string(),
        format!("{days:.2}"),
        format!("{ideal:.2}"),
        format!("{:.2}", (fetches + pushes + beats) as f64 / seconds),
        format!("{:.1}", outcome.peak),
        format!("{:.1}", outcome.slowest as f64 / 1000.0),
        each(pushes),
        each(fetches),
        each(checks),
        format!("{:.0}%", 100.0 * waiting),
        format!("{}, {}", outcome.lost, outcome.set_aside),
    ]
}
