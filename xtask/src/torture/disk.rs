//! Disk errors: writes that fail, disks that are full or read-only, state files that are damaged.
//! The loop ends with a clear error or none at all, and the next start on a sound disk completes.

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::StateDir;
use test_support::own_mounts;

use super::campaign::Round;
use super::dice::Dice;
use super::oracle;
use super::stage::{FIVE, PATIENCE, PLANS, Ran, Stage};

/// The maximum free space of a small disk besides the project, in KiB: from none to enough.
const MOST_ROOM: usize = 1200;

/// The point at which the run is killed before a state file is damaged, when most files exist.
const MOMENT: &str = "land.committed:3";

/// The ways in which a file can be damaged.
const DAMAGES: [&str; 5] = ["halved", "emptied", "rubbish", "a folder", "newer"];

/// The exit code of the script below if the project does not fit on the small disk.
const NO_ROOM: i32 = 90;

pub(super) fn stage(binaries: &Utf8Path, dice: &mut Dice) -> Stage {
    Stage::new(&FIVE, binaries, dice.pick(&PLANS))
}

pub(super) fn play(stage: &Stage, round: &mut Round) -> Result<()> {
    let ran = match own_mounts() {
        Some(way) if round.dice.below(4) == 0 => small_disk(stage, round, &way)?,
        _ if round.dice.below(2) == 0 => return damaged(stage, round),
        _ => {
            let fault = round.dice.pick(&["write", "writes"]);
            let fault = format!("{fault}:{}", 1 + round.dice.below(90));
            round.acts.push(fault.clone());
            stage.run(Some(&fault))?
        }
    };
    round.found.extend(sane(stage, &ran));
    round.found.extend(oracle::after_a_kill(stage));
    round.finish(stage)
}

/// Runs the loop on a file system with little space or a read-only one, for the project, for the
/// folder of the copies, or for both. In half of the rounds git writes in batches.
fn small_disk(stage: &Stage, round: &mut Round, way: &[&str]) -> Result<Ran> {
    let dice = &mut round.dice;
    let (room, is_read_only) = (dice.below(MOST_ROOM), dice.below(8) == 0);
    let (project, cache) = dice.pick(&[(true, false), (false, true), (true, true)]);
    if dice.below(2) == 0 {
        stage.repo.git(["config", "core.fsyncMethod", "batch"]);
    }
    round.acts.push(format!(
        "{room} KiB free, read-only: {is_read_only}, project: {project}, cache: {cache}"
    ));
    let remount = |folder| {
        if is_read_only { format!("mount -o remount,ro {folder};") } else { String::new() }
    };
    let mut script = "set -e; cp -a repo saved;".to_owned();
    if project {
        script += &format!(
            "used=$(du -sk saved | cut -f1); mount -t tmpfs -o size=$((used + {room}))k tmpfs repo; \
             cp -a saved/. repo/ 2>/dev/null || exit {NO_ROOM}; {}",
            remount("repo")
        );
    }
    if cache {
        script += &format!(
            "mkdir -p home/.cache; mount -t tmpfs -o size={}k tmpfs home/.cache; {}",
            room + 4,
            remount("home/.cache")
        );
    }
    script += &format!(
        "cd repo; code=0; timeout {} \"$0\" >../out 2>&1 || code=$?; \
         cd ..; rm -rf saved; cp -a repo saved; exit $code",
        PATIENCE.as_secs()
    );
    mounted(stage, way, &script)
}

/// Runs the loop in its own mounts; the project is moved there and back.
fn mounted(stage: &Stage, way: &[&str], script: &str) -> Result<Ran> {
    let [program, args @ ..] = way else { bail!("no way to mount") };
    let scratch = stage.repo.scratch().root();
    let mut command = stage.program(program);
    command.args(args).args(["sh", "-c", script]).arg(stage.ralph_loop());
    let started = std::time::Instant::now();
    let status = command.current_dir(scratch).status().context("no shell")?;
    if status.code() == Some(NO_ROOM) {
        fs_err::remove_dir_all(scratch.join("saved"))?;
    } else {
        fs_err::remove_dir_all(scratch.join("repo"))?;
        fs_err::rename(scratch.join("saved"), scratch.join("repo"))?;
    }
    Ok(Ran {
        code: status.code(),
        killed: false,
        hung: status.code() == Some(124),
        took: started.elapsed(),
        said: stage.said(),
    })
}

/// Checks that the loop ended by itself, explained why, and kept the plan, whatever the disk did.
fn sane(stage: &Stage, ran: &Ran) -> Vec<String> {
    let mut found = Vec::new();
    let journal = stage.read(".ralph/events.jsonl");
    if ran.said.contains("panicked at") || journal.contains("panicked at") {
        found.push(format!("something panicked:\n{}\n{journal}", ran.said));
    }
    if ran.hung || ran.code.is_none() {
        found.push(format!("the run did not end by itself:\n{}", ran.said));
    }
    if !matches!(ran.code, Some(0 | NO_ROOM)) && ran.said.trim().is_empty() {
        found.push(format!("it failed with {:?} and said nothing", ran.code));
    }
    let plan = stage.read(stage.plan);
    if stage.stories.iter().any(|story| !plan.contains(story)) {
        found.push(format!("the plan is lost:\n{plan}"));
    }
    found
}

/// Damages a state file after a crash in the middle of a run: the next start completes, or names
/// the file and completes once it is removed.
fn damaged(stage: &Stage, round: &mut Round) -> Result<()> {
    let state = StateDir::of_project(stage.repo.root());
    let mut files = state.files();
    files.push(state.progress(1));
    let path = round.dice.pick(&files);
    let (way, name) = (round.dice.pick(&DAMAGES), path.file_name().unwrap_or_default());
    round.acts.push(format!("{name}: {way}"));
    stage.run(Some(MOMENT))?;
    damage(&path, way)?;
    let ran = stage.run(None)?;
    round.found.extend(sane(stage, &ran));
    round.found.extend(oracle::after_a_kill(stage));
    if ran.code != Some(0) {
        if !ran.said.contains(name) {
            round.found.push(format!("the message does not name {name}:\n{}", ran.said));
        }
        fs_err::remove_dir_all(&path).or_else(|_| fs_err::remove_file(&path))?;
    }
    let ran = stage.run(None)?;
    // A record that was damaged may be incomplete. An existing `.gitignore` may be the user's own,
    // so it is kept.
    let is_record = |found: &String| {
        found.starts_with("the progress lists")
            || found.starts_with("a torn line")
            || name == ".gitignore" && found.starts_with("git status shows")
            || found.contains(name)
    };
    let found = oracle::after_the_end(stage, &ran);
    round.found.extend(found.into_iter().filter(|found| !is_record(found)));
    Ok(())
}

fn damage(path: &Utf8PathBuf, way: &str) -> Result<()> {
    path.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    let old = fs_err::read(path).unwrap_or_default();
    match way {
        "halved" => fs_err::write(path, old.get(..old.len() / 2).unwrap_or_default())?,
        "emptied" => fs_err::write(path, "")?,
        "rubbish" => fs_err::write(path, b"\xff\xfe\0{[\"rubbish\n\n\x1b[31m")?,
        "newer" => fs_err::write(path, "{\"version\":99,\"v\":99,\"teleported\":true}\n")?,
        _ => {
            let _ = fs_err::remove_file(path);
            fs_err::create_dir_all(path.join("inside"))?;
        }
    }
    Ok(())
}
