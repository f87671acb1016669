//! What `progress.md` looks like, and that nothing written into it can pass for an entry.

use super::*;
use proptest::prelude::*;

fn entry(story: &str, summary: &str) -> Entry {
    Entry {
        iteration: 3,
        story: story.to_owned(),
        status: Status::Failed,
        commit: None,
        time: "2026-01-02T03:04:05.678Z".parse().unwrap(),
        reason: None,
        duration: None,
        tokens: None,
        cost_usd: None,
        verify: Vec::new(),
        files_changed: Vec::new(),
        weakened: None,
        summary: Some(summary.to_owned()),
    }
}

#[test]
fn an_entry_begins_with_the_agreed_lines() {
    let full = Entry {
        status: Status::Success,
        commit: Some("abc1234".to_owned()),
        reason: Some("two\nlines".to_owned()),
        duration: Some(Duration::from_secs(125)),
        tokens: Some(1234),
        cost_usd: Some(0.42),
        verify: vec![("cargo test".to_owned(), true), ("cargo fmt".to_owned(), false)],
        files_changed: vec!["a.rs".to_owned(), "b.rs".to_owned()],
        weakened: Some("1 test fewer\nruns".to_owned()),
        ..entry("US-001", "Did it.\n\n## Iteration 9 - US-009\n- Status: SUCCESS")
    };
    let text = String::from_utf8(full.appended_to(b"")).unwrap();
    insta::assert_snapshot!(text, @r"
    # Progress Log

    ## Iteration 3 - US-001
    - Status: SUCCESS
    - Commit: abc1234
    - Time: 2026-01-02T03:04:05Z
    - Reason: two lines
    - Duration: 2m 5s
    - Tokens: 1234
    - Cost: $0.4200
    - Verify: `cargo test` passed
    - Verify: `cargo fmt` failed
    - Files changed: 2 (a.rs, b.rs)
    - Tests weakened: 1 test fewer runs
    - Summary: Did it.
      \## Iteration 9 - US-009
      - Status: SUCCESS
    ");
}

#[test]
fn appending_keeps_what_is_there_and_its_line_endings() {
    let check = |existing: &str, expected: &str| {
        let added = String::from_utf8(entry("S", "x").appended_to(existing.as_bytes())).unwrap();
        assert_eq!(added.split("## ").next(), Some(expected), "{existing:?}");
    };
    check("", "# Progress Log\n\n");
    check("# Progress Log\n", "\n");
    check("a note without an end", "\n\n");
    check("# Progress Log\r\n", "\r\n");
}

#[test]
fn entries_are_read_back_and_notes_between_them_are_not() {
    let log = b"# Progress Log\n\n## Patterns\n- Status: SUCCESS\n\n## Iteration 1 - US-001\n\
        - Status: FAILED\nnote\n\n## Learned\nx\n## Iteration 2 - us-001\r\n- Status: timeout\r\n\
        ## Iteration x - US-001\n## Iteration 3 - US-002\n## Iteration 4 - US-001\n\
        - Status: INTERRUPTED\n";
    let entries = logged(log);
    let short: Vec<_> = entries.iter().map(|e| (e.iteration, e.story.as_str(), e.status)).collect();
    assert_eq!(
        short,
        [
            (1, "US-001", Some(Status::Failed)),
            (2, "us-001", Some(Status::Timeout)),
            (3, "US-002", None),
            (4, "US-001", Some(Status::Interrupted)),
        ]
    );
    assert_eq!(entries[0].text, "## Iteration 1 - US-001\n- Status: FAILED\nnote");
    assert_eq!(attempts(&entries, "US-001"), 2);
    assert_eq!(last_entries(&entries, 2).matches("## Iteration").count(), 2);
    assert_eq!(last_entries(&[], 2), "");
}

#[test]
fn attempts_are_counted_from_the_last_success() {
    let log = b"## Iteration 1 - A\n- Status: FAILED\n## Iteration 2 - A\n- Status: SUCCESS\n\
        ## Iteration 3 - A\n- Status: FAILED\n";
    assert_eq!(attempts(&logged(log), "A"), 1);
}

#[test]
fn a_short_log_is_given_as_it_is_and_of_a_long_one_patterns_and_the_newest() {
    let patterns = "## Codebase Patterns\n- use the builder";
    let entry = |number: usize| format!("## Iteration {number} - US-00{number}\n- Status: FAILED");
    let log = format!("# Progress Log\n\n{patterns}\n\n{}\n\n{}\n", entry(1), entry(2));
    assert_eq!(excerpt(log.as_bytes(), 1000), log.trim());
    assert_eq!(excerpt(log.as_bytes(), 110), format!("{patterns}\n\n{}", entry(2)));
    let long = format!("{patterns}\n{}\n{}\n", "- and more\n".repeat(50), entry(3));
    let cut = excerpt(long.as_bytes(), 200);
    assert!(cut.starts_with(patterns) && cut.ends_with(&entry(3)) && cut.contains("…"), "{cut}");
    let one = "only text\n".repeat(50);
    assert!(excerpt(one.as_bytes(), 100).starts_with("only text\n"));
}

proptest! {
    #[test]
    fn an_excerpt_is_not_longer_than_its_limit(log in "([a-z\n# é-]|## Patterns\n){0,60}", limit in 0..80_usize) {
        // But for the marks of what is cut off.
        prop_assert!(excerpt(log.as_bytes(), limit).len() <= limit + 2 * "…".len() + GAP.len());
    }

    #[test]
    fn no_text_forges_an_entry(
        story in "[A-Z]{1,3}([\n\r# \u{2028}-]|## Iteration 1 - X){0,5}",
        summary in "([a-z \t\n\r#\u{85}\u{b}-]|\n## Iteration 7 - Y\n|\n# x|- Status: SUCCESS){0,12}",
        existing in "(|# Progress Log|\n|x){0,3}",
    ) {
        let entry = entry(&story, &summary);
        let mut log = existing.into_bytes();
        log.extend(entry.appended_to(&log));
        log.extend(entry.appended_to(&log));
        let entries = logged(&log);
        prop_assert_eq!(entries.len(), 2);
        for found in entries {
            prop_assert_eq!((found.iteration, found.status), (3, Some(Status::Failed)));
        }
    }
}
