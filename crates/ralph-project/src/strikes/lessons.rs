//! `guardrails.md`: one short lesson for each distinct cause of a rollback.

use std::io;

use camino::Utf8Path;

use ralph_base::listing::one_line;
use ralph_base::secrets::mask;
use ralph_base::state::{self, RunDir, StateDir};

/// The beginning of the file.
pub const LESSONS_TITLE: &str =
    "# Guardrails\n\nLessons from attempts that were rolled back; they go into every prompt.\n\n";

/// The maximum length of a lesson, which goes into every prompt.
pub const LONGEST_LESSON: usize = 300;

/// Adds a lesson unless it exists; what people wrote into the file is kept. During a run it waits
/// in the attempt's folder or in the git folder, so that the user's files are not changed.
pub fn add_lesson(state: &StateDir, run_dir: Option<&RunDir>, lesson: &str) -> io::Result<()> {
    let path = state.guardrails();
    let known = lessons(state, run_dir)?;
    let lesson = one_line(&mask(lesson));
    let line = format!("- {}", lesson.chars().take(LONGEST_LESSON).collect::<String>());
    if known.lines().any(|known| known.trim_end() == line) {
        return Ok(());
    }
    match run_dir {
        _ if state.is_of_attempt() => state::append_line(&state.lessons(), line.as_bytes()),
        Some(run_dir) => state::append_line(&run_dir.lessons(), line.as_bytes()),
        None if known.is_empty() => {
            state::append_line(&path, format!("{LESSONS_TITLE}{line}").as_bytes())
        }
        None => state::append_line(&path, line.as_bytes()),
    }
}

/// Returns all lessons, including those that wait.
pub fn lessons(state: &StateDir, run_dir: Option<&RunDir>) -> io::Result<String> {
    let mut text = text_of(&state.guardrails())?;
    if let Some(run_dir) = run_dir {
        text.push_str(&text_of(&run_dir.lessons())?);
    }
    if state.is_of_attempt() {
        text.push_str(&text_of(&state.lessons())?);
    }
    Ok(text)
}

fn text_of(path: &Utf8Path) -> io::Result<String> {
    let known = state::read_if_there(path)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&known).into_owned())
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
            add_lesson(&state, None, lesson).unwrap();
        }
        let text = scratch.read(".ralph/guardrails.md");
        assert!(
            text.ends_with("prompt.\n\n- keep a() pure\n- do not touch b\n- TOKEN=[masked]\n"),
            "{text}"
        );
        scratch.file(".ralph/guardrails.md", "my own rule, without a newline");
        add_lesson(&state, None, "two\nlines").unwrap();
        let text = scratch.read(".ralph/guardrails.md");
        assert_eq!(text, "my own rule, without a newline\n- two lines\n");
    }

    #[test]
    fn a_lesson_of_an_attempt_is_stored_with_the_attempt() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root()).of_attempt(scratch.path("own"));
        let run_dir = RunDir::in_git_folder(&scratch.path(".git"));
        scratch.file(".ralph/guardrails.md", "- known\n");
        scratch.file(".git/ralph/lessons-pending", "- of another attempt\n");
        for lesson in ["known", "of another attempt", "new", "new"] {
            add_lesson(&state, Some(&run_dir), lesson).unwrap();
        }
        assert_eq!(scratch.read(".ralph/guardrails.md"), "- known\n");
        assert_eq!(scratch.read("own/lessons"), "- new\n");
        let all = "- known\n- of another attempt\n- new\n";
        assert_eq!(lessons(&state, Some(&run_dir)).unwrap(), all);
    }
}
