//! Disk trouble: writes that fail, disks that are full or read-only. A clear error or none at all,
//! and the next start on a sound disk completes.

use anyhow::{Context, Result, bail};
use camino::Utf8Path;
use test_support::own_mounts;

use super::dice::Dice;
use super::oracle;
use super::stage::{PATIENCE, PLANS, Ran, Stage};
use super::state_files;
use super::tally::Tally;

/// Room on a small disk besides what the project takes, in KiB: from none to enough.
const MOST_ROOM: usize = 1200;

/// Writes that fail one by one, small disks and damaged state files, the bounds permitting.
pub(super) fn run(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    let mounts = own_mounts();
    let mut damages = state_files::damages();
    dice.shuffle(&mut damages);
    let mut writes = 1;
    while tally.goes_on() {
        match dice.below(4) {
            0 => {
                failing_write(binaries, dice, tally, writes);
                writes = 1 + writes % 90;
            }
            1 if mounts.is_some() => {
                let way = mounts.clone().unwrap_or_default();
                small_disk(binaries, dice, tally, &way);
            }
            _ => match damages.pop() {
                Some(damage) => state_files::damaged(binaries, tally, &damage),
                None => damages = state_files::damages(),
            },
        }
    }
    Ok(())
}

/// The n-th write fails, or that one and all after it.
fn failing_write(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally, n: u32) {
    let stage = Stage::new(binaries, dice.pick(&PLANS).copied().unwrap_or(PLANS[0]));
    let fault = format!("{}:{n}", if dice.below(2) == 0 { "write" } else { "writes" });
    let found = (|| {
        let ran = stage.run(Some(&fault))?;
        let mut found = sane(&stage, &ran);
        found.extend(oracle::after_a_kill(&stage));
        let ran = stage.run(None)?;
        found.extend(oracle::after_the_end(&stage, &ran));
        Ok(found)
    })();
    tally.round(&fault, 1, found);
}

/// Which folders are on a small disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Small {
    Project,
    Cache,
    Both,
}

/// A file system of its own, with little room or read-only, for the project, for the folder in which
/// the copy is made, or for both. One user in two lets git write in batches.
fn small_disk(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally, way: &[&str]) {
    let stage = Stage::new(binaries, dice.pick(&PLANS).copied().unwrap_or(PLANS[0]));
    let room = dice.below(MOST_ROOM);
    let read_only = dice.below(8) == 0;
    let small = [Small::Project, Small::Cache, Small::Both];
    let small = dice.pick(&small).copied().unwrap_or(Small::Both);
    let batch = dice.below(2) == 0;
    if batch {
        stage.repo.git(["config", "core.fsyncMethod", "batch"]);
    }
    let what = if read_only { "read-only".to_owned() } else { format!("{room} KiB free") };
    let name = format!("{small:?} {what}{}", if batch { ", written in batches" } else { "" });
    let found = (|| {
        let ran = on_a_small_disk(&stage, way, small, room, read_only)?;
        let mut found = sane(&stage, &ran);
        found.extend(oracle::after_a_kill(&stage));
        let ran = stage.run(None)?;
        found.extend(oracle::after_the_end(&stage, &ran));
        Ok(found)
    })();
    tally.round(&name, 1, found);
}

/// Runs the loop with the project, the cache or both on a small disk; the project is moved there and
/// back.
fn on_a_small_disk(
    stage: &Stage,
    way: &[&str],
    small: Small,
    room: usize,
    read_only: bool,
) -> Result<Ran> {
    let remount =
        |folder| if read_only { format!("mount -o remount,ro {folder};") } else { String::new() };
    let cache = match small {
        Small::Project => String::new(),
        _ => format!(
            "mkdir -p home/.cache; mount -t tmpfs -o size={}k tmpfs home/.cache; {}",
            room + 4,
            remount("home/.cache")
        ),
    };
    let project = match small {
        Small::Cache => String::new(),
        _ => format!(
            "used=$(du -sk saved | cut -f1); mount -t tmpfs -o size=$((used + {room}))k tmpfs repo; \
             cp -a saved/. repo/ 2>/dev/null || exit 90; {}",
            remount("repo")
        ),
    };
    let script = format!(
        "set -e; cp -a repo saved; {project} {cache} cd repo; \
         code=0; timeout {} \"$0\" >../out 2>&1 || code=$?; \
         cd ..; rm -rf saved; cp -a repo saved; exit $code",
        PATIENCE.as_secs()
    );
    let [program, args @ ..] = way else { bail!("no way to mount") };
    let scratch = stage.repo.scratch().root();
    let mut command = stage.program(program);
    command.args(args).args(["sh", "-c", &script]).arg(stage.binary("ralph-loop"));
    let begun = std::time::Instant::now();
    let status = command.current_dir(scratch).status().context("no shell")?;
    if status.code() == Some(90) {
        fs_err::remove_dir_all(scratch.join("saved"))?;
    } else {
        fs_err::remove_dir_all(scratch.join("repo"))?;
        fs_err::rename(scratch.join("saved"), scratch.join("repo"))?;
    }
    Ok(Ran {
        code: status.code(),
        killed: false,
        hung: status.code() == Some(124),
        took: begun.elapsed(),
        said: fs_err::read_to_string(scratch.join("out")).unwrap_or_default(),
    })
}

/// Whatever the disk does, the loop ends by itself, says why in words, and keeps the plan.
pub(super) fn sane(stage: &Stage, ran: &Ran) -> Vec<String> {
    let mut found = Vec::new();
    let journal = stage.read(".ralph/events.jsonl");
    if ran.said.contains("panicked at") || journal.contains("panicked at") {
        found.push(format!("something panicked:\n{}\n{journal}", ran.said));
    }
    if ran.hung || ran.code.is_none() {
        found.push(format!("the run did not end by itself:\n{}", ran.said));
    }
    if ran.code.is_some_and(|code| code != 0 && code != 90) && ran.said.trim().is_empty() {
        found.push(format!("it failed with {:?} and said nothing", ran.code));
    }
    let plan = stage.read(stage.plan);
    if super::stage::STORIES.iter().any(|story| !plan.contains(story)) {
        found.push(format!("the plan is lost:\n{plan}"));
    }
    found
}
