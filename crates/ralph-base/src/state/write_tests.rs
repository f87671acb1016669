//! Guarantees of replacing and appending, with real threads and files.

use test_support::Scratch;

use super::*;

#[test]
fn replace_creates_parents_and_leaves_no_temporary_file() {
    let scratch = Scratch::new();
    let path = scratch.path(".ralph/state/s/loop.json");
    replace(&path, b"one").unwrap();
    replace(&path, b"two").unwrap();
    assert_eq!(scratch.read(".ralph/state/s/loop.json"), "two");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    // A rename cannot replace a folder with a file.
    let path = scratch.dir("folder/target");
    scratch.file("folder/target/keep", "x");
    assert!(replace(&path, b"new").is_err());
    assert_eq!(fs::read_dir(scratch.path("folder")).unwrap().count(), 1);
}

#[test]
fn concurrent_appends_lose_and_tear_no_line() {
    let scratch = Scratch::new();
    let path = scratch.path("log");
    std::thread::scope(|scope| {
        for writer in 0..16 {
            let path = &path;
            scope.spawn(move || {
                for n in 0..50 {
                    let line = format!("{writer}:{n}:{}", "x".repeat(300));
                    append_line(path, line.as_bytes()).unwrap();
                }
            });
        }
    });
    let text = scratch.read("log");
    let mut lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().all(|line| line.len() > 300 && line.ends_with('x')));
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 16 * 50);
}

#[test]
fn lines_stay_whole_while_concurrent_writers_cut_the_file() {
    let scratch = Scratch::new();
    let path = scratch.path("log");
    let cap = Cap { above: 2_000, keep_lines: 10 };
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let path = &path;
            scope.spawn(move || {
                for n in 0..40 {
                    append_capped(path, format!("{writer}:{n}:end\n").as_bytes(), cap).unwrap();
                }
            });
        }
    });
    let text = scratch.read("log");
    assert!(text.lines().all(|line| line.ends_with(":end")), "{text}");
    assert!(text.len() <= 2_000 + 20);
}

#[test]
fn an_append_starts_a_new_line_and_keeps_the_last_lines() {
    let scratch = Scratch::new();
    for (old, block, expected) in [
        ("a", "\n\nb\n", "a\n\nb\n"),
        ("a", "\r\n\r\nb\r\n", "a\r\n\r\nb\r\n"),
        ("a\n", "\nb\n", "a\n\nb\n"),
        ("{\"torn\":", "whole\n", "{\"torn\":\nwhole\n"),
        ("1\n2\n3\n4\n5\n6\n7\n", "8\n9\n", "7\n8\n9\n"),
    ] {
        let path = scratch.file("log", old);
        append_capped(&path, block.as_bytes(), Cap { above: 15, keep_lines: 3 }).unwrap();
        assert_eq!(scratch.read("log"), expected);
    }
}

#[test]
fn symlinks_below_the_state_folder_are_not_followed() {
    let scratch = Scratch::new();
    let outside = scratch.file("outside", "mine");
    let elsewhere = scratch.dir("elsewhere");
    let state = scratch.dir("p/.ralph");
    std::os::unix::fs::symlink(&outside, state.join("events.jsonl")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, state.join("state")).unwrap();
    for name in ["events.jsonl", "state/s/loop.json"] {
        let error = append_line(&state.join(name), b"x").unwrap_err().to_string();
        assert!(error.contains("symlink"), "{error}");
        assert!(replace(&state.join(name), b"x").is_err());
    }
    assert_eq!(scratch.read("outside"), "mine");
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
    // A state folder that is itself a link was put there by the user.
    std::os::unix::fs::symlink(scratch.dir("real"), scratch.dir("q").join(".ralph")).unwrap();
    append_line(&scratch.path("q/.ralph/events.jsonl"), b"x").unwrap();
    assert_eq!(scratch.read("real/events.jsonl"), "x\n");
}

#[test]
fn only_temporary_files_of_dead_processes_are_removed() {
    let scratch = Scratch::new();
    let ours = format!(".plan.md.{}-3.tmp", std::process::id());
    for name in [".plan.md.4194999-0.tmp", &ours, ".x.tmp", "plan.md.4194999-0.tmp", ".a-b.tmp"] {
        scratch.file(name, "");
    }
    remove_stale_temporaries(scratch.root()).unwrap();
    remove_stale_temporaries(&scratch.path("none")).unwrap();
    let mut left: Vec<String> = scratch
        .root()
        .read_dir_utf8()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_owned())
        .collect();
    left.sort();
    assert_eq!(left, [".a-b.tmp", &ours, ".x.tmp", "plan.md.4194999-0.tmp"]);
}

#[test]
fn a_pipe_in_place_of_a_file_is_refused_without_waiting() {
    let scratch = Scratch::new();
    let path = scratch.pipe(".ralph/events.jsonl");
    let begun = Instant::now();
    let cap = Cap { above: 0, keep_lines: 0 };
    let locked = crate::state::Lock::take(&path, "x").map(drop).map_err(io::Error::other);
    for refused in [
        append_line(&path, b"x"),
        append_capped(&path, b"x\n", cap),
        replace(&path, b"x"),
        replace_unsynced(&path, b"x"),
        replace_users(&path, b"x"),
        locked,
    ] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("it is not a regular file; remove it"), "{error}");
    }
    assert_eq!(crate::state::Lock::holder(&path), None);
    assert!(begun.elapsed() < Duration::from_secs(60));
}
