//! Several stories in one session, and sessions that hand over: the loop and the real stop hook.

use std::process::{Command, Stdio};
use std::sync::Once;

use camino::{Utf8Path, Utf8PathBuf};

use crate::stage::{LOOP, Ran, Stage};

/// A real hook, which is another package's program: built where that was not done yet.
pub(crate) fn hook(name: &str) -> Utf8PathBuf {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline", "--package", "ralph-hooks"]);
        let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status();
        assert!(built.expect("cargo runs").success());
    });
    Utf8Path::new(LOOP).with_file_name(name)
}

fn plan(stories: usize) -> String {
    (1..=stories).map(|n| format!("- [ ] US-{n:03}: Story {n}\n")).collect()
}

/// Runs the loop with an agent that obeys the hook; `tokens` are what each story needs.
fn run(stage: &Stage, args: &[&str], tokens: u64, window: u64, half: &str) -> Ran {
    let mut command = stage.command(args);
    command
        .env("STOP_HOOK", hook("ralph-on-stop"))
        .env("STORY_TOKENS", tokens.to_string())
        .env("WINDOW", window.to_string())
        .env("HALF", half)
        .env("LOOP", LOOP);
    command.output().unwrap().into()
}

/// Runs the loop over a plan of so many stories, with an agent whose sessions cost $0.10 each.
pub(crate) fn in_sessions(args: &[&str], stories: usize) -> (Stage, Ran) {
    let stage = Stage::new("obeys-stop-hook", &plan(stories));
    let ran = run(&stage, args, 10, 1_000_000, "");
    (stage, ran)
}

const AUTO: [&str; 2] = ["--stories-per-session", "auto"];

fn handoffs(stage: &Stage) -> usize {
    stage.read(".ralph/events.jsonl").matches("\"status\":\"handoff\"").count()
}

#[test]
fn a_session_goes_on_until_its_context_is_full_and_a_fresh_one_follows() {
    let stage = Stage::new("obeys-stop-hook", &plan(5));
    // Nothing is known about the window at first; the usual one is full after three stories.
    let ran = run(&stage, &AUTO, 60_000, 100_000, "");
    ran.ended(0).says("settled in the session: 2 stories").says("5 stories landed in 8");
    ran.says("US-003: the context is full; a fresh session goes on with it");
    let sessions = "session-0 US-001\nsession-0 US-002\nsession-0 US-003\n\
                    session-1 US-003\nsession-1 US-004\n\
                    session-2 US-004\nsession-2 US-005\nsession-3 US-005\n";
    assert_eq!(stage.note("sessions"), sessions);
    assert_eq!(stage.plan(), plan(5).replace("[ ]", "[x]"));
    assert_eq!((stage.subjects().len(), stage.discarded()), (6, 0));
    // What the first session said about its window is what the second was measured by.
    let window: serde_json::Value =
        serde_json::from_str(&stage.read(".ralph/context-window.json")).unwrap();
    assert_eq!((&window["model"], &window["tokens"]), (&"large".into(), &100_000.into()));
    assert_eq!(handoffs(&stage), 3);
    assert!(stage.progress().contains("## Handoff - US-003\n"), "{}", stage.progress());
    assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 5);
    stage.is_clean();
}

/// The iterations that the journal tells of, a word each.
fn iterations(stage: &Stage) -> Vec<String> {
    let journal = stage.read(".ralph/events.jsonl");
    let lines = journal.lines().map(|line| serde_json::from_str(line).unwrap());
    let told = lines.filter_map(|line: serde_json::Value| {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        match text("event").strip_prefix("iteration_")? {
            "started" => Some(format!("{} {} started", line["iteration"], text("story"))),
            _ => Some(format!("{} {} {}", text("story"), text("outcome"), line["cost_usd"])),
        }
    });
    told.collect()
}

#[test]
fn each_story_of_a_session_is_an_iteration_for_the_journal_and_the_scripts() {
    let note = "echo $RALPH_ITERATION $RALPH_STORY $RALPH_OUTCOME >>\"$AGENT_NOTES/scripts\"";
    let started = ["1 US-001 started", "2 US-002 started", "3 US-003 started"];
    for (stories, json) in [("3", false), ("auto", true)] {
        let stage = Stage::new("obeys-stop-hook", &plan(3));
        stage.script("next_iteration", note);
        stage.script("post_iteration", note);
        let args = ["--stories-per-session", stories, if json { "--json" } else { "--json=false" }];
        let ran = run(&stage, &args, 10, 1_000_000, "");
        let finished = ["US-001 success null", "US-002 success null", "US-003 success 0.1"];
        let expected: Vec<&str> =
            started.into_iter().zip(finished).flat_map(|(s, f)| [s, f]).collect();
        assert_eq!(iterations(&stage), expected, "{stories}");
        let scripts = "1\n1 US-001 success\n2 US-002 success\n3 US-003 success\n";
        assert_eq!(stage.note("scripts"), scripts, "{stories}");
        ran.ended(0);
        if json {
            assert_eq!(ran.out.matches("\"event\":\"iteration_finished\"").count(), 3);
            assert_eq!(ran.out.matches("\"event\":\"story_done\"").count(), 3);
        }
    }
}

#[test]
fn a_script_that_asks_for_the_end_after_a_story_of_a_session_is_heard() {
    let stage = Stage::new("obeys-stop-hook", &plan(3));
    stage.script("post_iteration", "[ $RALPH_STORY != US-001 ] || exit 2");
    run(&stage, &["--stories-per-session", "2"], 10, 1_000_000, "").ended(3);
    assert_eq!(stage.plan().matches("[x]").count(), 2);
}

#[test]
fn a_hook_that_dies_while_it_settles_a_later_story_leaves_it_done() {
    let dies = test_support::fixtures().join("agents/dies-settling.sh");
    let stage = Stage::new("works", &plan(3));
    let ran = sent_on_and(&stage, &format!("sh {dies} </dev/null"), &["--max-iterations", "2"]);
    ran.ended(0).says("settled in the session: 2 stories").says("finished (max_iterations)");
    assert_eq!(
        stage.plan(),
        "- [x] US-001: Story 1\n- [x] US-002: Story 2\n- [ ] US-003: Story 3\n"
    );
    assert_eq!(stage.subjects()[0], "feat(US-002): story 2");
    let journal = stage.read(".ralph/events.jsonl");
    for story in ["US-001", "US-002"] {
        let done = format!("\"story\":\"{story}\",\"event\":\"story_done\"");
        assert_eq!(journal.matches(&done).count(), 1, "{journal}");
    }
    stage.is_clean();
}

#[test]
fn a_story_that_nobody_calls_done_is_not_done_because_the_context_is_full() {
    let half = Stage::new("obeys-stop-hook", &plan(1));
    let args = ["--verify", "true", "--max-iterations", "1"];
    run(&half, &args, 170_000, 1_000_000, "US-001").ended(0).says("finished (max_iterations)");
    assert_eq!((half.plan(), half.discarded()), (plan(1), 1));
    // Nothing failed, so nobody is told that it did.
    assert!(!half.exists(".ralph/failure-context.log"));

    let claimed = Stage::new("obeys-stop-hook", &plan(1));
    let mut command = claimed.command(&args);
    command.env("STOP_HOOK", hook("ralph-on-stop")).env("STORY_TOKENS", "170000");
    command.env("WINDOW", "1000000").env("HALF", "").env("TICKS", "yes");
    Ran::from(command.output().unwrap()).ended(0).says("finished (complete)");
    assert_eq!((handoffs(&claimed), claimed.plan()), (1, plan(1).replace("[ ]", "[x]")));
}

#[test]
fn each_story_of_a_session_has_its_receipt() {
    let stage = Stage::new("obeys-stop-hook", &plan(3));
    let ran = run(&stage, &["--stories-per-session", "3"], 10, 1_000_000, "");
    ran.ended(0);
    let progress = stage.progress();
    let receipts = progress.split("## Receipts - US-001, US-002\n").nth(1).expect("receipts");
    for story in ["US-001", "US-002"] {
        ran.says(&format!("receipt: {story}: 0:0"));
        let line = format!("- {story}: 0:0");
        let own = receipts.lines().find(|known| known.starts_with(&line)).expect("a line for each");
        assert!(own.contains(" of the agent's time, $0.0"), "{own}");
    }
    ran.says("receipt: US-003: 0:0").says("; 0:0").says("$0.1000");
    // The last story is the loop's to settle, and its entry has its own share alone.
    assert!(!progress.contains("- Cost: $0.1000"), "{progress}");
    assert_eq!(progress.matches("- Duration: ").count(), 3, "{progress}");
}

#[test]
fn stories_of_a_session_are_counted_while_it_goes_on_and_after_a_crash() {
    let stage = Stage::new("works", &plan(2));
    let stop = "printf '{\"session_id\":\"s-1\",\"cwd\":\"%s\",\"hook_event_name\":\"Stop\",\
                \"stop_hook_active\":false}' \"$PWD\" | \"$STOP_HOOK\" >/dev/null";
    let agent = format!(
        "cat >/dev/null; echo done >$(cat $RALPH_ROOT/.ralph/current-story).txt; \
         [ $(cat $RALPH_ROOT/.ralph/current-story) = US-001 ] || exit 0; {stop}; \
         touch \"$AGENT_NOTES/sent-on\"; exec sleep 600"
    );
    let mut command = stage.command(&["--stories-per-session", "3", "--agent", &agent]);
    command.env("STOP_HOOK", hook("ralph-on-stop")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    crate::stage::until("US-001 is settled", || stage.note_path("sent-on").exists());
    let status = stage.run(&["status"]);
    status.ended(0).says("US-002, iteration 2").says("1 commit in 2 iterations");
    crate::stage::signal("KILL", child.id());
    child.wait().unwrap();
    stage.run(&["status"]).ended(0).says("1 commit in 2 iterations");
    stage.run(&["--agent", &agent]).ended(0).says("2 stories landed in 2 iterations");
    stage.run(&["status"]).ended(0).says("2 commits in 2 iterations");
}

#[test]
fn a_session_ends_after_as_many_stories_as_it_may_work_on() {
    let stage = Stage::new("obeys-stop-hook", &plan(3));
    run(&stage, &["--stories-per-session", "2"], 10, 1_000_000, "").ended(0);
    assert_eq!(stage.note("sessions"), "session-0 US-001\nsession-0 US-002\nsession-1 US-003\n");
    let single = Stage::new("obeys-stop-hook", &plan(2));
    run(&single, &[], 10, 1_000_000, "").ended(0);
    assert_eq!(single.note("sessions"), "session-0 US-001\nsession-1 US-002\n");
}

#[test]
fn the_iteration_limit_holds_within_a_session() {
    let stage = Stage::new("obeys-stop-hook", &plan(4));
    let args = [&AUTO[..], &["--max-iterations", "2"]].concat();
    run(&stage, &args, 10, 1_000_000, "").ended(0).says("finished (max_iterations)");
    assert_eq!(stage.plan().matches("[x]").count(), 2);
}

#[test]
fn work_that_is_half_done_when_the_context_is_full_is_handed_over() {
    for (args, half, tokens) in [(&[][..], "US-001", 170_000), (&AUTO, "US-002", 100_000)] {
        let stage = Stage::new("obeys-stop-hook", &plan(3));
        let verify =
            ["--verify", "test -e $(cat $RALPH_ROOT/.ralph/current-story).txt", "--attempts", "1"];
        let args = [args, &verify].concat();
        let ran = run(&stage, &args, tokens, 1_000_000, half);
        ran.ended(0).says("3 stories landed");
        ran.says(&format!("{half}: the context is full; a fresh session goes on with it"));
        assert_eq!(stage.discarded(), 0, "nothing was thrown away");
        assert!(stage.progress().contains("- Status: INTERRUPTED"), "{}", stage.progress());
        assert_eq!(stage.read(&format!("{half}.half")), "half\n");
        let last = stage.repo.git(["log", "--format=%s", "--", &format!("{half}.half")]);
        assert_eq!(
            last.trim(),
            format!("feat({half}): story {}", half.trim_start_matches("US-00"))
        );
        stage.is_clean();
    }
}

/// The client asks the hook whether its agent may stop.
pub(crate) const STOP: &str = "printf '{\"session_id\":\"s-1\",\"cwd\":\"%s\",\"hook_event_name\":\"Stop\",\
                    \"stop_hook_active\":false}' \"$PWD\" | \"$STOP_HOOK\" >/dev/null";

/// Settles US-001 in its session, is sent on to US-002 and ends there as `end` says.
fn sent_on_and(stage: &Stage, end: &str, args: &[&str]) -> Ran {
    let first = "[ $(cat $RALPH_ROOT/.ralph/current-story) = US-001 ]";
    let agent = format!(
        "cat >/dev/null; {first} || {{ echo done >$(cat $RALPH_ROOT/.ralph/current-story).txt; exit 0; }}; \
         echo done >US-001.txt; {STOP}; {end}"
    );
    run(stage, &[&["--stories-per-session", "3", "--agent", &agent], args].concat(), 0, 0, "")
}

#[test]
fn a_session_that_breaks_after_a_settled_story_is_a_failed_attempt_at_the_next() {
    let half = "echo half >half.txt; echo 'it broke' >&2";
    for (end, outcome, code, told) in [
        (format!("{half}; exit 3"), "failed", "3", "US-002: the agent ended with exit code 3"),
        (format!("{half}; kill -9 $$"), "failed", "-1", "US-002: the agent was ended by a signal"),
        (format!("{half}; sleep 600"), "timeout", "-1", "US-002: the agent did not end within 2"),
    ] {
        let stage = Stage::new("works", &plan(2));
        let script =
            "echo $RALPH_STORY $RALPH_OUTCOME $RALPH_EXIT_CODE >>\"$AGENT_NOTES/outcomes\"";
        stage.script("post_iteration", script);
        let ran = sent_on_and(&stage, &end, &["--timeout", "2", "--grace", "1"]);
        ran.ended(0).says("settled in the session: 1 story").says(told);
        ran.says("US-002: rolled back 1 file; `ralph-loop undo");
        let outcomes = format!("US-001 success 0\nUS-002 {outcome} {code}\nUS-002 success 0\n");
        assert_eq!(stage.note("outcomes"), outcomes, "{end}");
        let journal = stage.read(".ralph/events.jsonl");
        let failed = format!(
            "\"story\":\"US-002\",\"event\":\"iteration_finished\",\"outcome\":\"{outcome}\""
        );
        assert_eq!(journal.matches(&failed).count(), 1, "{journal}");
        let entry = format!("## Iteration 2 - US-002\n- Status: {}", outcome.to_uppercase());
        assert!(stage.progress().contains(&entry), "{}", stage.progress());
        assert!(stage.read(".ralph/guardrails.md").contains("- US-002: the agent"));
        assert_eq!((stage.discarded(), stage.plan()), (1, plan(2).replace("[ ]", "[x]")));
        stage.is_clean();
    }
}

#[test]
fn a_story_that_the_agent_reports_as_not_done_is_no_more_done_in_a_session() {
    for (status, told, plan_after) in [
        ("blocked", "US-001 is blocked: the agent says: no key", "- [!] US-001: Story 1\n"),
        ("partial", "the agent says that a part is missing: no key", "- [!] US-001: Story 1\n"),
    ] {
        let stage = Stage::new("works", &plan(1));
        let complete = format!("\"$LOOP\" complete US-001 --status {status} --summary 'no key'");
        let agent = format!("cat >/dev/null; echo half >half.txt; {complete}; {STOP}");
        let args = ["--stories-per-session", "3", "--attempts", "1", "--agent", &agent];
        run(&stage, &args, 0, 0, "").ended(1).says(told);
        assert_eq!((stage.plan().as_str(), stage.discarded()), (plan_after, 1), "{status}");
        assert!(!stage.progress().contains("SUCCESS"), "{}", stage.progress());
        stage.is_clean();
    }
}

#[test]
fn an_agent_that_empties_the_checks_settles_nothing_in_its_session() {
    let stage = Stage::new("works", &plan(2));
    let config = "[verify]\ncommands = [\"false\"]\n";
    stage.repo.write(".ralph/config.toml", config);
    stage.repo.commit_all("checks");
    let agent = format!(
        "cat >/dev/null; echo half >half.txt; echo '[verify]' >.ralph/config.toml; {STOP}; {STOP}"
    );
    let args = ["--stories-per-session", "3", "--attempts", "1", "--agent", &agent];
    let ran = run(&stage, &args, 0, 0, "");
    ran.ended(1)
        .says("config.toml was changed while the agent worked; put back")
        .says("`false` failed with exit code 1");
    assert_eq!(stage.plan(), plan(2).replace("[ ]", "[!]"));
    assert_eq!((stage.read(".ralph/config.toml").as_str(), stage.subjects().len()), (config, 2));
    stage.is_clean();
}

#[test]
fn such_attempts_are_counted() {
    let stage = Stage::new("works", &plan(2));
    let ran = sent_on_and(&stage, "echo half >half.txt; exit 1", &["--attempts", "1"]);
    ran.ended(1).says("US-002 is blocked: 1 attempt was in vain");
    assert_eq!(stage.plan(), "- [x] US-001: Story 1\n- [!] US-002: Story 2\n");
}

#[test]
fn a_story_that_the_session_was_sent_on_to_and_did_not_begin_is_not_held_against_it() {
    let stage = Stage::new("works", &plan(2));
    sent_on_and(&stage, "true", &["--attempts", "1"]).ended(0).says("2 stories landed");
    let journal = stage.read(".ralph/events.jsonl");
    assert!(!journal.contains("\"outcome\":\"no_changes\""), "{journal}");
    let left =
        ["1 US-001 started", "US-001 success null", "2 US-002 started", "US-002 handoff null"];
    assert_eq!(iterations(&stage)[..4], left);
}

#[test]
fn what_is_done_after_the_last_story_was_settled_is_taken_back_and_kept() {
    let stage = Stage::new("works", &plan(1));
    let late = "echo late >late.txt; echo more >>US-001.txt; sed -i 's/Story 1/Another/' .ralph/PRD-1/plan.md";
    let ran = sent_on_and(&stage, late, &[]);
    ran.ended(0).says("the agent changed 2 files after the last story was settled; taken back");
    ran.says("`ralph-loop undo").says("finished (complete)");
    assert_eq!((stage.exists("late.txt"), stage.read("US-001.txt").as_str()), (false, "done\n"));
    assert_eq!(stage.plan(), plan(1).replace("[ ]", "[x]"));
    assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 1);
    stage.is_clean();
    let id =
        stage.repo.git(["for-each-ref", "--format=%(refname:lstrip=3)", "refs/ralph/discarded"]);
    stage.run(&["undo", id.trim()]).ended(0);
    assert_eq!(stage.read("late.txt"), "late\n");
}

#[test]
fn so_are_ticks_and_commits_after_it() {
    let stage = Stage::new("works", &plan(3));
    let late = "echo late >late.txt; git add -A; git commit -qm late; \
                sed -i 's/\\[ \\]/[x]/' .ralph/PRD-1/plan.md";
    let ran = sent_on_and(&stage, late, &["--max-iterations", "1"]);
    ran.ended(0).says("finished (max_iterations)").says("ticked US-002");
    ran.says("the agent committed after the last story was settled; taken back");
    assert_eq!(stage.plan(), plan(3).replacen("[ ]", "[x]", 1));
    assert_eq!(stage.subjects(), ["feat(US-001): story 1", "first"]);
    stage.is_clean();
}

#[test]
fn an_attempt_that_nobody_takes_up_is_taken_back_and_kept() {
    let stage = Stage::new("obeys-stop-hook", &plan(2));
    let args = ["--verify", "test -e US-001.txt", "--max-iterations", "1"];
    let ran = run(&stage, &args, 170_000, 1_000_000, "US-001");
    ran.ended(0).says("took back an attempt at US-001").says("finished (max_iterations)");
    assert_eq!((stage.discarded(), stage.exists("US-001.half")), (1, false));
    stage.is_clean();
    for left in [".checkpoint", "current-story", "attempt"] {
        assert!(!stage.exists(&format!(".ralph/{left}")), "{left}");
    }
}

#[test]
fn a_prompt_that_no_longer_fits_is_a_case_for_a_fresh_session() {
    let stage = Stage::new("works", &plan(1));
    let input = r#"{"session_id":"s-9","cwd":"'"$PWD"'","hook_event_name":"StopFailure","error":"invalid_request","last_assistant_message":"Prompt is too long"}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s-9","terminal_reason":"prompt_too_long","result":"Prompt is too long"}"#;
    let agent = format!(
        "cat >/dev/null; [ -e half.txt ] && {{ echo done >done.txt; exit; }}; echo half >half.txt; \
         echo '{input}' | \"$STOP_HOOK\"; echo '{result}'; exit 1"
    );
    let ran = run(&stage, &["--attempts", "1", "--agent", &agent], 0, 0, "");
    ran.ended(0).says("the agent reports prompt_too_long").says("a fresh session goes on with it");
    assert_eq!((stage.discarded(), stage.read("half.txt").as_str()), (0, "half\n"));
}

#[test]
fn a_hook_that_checks_for_longer_than_the_agent_may_be_silent_is_no_silence() {
    let stage = Stage::new("obeys-stop-hook", &plan(2));
    let args = [&AUTO[..], &["--silence", "3", "--verify", "sleep 5"]].concat();
    let ran = run(&stage, &args, 1, 100_000, "");
    ran.ended(0).says("settled in the session: 2 stories");
    assert_eq!((stage.subjects().len(), stage.discarded()), (3, 0));
}
