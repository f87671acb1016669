//! ralph-pre-prompt as the client runs it.

use serde_json::Value;
use test_support::{Scratch, TestRepo, fixtures, program, run_with_input};

use crate::client::{Client, PRE_PROMPT};
use crate::run::Run;

/// Sends a prompt to a session in a project; returns the context that is added.
fn send(project: &Scratch, prompt: &str) -> Option<String> {
    let session = "s1".to_owned();
    Client { session, ..Client::in_project(project.root()) }.prompted(prompt)
}

fn journaled(project: &Scratch) -> String {
    let journal = project.read(".ralph/events.jsonl");
    let event: Value = serde_json::from_str(journal.lines().last().unwrap()).unwrap();
    assert_eq!(event["event"], "prompt");
    event["prompt"].as_str().unwrap().to_owned()
}

fn project() -> Scratch {
    let project = Scratch::new();
    project.dir(".ralph");
    project
}

#[test]
fn the_beginning_of_a_prompt_is_journaled_without_its_keys() {
    let project = project();
    assert_eq!(send(&project, "use API_KEY=abcdef123456 here"), None);
    assert_eq!(journaled(&project), "use API_KEY=[masked] here");

    let key = "ghp_0123456789abcdefghij0123456789abcdef";
    send(&project, &format!("{}{key}{}", "ä ".repeat(995), "x".repeat(100_000)));
    let kept = journaled(&project);
    assert!(kept.chars().count() <= 2000 && !kept.contains("ghp_"), "{}", kept.len());

    send(&project, &"ä".repeat(3000));
    assert_eq!(journaled(&project), "ä".repeat(2000));
}

#[test]
fn the_current_story_is_added_with_lessons_and_the_last_failure() {
    let project = TestRepo::new();
    project.write(".ralph/.checkpoint", project.head());
    let send = |prompt: &str| {
        let session = "s1".to_owned();
        Client { session, ..Client::in_repo(&project) }.prompted(prompt)
    };
    for not_a_story in ["", "../../etc/passwd\n"] {
        project.write(".ralph/current-story", not_a_story);
        assert_eq!(send("hello"), None);
    }
    project.write(".ralph/current-story", "US-001\n");
    assert_eq!(send("hello").unwrap(), "Current story: US-001.");

    project.write(".ralph/state/s1/loop.json", r#"{"iteration": 4}"#);
    project.write(".ralph/guardrails.md", "# Guardrails\n\n- run the tests\n- read first\n");
    let lines: String = (1..20).map(|n| format!("line {n}\n")).collect();
    let log =
        format!("=== Test Failure a ===\nold\n=== Test Failure b ===\nTOKEN=abcdefgh\n{lines}");
    project.write(".ralph/failure-context.log", log);
    assert_eq!(
        send("hello").unwrap(),
        "Current story: US-001, iteration 4.\nLessons from earlier attempts:\n- run the tests\n- \
         read first\nLast failure:\nTOKEN=[masked]\nline 1\nline 2\nline 3\nline 4\nline 5\nline \
         6\nline 7"
    );
    let context = send("# Lessons\n- run the tests\n- read first\nGo.").unwrap();
    assert!(!context.contains("Lessons"), "what the prompt says already is not said again");
}

/// Sends another event; returns the context that the client would add.
fn reminded(client: &Client, payload: &str) -> Option<String> {
    let text = fs_err::read(fixtures().join(format!("payloads/{payload}.json"))).unwrap();
    let mut input: Value = serde_json::from_slice(&text).unwrap();
    input["session_id"] = client.session.as_str().into();
    let mut command = program(PRE_PROMPT, client.home.root());
    command.env("CLAUDE_PROJECT_DIR", &client.cwd).envs(client.vars.iter().cloned());
    let output = run_with_input(&mut command, input.to_string().as_bytes());
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
    let answer = String::from_utf8(output.stdout).unwrap();
    let event = input["hook_event_name"].as_str().unwrap();
    // For this event, the client takes plain text.
    if event == "PreCompact" || answer.is_empty() {
        return Some(answer).filter(|answer| !answer.is_empty());
    }
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], event);
    Some(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
}

const REMINDERS: [&str; 3] = ["SessionStart-first", "SubagentStart-subagent", "PreCompact-manual"];

#[test]
fn a_session_of_a_run_is_reminded_when_its_context_may_be_lost() {
    let run = Run::new("[verify]\ncommands = [\"make test\"]\n[loop]\nmax_iterations = 9\n");
    let lessons: String = (1..=7).map(|n| format!("- lesson {n}\n")).collect();
    run.project.write(".ralph/guardrails.md", format!("# Guardrails\n\n{lessons}"));
    let agent = run.agent();
    let limits = format!(
        "\nWork in {} and nowhere else. These checks must pass: `make test`.",
        run.copy.root()
    );
    let lessons = "\nLessons from earlier attempts:\n- lesson 3\n- lesson 4\n- lesson 5\n- lesson \
                   6\n- lesson 7";
    let report = " Report with `ralph-loop complete US-001 --summary \"…\"`.";
    let [start, subagent, compact] = REMINDERS.map(|payload| reminded(&agent, payload).unwrap());
    let story = "Current story: US-001 (Log in), iteration 3 of 9, attempt 1.";
    assert_eq!(start, format!("{story}{limits}{report}{lessons}"));
    assert_eq!(reminded(&agent, "SessionStart-compact"), Some(start));
    let helps = "You are helping with the story US-001 (Log in). Do only your own task: \
                 the session that started you reports on the story.";
    assert_eq!(subagent, format!("{helps}{limits}{lessons}"));
    let keep = "Keep in the summary: the current story is US-001 (Log in), what was done for it, \
                and what is left.";
    assert_eq!(compact, format!("{keep}{limits}{report}{lessons}"));
    assert!(agent.journal().is_empty(), "a reminder is no event");
}

#[test]
fn other_sessions_are_not_reminded() {
    let run = Run::new("");
    let other_run =
        run.person().with("RALPH_RUN", "run-0").with("RALPH_ROOT", run.project.root().as_str());
    run.project.write(".ralph/state/working-session", "another-session");
    for client in [run.person(), run.agent(), other_run] {
        for payload in REMINDERS {
            assert_eq!(reminded(&client, payload), None, "{payload}");
        }
    }
}
