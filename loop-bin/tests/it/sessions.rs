//! Several stories in one session, and sessions that hand over: the loop and the real stop hook.

use std::process::Stdio;

use camino::{Utf8Path, Utf8PathBuf};

use crate::stage::{LOOP, Ran, Stage, is_alive, signal, until};

/// A real hook program of another package; `cargo test --workspace` builds it.
#[track_caller]
pub(crate) fn hook(name: &str) -> Utf8PathBuf {
    let path = Utf8Path::new(LOOP).with_file_name(name);
    assert!(path.is_file(), "{path} is missing: run `cargo build --workspace` first");
    path
}

fn plan(stories: usize) -> String {
    (1..=stories).map(|n| format!("- [ ] US-{n:03}: Story {n}\n")).collect()
}

/// Runs the loop with an agent that obeys the hook; each story needs `tokens`.
fn run(stage: &Stage, args: &[&str], tokens: u64, half: &str) -> Ran {
    let (hook, tokens) = (hook("ralph-on-stop"), tokens.to_string());
    let hook = ("STOP_HOOK", hook.as_str());
    let vars = [hook, ("STORY_CONTEXT", &tokens), ("WINDOW", "100000"), ("HALF", half)];
    stage.run_env(&vars, args)
}

/// Runs the loop over a plan of `stories`, with an agent whose sessions cost $0.10 each.
pub(crate) fn in_sessions(args: &[&str], stories: usize) -> (Stage, Ran) {
    let stage = Stage::new("obeys-stop-hook", &plan(stories));
    let ran = run(&stage, args, 10, "");
    (stage, ran)
}

const AUTO: [&str; 2] = ["--stories-per-session", "100"];
const THREE: [&str; 2] = ["--stories-per-session", "3"];

/// A project in which the client has reported the size of its window.
fn with_window(stories: usize) -> Stage {
    let stage = Stage::new("obeys-stop-hook", &plan(stories));
    let known = r#"{"windows":{"large":100000,"small":1000}}"#;
    stage.repo.write(".ralph/context-window.json", known);
    stage
}

/// The start and the outcome of each iteration in the journal.
fn iterations(stage: &Stage) -> Vec<String> {
    let journal = stage.read(".ralph/events.jsonl");
    let lines = journal.lines().map(|line| serde_json::from_str(line).unwrap());
    let shown = lines.filter_map(|line: serde_json::Value| {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        match text("event").strip_prefix("iteration_")? {
            "started" => Some(format!("{} {} started", line["iteration"], text("story"))),
            _ => Some(format!("{} {}", text("story"), text("outcome"))),
        }
    });
    shown.collect()
}

#[test]
fn each_story_of_a_session_is_shown_separately() {
    let stage = Stage::new("obeys-stop-hook", &plan(3));
    let check = "test ! -e US-002.half || test -e US-002.txt || { echo FAILED half; exit 1; }";
    let args = [AUTO[0], AUTO[1], "--verify", check];
    let ran = run(&stage, &args, 10, "US-002");
    ran.ended(0).says("iteration 2: US-002 Story 2");
    for line in ["US-001 done: ", "exit code 1: FAILED half", "US-002 done: ", "US-003 done: "] {
        ran.says(line);
    }
    // One session, in which the checks of one story failed once.
    let page: serde_json::Value =
        serde_json::from_str(&stage.run(&["report", "--json"]).out).unwrap();
    let done = page["stories"].as_array().unwrap().iter().map(|done| &done["story"]);
    assert_eq!(done.collect::<Vec<_>>(), ["US-001", "US-002", "US-003"]);
    let [stops] = &page["stops"].as_array().unwrap()[..] else { panic!("{page:#}") };
    let gates = &stops["gates"];
    assert_eq!((&gates["CHECKS"]["held"], &gates["CONTINUATION"]["held"]), (&1.into(), &2.into()));
    assert_eq!((&gates["CHECKS"]["met"], &gates["CONTINUATION"]["met"]), (&1.into(), &2.into()));
    assert_eq!(stops["note"], "COMPLETE: all stories are done");
    let shown = "{\"systemMessage\":\"COMPLETE: all stories are done\"}";
    assert_eq!(stage.note("answers").lines().last(), Some(shown));
    let markdown = stage.run(&["report", "--markdown"]).out;
    assert!(markdown.contains("### When the agent wanted to stop"), "{markdown}");
}

#[test]
fn stories_of_a_session_land_one_by_one_and_share_its_cost() {
    let note = "echo $RALPH_ITERATION $RALPH_STORY $RALPH_OUTCOME >>\"$AGENT_NOTES/scripts\"";
    for args in [THREE, AUTO] {
        let stage = Stage::new("obeys-stop-hook", &plan(3));
        stage.script("next_iteration", note);
        stage.script("post_iteration", note);
        stage.repo.commit_all("the plan");
        let ran = run(&stage, &args, 10, "");
        ran.ended(0).says("3 stories landed in 3 iterations").says("$0.10");
        for story in ["US-001", "US-002", "US-003"] {
            ran.says(&format!("{story}: ")).says("agent time, $0.03");
        }
        let sessions = "session-0 US-001\nsession-0 US-002\nsession-0 US-003\n";
        assert_eq!(stage.note("sessions"), sessions);
        let expected = [
            ["1 US-001 started", "US-001 success"],
            ["2 US-002 started", "US-002 success"],
            ["3 US-003 started", "US-003 success"],
        ];
        assert_eq!(iterations(&stage), expected.concat());
        let scripts = stage.note("scripts");
        for story in 1..=3 {
            assert_eq!(scripts.matches(&format!("{story} US-00{story} success\n")).count(), 1);
        }
        assert_eq!(scripts.lines().count(), 6, "{scripts}");
        assert_eq!(stage.plan(), plan(3).replace("[ ]", "[x]"));
        assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 3);
        for (back, story) in [(3, 1), (2, 2), (1, 3)] {
            let files =
                stage.repo.git(["show", "--format=%s", "--name-only", &format!("HEAD~{back}")]);
            assert!(files.starts_with(&format!("feat(US-00{story}): Story {story}\n")), "{files}");
            assert!(files.contains(&format!("US-00{story}.txt\n")), "{files}");
        }
        assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
    }
}

#[test]
fn a_session_ends_after_its_maximum_number_of_stories() {
    let stage = Stage::new("obeys-stop-hook", &plan(3));
    run(&stage, &["--stories-per-session", "2"], 10, "").ended(0);
    assert_eq!(stage.note("sessions"), "session-0 US-001\nsession-0 US-002\nsession-1 US-003\n");
    // The context windows that the client reports are saved by model.
    let known = stage.read(".ralph/context-window.json");
    let known: serde_json::Value = serde_json::from_str(&known).unwrap();
    assert_eq!(known["windows"]["small"], 10);
    assert!(known["windows"]["large"].as_u64() > Some(10), "{known}");
}

#[test]
fn every_commit_of_a_shared_session_names_its_cost_or_that_it_is_unknown() {
    let stage = Stage::new("obeys-stop-hook", &plan(4));
    let hook = hook("ralph-on-stop");
    let vars = [("STOP_HOOK", hook.as_str()), ("STORY_CONTEXT", "10"), ("WINDOW", "100000")];
    let vars = [&vars[..], &[("HALF", ""), ("USAGE", "1000")]].concat();
    stage.run_env(&vars, &["--stories-per-session", "2"]).ended(0);
    let log = stage.repo.git(["log", "--reverse", "--format=%(trailers:key=Ralph-Cost,valueonly)"]);
    let costs: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    // The first session reports $0.10 at its end; by that, later tokens are priced.
    assert_eq!((costs[0], costs[3], costs.len()), ("unknown", "$0.0500", 4), "{log}");
}

#[test]
fn limits_and_scripts_apply_within_a_session() {
    let stage = Stage::new("obeys-stop-hook", &plan(4));
    let args = [&AUTO[..], &["--max-iterations", "2"]].concat();
    run(&stage, &args, 10, "").ended(0).says("finished (iteration limit)");
    assert_eq!(stage.plan().matches("[x]").count(), 2);
    let stage = Stage::new("obeys-stop-hook", &plan(3));
    stage.script("post_iteration", "[ $RALPH_STORY != US-001 ] || exit 2");
    run(&stage, &THREE, 10, "").ended(3).says("finished (stopped by a script): 1 story");
    assert_eq!(stage.plan().matches("[x]").count(), 1);
}

/// Calls the stop hook, as the client does when its agent wants to stop.
pub(crate) const STOP: &str = "printf '{\"session_id\":\"s-1\",\"cwd\":\"%s\",\"hook_event_name\":\"Stop\",\
                    \"stop_hook_active\":false}' \"$PWD\" | \"$STOP_HOOK\" >>\"$AGENT_NOTES/answers\"";

#[test]
fn a_failing_check_sends_the_agent_back() {
    let check = ["--verify", "test -e fixed || { echo NOT FIXED; false; }", "--attempts", "3"];
    let stage = Stage::new("works", &plan(1));
    let agent = format!("cat >/dev/null; echo x >x.txt; {STOP}; {STOP}; touch fixed; {STOP}");
    let ran = run(&stage, &[&["--agent", &agent], &THREE[..], &check].concat(), 0, "");
    ran.ended(0).says("1 story landed in 1 iteration");
    let answers = stage.note("answers");
    for part in ["is not done yet, attempt 1 of 3", "attempt 2 of 3", "NOT FIXED"] {
        assert!(answers.contains(part), "no {part} in {answers}");
    }
    assert_eq!(stage.discarded(), 0);
}

/// Runs an agent that does US-001, is sent on to US-002, and runs the script `end` there.
fn sent_on_and(stage: &Stage, end: &str, args: &[&str]) -> Ran {
    let story = "$(cat $RALPH_ROOT/.ralph/current-story)";
    let agent = format!(
        "cat >/dev/null; [ {story} = US-001 ] || {{ echo done >{story}.txt; exit 0; }}; \
         echo done >US-001.txt; {STOP}; {end}"
    );
    run(stage, &[&THREE, &["--agent", &agent][..], args].concat(), 0, "")
}

#[test]
fn a_session_that_fails_after_a_landed_story_fails_the_next_one() {
    let half = "echo half >half.txt; echo 'it broke' >&2";
    for (end, outcome, code, shown) in [
        (format!("{half}; exit 3"), "failed", "3", "US-002: the agent exited with code 3"),
        (format!("{half}; kill -9 $$"), "failed", "-1", "US-002: the agent was killed by a signal"),
        (format!("{half}; sleep 600"), "timeout", "-1", "US-002: the agent did not finish within"),
    ] {
        let stage = Stage::new("works", &plan(2));
        let script =
            "echo $RALPH_STORY $RALPH_OUTCOME $RALPH_EXIT_CODE >>\"$AGENT_NOTES/outcomes\"";
        stage.script("post_iteration", script);
        let ran = sent_on_and(&stage, &end, &["--timeout", "2", "--grace", "1"]);
        ran.ended(0).says(shown).says("US-002: attempt saved");
        let outcomes = format!("US-001 success 0\nUS-002 {outcome} {code}\nUS-002 success 0\n");
        assert_eq!(stage.note("outcomes"), outcomes, "{end}");
        let entry = format!("## Iteration 2 - US-002\n- Status: {}", outcome.to_uppercase());
        assert!(stage.progress().contains(&entry), "{}", stage.progress());
        assert_eq!((stage.discarded(), stage.plan()), (1, plan(2).replace("[ ]", "[x]")));
        stage.is_clean();
    }
}

#[test]
fn a_story_reported_as_not_done_does_not_land_in_a_session() {
    for (status, shown) in [
        ("blocked", "US-001 is blocked: the agent says: no key"),
        ("partial", "only partly done: no key"),
    ] {
        let stage = Stage::new("works", &plan(1));
        let complete =
            format!("\"$RALPH_LOOP\" complete US-001 --status {status} --summary 'no key'");
        let agent = format!("cat >/dev/null; echo half >half.txt; {complete}; {STOP}");
        let args = [&THREE[..], &["--attempts", "1", "--agent", &agent]].concat();
        run(&stage, &args, 0, "").ended(8).says(shown);
        assert_eq!((stage.plan(), stage.discarded()), (plan(1).replace("[ ]", "[!]"), 1));
        stage.is_clean();
    }
}

#[test]
fn work_after_the_last_story_of_a_session_does_not_land() {
    let stage = Stage::new("works", &plan(3));
    let late = "echo late >late.txt; git add -A; git commit -qm late; \
                sed -i 's/\\[ \\]/[x]/' .ralph/PRD-1/plan.md";
    let ran = sent_on_and(&stage, late, &["--max-iterations", "1"]);
    ran.ended(0).says("finished (iteration limit)");
    assert_eq!(stage.plan(), plan(3).replacen("[ ]", "[x]", 1));
    assert_eq!(stage.subjects(), ["feat(US-001): Story 1", "first"]);
    stage.is_clean();
}

#[test]
fn a_session_with_a_full_context_is_followed_by_a_new_one() {
    for (args, half) in [(&[][..], "US-001"), (&AUTO, "US-001")] {
        let stage = with_window(2);
        let ran = run(&stage, &[args, &["--attempts", "1"]].concat(), 85_000, half);
        ran.ended(0).says("2 stories landed");
        ran.says("US-001: context full, continuing in a new session");
        ran.says("US-001: continuing from attempt US-001/1");
        assert!(stage.note("sessions").starts_with("session-0 US-001\nsession-1 US-001\n"));
        assert_eq!(stage.read("US-001.half"), "half\n");
        let first = stage.repo.git(["log", "--format=%s", "--", "US-001.half"]);
        assert_eq!(first.trim(), "feat(US-001): Story 1");
        // Nothing failed, so no failure is logged.
        assert!(!stage.exists(".ralph/failure-context.log"));
        stage.is_clean();
    }
}

/// Another hook may block a stop that the loop allowed; then the client asks again.
#[test]
fn an_allowed_stop_is_allowed_again() {
    let stage = Stage::new("works", &plan(1));
    let agent = format!("cat >/dev/null; echo x >x.txt; {STOP}; {STOP}; {STOP}");
    let begun = std::time::Instant::now();
    run(&stage, &[&THREE[..], &["--agent", &agent]].concat(), 0, "").ended(0);
    assert!(begun.elapsed().as_secs() < 50, "nobody waits for an answer that does not come");
    assert!(!stage.note("answers").contains("\"block\""), "{}", stage.note("answers"));
}

#[test]
fn a_hook_does_not_outlive_a_killed_loop() {
    let stage = Stage::new("works", &plan(2));
    let agent = format!("cat >/dev/null; echo $$ >\"$AGENT_NOTES/agent\"; echo x >x.txt; {STOP}");
    let check = "touch \"$AGENT_NOTES/checking\"; sleep 600";
    let mut command =
        stage.command(&[&THREE[..], &["--agent", &agent, "--verify", check]].concat());
    command.env("STOP_HOOK", hook("ralph-on-stop")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    until("the hook waits", || stage.note_path("checking").exists());
    signal("KILL", child.id());
    child.wait().unwrap();
    let agent = stage.note("agent");
    until("the agent and its hook have ended", || !is_alive(agent.trim()));
    assert_eq!(stage.note("answers"), "", "it has no opinion");
    stage.run(&[]).ended(0).says("2 stories landed");
    assert_eq!(stage.subjects().len(), 3);
}

#[test]
fn the_silence_limit_does_not_apply_during_checks() {
    let stage = Stage::new("obeys-stop-hook", &plan(2));
    let args = [&AUTO[..], &["--silence", "1", "--verify", "sleep 1.5"]].concat();
    run(&stage, &args, 1, "").ended(0).says("2 stories landed");
    assert_eq!((stage.subjects().len(), stage.discarded()), (3, 0));
}
