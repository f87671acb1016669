//! Agents that start too many processes, close all their files, hide, or stop themselves: the loop
//! ends on time, and no process is left.

use test_support::started_with;

use crate::stage::{ONE, Stage, is_alive};

/// Runs a scripted agent with a deadline of two seconds.
#[track_caller]
fn check(agent: &str, code: i32) {
    let stage = Stage::new(agent, ONE);
    stage.repo.write("mine.txt", "the user's own\n");
    stage.run(&["--timeout", "2", "--grace", "1", "--attempts", "1"]).ended(code);
    let children = stage.note_path("children");
    let notes = children.parent().unwrap();
    let left = started_with(&format!("AGENT_NOTES={notes}"));
    assert!(left.is_empty(), "{agent} left {left:?}");
    for child in fs_err::read_to_string(&children).unwrap_or_default().lines() {
        assert!(!is_alive(child), "{agent} left {child}");
    }
    assert_eq!(stage.read("mine.txt"), "the user's own\n");
    assert!(!stage.exists("half.txt"));
}

#[test]
fn agents_that_do_not_exit_are_ended_with_all_their_processes() {
    std::thread::scope(|scope| {
        for agent in ["bombs", "closes-everything", "leaves-zombies", "stops-itself"] {
            scope.spawn(move || check(agent, 8));
        }
    });
}

#[test]
fn an_escaped_process_is_ended() {
    check("escapes", 0);
}

#[test]
fn signals_of_the_agent_do_not_reach_the_loop() {
    check("signals-everybody", 8);
}
