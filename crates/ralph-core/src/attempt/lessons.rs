//! `guardrails.md`: one short lesson for each distinct cause of a rollback.

use std::io;

use crate::secrets::mask;
use crate::state::{self, StateDir};

const TITLE: &str =
    "# Guardrails\n\nLessons from attempts that were rolled back; they go into every prompt.\n\n";

/// A lesson goes into every prompt, so it is short.
const LONGEST: usize = 300;

/// Adds a lesson unless it is there already; what people wrote into the file stays.
pub fn add_lesson(state: &StateDir, lesson: &str) -> io::Result<()> {
    let path = state.guardrails();
    let known = match state::read(&path) {
        Ok(known) => String::from_utf8_lossy(&known).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let lesson = mask(lesson);
    let lesson = lesson.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("- {}", lesson.chars().take(LONGEST).collect::<String>());
    if known.lines().any(|known| known.trim_end() == line) {
        return Ok(());
    }
    if known.is_empty() {
        return state::append_line(&path, format!("{TITLE}{line}").as_bytes());
    }
    state::append_line(&path, line.as_bytes())
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn the_same_lesson_is_written_once() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        for lesson in ["keep a() pure", "do not touch b", "keep a() pure", "TOKEN=abcdef123"] {
            add_lesson(&state, lesson).unwrap();
        }
        let text = scratch.read(".ralph/guardrails.md");
        assert!(
            text.ends_with("prompt.\n\n- keep a() pure\n- do not touch b\n- TOKEN=[masked]\n"),
            "{text}"
        );
    }

    #[test]
    fn what_people_wrote_stays() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        scratch.file(".ralph/guardrails.md", "my own rule, without a newline");
        add_lesson(&state, "two\nlines").unwrap();
        let text = scratch.read(".ralph/guardrails.md");
        assert_eq!(text, "my own rule, without a newline\n- two lines\n");
    }
}
