//! What a person sees: on a terminal, without colours, and in a pipe.

use test_support::{run_on_columns, run_on_terminal};

use crate::stage::Stage;

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

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

/// The sequences that set colours and the like: `ESC [ … m`.
fn colours(shown: &str) -> Vec<&str> {
    let sequences = shown.split("\u{1b}[").skip(1);
    sequences
        .filter_map(|rest| {
            let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
            rest[end..].starts_with('m').then(|| &rest[..end])
        })
        .collect()
}

#[test]
fn a_terminal_shows_progress_and_what_the_agent_does() {
    let stage = stage();
    let (code, shown) = run_on_terminal(&mut stage.command(&["--agent", AGENT]));
    assert_eq!(code, Some(0), "{shown}");
    for part in
        ["0/2", "1/2", "US-001 (iteration 1)  0:00", "12k tokens", "Bash: make all", "US-002 done"]
    {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
    assert!(shown.contains("[started] hello from a script"), "{shown}");
    assert!(shown.contains("[started] red"), "a script's colours are its own: {shown}");
    assert!(
        shown.contains("\u{1b}[33mwarning: the post_iteration script reported a warning"),
        "{shown}"
    );
    assert!(colours(&shown).contains(&"32"), "the bar is green: {shown:?}");
    // Nothing moves any more at the end: the last line is text, and the cursor is below it.
    let end = shown.trim_end_matches(|c: char| c.is_whitespace());
    let last = end.rsplit('\n').next().unwrap();
    assert!(last.contains("finished (complete)"), "{last:?}");
}

#[test]
fn a_narrow_terminal_shows_the_story_the_time_and_what_the_agent_does() {
    let stage = stage();
    let (code, shown) = run_on_columns(40, &mut stage.command(&["--agent", AGENT]));
    assert_eq!(code, Some(0), "{shown}");
    for part in ["0/2  US-001  0:00  Bash: make all", "1/2  US-002  0:00  Bash: make all"] {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
}

#[test]
fn no_color_means_no_colour() {
    let stage = stage();
    let mut command = stage.command(&["--agent", AGENT]);
    let (code, shown) = run_on_terminal(command.env("NO_COLOR", "1"));
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        shown.contains("1/2")
            && shown.contains("warning: the post_iteration script reported a warning"),
        "{shown}"
    );
    assert_eq!(colours(&shown), [""; 0], "{shown:?}");
}

#[test]
fn a_pipe_gets_plain_lines() {
    let stage = stage();
    let mut command = stage.command(&["--agent", AGENT, "--max-iterations", "1"]);
    let ran: crate::stage::Ran = command.output().unwrap().into();
    ran.ended(0).says("[started] hello from a script").says("US-001 | Bash: make all");
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains('\r'), "{:?}", ran.out);
    for line in ran.out.lines() {
        let (time, _) = line.split_at(8);
        assert!(time.bytes().filter(|byte| *byte == b':').count() == 2, "no time in {line:?}");
    }
}

#[test]
fn a_wait_for_the_service_is_counted_down() {
    let stage = Stage::new("meets-limit", TWO);
    let (code, shown) = run_on_terminal(&mut stage.command(&[]));
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("usage limit reached; continuing in 0:01"), "{shown}");
}

#[test]
fn the_clock_goes_on_while_the_agent_is_silent() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    let agent = "cat >/dev/null; echo thinking; sleep 1.6; echo x >x.txt";
    let (code, shown) = run_on_terminal(&mut stage.command(&["--agent", agent]));
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("US-001 (iteration 1)  0:01  thinking"), "{shown}");
}
