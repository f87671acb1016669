//! The steps of one iteration: their order, the prompt, the commit, the variables and flags of
//! existing setups, and the loop's own log inside the project (`ralph-loop > nohup.out`).

use std::process::Stdio;

use crate::stage::{ONE, PLAN, Ran, Stage, TWO, is_alive, until};

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
    let steps =
        "started next_iteration agent current-story verify current-story post_iteration finished ";
    assert_eq!(stage.note("steps").replace('\n', " "), steps);
    assert_eq!(stage.note("own"), ".checkpoint\ncurrent-story\n");
}

#[test]
fn everything_that_is_not_ignored_is_committed_with_the_tick() {
    let stage = Stage::new("works", ONE);
    stage.repo.commit_all("the plan");
    let agent = "mkdir -p new/deep; echo x >new/deep/file; echo y >'odd name'; rm src/lib.rs; echo z >noise.log";
    stage.run(&["--agent", agent]).ended(0);
    let files = stage.repo.git(["show", "--format=%B", "--name-status", "HEAD~1"]);
    let expected = "feat(US-001): First\n\nRalph-Story: US-001\nRalph-Done: unchecked\nRalph-Checks: unchecked\n\
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
    let template = "<{{STORY_ID}}|{{STORY_TITLE}}|{{PLAN_PATH}}|{{FAILURE}}|{{ITERATION}}|\
                    {{MAX_ITERATIONS}}|{{VERIFY}}> {{STORY_DETAILS}} {{PROGRESS_PATH}} \
                    {{PROGRESS}} {{GUARDRAILS}}";
    stage.repo.write(".ralph/PRD-1/prompt.md", template);
    stage.repo.write(".ralph/guardrails.md", "- be kind\n");
    stage.run(&["--max-iterations", "7", "--verify", "true"]).ended(0);
    let prompt = stage.note("prompt");
    let plan = stage.copy().unwrap().join(PLAN);
    let line = format!("<US-001|Greet (now)|{plan}|(none)|1|7|- `true`>");
    for part in [line.as_str(), "Say hello", "progress.md ", "- be kind"] {
        assert!(prompt.contains(part), "no `{part}` in:\n{prompt}");
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
    let vars = [("PRD_NUMBER", "3"), ("TIMEOUT_AGENT", "1")];
    let ran = numbered.run_env(&vars, &["--attempts", "1"]);
    ran.ended(8).says("US-003: the agent did not finish within 1");
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
fn the_journal_records_a_failed_story() {
    let stage = Stage::new("fails", ONE);
    stage.run(&["--attempts", "1"]).ended(8);
    let events = "loop_started forecast iteration_started rolled_back story_set_aside \
                  iteration_finished loop_finished";
    assert_eq!(stage.events().join(" "), events);
    let journal = stage.read(".ralph/events.jsonl").replace('"', "");
    let reason = "reason:no story can be worked on; blocked: US-001";
    for part in ["story:US-001", "exit_code:1", "outcome:blocked", "run:", reason] {
        assert!(journal.contains(part), "no {part} in {journal}");
    }
}

#[test]
fn a_check_that_hangs_fails() {
    let stage = Stage::new("works", ONE);
    let check = "sleep 600 & echo $! >\"$AGENT_NOTES/child\"; wait";
    let ran = stage.run(&["--verify", check, "--verify-timeout", "1", "--attempts", "1"]);
    ran.ended(8).says("timed out");
    until("it is gone", || !is_alive(&stage.note("child")));
    stage.is_clean();
}

#[test]
fn a_commit_rejected_by_a_git_hook_is_a_failed_attempt() {
    for name in ["pre-commit", "commit-msg"] {
        let stage = Stage::new("works", ONE);
        stage.install_hook(name, "echo 'no tabs, please' >&2; exit 1");
        let ran = stage.run(&["--attempts", "2"]);
        ran.ended(8).says("git hooks rejected the commit").says("no tabs, please");
        assert_eq!((stage.subjects(), stage.discarded()), (vec!["first".to_owned()], 2));
        assert_eq!(stage.plan(), "- [!] US-001: First\n", "set aside, and not ticked");
    }
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
fn a_missing_git_identity_is_reported_once_and_replaced() {
    const TOLD: &str = "git does not know who you are, so stories are committed as Ralph";
    let known = Stage::new("works", TWO).run(&[]);
    assert!(!known.ended(0).out.contains(TOLD), "{}", known.out);
    let stage = Stage::new("works", TWO);
    stage.repo.git(["config", "user.useConfigOnly", "true"]);
    stage.repo.git(["config", "--unset", "user.name"]);
    stage.repo.git(["config", "--unset", "user.email"]);
    let mut command = stage.command(&[]);
    for name in ["NAME", "EMAIL"] {
        command.env_remove(format!("GIT_AUTHOR_{name}"));
        command.env_remove(format!("GIT_COMMITTER_{name}"));
    }
    let ran: Ran = command.output().unwrap().into();
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

/// Runs the loop with stdout and stderr appended to a file of the project.
fn into_log(stage: &Stage, args: &[&str]) -> (Option<i32>, String) {
    let path = stage.repo.root().join("nohup.out");
    fs_err::write(&path, "first line\n").unwrap();
    let log = fs_err::OpenOptions::new().append(true).open(&path).unwrap().into_parts().0;
    let mut command = stage.command(args);
    command.stdout(Stdio::from(log.try_clone().unwrap())).stderr(Stdio::from(log));
    let code = command.status().expect("the loop runs").code();
    (code, fs_err::read_to_string(path).unwrap_or_default())
}

#[test]
fn the_loops_log_in_the_project_is_not_committed() {
    for (is_ignored, place) in [(false, &[][..]), (true, &[]), (true, &["--in-place"])] {
        let stage = Stage::new("works", ONE);
        if is_ignored {
            stage.repo.write(".gitignore", "nohup.out\n");
        }
        stage.repo.commit_all("the plan");
        let agent = "git add -A; [ -e \"$AGENT_NOTES/second\" ] || { touch \"$AGENT_NOTES/second\"; \
                     echo x >x; exit 1; }; echo y >y";
        let (code, log) = into_log(&stage, &[&["--agent", agent], place].concat());
        assert_eq!(code, Some(0), "{log}");
        for part in ["first line\n", "attempt saved", "finished (complete)"] {
            assert!(log.contains(part), "no `{part}` in {log}");
        }
        let files = stage.repo.git(["log", "--format=", "--name-only"]);
        assert!(files.contains("y\n") && !files.contains("nohup.out"), "{files}");
        let left = if is_ignored { "" } else { "?? nohup.out\n" };
        assert_eq!(stage.repo.git(["status", "--porcelain"]), left);
    }
}
