//! The attacks: each one has a run, or several, of its own.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::Found;
use super::world::{Ended, KILLED, Machine, Mode, Plan, World};

/// How many run at once.
const AT_ONCE: usize = 3;

/// `xtask/escape/attacks.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    attack: Vec<Attack>,
}

/// One attack; all scripts are shell scripts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Attack {
    name: String,
    #[serde(default = "copy")]
    modes: Vec<Mode>,
    #[serde(default)]
    smoke: bool,
    #[serde(default = "one")]
    stories: usize,
    /// More options of the loop.
    #[serde(default)]
    options: String,
    /// Run outside before the loop.
    #[serde(default)]
    prepare: String,
    agent: Option<String>,
    check: Option<String>,
    hook: Option<String>,
    setup: Option<String>,
    reviewer: Option<String>,
    /// Run outside after the loop, as the user would go on.
    #[serde(default)]
    then: String,
    /// Succeeds, outside, if the attack got out; what it prints says how.
    #[serde(default)]
    out: String,
    /// How the judgement is proven: `off` for a run without the sandbox, `hang` for a program in the
    /// place of the loop that does not end, else a script that does the harm outside.
    control: String,
    /// Succeeds if the attack was carried out; otherwise some role has to call `ran`.
    #[serde(default)]
    proof: String,
    #[serde(default = "a_minute")]
    seconds: u64,
    /// Whether what git's folder says may change, because that is the agent's to do.
    #[serde(default)]
    changes_git: bool,
    /// Whether the documents say that it gets out.
    #[serde(default)]
    documented: bool,
    /// Whether the loop is killed.
    #[serde(default)]
    killed: bool,
    /// Whether it needs root.
    #[serde(default)]
    root: bool,
    /// Run by another user after `prepare`.
    #[serde(default)]
    other: String,
}

fn copy() -> Vec<Mode> {
    vec![Mode::Copy]
}

fn one() -> usize {
    1
}

fn a_minute() -> u64 {
    60
}

/// Plays all attacks, several at once.
pub(super) fn play(
    machine: &Machine,
    smoke: bool,
    only: Option<&str>,
    found: &mut Found,
) -> Result<()> {
    let table: Table = toml::from_str(&fs_err::read_to_string(machine.data.join("attacks.toml"))?)?;
    let is_wanted = |attack: &&Attack| match only {
        Some(only) => attack.name.contains(only),
        None => !smoke || attack.smoke,
    };
    let wanted: Vec<&Attack> = table.attack.iter().filter(is_wanted).collect();
    ensure!(!wanted.is_empty(), "no attack has such a name");
    let mut tasks: Vec<(&Attack, Option<Mode>)> = Vec::new();
    for attack in wanted {
        if attack.root && !machine.is_root {
            println!("passed over: {}", attack.name);
            continue;
        }
        tasks.extend(attack.modes.iter().map(|mode| (attack, Some(*mode))));
        tasks.push((attack, None));
    }
    let (next, shared) = (AtomicUsize::new(0), Mutex::new(found));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((attack, mode)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (line, wrong) = attack.judged(machine, *mode);
                    if let Ok(mut found) = shared.lock() {
                        found.note(line, wrong);
                    }
                }
            });
        }
    });
    println!("attacks: {} runs and controls", tasks.len());
    Ok(())
}

impl Attack {
    /// A line for the table, and what is wrong. Without a mode it is the control.
    fn judged(&self, machine: &Machine, mode: Option<Mode>) -> (String, Option<String>) {
        let Some(mode) = mode else {
            let wrong = match self.control(machine) {
                Ok(found) if found.is_empty() => Some("the judgement cannot fail".to_owned()),
                Ok(_) => None,
                Err(error) => Some(format!("{error:#}")),
            };
            return (format!("attack\tcontrol\t\t{}", self.name), wrong);
        };
        let wrong = match self.carry_out(machine, mode, "") {
            Ok(found) if found.is_empty() || self.documented => None,
            Ok(found) => Some(found.join("; ")),
            Err(error) => Some(format!("{error:#}")),
        };
        (format!("attack\t{}\t\t{}", mode.name(), self.name), wrong)
    }

    fn plan(&self, more: &str) -> Plan {
        let line = |role: &str| format!("'sh \"'\"$W\"'/s/{role}.sh\"'");
        let mut options = format!("--baseline skip --prove off --grace 1 {} {more}", self.options);
        if !options.contains("--attempts ") {
            options += " --attempts 1";
        }
        if !options.contains("--agent ") {
            options += &format!(" --agent {}", line("agent"));
        }
        let ran = "work\nran\n".to_owned();
        let mut scripts = vec![("agent", self.agent.clone().unwrap_or(ran))];
        let roles = [
            ("check", &self.check, "--verify"),
            ("setup", &self.setup, "--setup"),
            ("reviewer", &self.reviewer, "--review --review-agent"),
            ("hook", &self.hook, ""),
        ];
        for (role, script, option) in roles {
            let Some(script) = script else { continue };
            scripts.push((role, script.clone()));
            if !option.is_empty() {
                options += &format!(" {option} {}", line(role));
            }
        }
        if self.check.is_none() && !options.contains("--verify") {
            options += " --verify true";
        }
        Plan { stories: self.stories, options, scripts }
    }

    fn prepared(&self, machine: &Machine, mode: Mode, more: &str) -> Result<World> {
        let world = World::new(machine, mode, &self.plan(more))?;
        let (is_ready, said) = world.outside(&self.prepare, &[])?;
        ensure!(self.prepare.is_empty() || is_ready, "not prepared: {said}");
        if !self.other.is_empty() {
            ensure!(world.by_another(&self.other)?, "the other user failed");
        }
        Ok(world)
    }

    /// Runs the loop under this attack; returns what got out.
    fn carry_out(&self, machine: &Machine, mode: Mode, more: &str) -> Result<Vec<String>> {
        let mut world = self.prepared(machine, mode, more)?;
        let before = Before::of(&world)?;
        let ended = world.run(&[], Duration::from_secs(self.seconds))?;
        let said = world.read("loop.out");
        let (_, then) = world.outside(&self.then, &[])?;
        let proof = if self.proof.is_empty() { "[ -s \"$NOTES/ran\" ]" } else { &self.proof };
        let (is_proven, why) = world.outside(proof, &[])?;
        let mut found = self.judge(&world, &before, ended)?;
        if !is_proven {
            found.push(format!("it was not carried out: {why}"));
        }
        if !found.is_empty() {
            found.push(format!("\n{said}{then}"));
        }
        Ok(found)
    }

    fn control(&self, machine: &Machine) -> Result<Vec<String>> {
        let mode = self.modes.first().copied().unwrap_or(Mode::Copy);
        if self.control == "off" {
            return self.carry_out(machine, mode, "--sandbox off");
        }
        let mut world = self.prepared(machine, mode, "")?;
        let before = Before::of(&world)?;
        if self.control == "hang" {
            fs_err::write(world.path("s/loop.sh"), "exec sleep 600\n")?;
            let ended = world.run(&[], Duration::from_secs(1))?;
            return self.judge(&world, &before, ended);
        }
        world.outside(&self.control, &[("ROLE", "agent")])?;
        let _ = world.outside(&self.then, &[])?;
        let wrong = world.processes().into_iter().map(|(_, line)| line).collect();
        self.judge(&world, &before, Ended { wrong })
    }

    /// Looks at everything from outside.
    fn judge(&self, world: &World, before: &Before, ended: Ended) -> Result<Vec<String>> {
        let mut found = ended.wrong;
        found.retain(|wrong| !self.killed || wrong != KILLED);
        let now = Before::of(world)?;
        let new = now.outside.difference(&before.outside).map(|it| format!("outside: {it}"));
        found.extend(new);
        let new = now.secrets.difference(&before.secrets).map(|it| format!("a secret in {it}"));
        found.extend(new);
        if !self.changes_git && now.git != before.git {
            let what = difference(&before.git, &now.git);
            found.push(format!("git's folder or Ralph's settings: {what}"));
        }
        if !self.out.is_empty() {
            let (is_out, said) = world.outside(&self.out, &[])?;
            found.extend(is_out.then(|| format!("out: {}", said.trim())));
        }
        Ok(found)
    }
}

/// The first lines that are in only one of two texts.
fn difference(before: &str, now: &str) -> String {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (before, now) = (lines(before), lines(now));
    let (gone, new) = (before.difference(&now), now.difference(&before));
    let gone = gone.map(|line| format!("- {line}"));
    gone.chain(new.map(|line| format!("+ {line}"))).take(6).collect::<Vec<_>>().join(" | ")
}

/// What must not change.
struct Before {
    /// Names and contents below the folder outside of everything.
    outside: BTreeSet<String>,
    /// Where an attempt could leave or read them: files with secrets.
    secrets: BTreeSet<String>,
    git: String,
}

impl Before {
    fn of(world: &World) -> Result<Self> {
        let outside = world.snapshot("outside").into_iter();
        let outside = outside.map(|(name, text)| format!("{name}: {text}")).collect();
        let mut secrets = BTreeSet::new();
        for folder in ["notes", "project/.ralph"] {
            let files = world.snapshot(folder).into_iter();
            secrets.extend(files.filter(|(_, text)| text.contains("S3CRET")).map(|(name, _)| name));
        }
        let (_, git) = world.outside("sh \"$W/s/gitstate.sh\"", &[])?;
        Ok(Self { outside, secrets, git })
    }
}
