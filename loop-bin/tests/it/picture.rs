//! `docs/pictures/run.svg` shows a real run; `RALPH_INTERNAL__UPDATE_DOCS=1` regenerates it.

use std::fmt::Write;

use regex::Regex;
use test_support::{coloured_screen_with, fixtures, interrupted_on_columns};

use crate::stage::Stage;

const COLUMNS: u16 = 106;

/// When the picture is taken: in the second attempt at the third story, where the agent waits.
const MOMENT: &str = "Bash: pytest -k sign_out";

/// The width of a letter and the height of a line, in pixels.
const LETTER: (usize, usize) = (8, 20);
const MARGIN: usize = 18;

/// The colours of a dark terminal, by the numbers with which a program selects them.
const COLOURS: [(u8, &str); 6] = [
    (0, "#d7dae0"),
    (2, "#868d99"),
    (31, "#f07178"),
    (32, "#7ec77b"),
    (33, "#e0b352"),
    (36, "#7fc8d8"),
];

#[test]
fn the_picture_of_a_run_is_up_to_date() {
    let path = fixtures().join("../docs/pictures/run.svg");
    let drawn = drawn(&lines_of_a_run());
    if std::env::var_os("RALPH_INTERNAL__UPDATE_DOCS").is_some() {
        fs_err::write(&path, &drawn).unwrap();
    }
    let kept = fs_err::read_to_string(&path).unwrap_or_default();
    assert_eq!(masked(&kept), masked(&drawn), "run the tests with RALPH_INTERNAL__UPDATE_DOCS=1");
}

fn lines_of_a_run() -> Vec<Vec<(u8, String)>> {
    let fixture = |name: &str| fs_err::read_to_string(fixtures().join("pictures").join(name));
    let stage = Stage::new("works", &fixture("plan.md").unwrap());
    stage.repo.write("src/session.py", "kept = {}\n");
    stage.repo.write("pytest", fixture("pytest.sh").unwrap());
    stage.repo.chmod("pytest", 0o755);
    stage.repo.commit_all("a plan");
    let agent = format!("sh '{}'", fixtures().join("pictures/agent.sh"));
    let mut run = stage.command(&["--agent", &agent, "--verify", "./pytest", "--attempts", "2"]);
    run.args(["--max-cost", "5"]).env("HOLD", "US-003").env("TRIES", stage.note_path(""));
    let (code, shown) = interrupted_on_columns(COLUMNS, &mut run, MOMENT);
    assert_eq!(code, Some(130), "{shown}");
    // Only the output before the interrupt.
    let shown = shown.split("stopping: ").next().unwrap().replace("^C", "");
    let lines = coloured_screen_with(&shown, COLUMNS.into(), MOMENT).into_iter();
    let begins =
        |line: &Vec<(u8, String)>| line.iter().any(|(_, text)| text.contains("iteration 1"));
    lines.skip_while(|line| !begins(line)).collect()
}

fn drawn(lines: &[Vec<(u8, String)>]) -> String {
    let width = usize::from(COLUMNS) * LETTER.0 + 2 * MARGIN;
    let height = lines.len() * LETTER.1 + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"13\">\n\
         <title>A run on a terminal</title>\n<style>text{{white-space:pre}}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#16181d\"/>\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = MARGIN + row * LETTER.1 + LETTER.1 * 3 / 4;
        let mut column = 0;
        for (colour, text) in line {
            let fill = COLOURS.iter().find(|(number, _)| number == colour);
            let fill = fill.ok_or(colour).unwrap().1;
            let x = MARGIN + column * LETTER.0;
            let length = text.chars().count();
            column += length;
            let length = length * LETTER.0;
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            writeln!(
                svg,
                "<text xml:space=\"preserve\" x=\"{x}\" y=\"{y}\" textLength=\"{length}\" fill=\"{fill}\">{text}</text>"
            )
            .unwrap();
        }
    }
    svg + "</svg>\n"
}

/// Replaces what differs between runs: times, commits, costs, durations, the spinner.
fn masked(svg: &str) -> String {
    let differs = Regex::new(r"\d\d:\d\d:\d\d|\b\d+:\d\d\b|\b[0-9a-f]{8}\b|\$\d+\.\d\d of|[⠀-⣿]");
    let may_lack = Regex::new("textLength=\"\\d+\"|  about \\d+ \\w+ left").unwrap();
    may_lack.replace_all(&differs.unwrap().replace_all(svg, "#"), "").into_owned()
}
