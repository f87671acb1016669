//! Every state file damaged in every way, after a crash in the middle of a run: the next start
//! completes, or names the file and completes once it is removed.

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{Id, StateDir};
use test_support::run_with_input;

use super::disk::sane;
use super::oracle;
use super::stage::{PLANS, Stage};
use super::tally::Tally;
use super::users_work::UsersWork;

/// What can happen to a file.
const WAYS: [&str; 5] = ["halved", "emptied", "rubbish", "a folder", "newer"];

/// Where the run is killed before: so that as many files as possible are there.
const MOMENT: &str = "land.committed:3";

/// A file, by its place among all of them, and what happens to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Damage {
    file: usize,
    way: &'static str,
}

/// All files in all ways.
pub(super) fn damages() -> Vec<Damage> {
    let count = files(&StateDir::of_project(Utf8Path::new("/"))).len();
    let of_a_file = |file| WAYS.iter().map(move |way| Damage { file, way });
    (0..count).flat_map(of_a_file).collect()
}

/// The files that we own, but for the plan and the user's settings.
fn files(state: &StateDir) -> Vec<Utf8PathBuf> {
    let mut files = state.files();
    files.push(state.progress(1));
    files.extend(Id::parse("s-1").into_iter().flat_map(|id| state.session(&id).files()));
    files
}

/// One round.
pub(super) fn damaged(binaries: &Utf8Path, tally: &mut Tally, damage: &Damage) {
    let stage = Stage::new(binaries, PLANS[0]);
    let state = StateDir::of_project(stage.repo.root());
    let path = files(&state).swap_remove(damage.file);
    let name = format!("{}: {}", path.file_name().unwrap_or_default(), damage.way);
    tally.round(&name, 1, round(&stage, &path, damage.way));
}

fn round(stage: &Stage, path: &Utf8Path, way: &str) -> Result<Vec<String>> {
    stage.run(Some(MOMENT))?;
    damage(path, way)?;
    let mut found = hooks(stage);
    let ran = stage.run(None)?;
    found.extend(sane(stage, &ran));
    found.extend(stage.work.differences(&UsersWork::read(&stage.repo)));
    let name = path.file_name().unwrap_or_default();
    let refused = ran.code != Some(0);
    if refused && !ran.said.contains(name) {
        found.push(format!("the message does not name {name}:\n{}", ran.said));
    }
    if refused {
        fs_err::remove_dir_all(path).or_else(|_| fs_err::remove_file(path))?;
    }
    let ran = stage.run(None)?;
    // A log that was damaged cannot tell everything any more.
    let told = |violation: &String| {
        let of_a_log = violation.starts_with("the progress tells") || violation.contains("is torn");
        let of_ours = violation.starts_with("the loop said") || violation.contains(name);
        // Without this file nothing knows what was kept aside; one command brings it back.
        let of_the_user = violation.starts_with("the user") && name == "run.json";
        !of_a_log && !of_ours && !of_the_user
    };
    found.extend(oracle::after_the_end(stage, &ran).into_iter().filter(told));
    found.extend(stage.work.differences(&UsersWork::read(&stage.repo)));
    Ok(found)
}

fn damage(path: &Utf8Path, way: &str) -> Result<()> {
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

/// Each hook, called as the client calls it: it answers or has no opinion, and never panics.
fn hooks(stage: &Stage) -> Vec<String> {
    let calls = [
        ("ralph-pre-tool", "PreToolUse", r#""tool_name":"Bash","tool_input":{"command":"ls"}"#),
        (
            "ralph-post-tool",
            "PostToolUse",
            r#""tool_name":"Bash","tool_input":{"command":"pytest"},"tool_response":{"stdout":"1 passed"}"#,
        ),
        ("ralph-on-stop", "Stop", r#""stop_hook_active":false"#),
        ("ralph-pre-prompt", "UserPromptSubmit", r#""prompt":"hello""#),
    ];
    let mut found = Vec::new();
    for (hook, event, fields) in calls {
        let root = stage.repo.root();
        let input = format!(
            r#"{{"hook_event_name":"{event}","session_id":"s-1","cwd":"{root}",{fields}}}"#
        );
        let mut command = stage.program(stage.binary(hook).as_str());
        let output = run_with_input(&mut command, input.as_bytes());
        let said = String::from_utf8_lossy(&output.stdout);
        let is_answer = said.is_empty() || serde_json::from_str::<serde_json::Value>(&said).is_ok();
        if output.status.code() != Some(0) || !output.stderr.is_empty() || !is_answer {
            found.push(format!("{hook} ended badly: {output:?}"));
        }
    }
    found
}
