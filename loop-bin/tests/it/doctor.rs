//! Doctor finds problems in advance that would stop a run.

use crate::stage::{PLAN, Stage, signal, until};

const ONE: &str = "- [ ] US-001: First\n";

/// Doctor finds these problems after the project was broken, and none before.
#[track_caller]
fn check(spoil: impl Fn(&Stage), args: &[(&str, &str)], found: &[&str]) {
    let stage = Stage::new("works", ONE);
    stage.run(&["doctor"]).ended(0);
    spoil(&stage);
    let mut command = stage.command(&["doctor"]);
    command.envs(args.iter().copied());
    let ran: crate::stage::Ran = command.output().unwrap().into();
    ran.ended(1);
    for words in found {
        ran.says(words);
    }
}

#[test]
fn a_script_that_is_not_executable_is_noted() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".ralph/hooks/started", "#!/bin/sh\n");
    stage.repo.chmod(".ralph/hooks/started", 0o644);
    stage.run(&["doctor"]).ended(0).says("note ").says("started is not executable; run `chmod");
}

#[test]
fn a_missing_check_program_is_a_problem() {
    let verify = [("RALPH_VERIFY", "true\nno-such-runner --all\n"), ("RALPH_BASELINE", "check")];
    let words = "`no-such-runner --all` cannot run because something is missing: `no-such-runner`";
    check(|_: &Stage| (), &verify, &["PROBLEM", words, "1 problem found"]);
}

#[test]
fn an_unknown_prompt_variable_is_a_problem() {
    let spoil = |stage: &Stage| {
        let prompt = PLAN.replace("plan.md", "prompt.md");
        stage.repo.write(prompt, "Do {{STORY_IDD}}\n");
    };
    check(spoil, &[], &["prompt.md", "STORY_IDD"]);
}

#[test]
fn a_prompt_without_the_story_details_is_noted() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(PLAN.replace("plan.md", "prompt.md"), "Do {{STORY_ID}}\n");
    stage.run(&["doctor"]).ended(0).says("note ").says("neither {{STORY_DETAILS}} nor");
}

#[test]
fn a_bare_repository_is_reported() {
    let stage = Stage::new("works", ONE);
    stage.repo.git(["config", "core.bare", "true"]);
    for args in [vec!["doctor"], vec![]] {
        let ran = stage.run(&args);
        ran.ended(1).says("is bare").says("git config core.bare false");
        let all = format!("{}{}", ran.out, ran.err);
        assert!(!all.contains("rev-parse") && !all.contains("git init"), "{all}");
    }
}

#[test]
fn doctor_checks_the_programs_named_by_flags() {
    let stage = Stage::new("works", ONE);
    let ran = stage.run(&["doctor", "--agent", "no-such-agent -p"]);
    ran.ended(1).says("the agent `no-such-agent` was not found in PATH");
    let check = ["doctor", "--baseline", "check", "--verify", "no-such-check"];
    stage.run(&check).ended(1).says("missing: `no-such-check`");
    stage.run(&["doctor", "--no-such-flag"]).ended(2);
}

#[test]
fn all_problems_are_shown_at_once() {
    let stage = Stage::new("works", ONE);
    let red = ["--baseline", "check", "--verify", "echo one; echo two; exit 1"];
    let missing = ["--agent", "no-such-agent -p"];
    let ran = stage.run(&[&["doctor"], &red[..], &missing].concat());
    ran.ended(1).says("`no-such-agent` was not found").says("failed with exit code 1");
    ran.says("\n  one\n  two\n").says("2 problems found").says("later    check `echo one");
    stage.repo.remove(PLAN);
    let ran = stage.run(&[&["doctor"], &red[..], &missing].concat());
    ran.ended(1).says("no plan found; create one").says("plan.md");
    ran.says("`no-such-agent` was not found").says("2 problems found");
    stage.repo.write(PLAN, ONE);
    let ran = stage.run(&["doctor", "--no-checks", "--verify", "no-such-check"]);
    assert!(ran.out.contains("later    check `no-such-check`"), "{}", ran.out);
}

#[test]
fn an_unusable_workspace_folder_is_reported() {
    let stage = Stage::new("works", ONE);
    let file = stage.note_path("file");
    fs_err::write(&file, "").unwrap();
    for args in [&["doctor"][..], &[]] {
        let args = [args, &["--workspace-folder", file.as_str()]].concat();
        let ran = stage.run(&args);
        ran.ended(1)
            .says(&format!("cannot create the copy in {file}: "))
            .says("--workspace-folder");
    }
    assert!(!stage.exists(".ralph/events.jsonl"), "nothing was begun");
}

#[test]
fn ignored_files_and_suspicious_limits_are_reported() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".gitignore", ".env*\n.ralph\n");
    stage.repo.write(".env", "KEY=1\n");
    stage.repo.write(".env.local", "KEY=2\n");
    stage.repo.write(".worktreeinclude", ".env.local\n");
    stage.repo.commit_all("settings");
    let ran = stage.run(&["--dry-run", "--max-duration", "8", "--workers", "3", "--model", "opus"]);
    ran.ended(0).says("git ignores .env, so the agent's copy lacks it").says(", 3 workers");
    ran.says("the run ends after 8 seconds; write 8m or 8h for more").says("model opus");
    assert!(!ran.out.contains("ignores .env.local"), "{}", ran.out);
}

#[test]
fn a_number_instead_of_a_plan_suggests_max_iterations() {
    let stage = Stage::new("works", ONE);
    stage.run(&["10"]).ended(2).says("did you mean `ralph-loop --max-iterations 10`?");
    stage.run(&["--budget", "5", "--dry-run"]).ended(0).says("$5.00 per run");
}

#[test]
fn a_long_setup_is_reported_while_it_runs() {
    let stage = Stage::new("works", ONE);
    let shown = stage.repo.scratch().path("shown");
    let file = std::fs::File::create(&shown).unwrap();
    let mut doctor = stage.command(&["doctor"]);
    doctor.env("RALPH_SETUP", "exec sleep 600").env("RALPH_VERIFY", "true").stdout(file);
    let read = |path| std::fs::read_to_string(path).unwrap();
    let mut doctor = doctor.env("RALPH_BASELINE", "check").spawn().unwrap();
    until("the setup is named", || read(&shown).contains("the copy: exec sleep 600"));
    signal("TERM", doctor.id());
    assert_eq!(doctor.wait().unwrap().code(), Some(1));
}
