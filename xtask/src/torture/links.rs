//! Symlinks below `.ralph/` that lead outside: nothing is ever written through one.

use anyhow::Result;
use camino::Utf8PathBuf;
use ralph_base::state::StateDir;
use test_support::run_with_input;

use super::dice::Dice;
use super::stage::Stage;
use super::users_work::UsersWork;

const PRECIOUS: &str = "precious\n";

/// One of our files or folders is a link to a file or folder outside; everything runs; what is
/// outside stays as it was.
pub(super) fn round(stage: &Stage, dice: &mut Dice) -> (String, Result<Vec<String>>) {
    let state = StateDir::of_project(stage.repo.root());
    let places = places(&state);
    let place = dice.pick(&places).cloned().unwrap_or_default();
    let to_folder = dice.below(2) == 0;
    let name = place.strip_prefix(state.root()).unwrap_or(&place);
    let kind = if to_folder { "folder" } else { "file" };
    (format!("{name} is a link to a {kind}"), linked(stage, &place, to_folder))
}

fn places(state: &StateDir) -> Vec<Utf8PathBuf> {
    let folders = [
        state.lifecycle(),
        state.logs(),
        state.merge_requests(),
        state.prd(1),
        state.progress(1),
        state.sessions(),
    ];
    state.files().into_iter().chain(folders).collect()
}

fn linked(stage: &Stage, place: &Utf8PathBuf, to_folder: bool) -> Result<Vec<String>> {
    let scratch = stage.repo.scratch();
    let outside = scratch.dir("outside");
    scratch.file("outside/inner", PRECIOUS);
    scratch.file("precious", PRECIOUS);
    if place.is_dir() {
        fs_err::rename(place, scratch.path("moved-away"))?;
    }
    let _ = fs_err::remove_file(place);
    place.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    let target = if to_folder { outside.clone() } else { scratch.path("precious") };
    fs_err::os::unix::fs::symlink(&target, place)?;
    let root = stage.repo.root();
    let test =
        r#""tool_name":"Bash","tool_input":{"command":"pytest"},"error":"Exit code 1\n1 failed""#;
    for (hook, rest) in [
        ("ralph-pre-tool", r#""hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push"}"#.to_owned()),
        ("ralph-post-tool", format!(r#""hook_event_name":"PostToolUseFailure",{test}"#)),
        ("ralph-on-stop", r#""hook_event_name":"Stop","stop_hook_active":false"#.to_owned()),
        ("ralph-pre-prompt", r#""hook_event_name":"UserPromptSubmit","prompt":"hello""#.to_owned()),
    ] {
        let input = format!(r#"{{"session_id":"s-1","cwd":"{root}",{rest}}}"#);
        run_with_input(&mut stage.program(stage.binary(hook).as_str()), input.as_bytes());
    }
    let ran = stage.run(None)?;
    let mut found = Vec::new();
    if ran.hung || ran.said.contains("panicked at") {
        found.push(ran.said);
    }
    let inside: Vec<String> = outside
        .read_dir_utf8()?
        .flatten()
        .map(|entry| entry.file_name().to_owned())
        .filter(|name| name != "inner")
        .collect();
    if !inside.is_empty() || scratch.read("outside/inner") != PRECIOUS {
        found.push(format!("the folder outside was written to: {inside:?}"));
    }
    if scratch.read("precious") != PRECIOUS {
        found.push(format!("the file outside is {:?}", scratch.read("precious")));
    }
    found.extend(stage.work.differences(&UsersWork::read(&stage.repo)));
    Ok(found)
}
