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
    ("sed -i 's/A person.*/All is clear/'", "All is clear\n"),
];

#[test]
fn what_an_agent_takes_out_comes_back_whether_it_succeeds_or_not() {
    for (act, added) in ACTS {
        for end in ["true", "git add -A; git commit -qm all", "exit 1"] {
            let stage = Stage::new("works", "- [ ] US-001: First\n");
            stage.repo.write(PROGRESS, BEFORE);
            let agent = format!("cat >/dev/null; echo x >x.txt; {act} {PROGRESS}; {end}");
            let ran = stage.run(&["--agent", &agent, "--attempts", "1", "--verify", "true"]);
            let told = if act == "rm" { " was removed while" } else { " lost lines while" };
            ran.says(&format!("progress.md{told} the agent worked; "));
            assert_eq!(ran.out.matches(told).count(), 1, "{}", ran.out);
            let now = stage.read(PROGRESS);
            assert!(now.starts_with(BEFORE), "{act} {end}: {now}");
            assert!(now.contains(added), "{act} {end}: {now}");
            assert!(now.contains("## Iteration 1 - US-001\n"), "{now}");
        }
    }
}

#[test]
fn what_an_agent_appends_is_its_own() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    stage.repo.write(PROGRESS, BEFORE);
    let agent = format!("echo x >x.txt; echo 'An agent was here' >>{PROGRESS}");
    let ran = stage.run(&["--agent", &agent]);
    ran.ended(0);
    assert!(!ran.out.contains("progress.md"), "{}", ran.out);
    assert!(stage.progress().starts_with(&format!("{BEFORE}An agent was here\n")));
}

#[test]
fn so_it_is_with_the_progress_of_other_plans_and_one_at_another_place() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    stage.repo.write(".ralph/PRD-2/progress.md", "theirs\n");
    stage.repo.write("log.md", "mine\n");
    stage.repo.commit_all("logs");
    let agent = "echo x >x.txt; : >.ralph/PRD-2/progress.md; : >log.md";
    stage.run(&["--agent", agent, "--progress", "log.md"]).ended(0);
    assert_eq!(stage.read(".ralph/PRD-2/progress.md"), "theirs\n");
    assert!(stage.read("log.md").starts_with("mine\n"));
}
