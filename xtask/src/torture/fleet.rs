//! Several machines and one git server: machines are killed, some for ever, the network is cut, and the
//! rest goes on until the plan is done. Half of the stories meet in one file.

mod cost;
mod server;
mod verdict;

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use test_support::{Scratch, TestRepo, fixtures, program, signal};
use wait_timeout::ChildExt;

pub(crate) use self::cost::FleetCost;
use self::server::GitServer;
use super::dice::Dice;
use super::stage::PATIENT;
use super::tally::Tally;

const PLAN: &str = "IMPLEMENTATION_PLAN.md";

const MACHINES: usize = 8;
const STORIES: usize = 60;
const KILLS: usize = 3;
const CUTS: usize = 2;
const CUT: Duration = Duration::from_secs(20);

/// For how long others wait for a machine that was killed.
const LEASE_S: u64 = 8;

/// Whoever takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(900);

/// Each file must be whole, and the count must be right.
const CHECK: &str = r#"
for folder in made counted; do
    ls $folder/*.txt >/dev/null 2>&1 || continue
    awk '{ name = FILENAME; gsub(/.*\/|\.txt$/, "", name); wrong += $0 != "all of " name }
        END { exit wrong || NR != ARGC - 1 }' $folder/*.txt || exit 1
done
[ "$(cat count.txt)" -eq "$(ls counted 2>/dev/null | wc -l)" ]
"#;

/// Besides [`PATIENT`]: all machines together may begin as often as it takes.
const CONFIG: &str = "\
[loop]
max_iterations = 0
";

/// Rounds until the bounds are reached.
pub(super) fn run(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    while tally.goes_on() {
        let seed = dice.roll();
        let mut told = Vec::new();
        let found = play(binaries, &mut Dice::new(seed), &mut told);
        let name = format!("seed {seed}: {}", told.join(", "));
        tally.round(&name, (KILLS + CUTS) as u64, found);
    }
    Ok(())
}

/// A server, the user's clone, and those of the machines.
struct Fleet {
    user: TestRepo,
    server: GitServer,
    stories: usize,
    binaries: Utf8PathBuf,
    notes: Scratch,
}

impl Fleet {
    fn new(binaries: &Utf8Path, stories: usize, machines: usize) -> Result<Self> {
        let user = TestRepo::new();
        user.introduce_user();
        user.write(PLAN, plan_with(stories, " "));
        user.write(".ralph/.gitignore", "*\n!/.gitignore\n!/config.toml\n");
        user.write(".ralph/config.toml", format!("{PATIENT}{CONFIG}"));
        user.write("check.sh", CHECK);
        user.write("count.txt", "0\n");
        user.commit_all("plan");
        let server = GitServer::start(user.scratch().root())?;
        let fleet =
            Self { user, server, stories, binaries: binaries.to_owned(), notes: Scratch::new() };
        let bare = fleet.bare();
        fleet.user.git(["init", "-q", "--bare", "-b", "main", bare.as_str()]);
        fleet.user.git(["push", "-q", bare.as_str(), "main"]);
        let url = fleet.server.url("server.git");
        for machine in 0..machines {
            fleet.user.git(["clone", "-q", &url, fleet.clone_of(machine).as_str()]);
        }
        Ok(fleet)
    }

    fn bare(&self) -> Utf8PathBuf {
        self.user.scratch().path("server.git")
    }

    fn clone_of(&self, machine: usize) -> Utf8PathBuf {
        self.user.scratch().path(&format!("machine-{machine}"))
    }

    /// A machine at work; all that it says is in a file.
    fn start(&self, machine: usize, lease_s: u64) -> Result<Child> {
        let home = self.user.scratch().dir(&format!("home-{machine}"));
        let agent = fixtures().join("agents/counts.sh");
        let said = self.notes.path(&format!("said-{machine}"));
        let said = fs_err::OpenOptions::new().create(true).append(true).open(&said)?;
        let mut command: Command = program(self.binaries.join("ralph-loop"), &home);
        command
            .args(["--fleet", "origin", "--lease", &lease_s.to_string(), "--no-inhibit"])
            .current_dir(self.clone_of(machine))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("RALPH_AGENT", format!("sh '{agent}'"))
            .env("RALPH_BASELINE", "skip")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::from(said.file().try_clone()?))
            .stderr(Stdio::from(said.into_file()));
        command.spawn().context("the loop does not start")
    }

    /// What a machine said.
    fn said(&self, machine: usize) -> String {
        fs_err::read_to_string(self.notes.path(&format!("said-{machine}"))).unwrap_or_default()
    }
}

/// The plan with the same mark in all of its boxes.
fn plan_with(stories: usize, mark: &str) -> String {
    let story = |number| format!("- [{mark}] US-{number:03}: Make part {number}\n");
    format!("# Plan\n\n{}", (1..=stories).map(story).collect::<String>())
}

fn play(binaries: &Utf8Path, dice: &mut Dice, told: &mut Vec<String>) -> Result<Vec<String>> {
    let fleet = Fleet::new(binaries, STORIES, MACHINES)?;
    let begun = Instant::now();
    let mut machines: Vec<Option<Child>> = Vec::new();
    for machine in 0..MACHINES {
        machines.push(Some(fleet.start(machine, LEASE_S)?));
    }
    let mut blows: Vec<bool> = [vec![true; KILLS], vec![false; CUTS]].concat();
    while !blows.is_empty() {
        std::thread::sleep(Duration::from_millis(2000 + 1000 * dice.below(12) as u64));
        let blow = blows.swap_remove(dice.below(blows.len()));
        let after = begun.elapsed().as_secs();
        if !blow {
            told.push(format!("the network after {after} s"));
            fleet.server.cut(true);
            std::thread::sleep(CUT);
            fleet.server.cut(false);
            continue;
        }
        let victim = dice.below(MACHINES);
        // One in two comes back at once, the others never.
        let comes_back = dice.below(2) == 0;
        told.push(format!("machine {victim} after {after} s (comes back: {comes_back})"));
        let Some(mut child) = machines.get_mut(victim).and_then(Option::take) else { continue };
        signal("KILL", child.id());
        child.wait()?;
        if let (Some(place), true) = (machines.get_mut(victim), comes_back) {
            *place = Some(fleet.start(victim, LEASE_S)?);
        }
    }
    let mut found = Vec::new();
    for (machine, child) in machines.into_iter().enumerate() {
        let Some(mut child) = child else { continue };
        let left = PATIENCE.saturating_sub(begun.elapsed());
        let code = match child.wait_timeout(left)? {
            Some(status) => status.code(),
            None => {
                signal("KILL", child.id());
                child.wait()?;
                None
            }
        };
        if code != Some(0) || fleet.said(machine).contains("panicked at") {
            found.push(format!("machine {machine} ended with {code:?}:\n{}", fleet.said(machine)));
        }
    }
    let asked = fleet.server.asked();
    println!(
        "fleet: {STORIES} stories in {} s; {} fetches, {} pushes",
        begun.elapsed().as_secs(),
        asked.fetches,
        asked.pushes
    );
    found.extend(verdict::of(&fleet)?);
    Ok(found)
}
