//! Reads every plan under `fixtures/plans` and compares the result with a snapshot.

use super::*;
use camino::Utf8Path;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

fn parse_file(path: &Path) -> Result<Plan, Error> {
    let path = Utf8Path::from_path(path).unwrap();
    let bytes = fs_err::read(path).unwrap();
    Plan::parse(Utf8Path::new(path.file_name().unwrap()), bytes, &Options::default())
}

/// Returns one line per story, then the next story, then the warnings.
fn summary(plan: &Plan) -> String {
    let mut text = String::new();
    for story in plan.stories() {
        let Story { id, title, state, line, .. } = story;
        write!(text, "{line}: {state:?} {id} | {title}").unwrap();
        if !story.depends.is_empty() {
            write!(text, " | after {}", story.depends.join(", ")).unwrap();
        }
        if let Some(priority) = story.priority {
            write!(text, " | priority {priority}").unwrap();
        }
        if story.optional {
            text.push_str(" | optional");
        }
        if !story.details.is_empty() {
            write!(text, " | {:?}", story.details).unwrap();
        }
        text.push('\n');
    }
    match plan.next_story(&BTreeSet::new()) {
        Next::Story(story) => writeln!(text, "next: {}", story.id).unwrap(),
        Next::Complete => text.push_str("complete\n"),
        Next::Stuck { waiting, blocked } => {
            let ids = |stories: Vec<&Story>| -> Vec<_> {
                stories.into_iter().map(|story| story.id.clone()).collect()
            };
            writeln!(text, "stuck: waiting {:?}, blocked {:?}", ids(waiting), ids(blocked))
                .unwrap();
        }
    }
    for warning in plan.warnings() {
        writeln!(text, "warning on line {}: {}", warning.line, warning.message).unwrap();
    }
    text
}

#[test]
fn plans_are_read_as_expected() {
    insta::glob!("../../../../fixtures/plans/ok", "*.*", |path| {
        let plan = parse_file(path).unwrap();
        insta::assert_snapshot!(summary(&plan));
        // Marking a story changes only that story, and reopening reverts it.
        plan.stories().iter().for_each(|story| super::tests::check_marking(&plan, &story.id));
        super::tests::check_opening(&plan);
    });
}

#[test]
fn unreadable_plans_are_clear_errors() {
    insta::glob!("../../../../fixtures/plans/err", "*.*", |path| {
        insta::assert_snapshot!(parse_file(path).unwrap_err());
    });
}
