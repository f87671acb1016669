//! The steps of one iteration: their order, the prompt, the commit, and the variables and flags of
//! existing setups.

use crate::stage::{PLAN, Ran, Stage};

const ONE: &str = "- [ ] US-001: First\n";

#[test]
fn steps_run_in_the_documented_order() {
    let stage = Stage::new("works", ONE);
    let note = "{ echo \"$STEP\"; ls -A \"$RALPH_ROOT/.ralph\" | grep -x current-story; true; } >>\"$AGENT_NOTES/steps\"";
    for name in ["started", "next_iteration", "post_iteration", "finished"] {
        stage.script(name, &format!("RALPH_ROOT=$RALPH_PROJECT_DIR; STEP={name}; {note}"));
    }
    let own = "ls -A \"$RALPH_STATE_DIR\" | grep -x '.checkpoint\\|current-story'";
    let agent =
        format!("cat >/dev/null; echo x >x.txt; STEP=agent; {note}; {own} >>\"$AGENT_NOTES/own\"");
    let root = stage.repo.root();
    let check = format!("RALPH_ROOT={root}; STEP=verify; {note}");
    stage.run(&["--agent", &agent, "--verify", &check]).ended(0);
    assert_eq!(
        stage.note("steps"),
        "started\nnext_iteration\nagent\ncurrent-story\nverify\ncurrent-story\npost_iteration\nfinished\n"
    );
    assert_eq!(stage.note("own"), ".checkpoint\ncurrent-story\n");
}

#[test]
fn each_iteration_has_one_entry_in_the_progress() {
    let stage = Stage::new("fails", ONE);
    let seen = "grep -c '^- Status' .ralph/PRD-1/progress.md >>\"$AGENT_NOTES/entries\"";
    stage.script("post_iteration", seen);
    stage.run(&["--attempts", "2"]).ended(8);
    let progress = stage.progress();
    let statuses: Vec<&str> =
        progress.lines().filter(|line| line.starts_with("- Status")).collect();
    assert_eq!(statuses, ["- Status: FAILED", "- Status: BLOCKED"], "{progress}");
    assert!(progress.contains("last failure: the agent exited with code 1"), "{progress}");
    assert_eq!(stage.note("entries"), "1\n2\n", "written before the script runs");
}

#[test]
fn checks_are_announced_only_if_they_run() {
    let idle = Stage::new("idle", ONE);
    let ran = idle.run(&["--verify", "true", "--attempts", "1"]);
    assert!(!ran.out.contains("checking with"), "{}", ran.out);
    let works = Stage::new("works", ONE);
    let ran = works.run(&["--verify", "true", "--verify", "echo a"]);
    ran.ended(0).says("US-001: checking with true, echo a");
    assert_eq!(ran.out.matches("checking with").count(), 1, "{}", ran.out);
}

#[test]
fn everything_that_is_not_ignored_is_committed_with_the_tick() {
    let stage = Stage::new("works", ONE);
    stage.repo.commit_all("the plan");
    let agent = "mkdir -p new/deep; echo x >new/deep/file; echo y >'odd name'; rm src/lib.rs; echo z >noise.log";
    stage.run(&["--agent", agent]).ended(0);
    let files = stage.repo.git(["show", "--format=%B", "--name-status", "HEAD~1"]);
    let expected = "feat(US-001): First\n\nRalph-Story: US-001\nRalph-Checks: unchecked\n\
                    Ralph-Attempt: 1\n\n\nM\t.ralph/PRD-1/plan.md\nA\tnew/deep/file\nA\todd name\nD\tsrc/lib.rs\n";
    assert_eq!(files, expected);
    assert_eq!(stage.repo.git(["show", "HEAD:.ralph/PRD-1/plan.md"]), "- [x] US-001: First\n");
    assert!(!stage.exists("noise.log"), "ignored files stay in the copy");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn an_ignored_plan_works_like_any_other() {
    for place in [&[][..], &["--in-place"]] {
        for rule in [".ralph/", ".ralph", ".ralph/PRD-1/plan.md"] {
            let stage = Stage::new("works", ONE);
            stage.repo.write(".gitignore", format!("{rule}\n*.log\n"));
            stage.repo.git(["rm", "-rq", "--cached", "--ignore-unmatch", ".ralph"]);
            stage.repo.commit_all("ignore it");
            stage.run(place).ended(0).says("1 story landed");
            assert_eq!(stage.read(".ralph/PRD-1/plan.md"), "- [x] US-001: First\n", "{rule}");
            assert!(stage.repo.git(["ls-files"]).contains("US-001.txt"), "{rule}");
        }
    }
}

#[test]
fn a_custom_prompt_template_is_filled_in() {
    let stage = Stage::new("shows-surroundings", "### US-001: Greet (now)\n\n- [ ] Say hello\n");
    let names = "STORY_ID STORY_TITLE STORY_DETAILS PLAN_PATH PROGRESS_PATH PROGRESS GUARDRAILS \
                 FAILURE ITERATION MAX_ITERATIONS VERIFY";
    let template: Vec<String> =
        names.split_whitespace().map(|name| format!("{name}=<{{{{{name}}}}}>")).collect();
    stage.repo.write(".ralph/PRD-1/prompt.md", template.join("\n"));
    stage.repo.write(".ralph/guardrails.md", "- be kind\n");
    stage.run(&["--max-iterations", "7", "--verify", "true"]).ended(0);
    let prompt = stage.note("prompt");
    let plan = stage.copy().unwrap().join(PLAN);
    for line in [
        "STORY_ID=<US-001>",
        "STORY_TITLE=<Greet (now)>",
        "Say hello",
        &format!("PLAN_PATH=<{plan}>"),
        "progress.md>",
        "GUARDRAILS=<- be kind",
        "FAILURE=<(none)>",
        "ITERATION=<1>",
        "MAX_ITERATIONS=<7>",
        "`true`",
    ] {
        assert!(prompt.contains(line), "no `{line}` in:\n{prompt}");
    }
    assert!(!prompt.contains("{{"), "{prompt}");
}

#[test]
fn the_variables_of_existing_setups_are_honoured() {
    let stage = Stage::new("works", "- [x] US-001: Done\n");
    stage.repo.write("plans/mine.md", ONE);
    stage.repo.commit_all("a plan");
    let elsewhere = stage.repo.scratch().dir("elsewhere");
    let mut command = stage.command(&[]);
    command
        .current_dir(elsewhere)
        .env("RALPH_ROOT", stage.repo.root())
        .env("PLAN_PATH", "plans/mine.md")
        .env("PROGRESS_PATH", "plans/log.md");
    Ran::from(command.output().unwrap()).ended(0);
    assert_eq!(stage.read("plans/mine.md"), "- [x] US-001: First\n");
    assert!(stage.read("plans/log.md").contains("## Iteration 1 - US-001\n- Status: SUCCESS"));

    let numbered = Stage::new("hangs", ONE);
    numbered.repo.write(".ralph/PRD-3/plan.md", "- [ ] US-003: Third\n");
    let mut command = numbered.command(&["--attempts", "1"]);
    command.env("PRD_NUMBER", "3").env("TIMEOUT_AGENT", "1");
    Ran::from(command.output().unwrap()).ended(8).says("US-003: the agent did not finish within 1");
}

#[test]
fn a_partly_done_story_continues_in_another_attempt() {
    let stage = Stage::new("works", ONE);
    let agent = "cat >\"$AGENT_NOTES/prompt\"; echo x >>x.txt; \
                 [ -e \"$AGENT_NOTES/before\" ] && exit; touch \"$AGENT_NOTES/before\"; \
                 \"$RALPH_LOOP\" complete US-001 --status partial --summary 'tests are missing'";
    stage.run(&["--agent", agent]).ended(0).says("only partly done: tests are missing");
    let shown = "Work from an earlier attempt is already in your working tree; continue with \
                it.\nThe last attempt, US-001/1, did not land: the agent says that the story is only partly done: \
                tests are missing\n";
    assert!(stage.note("prompt").contains(shown), "{}", stage.note("prompt"));
    assert_eq!((stage.discarded(), stage.subjects().len()), (1, 2));
}

#[test]
fn history_rewritten_by_the_agent_does_not_reach_the_project() {
    for rewrite in [
        "git checkout -q --orphan new && git commit -qm 'a new beginning'",
        "git commit -q --amend -m 'as if it had been so'",
        "git checkout -q --detach && git branch -D main",
        "rm -rf .git",
    ] {
        let stage = Stage::new("works", ONE);
        stage.repo.write("b.txt", "b\n");
        stage.repo.commit_all("second");
        let agent = format!("cat >/dev/null; {rewrite}; echo x >x.txt");
        stage.run(&["--agent", &agent, "--attempts", "1"]).ended(0);
        assert_eq!(stage.subjects()[1..], ["feat(US-001): First", "second", "first"], "{rewrite}");
        let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD~1"]);
        assert_eq!(files, format!("{PLAN}\nx.txt\n"), "{rewrite}");
        stage.is_clean();
    }
}

#[test]
fn the_journal_records_a_failed_story() {
    let stage = Stage::new("fails", ONE);
    stage.run(&["--attempts", "1"]).ended(8);
    let events = [
        "loop_started",
        "forecast",
        "iteration_started",
        "rolled_back",
        "story_set_aside",
        "iteration_finished",
        "loop_finished",
    ];
    assert_eq!(stage.events(), events);
    let journal = stage.read(".ralph/events.jsonl");
    for part in ["\"story\":\"US-001\"", "\"exit_code\":1", "\"outcome\":\"blocked\"", "\"run\":\""]
    {
        assert!(journal.contains(part), "no {part} in {journal}");
    }
}

#[test]
fn a_check_that_hangs_fails() {
    let stage = Stage::new("works", ONE);
    let check = "sleep 600 & echo $! >\"$AGENT_NOTES/child\"; wait";
    let ran = stage.run(&["--verify", check, "--verify-timeout", "1", "--attempts", "1"]);
    ran.ended(8).says("timed out");
    crate::stage::until("it is gone", || !crate::stage::is_alive(&stage.note("child")));
    stage.is_clean();
}

#[test]
fn a_commit_rejected_by_a_git_hook_is_a_failed_attempt() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".git/hooks/pre-commit", "#!/bin/sh\necho 'no tabs, please' >&2; exit 1\n");
    stage.repo.chmod(".git/hooks/pre-commit", 0o755);
    stage
        .run(&["--attempts", "1"])
        .ended(8)
        .says("git hooks rejected the commit")
        .says("no tabs, please");
    assert_eq!((stage.subjects(), stage.discarded()), (vec!["first".to_owned()], 1));
    assert_eq!(stage.plan(), "- [!] US-001: First\n", "set aside, and not ticked");
}

#[test]
fn a_failed_hook_is_reported() {
    let stage = Stage::new("works", ONE);
    let failure = r#"{"at":"2999-01-01T00:00:00Z","source":"ralph-pre-tool","phase":"deciding","error":"it broke"}"#;
    let agent = format!("echo x >x.txt; echo '{failure}' >$RALPH_STATE_DIR/.hook-error.json");
    let ran = stage.run(&["--agent", &agent]);
    ran.ended(0).says("warning: ralph-pre-tool failed (deciding): it broke");
    assert_eq!(stage.read(".ralph/.hook-error.json"), format!("{failure}\n"));
    let older = Stage::new("works", ONE);
    older.repo.write(".ralph/.hook-error.json", failure.replace("2999", "1999"));
    assert!(!older.run(&[]).out.contains("it broke"), "it is not of this run");
}

#[test]
fn control_characters_in_a_title_do_not_break_the_commit() {
    let plan = "- [ ] US-001: Nul\0 and \u{7}bell\n- [ ] no id \0 here\n";
    let stage = Stage::new("works", plan);
    stage.run(&[]).ended(0).says("2 stories landed in 2 iterations");
    assert_eq!(stage.subjects()[1], "feat(US-001): Nul and bell");
    assert_eq!(stage.plan(), plan.replace("[ ]", "[x]"));
}

#[test]
fn the_limit_of_a_feature_list_applies_unless_overridden() {
    let stage = Stage::new("works", ONE);
    let features: Vec<String> = (1..=4)
        .map(|n| format!("{{\"id\":{n},\"description\":\"Feature {n}\",\"passes\":false}}"))
        .collect();
    let list = format!("{{\"total_features\":4,\"features\":[{}]}}", features.join(","));
    stage.repo.write("work/feature_list.json", list);
    let counter = "- Iteration: 0\n- Max Iterations: 2\n- Status: READY\n";
    stage.repo.write("work/progress.txt", counter);
    stage.repo.remove(PLAN);
    stage.repo.git(["add", "-A"]);
    stage.repo.git(["commit", "-qm", "plan"]);
    let run = |args: &[&str]| -> Ran {
        let mut command = stage.command(args);
        command.env("RALPH_LOOP_DIR", stage.repo.root().join("work")).output().unwrap().into()
    };
    run(&[]).ended(0).says("finished (iteration limit): 2 stories landed");
    let now = stage.read("work/progress.txt");
    assert!(now.contains("- Iteration: 2\n- Max Iterations: 2\n"), "{now}");
    run(&["--max-iterations", "1"]).ended(0).says("1 story landed");
    assert!(stage.read("work/progress.txt").contains("- Max Iterations: 2\n"));
}

#[test]
fn switching_branches_between_stories_does_not_affect_the_run() {
    for (script, switch) in [
        ("next_iteration", "[ $RALPH_ITERATION != 2 ] || git checkout -q -b topic"),
        ("post_iteration", "[ $RALPH_ITERATION != 1 ] || git checkout -q --detach"),
    ] {
        let stage = Stage::new("works", "- [ ] US-001: A\n- [ ] US-002: B\n- [ ] US-003: C\n");
        stage.repo.commit_all("the plan");
        stage.script(script, switch);
        stage.run(&[]).ended(0).says("3 stories landed");
        assert_eq!(stage.subjects(), ["feat(US-001): A", "the plan", "first"], "{script}");
        let landed = stage.repo.git(["log", "--format=%s", "main"]);
        assert!(landed.contains("feat(US-003): C\nfeat(US-002): B\n"), "{landed}");
        assert!(!stage.exists("US-002.txt"), "{script}");
        assert_eq!(stage.repo.git(["status", "--porcelain"]), "?? .ralph/hooks/\n", "{script}");
    }
}

#[test]
fn a_missing_git_identity_is_reported_once_and_replaced() {
    const TOLD: &str = "git does not know who you are, so stories are committed as Ralph";
    let plan = "- [ ] US-001: First\n- [ ] US-002: Second\n";
    let known = Stage::new("works", plan).run(&[]);
    assert!(!known.ended(0).out.contains(TOLD), "{}", known.out);
    let stage = Stage::new("works", plan);
    stage.repo.git(["config", "user.useConfigOnly", "true"]);
    stage.repo.git(["config", "--unset", "user.name"]);
    stage.repo.git(["config", "--unset", "user.email"]);
    let mut command = stage.command(&[]);
    for name in ["NAME", "EMAIL"] {
        command.env_remove(format!("GIT_AUTHOR_{name}"));
        command.env_remove(format!("GIT_COMMITTER_{name}"));
    }
    let ran: crate::stage::Ran = command.output().unwrap().into();
    ran.ended(0).says("`git config user.name` and `git config user.email`");
    assert_eq!(ran.out.matches(TOLD).count(), 1, "{}", ran.out);
    let by = stage.repo.git(["log", "-2", "--format=%an <%ae>"]);
    assert_eq!(by, "Ralph <ralph@localhost>\n".repeat(2));
}

#[test]
fn work_based_on_an_older_or_sparse_tree_does_not_land() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("b.txt", "b\n");
    stage.repo.commit_all("second");
    for (act, said) in [
        ("git reset -q --hard HEAD~1", "the agent moved back to"),
        ("git sparse-checkout set --no-cone /x.txt", "made its checkout sparse"),
    ] {
        stage.repo.write(".ralph/PRD-1/plan.md", ONE);
        let agent = format!("cat >/dev/null; {act}; echo x >x.txt");
        stage.run(&["--agent", &agent, "--attempts", "1"]).ended(8).says(said);
        assert_eq!(stage.read("b.txt"), "b\n", "{act}");
    }
    assert!(stage.repo.git(["log", "--format=%s"]).contains("second"));
}
