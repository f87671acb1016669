//! What somebody writes into the plan while the loop is at work, or after it was killed.

use crate::stage::{PLAN, Ran, Stage};

const THREE: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n- [ ] US-003: Third\n";

/// The plans that were kept as they were found; the oldest first.
pub(crate) fn found(stage: &Stage) -> Vec<String> {
    let logs = fs_err::read_dir(stage.repo.root().join(".ralph/logs")).unwrap().flatten();
    let names = logs.filter_map(|entry| entry.file_name().into_string().ok());
    let is_plan = |name: &String| name.starts_with("as-found-") && name.ends_with("plan.md");
    let mut found: Vec<String> = names.filter(is_plan).collect();
    found.sort();
    found
}

#[track_caller]
fn is_kept(stage: &Stage, ran: &Ran, words: &[&str]) {
    let names = found(stage);
    assert_eq!(names.len(), words.len(), "{names:?}");
    for (name, word) in names.iter().zip(words) {
        assert!(stage.read(&format!(".ralph/logs/{name}")).contains(word), "{name}");
        ran.says(&format!("left the plan as it is kept in {}", stage.repo.root())).says(name);
    }
}

#[test]
fn each_version_that_was_undone_is_kept_and_named() {
    let stage = Stage::new("works", THREE);
    let agent = format!(
        "story=$(cat $RALPH_ROOT/.ralph/current-story); echo x >$story.txt; \
         sed -i \"s/Third/Third, and noted at $story/\" {PLAN}"
    );
    let ran = stage.run(&["--agent", &agent, "--max-iterations", "2"]);
    ran.ended(0).says("the agent renamed US-003 to `Third, and noted at US-001`");
    assert!(!stage.plan().contains("noted"));
    is_kept(&stage, &ran, &["noted at US-001", "noted at US-002"]);
}

#[test]
fn the_title_of_the_story_under_way_is_kept_as_well() {
    let stage = Stage::new("works", THREE);
    let agent = format!("echo x >x.txt; sed -i 's/First/First, corrected/' {PLAN}");
    let ran = stage.run(&["--agent", &agent, "--max-iterations", "1"]);
    ran.ended(0);
    is_kept(&stage, &ran, &["First, corrected"]);
}

#[test]
fn ticks_alone_are_not_worth_a_copy() {
    let stage = Stage::new("works", THREE);
    let agent = format!("echo x >x.txt; sed -i 's/\\[ \\]/[x]/' {PLAN}");
    stage.run(&["--agent", &agent, "--max-iterations", "1"]).ended(0).says("ticked US-003");
    assert_eq!(found(&stage), Vec::<String>::new());
}

#[test]
fn what_is_undone_after_a_check_that_failed_is_told() {
    let stage = Stage::new("works", THREE);
    let check = format!("sed -i 's/Third/Third, meanwhile/' {PLAN}; false");
    let ran = stage.run(&["--verify", &check, "--attempts", "1", "--max-iterations", "1"]);
    ran.says("somebody renamed US-003 to `Third, meanwhile`");
    assert!(!stage.plan().contains("meanwhile"));
    is_kept(&stage, &ran, &["Third, meanwhile"]);
}

#[test]
fn an_open_task_that_the_agent_adds_to_its_story_says_that_it_is_not_done() {
    let plan = "### US-001: First\n- [ ] a\n";
    let added = "sed -i 's/- \\[ \\] a/- [x] a\\n- [ ] the migration/' ";
    let agent = format!("echo x >x.txt; grep -q migration {PLAN} || {added}{PLAN}");
    let stage = Stage::new("works", plan);
    let ran = stage.run(&["--agent", &agent, "--attempts", "1"]);
    ran.ended(1).says(
        "US-001: the agent added open tasks to US-001: the migration; do them too, or add a story of \
         its own at the end of the plan",
    );
    assert!(!stage.plan().contains("[x]") && !stage.exists("x.txt"));
    // The next attempt knows of the task, and is held to it like to any other.
    let stage = Stage::new("works", plan);
    stage.run(&["--agent", &agent]).ended(0).says("US-001 done");
    assert_eq!(stage.plan(), "### US-001: First\n- [x] a\n- [x] the migration\n");
    assert_eq!((stage.subjects().len(), stage.discarded()), (2, 1));
}

#[test]
fn a_task_that_the_agent_adds_and_ticks_is_done_with_its_story() {
    let stage = Stage::new("works", "### US-001: First\n- [ ] a\n");
    let agent = format!("echo x >x.txt; sed -i 's/- \\[ \\] a/- [x] a\\n- [x] b/' {PLAN}");
    stage.run(&["--agent", &agent]).ended(0).says("US-001 done");
    assert_eq!(stage.plan(), "### US-001: First\n- [x] a\n- [x] b\n");
}

/// A loop that was killed while its agent was at work.
fn killed(plan: &str) -> Stage {
    let mut stage = Stage::new("hangs", THREE);
    if plan != PLAN {
        stage.repo.remove(PLAN);
        stage.repo.write(plan, THREE);
    }
    stage.repo.commit_all("the plan");
    stage.killed_when(&[], "the agent works", || stage.in_copy("half.txt"));
    stage.agent("works");
    stage
}

#[test]
fn what_was_written_after_a_kill_stays_but_for_ticks() {
    for plan in [PLAN, "IMPLEMENTATION_PLAN.md"] {
        let stage = killed(plan);
        let mine = "- [ ] US-001: First\n- [ ] US-002: Second, but better\n  - Acceptance: mine\n\
                    - [ ] US-009: Between\n- [x] US-003: Third\n";
        stage.repo.write(plan, mine);
        let ran = stage.run(&["--max-iterations", "1"]);
        ran.ended(0).says("somebody edited the plan since the run was last alive; kept");
        ran.says("somebody ticked US-003, which no check has passed; undone");
        let expected = mine.replacen("[ ]", "[x]", 1).replace("[x] US-003", "[ ] US-003");
        assert_eq!(stage.read(plan), expected, "{plan}");
    }
}

#[test]
fn the_same_goes_for_a_run_that_was_killed_while_it_committed() {
    let stage = Stage::new("works", THREE);
    stage.repo.commit_all("the plan");
    let mut command = stage.command(&[]);
    let killed = command.env("RALPH_INTERNAL__FAULT", "settle.ticked").output().unwrap();
    assert_eq!(killed.status.code(), None);
    stage.repo.write(PLAN, stage.plan().replace("Second", "Second, but better"));
    let ran = stage.run(&["--max-iterations", "2"]);
    ran.ended(0).says("somebody edited the plan since the run was last alive; kept");
    assert!(stage.plan().starts_with("- [x] US-001: First\n- [x] US-002: Second, but better\n"));
    assert_eq!(stage.subjects()[0], "feat(US-002): second, but better");
}

#[test]
fn what_the_agent_wrote_before_the_kill_is_undone_and_kept() {
    let mut stage = Stage::new("works", THREE);
    stage.repo.commit_all("the plan");
    let agent = format!("sed -i 's/Third/Third, easier/' {PLAN}; exec sleep 60");
    stage.killed_when(&["--agent", &agent], "the plan was seen", || {
        stage.exists(".ralph/state/plan-seen")
    });
    stage.agent("works");
    let ran = stage.run(&["--max-iterations", "2"]);
    ran.ended(0).says("somebody renamed US-003");
    assert!(!stage.plan().contains("easier"));
    is_kept(&stage, &ran, &["Third, easier"]);
}

#[test]
fn a_list_story_below_a_heading_is_worked_on_by_itself_and_told_beforehand() {
    let stage = Stage::new("works", "### US-001: First\n- [ ] a\n- [ ] US-002: Second\n");
    let warned = "plan.md:3: US-002 stands in the section of US-001";
    stage.run(&["doctor"]).ended(0).says(warned);
    stage.run(&["--dry-run"]).ended(0).says("2 open").says(warned);
    stage.run(&["--max-iterations", "1"]).ended(0).says("US-001 done").says(warned);
    assert_eq!(stage.plan(), "### US-001: First\n- [x] a\n- [ ] US-002: Second\n");
    stage.run(&[]).ended(0).says("US-002 done");
}

#[test]
fn what_stands_in_the_place_of_the_progress_is_taken_away() {
    for obstacle in ["ln -s /etc/hostname", "mkdir"] {
        let stage = Stage::new("works", "- [ ] US-001: First\n");
        let agent = format!(
            "cat >/dev/null; echo x >x.txt; rm -f .ralph/PRD-1/progress.md; \
             {obstacle} .ralph/PRD-1/progress.md"
        );
        let ran = stage.run(&["--agent", &agent]);
        ran.ended(0).says("in the place of the progress; taken away and kept").says("US-001 done");
        assert!(stage.progress().starts_with("# Progress Log"), "{obstacle}");
    }
}
