//! What the user sees: on a terminal, without colours, and in a pipe.

use test_support::{
    interrupted_on_columns, run_on_terminal, screen_of, screen_with, typed_on_columns,
};

use crate::stage::{Stage, TWO};

/// An agent that works for a moment, so that the view has something to draw.
const AGENT: &str = r#"cat >/dev/null; story=$(cat $RALPH_ROOT/.ralph/current-story)
echo '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"make all"}}],"usage":{"input_tokens":12000}}}'
sleep 0.4; echo x >$story.txt"#;

fn stage() -> Stage {
    let stage = Stage::new("works", TWO);
    stage.script("started", "echo 'hello from a script'; printf '\\033[31mred\\033[0m\\n' >&2");
    stage.script("post_iteration", "exit 1");
    stage
}

/// Whether an escape sequence sets colours or attributes: `ESC [ … m`.
fn has_colours(shown: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit() || c == ';';
    shown.split("\u{1b}[").skip(1).any(|rest| rest.trim_start_matches(is_number).starts_with('m'))
}

#[test]
fn a_terminal_shows_progress_and_the_current_activity() {
    let stage = stage();
    let (code, shown) = run_on_terminal(&mut stage.command(&["--agent", AGENT]));
    assert_eq!(code, Some(0), "{shown}");
    for part in
        ["0 done, 2 left", "1 done, 1 left", "US-001 First  attempt 1 of 3  0:", "Bash: make all"]
    {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
    assert!(shown.contains("[started] hello from a script"), "{shown}");
    assert!(shown.contains("[started] red"), "a script's colours are its own: {shown}");
    let warning = "\u{1b}[33mwarning: the post_iteration script reported a warning";
    assert!(shown.contains(warning), "{shown}");
    assert!(shown.contains("\u{1b}[32mUS-002 done"), "{shown:?}");
    // No live line is left at the end: the last line is text, and the cursor is below it.
    let screen = screen_of(&shown, 100);
    let (_, end) = screen.split_once("finished (complete)").unwrap();
    assert!(!end.contains(" left") && !end.contains("attempt"), "{end}");
}

#[test]
fn no_live_line_remains_after_ctrl_c() {
    for columns in [40, 80] {
        let stage = Stage::new("works", TWO);
        // The last line quotes the command, which must not contain the word itself.
        let agent = "cat >/dev/null; printf 'think%s\\n' ing; sleep 600";
        let command = &mut stage.command(&["--agent", agent]);
        let (code, shown) = interrupted_on_columns(columns, command, "thinking");
        assert_eq!(code, Some(130), "{shown}");
        let screen = screen_of(&shown, columns.into());
        assert!(screen.contains("finished (interrupted)"), "{screen}");
        for dead in ["thinking", "0 done", "^C"] {
            assert!(!screen.contains(dead), "{dead} in:\n{screen}");
        }
    }
}

#[test]
fn keys_send_a_message_show_a_log_and_stop_the_run() {
    let stage = Stage::new("works", &format!("{TWO}- [ ] US-003: Third\n"));
    let agent = "cat >\"$AGENT_NOTES/prompt\"; echo thinking about it; sleep 1; date +%N >x.txt";
    let command = stage.command(&["--agent", agent]);
    let keys = [("thinking", "l"), ("-001-US-001.log", "tuse TLS\n"), ("iteration 2", "s")];
    let Some((code, shown)) = typed_on_columns(100, &command, &keys) else { return };
    assert_eq!(code, Some(0), "{shown}");
    for part in [
        "s stop after this story  x stop now",
        "  thinking about it",
        "tell the agent (Enter sends, Esc cancels): use TL",
        "the run stops after the current story",
        "finished (stopped)",
    ] {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
    assert!(stage.note("prompt").contains("- use TLS"), "{}", stage.note("prompt"));
    assert!(!screen_of(&shown, 100).contains("x stop now"), "{shown}");
}

#[test]
fn after_quitting_the_view_only_plain_lines_are_printed() {
    let stage = Stage::new("works", TWO);
    let command = stage.command(&["--agent", AGENT]);
    let keys = [("attempt 1 of 3", "q"), ("", "xx")];
    let Some((code, shown)) = typed_on_columns(100, &command, &keys) else { return };
    assert_eq!(code, Some(0), "{shown}");
    let (_, after) = shown.split_once("the run continues without the live view").unwrap();
    assert!(after.contains("US-002 done") && !after.contains("attempt 1 of 3"), "{shown}");
}

#[test]
fn colours_can_be_forced_and_disabled() {
    let stage = stage();
    let ran = stage.run_env(&[("CLICOLOR_FORCE", "1")], &["--agent", AGENT]);
    assert!(ran.ended(0).out.contains("\u{1b}[32mUS-001 done"), "{:?}", ran.out);
    let stage = self::stage();
    let mut command = stage.command(&["--agent", AGENT]);
    let (code, shown) = run_on_terminal(command.env("NO_COLOR", "1"));
    assert_eq!((code, has_colours(&shown)), (Some(0), false), "{shown:?}");
    for part in ["1 done, 1 left", "warning: the post_iteration script reported a warning"] {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
}

#[test]
fn a_pipe_gets_plain_lines() {
    let stage = stage();
    let ran = stage.run(&["--agent", AGENT, "--max-iterations", "1"]);
    ran.ended(0).says("[started] hello from a script").says("US-001 | Bash: make all");
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains('\r'), "{:?}", ran.out);
    for line in ran.out.lines() {
        let (time, _) = line.split_at(8);
        assert!(time.bytes().filter(|byte| *byte == b':').count() == 2, "no time in {line:?}");
    }
}

#[test]
fn a_wait_for_the_service_shows_a_countdown() {
    let stage = Stage::new("meets-limit", TWO);
    let (code, shown) = run_on_terminal(&mut stage.command(&[]));
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("usage limit reached; continuing in 0:0"), "{shown}");
}

/// The id is derived from the title, so it is not shown.
#[test]
fn the_clock_keeps_running_while_the_agent_is_silent() {
    let stage = Stage::new("works", "- [ ] Add a login page\n");
    let agent = "cat >/dev/null; echo thinking; sleep 1.6; echo x >x.txt";
    let (code, shown) = run_on_terminal(&mut stage.command(&["--agent", agent]));
    assert_eq!(code, Some(0), "{shown}");
    let screen = screen_with(&shown, 100, "  thinking");
    assert!(screen.contains("iteration 1: Add a login page\n"), "{screen}");
    let is_shown = |second: u32| {
        shown.contains(&format!("Add a login page  attempt 1 of 3  0:{second:02}  thinking"))
    };
    assert!((1..60).any(is_shown), "{shown}");
}
