//! The progress is appended to: what people and agents wrote there stays.

use crate::stage::Stage;

const PROGRESS: &str = ".ralph/PRD-1/progress.md";
const BEFORE: &str = "# Progress Log\n\n## Iteration 1 - US-000\n- Status: SUCCESS\n\n\
                      A person's note: ask before US-003\n";

/// What an agent does to the progress, and what it added.
const ACTS: [(&str, &str); 5] = [
    ("sed -i /person/d", ""),
    (":>", ""),
    ("rm", ""),
    ("echo '# My progress' >", "# My progress\n"),
    ("echo 'An agent was here' >>", "An agent was here\n"),
];

#[test]
fn what_an_agent_removes_is_still_there_and_what_it_adds_is_kept() {
    for (act, added) in ACTS {
        for is_tracked in [true, false] {
            let stage = Stage::new("works", "- [ ] US-001: First\n");
            stage.repo.write(PROGRESS, BEFORE);
            if is_tracked {
                stage.repo.commit_all("the plan");
            }
            let agent = format!("cat >/dev/null; echo x >x.txt; {act} {PROGRESS}");
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
fn what_a_person_writes_while_the_agent_works_stays() {
    for is_tracked in [true, false] {
        let stage = Stage::new("works", "- [ ] US-001: First\n");
        stage.repo.write(PROGRESS, BEFORE);
        if is_tracked {
            stage.repo.commit_all("the plan");
        }
        let agent = format!("cat >/dev/null; echo x >x.txt; echo Mine >>$RALPH_ROOT/{PROGRESS}");
        stage.run(&["--agent", &agent]).ended(0);
        let now = stage.read(PROGRESS);
        assert!(now.contains("\nMine\n") && now.contains("- US-001\n"), "{is_tracked}: {now}");
    }
}
