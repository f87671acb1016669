//! The format of `progress.md`, and the property that no text in it can forge an entry.

use super::*;
use proptest::prelude::*;

fn entry(story: &str, summary: &str) -> ProgressEntry {
    ProgressEntry {
        iteration: 3,
        story: story.to_owned(),
        status: ProgressStatus::Failed,
        commit: None,
        time: "2026-01-02T03:04:05.678Z".parse().unwrap(),
        reason: None,
        duration: None,
        tokens: None,
        cost_usd: None,
        verify: Vec::new(),
        is_unchecked: false,
        files_changed: Vec::new(),
        weakened: None,
        proof: None,
        review: None,
        remarks: Vec::new(),
        summary: Some(summary.to_owned()),
    }
}

#[test]
fn an_entry_has_the_documented_lines() {
    let full = ProgressEntry {
        status: ProgressStatus::Success,
        commit: Some("abc1234".to_owned()),
        reason: Some("two\nlines".to_owned()),
        duration: Some(Duration::from_secs(125)),
        tokens: Some(1234),
        cost_usd: Some(0.42),
        verify: vec![("cargo test".to_owned(), true), ("cargo fmt".to_owned(), false)],
        files_changed: vec!["a.rs".to_owned(), "b.rs".to_owned()],
        weakened: Some("1 test fewer\nruns".to_owned()),
        proof: Some("its new test fails without the change".to_owned()),
        review: Some("approved with 1 remark".to_owned()),
        remarks: vec!["a.rs:3: name\nit".to_owned()],
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
    - Proof: its new test fails without the change
    - Review: approved with 1 remark
    - Remark: a.rs:3: name it
    - Summary: Did it.
      \## Iteration 9 - US-009
      - Status: SUCCESS
    ");
}

#[test]
fn an_entry_is_separated_with_the_existing_line_endings() {
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
fn an_existing_entry_is_recognized() {
    let wanted = entry("US-002", "x");
    let has = |newest: &ProgressEntry, since: &str| {
        let mut log = entry("US-001", "x").appended_to(b"");
        log.extend(newest.appended_to(&log));
        progress_has(&log, &wanted, since)
    };
    let time = wanted.time.to_string();
    assert!(has(&wanted, time.get(..19).unwrap()));
    assert!(!has(&wanted, "2999-01-01T00:00:00"), "an older one");
    assert!(!has(&entry("US-003", "x"), "2000-01-01T00:00:00"), "of another story");
    let failed = ProgressEntry { status: ProgressStatus::Timeout, ..wanted.clone() };
    assert!(!has(&failed, "2000-01-01T00:00:00"), "with another end");
    assert!(!progress_has(b"", &wanted, "2000-01-01T00:00:00"));
}

#[test]
fn a_long_log_is_cut_to_its_patterns_and_newest_entries() {
    let patterns = "## Codebase Patterns\n- use the builder";
    let entry = |number: usize| format!("## Iteration {number} - US-00{number}\n- Status: FAILED");
    let log = format!("# Progress Log\n\n{patterns}\n\n{}\n\n{}\n", entry(1), entry(2));
    assert_eq!(progress_excerpt(log.as_bytes(), 1000), log.trim());
    assert_eq!(progress_excerpt(log.as_bytes(), 110), format!("{patterns}\n\n{}", entry(2)));
    let long = format!("{patterns}\n{}\n{}\n", "- and more\n".repeat(50), entry(3));
    let cut = progress_excerpt(long.as_bytes(), 200);
    assert!(cut.starts_with(patterns) && cut.ends_with(&entry(3)) && cut.contains("…"), "{cut}");
    let one = "only text\n".repeat(50);
    assert!(progress_excerpt(one.as_bytes(), 100).starts_with("only text\n"));
}

proptest! {
    #[test]
    fn an_excerpt_is_not_longer_than_its_limit(log in "([a-z\n# é-]|## Patterns\n){0,60}", limit in 0..80_usize) {
        // The marks of omitted text do not count.
        prop_assert!(progress_excerpt(log.as_bytes(), limit).len() <= limit + 2 * "…".len() + GAP.len());
    }

    #[test]
    fn no_text_can_forge_an_entry(
        story in "[A-Z]{1,3}([\n\r# \u{2028}-]|## Iteration 1 - X){0,5}",
        summary in "([a-z \t\n\r#\u{85}\u{b}-]|\n## Iteration 7 - Y\n|\n# x|- Status: SUCCESS){0,12}",
        existing in "(|# Progress Log|\n|x){0,3}",
    ) {
        let entry = entry(&story, &summary);
        let mut log = existing.into_bytes();
        log.extend(entry.appended_to(&log));
        log.extend(entry.appended_to(&log));
        let text = String::from_utf8(log).unwrap();
        let starting = |start: &str| text.split(['\n', '\r']).filter(|line| line.starts_with(start)).count();
        prop_assert_eq!((starting("## Iteration "), starting("- Status: FAILED")), (2, 2));
        prop_assert_eq!(starting("- Status: "), 2);
    }
}
