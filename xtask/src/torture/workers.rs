//! Several workers at once: the loop, its workers and its agents are killed or interrupted, the run is
//! started again with as many workers as chance wants, and at last left alone.
//!
//! Half of the stories meet in one file, in which two of them can agree and be wrong together: then
//! only a check of the commit as it is finds it.

mod verdict;

use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use camino::Utf8Path;
use test_support::{TestRepo, signal};

use super::dice::Dice;
use super::oracle;
use super::stage::{PATIENT, Ran, Stage};
use super::tally::Tally;
use super::users_work::UsersWork;

/// The stories of the plan, and those that wait for another one.
const STORIES: usize = 8;
const DEPENDENT: [(usize, usize); 2] = [(5, 1), (6, 2)];

const PLAN: &str = ".ralph/PRD-1/plan.md";

/// Each file must be whole, what a story depends on must be there, and the count must be right.
const CHECK: &str = "\
for file in made/*.txt counted/*.txt; do
    [ -e \"$file\" ] || continue
    [ \"$(cat \"$file\")\" = \"all of $(basename \"$file\" .txt)\" ] || exit 1
done
[ ! -e made/US-005.txt ] || [ -e made/US-001.txt ] || exit 1
[ ! -e counted/US-006.txt ] || [ -e counted/US-002.txt ] || exit 1
[ \"$(cat count.txt)\" -eq \"$(ls counted 2>/dev/null | wc -l)\" ]
";

/// A round disturbs so many starts at most, and a start that goes on by itself so often at most.
const MOST_STARTS: usize = 2;
const MOST_BLOWS: usize = 3;

/// How long what a killed loop leaves may take to end by itself.
const ENDING: Duration = Duration::from_secs(20);

/// What is done to a run at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    Loop,
    Worker,
    Agent,
    WorkerAndAgent,
    Everything,
    Interrupt,
    Terminate,
}

const BLOWS: [Blow; 7] = [
    Blow::Loop,
    Blow::Worker,
    Blow::Agent,
    Blow::WorkerAndAgent,
    Blow::Everything,
    Blow::Interrupt,
    Blow::Terminate,
];

impl Blow {
    /// Whether the run goes on after it by itself.
    fn is_survived(self) -> bool {
        matches!(self, Self::Worker | Self::Agent | Self::WorkerAndAgent)
    }
}

/// Rounds until the bounds are reached.
pub(super) fn run(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    let usual = measure(binaries)?;
    while tally.goes_on() {
        // Each round can be repeated alone: its seed is its name.
        let seed = dice.roll();
        let mut round = Round {
            stage: project(binaries),
            dice: Dice::new(seed),
            usual,
            told: Vec::new(),
            found: Vec::new(),
        };
        let found = round.play().map(|()| std::mem::take(&mut round.found));
        let name = format!("seed {seed}: {}", round.told.join(", "));
        tally.round(&name, round.told.len() as u64, found);
    }
    Ok(())
}

/// How long a run takes that nobody disturbs; it must be right to begin with.
fn measure(binaries: &Utf8Path) -> Result<Duration> {
    let stage = project(binaries);
    let ran = stage.wait(start(&stage, 3, None)?, Instant::now())?;
    let found = verdict::of(&stage, &ran);
    anyhow::ensure!(found.is_empty(), "without any fault: {}", found.join("\n"));
    Ok(ran.took)
}

fn project(binaries: &Utf8Path) -> Stage {
    let repo = TestRepo::new();
    repo.write(".ralph/config.toml", PATIENT);
    repo.write(
        ".ralph/.gitignore",
        "*\n!/.gitignore\n!/config.toml\n!/PRD-*/\n!/PRD-*/*.md\n!/guardrails.md\n",
    );
    repo.write("check.sh", CHECK);
    repo.write("count.txt", "0\n");
    repo.write(PLAN, plan_with(" "));
    let work = UsersWork::make(&repo);
    let mut stage = Stage::around(repo, binaries, PLAN).with_agent("counts");
    stage.work = work;
    stage
}

/// The plan with the same mark in all of its boxes.
fn plan_with(mark: &str) -> String {
    let story = |number: usize| {
        let on = DEPENDENT.iter().find(|(story, _)| *story == number);
        let on = on.map_or(String::new(), |(_, on)| format!(" (depends: US-{on:03})"));
        format!("- [{mark}] US-{number:03}: Make part {number}{on}\n")
    };
    format!("# Plan\n\n{}", (1..=STORIES).map(story).collect::<String>())
}

fn start(stage: &Stage, workers: usize, fault: Option<&str>) -> Result<Child> {
    let mut command = stage.looped(&["--workers", &workers.to_string()])?;
    command.envs(fault.map(|fault| ("RALPH_INTERNAL__FAULT", fault)));
    command.spawn().context("the loop does not start")
}

/// A project, what was done to its runs, and what was found to be wrong.
struct Round {
    stage: Stage,
    dice: Dice,
    usual: Duration,
    told: Vec<String>,
    found: Vec<String>,
}

impl Round {
    fn play(&mut self) -> Result<()> {
        let mut workers = 3 + self.dice.below(2);
        for _ in 0..1 + self.dice.below(MOST_STARTS) {
            if self.dice.below(3) == 0 {
                self.at_a_point(workers)?;
            } else {
                self.at_an_instant(workers)?;
            }
            workers = 1 + self.dice.below(4);
        }
        let ran = self.stage.wait(start(&self.stage, workers, None)?, Instant::now())?;
        self.found.extend(verdict::of(&self.stage, &ran));
        Ok(())
    }

    /// The loop and each of its workers are killed when they come to a point for the n-th time.
    fn at_a_point(&mut self, workers: usize) -> Result<()> {
        let points = super::points();
        let point = self.dice.pick(&points).copied().unwrap_or("lock.taken");
        let fault = format!("{point}:{}", 1 + self.dice.below(4));
        self.told.push(format!("{workers} workers, {fault}"));
        let child = start(&self.stage, workers, Some(&fault))?;
        let ran = self.stage.wait(child, Instant::now())?;
        self.ended(&ran);
        Ok(())
    }

    fn at_an_instant(&mut self, workers: usize) -> Result<()> {
        let begun = Instant::now();
        let child = start(&self.stage, workers, None)?;
        for _ in 0..MOST_BLOWS {
            std::thread::sleep(self.usual.mul_f64(self.dice.below(1000) as f64 / 1000.0));
            let blow = self.dice.pick(&BLOWS).copied().unwrap_or(Blow::Loop);
            let after = begun.elapsed().as_millis();
            self.told.push(format!("{workers} workers, {blow:?} after {after} ms"));
            self.strike(blow, child.id());
            if !blow.is_survived() {
                let ran = self.stage.wait(child, begun)?;
                return self.broken_off(blow, &ran);
            }
        }
        let ran = self.stage.wait(child, begun)?;
        self.found.extend(verdict::of(&self.stage, &ran));
        Ok(())
    }

    fn strike(&mut self, blow: Blow, pid: u32) {
        match blow {
            Blow::Loop => signal("KILL", pid),
            Blow::Interrupt => signal("INT", pid),
            Blow::Terminate => signal("TERM", pid),
            Blow::Everything => self.stage.kill_everything(),
            Blow::Worker | Blow::Agent | Blow::WorkerAndAgent => {
                let name = 1 + self.dice.below(4);
                let of_worker = self.stage.of_worker(name);
                for (pid, is_worker) in of_worker {
                    let is_meant = match blow {
                        Blow::Worker => is_worker,
                        Blow::Agent => !is_worker,
                        _ => true,
                    };
                    if is_meant {
                        signal("KILL", pid);
                    }
                }
            }
        }
    }

    /// A run that did not go on: what it leaves ends by itself, unless the next start is faster.
    fn broken_off(&mut self, blow: Blow, ran: &Ran) -> Result<()> {
        self.ended(ran);
        let is_signal = matches!(blow, Blow::Interrupt | Blow::Terminate);
        // One that came before the loop listened has ended it as it ends any program.
        let was_early = ran.code.is_none() && ran.said.is_empty();
        if is_signal && !was_early && !matches!(ran.code, Some(0 | 130 | 143)) {
            self.found.push(format!("{blow:?}: it ended with {:?}:\n{}", ran.code, ran.said));
        }
        // Now and then the next start meets the workers of the one before.
        if !is_signal && self.dice.below(2) == 0 {
            return Ok(());
        }
        let since = Instant::now();
        while !is_signal && !self.stage.processes().is_empty() && since.elapsed() < ENDING {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.found.extend(oracle::processes(&self.stage));
        self.found.extend(oracle::after_a_kill(&self.stage));
        Ok(())
    }

    fn ended(&mut self, ran: &Ran) {
        if ran.hung || ran.said.contains("panicked at") {
            self.found
                .push(format!("it ended with {:?} (hung: {}):\n{}", ran.code, ran.hung, ran.said));
        }
    }
}
