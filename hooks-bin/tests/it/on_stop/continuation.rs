//! Continuation through the feature list of another tool's loop.

use super::{Stage, payload};

const FEATURES: &str = r#"{"total_features":3,"features":[
  {"id":1,"description":"Log in","steps":["open the form","type"],"passes":false},
  {"id":2,"description":"Log out","steps":["press the button"],"passes":false},
  {"id":3,"description":"Reset","passes":false}]}"#;
const PROGRESS: &str =
    "# Loop\r\n- Iteration: 0\r\n- Max Iterations: 9\r\n- Status: running\r\nnotes \u{e9}";

fn stage() -> Stage {
    let stage = Stage::new();
    let dir = stage.repo.scratch().dir("loop");
    stage.repo.scratch().file("loop/feature_list.json", FEATURES);
    stage.repo.scratch().file("loop/progress.txt", PROGRESS);
    stage.with("RALPH_LOOP_DIR", dir.as_str())
}

/// Simulates an agent that works and sets the next feature to passing.
fn pass_next(stage: &Stage) {
    let list = stage.repo.scratch().read("loop/feature_list.json");
    let list = list.replacen("\"passes\":false", "\"passes\":true", 1);
    stage.repo.scratch().file("loop/feature_list.json", list);
    stage.work();
}

fn progress(stage: &Stage) -> String {
    stage.repo.scratch().read("loop/progress.txt")
}

#[test]
fn the_session_continues_until_every_feature_passes() {
    let stage = stage();
    pass_next(&stage);
    let reason = stage.stop("s1", false).unwrap();
    let dir = stage.repo.scratch().path("loop");
    assert_eq!(
        reason,
        format!(
            "CONTINUATION: iteration 1/9. 1 of 3 stories done.\nNext story: 2: Log out\nSteps:\n1. \
             press the button\nRead {dir}/progress.txt to see how far the work has come. When it works, set `passes` to true for 2 in \
             {dir}/feature_list.json, describe what you did in {dir}/progress.txt, and stop; the \
             next story follows. Do not change the other stories."
        )
    );
    assert_eq!(progress(&stage), PROGRESS.replace("Iteration: 0", "Iteration: 1"));
    pass_next(&stage);
    let reason = stage.stop("s1", true).unwrap();
    assert!(
        reason
            .starts_with("CONTINUATION: iteration 2/9. 2 of 3 stories done.\nNext story: 3: Reset")
    );
    pass_next(&stage);
    assert_eq!(stage.stop("s1", true), None);
    assert_eq!(stage.allowed().0, "COMPLETE");
    let ended = PROGRESS.replace("Iteration: 0", "Iteration: 2").replace("running", "COMPLETE");
    assert_eq!(progress(&stage), ended);
}

#[test]
fn the_end_is_announced_once_and_holds_until_the_status_changes() {
    let stage = stage();
    let done = FEATURES.replace("false", "true");
    stage.repo.scratch().file("loop/feature_list.json", &done);
    let stop = payload("Stop-first");
    let shown = stage.send(&stop).notice.unwrap();
    assert!(shown.starts_with("COMPLETE: every story of "), "{shown}");
    assert_eq!(stage.send(&stop).notice, None);
    stage.repo.scratch().file("loop/feature_list.json", FEATURES);
    let before = progress(&stage);
    let shown = stage.send(&stop).notice.unwrap();
    assert!(shown.contains("progress.txt is COMPLETE; 3 stories remain: 1 (Log in)"), "{shown}");
    assert_eq!((stage.allowed().0.as_str(), progress(&stage)), ("let_go", before.clone()));
    stage.repo.scratch().file("loop/progress.txt", before.replace("COMPLETE", "running"));
    assert!(stage.stop("s1", false).is_some());
}

#[test]
fn the_end_of_a_list_names_the_number_of_remaining_features() {
    let stage = stage();
    let left = || stage.send(&payload("Stop-first")).remaining;
    stage.repo.scratch().file("loop/progress.txt", PROGRESS.replace("running", "complete"));
    assert_eq!(left(), 3);
    stage
        .repo
        .scratch()
        .file("loop/progress.txt", PROGRESS.replace("Iteration: 0", "Iteration: 9"));
    pass_next(&stage);
    assert_eq!(left(), 2);
    stage.repo.scratch().file("loop/feature_list.json", FEATURES.replace("false", "true"));
    assert_eq!(left(), 0);
}

#[test]
fn a_person_may_pause_the_loop() {
    let stage = stage();
    let paused = PROGRESS.replace("running", "paused");
    stage.repo.scratch().file("loop/progress.txt", &paused);
    assert_eq!(stage.stop("s1", false), None);
    assert_eq!(progress(&stage), paused);
}

#[test]
fn the_usual_loop_folder_needs_no_variable() {
    let stage = Stage::new();
    stage.write(".claude/data/ralph-loops/current/feature_list.json", FEATURES);
    stage.write(".claude/data/ralph-loops/current/RALPH_PROMPT.md", "# Task\n");
    let reason = stage.stop("s1", false).unwrap();
    assert!(reason.starts_with("CONTINUATION: iteration 1/"), "{reason}");
    assert!(reason.ends_with("ralph-loops/current/RALPH_PROMPT.md."), "{reason}");
    let ours = Stage::new().with("RALPH_RUN", "r1");
    ours.write(".claude/data/ralph-loops/current/feature_list.json", FEATURES);
    assert_eq!(ours.stop("s1", false), None, "an agent of our loop answers to our loop");
}

#[test]
fn an_idle_session_is_released_before_the_client_ends_it() {
    let stage = stage().with("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "2");
    assert!(stage.stop("s1", false).is_some());
    assert_eq!(stage.stop("s1", true), None);
    let (status, note) = stage.allowed();
    assert_eq!(status, "let_go");
    assert!(note.contains("before the client ends it; the next story is 1"), "{note}");
}

#[test]
fn an_unreadable_or_missing_list_does_not_block() {
    let stage = stage();
    let list = stage.repo.scratch().path("loop/feature_list.json");
    for content in ["", "rubbish", "{\"features\":[]}", "{\"features\":7}"] {
        fs_err::write(&list, content).unwrap();
        assert_eq!(stage.stop("s1", false), None, "{content}");
        assert!(stage.read(".ralph/.hook-error.json").contains("feature_list.json"), "{content}");
        stage.repo.remove(".ralph/.hook-error.json");
    }
    fs_err::remove_file(list).unwrap();
    stage
        .write(".ralph/current-story", "US-001")
        .write(".ralph/PRD-1/plan.md", "- [ ] US-001: x\n");
    assert_eq!(stage.stop("s1", false), None);
}

#[test]
fn changed_files_count_as_work_without_a_transcript() {
    let stage = stage();
    let held = |active| stage.stop("s1", active).is_some();
    for at in 0..4 {
        stage.write(&format!("work-{at}.txt"), "done");
        assert!(held(at > 0), "{at}");
    }
    for title in ["a", "b"] {
        let list = FEATURES.replace("Log in", title);
        stage.repo.scratch().file("loop/feature_list.json", list);
        assert!(held(true), "{title}");
    }
    assert_eq!([held(true), held(true)], [true, false], "two in a row with nothing done");
}

#[test]
fn a_symlinked_progress_file_keeps_its_link_and_mode() {
    use std::os::unix::fs::PermissionsExt;
    let stage = stage();
    let scratch = stage.repo.scratch();
    let real = scratch.file("elsewhere/progress.txt", PROGRESS);
    fs_err::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    let link = scratch.path("loop/progress.txt");
    fs_err::remove_file(&link).unwrap();
    fs_err::os::unix::fs::symlink(&real, &link).unwrap();
    pass_next(&stage);
    assert!(stage.stop("s1", false).is_some());
    assert!(link.is_symlink());
    assert!(scratch.read("elsewhere/progress.txt").contains("Iteration: 1"));
    let mode = fs_err::metadata(&real).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_progress_file_that_is_too_large_is_left_unchanged() {
    let stage = stage();
    let large = format!("{PROGRESS}\n{}end", "x".repeat(17 * 1024 * 1024));
    stage.repo.scratch().file("loop/progress.txt", &large);
    pass_next(&stage);
    assert!(stage.stop("s1", false).is_some());
    assert!(progress(&stage) == large);
}

#[test]
fn each_case_of_a_feature_loop_has_its_answer() {
    // The iteration, its limit, the status, how many of three features pass; then whether the
    // session is held, and the status that the hook leaves behind.
    for (iteration, limit, status, passing, is_held, after) in [
        (0, 10, "IN_PROGRESS", 0, true, "IN_PROGRESS"),
        (9, 10, "IN_PROGRESS", 2, true, "IN_PROGRESS"),
        (10, 10, "IN_PROGRESS", 2, false, "REACHED_LIMIT"),
        (10, 10, "IN_PROGRESS", 3, false, "COMPLETE"),
        (2, 10, "IN_PROGRESS", 3, false, "COMPLETE"),
        (2, 10, "COMPLETE", 1, false, "COMPLETE"),
        (2, 10, "PAUSED", 1, false, "PAUSED"),
        (10, 20, "REACHED_LIMIT", 1, true, "IN_PROGRESS"),
    ] {
        let stage = stage();
        let text = |iteration: u64, status: &str| {
            format!("- Iteration: {iteration}\n- Max Iterations: {limit}\n- Status: {status}\n")
        };
        stage.repo.scratch().file("loop/progress.txt", text(iteration, status));
        (0..passing).for_each(|_| pass_next(&stage));
        let held = stage.stop("s1", false);
        assert_eq!(held.is_some(), is_held, "{iteration} {status} {passing}");
        assert_eq!(progress(&stage), text(iteration + u64::from(is_held), after));
        let next = format!("CONTINUATION: iteration {}/{limit}.", iteration + 1);
        assert!(held.is_none_or(|held| held.starts_with(&next)));
    }
}
