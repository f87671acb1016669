//! The progress log is only appended to: text of the user and of agents is kept.

use crate::stage::{ONE, Stage, TWO};

const PROGRESS: &str = ".ralph/PRD-1/progress.md";
const BEFORE: &str = "# Progress Log\n\n## Iteration 1 - US-000\n- Status: SUCCESS\n\n\
                      A person's note: ask before US-003\n";

/// What an agent does to its progress log or the project's, and the text that is added.
const ACTS: [(&str, &str); 6] = [
    ("sed -i /person/d ", ""),
    (":>", ""),
    ("rm ", ""),
    ("echo '# My progress' >", "# My progress\n"),
    ("echo 'An agent was here' >>", "An agent was here\n"),
    ("echo Mine >>$RALPH_ROOT/", "\nMine\n"),
];

#[test]
fn text_removed_by_an_agent_is_restored_and_added_text_is_kept() {
    for (act, added) in ACTS {
        for is_tracked in [true, false] {
            let stage = Stage::new("works", ONE);
            stage.repo.write(PROGRESS, BEFORE);
            if is_tracked {
                stage.repo.commit_all("the plan");
            }
            let agent = format!("cat >/dev/null; echo x >x.txt; {act}{PROGRESS}");
            stage.run(&["--agent", &agent, "--verify", "true"]).ended(0);
            let now = stage.read(PROGRESS);
            assert!(now.starts_with(BEFORE), "{act}: {now}");
            assert!(now.contains(added), "{act}: {now}");
            assert!(now.contains("## Iteration 1 - US-001\n"), "{now}");
            stage.is_clean();
        }
    }
}

#[test]
fn a_long_log_reaches_the_agent_as_patterns_and_newest_entries() {
    let stage = Stage::new("works", TWO);
    let entry =
        |n: usize| format!("## 2026-01-{n:02} - OLD-{n}\n{}---\n\n", "- did much\n".repeat(20));
    let entries: String = (1..=30).map(entry).collect();
    let patterns = "## Codebase Patterns\n- Use the builder\n";
    stage.repo.write(PROGRESS, format!("# Ralph Progress Log\n\n{patterns}\n{entries}"));
    stage.repo.commit_all("progress of another loop");
    let agent = format!(
        "story=$(cat \"$RALPH_ROOT/.ralph/current-story\"); cat >\"$AGENT_NOTES/$story\"; \
         echo x >$story.txt; sed -i 's/^- Use the builder/&\\n- Dates of '$story' are UTC/' {PROGRESS}"
    );
    stage.run(&["--agent", &agent]).ended(0);
    let (first, second) = (stage.note("US-001"), stage.note("US-002"));
    for (prompt, newest) in [(&first, "- OLD-30\n"), (&second, "## Iteration 1 - US-001\n")] {
        let at = |text: &str| prompt.find(text).unwrap_or_else(|| panic!("no {text} in {prompt}"));
        assert!(at(patterns) < at("- OLD-30\n") && at("- OLD-30\n") <= at(newest));
        assert!(!prompt.contains("- OLD-1\n"), "{prompt}");
    }
    let learned = "## Codebase Patterns\n- Dates of US-001 are UTC\n";
    assert!(second.find(learned).unwrap() < second.find("- OLD-30").unwrap(), "{second}");
}
