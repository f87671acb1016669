//! Without settings, a run uses detected checks, or reports that it checks nothing;
//! `init` writes the same checks to the configuration, with reasons.

use test_support::TestRepo;

use crate::stage::{ONE, Ran, Stage};

const CI: &str = "on: [push]\njobs:\n  test:\n    steps:\n      - run: ./run_tests.sh\n";

/// A project whose CI runs a script that fails if the agent's work contains this text.
fn tested(bad: &str) -> Stage {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".github/workflows/ci.yml", CI);
    stage
        .repo
        .write("run_tests.sh", format!("#!/bin/sh\n! grep -rq '{bad}' --include='*.txt' .\n"));
    stage.repo.chmod("run_tests.sh", 0o755);
    stage.repo.commit_all("tests");
    stage
}

const WORK: &str = "cat >/dev/null; echo 'some work' >work.txt";

/// The message of the story's commit.
fn message(stage: &Stage) -> String {
    stage.repo.git(["log", "-1", "--grep=^Ralph-Story:", "--format=%B"])
}

#[test]
fn a_run_without_checks_uses_those_that_init_would_write() {
    let stage = tested("no such text");
    let said = "no check is set, so `./run_tests.sh` is used (.github/workflows/ci.yml runs it)";
    stage.run(&["doctor"]).ended(0).says(said).says("check `./run_tests.sh`");
    stage.run(&["--dry-run"]).ended(0).says(said);
    stage.run(&["--agent", WORK]).ended(0).says(said).says("US-001 done");
    assert!(message(&stage).contains("Ralph-Checks: ./run_tests.sh"), "{}", message(&stage));
    assert!(stage.progress().contains("- Verify: `./run_tests.sh` passed"));
    assert!(!stage.run(&["status"]).out.contains("unchecked"));
}

#[test]
fn detected_checks_reject_bad_work_and_the_agents_claim() {
    let stage = tested("some work");
    let claim = "\"$RALPH_LOOP\" complete US-001 >\"$AGENT_NOTES/said\" 2>&1; true";
    let ran = stage.run(&["--agent", &format!("{WORK}; {claim}"), "--max-iterations", "1"]);
    ran.ended(0).says("US-001: `./run_tests.sh` failed with exit code 1");
    assert!(stage.note("said").contains("US-001 is not done: `./run_tests.sh`"));
    assert_eq!(message(&stage), "");
    assert!(stage.plan().contains("[ ] US-001"));
}

#[test]
fn settings_override_detected_checks() {
    let stage = tested("some work");
    stage.run(&["--agent", WORK, "--verify", "true"]).ended(0).says("US-001 done");
    assert!(message(&stage).contains("Ralph-Checks: true"));
    let stage = tested("some work");
    stage.repo.write(".ralph/config.toml", "[verify]\ncommands = []\n");
    stage.run(&["--agent", WORK]).ended(0).says("everything lands unchecked");
}

#[test]
fn unchecked_work_is_reported_as_unchecked_everywhere() {
    let stage = Stage::new("works", ONE);
    let ran = stage.run(&["--agent", WORK]);
    ran.ended(0).says("warning: no verify commands are set").says("unchecked");
    assert!(message(&stage).contains("\nRalph-Checks: unchecked\n"), "{}", message(&stage));
    assert!(stage.progress().contains("- Verify: unchecked\n"), "{}", stage.progress());
    stage.run(&["status"]).ended(0).says("1 story landed in 1 iteration, 1 unchecked");
    stage.run(&["status", "--json"]).ended(0).says("\"unchecked\": 1");
}

#[test]
fn a_run_can_require_checks() {
    let stage = Stage::new("works", ONE);
    let refused = |ran: Ran| {
        ran.ended(2).says("no checks are set, and none were found");
        assert_eq!(stage.subjects(), ["first"]);
    };
    refused(stage.run(&["--require-checks"]));
    refused(stage.run(&["--require-checks", "--dry-run"]));
    refused(stage.run_env(&[("RALPH_REQUIRE_CHECKS", "1")], &[]));
    stage.repo.write(".ralph/config.toml", "[verify]\nrequire_checks = true\n");
    refused(stage.run(&[]));
    stage.run(&["--agent", WORK, "--verify", "true"]).ended(0).says("US-001 done");
    tested("no such text").run(&["--agent", WORK, "--require-checks"]).ended(0).says("US-001 done");
}

#[test]
fn dependencies_of_detected_checks_are_installed() {
    let stage = Stage::new("works", ONE);
    let bin = stage.repo.scratch().path("bin");
    let npm = "#!/bin/sh\nif [ \"$1\" = ci ]; then mkdir -p node_modules; else test -d node_modules; fi\n";
    stage.repo.scratch().script("bin/npm", npm);
    let package = r#"{"scripts":{"test":"vitest"},"devDependencies":{"vitest":"3"}}"#;
    stage.repo.write("package.json", package);
    stage.repo.write("package-lock.json", "{}");
    stage.repo.write(".gitignore", "node_modules/\n");
    stage.repo.commit_all("a package");
    let path = format!("{bin}:/usr/local/bin:/usr/bin:/bin");
    let ran = stage.run_env(&[("PATH", &path)], &["--agent", WORK]);
    ran.ended(0).says("`npm test` is used").says("US-001 done");
    assert!(message(&stage).contains("Ralph-Checks: npm test"));
}

#[test]
fn the_example_plan_is_not_worked_on() {
    let stage = Stage::new("works", ONE);
    stage.repo.remove(".ralph");
    stage.repo.commit_all("a project");
    stage.run(&["init"]).ended(0).says("written  .ralph/PRD-1/plan.md");
    let said = "US-001 of .ralph/PRD-1/plan.md is still the example";
    stage.run(&[]).ended(1).says(said);
    // Everything else is still examined.
    let ran = stage.run(&["doctor", "--verify", "true", "--baseline", "check"]);
    ran.ended(1).says(said).says("ok       the agent works in").says("ok       `true` passes");
    ran.says("1 problem found");
    let ran = stage.run(&["doctor", "--agent", "no-such-agent"]);
    ran.ended(1).says(said).says("2 problems found");
    assert_eq!(stage.subjects()[0], "a project");
    // A partly edited example is not worked on either.
    let first = stage.plan().replace("Replace this with your first story, in one line", "Greet");
    stage.repo.write(".ralph/PRD-1/plan.md", &first);
    stage.run(&[]).ended(1).says("US-002 of .ralph/PRD-1/plan.md is still the example");
    let own = first.split("### US-002").next().unwrap();
    stage.repo.write(".ralph/PRD-1/plan.md", own);
    stage.run(&["--agent", WORK]).ended(0).says("US-001 done");
    // The templates of the lifecycle scripts run as they are.
    assert_eq!(stage.events().iter().filter(|event| *event == "lifecycle").count(), 4);
    for name in ["started", "next_iteration", "post_iteration", "finished"] {
        assert!(stage.read(&format!(".ralph/hooks/{name}")).contains("#   "), "{name}");
    }
}

#[test]
fn init_proposes_ignored_files_and_a_run_after_an_empty_init_detects_checks_again() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".gitignore", ".env\n");
    stage.repo.write(".env", "KEY=1\n");
    let ran = stage.run(&["init"]);
    ran.ended(0).says("No tests were found").says("put the line `.env` into .worktreeinclude");
    stage.repo.write(".worktreeinclude", ".env\n");
    let ran = stage.run(&["init"]);
    assert!(!ran.out.contains(".worktreeinclude"), "{}", ran.out);
    stage.repo.write(".github/workflows/ci.yml", CI);
    stage.repo.write("run_tests.sh", "exit 0\n");
    stage.repo.commit_all("tests");
    stage.run(&["--dry-run"]).ended(0).says("`./run_tests.sh` is used");
}

#[test]
fn nested_projects_are_found_and_a_root_task_is_proposed() {
    let repo = TestRepo::new();
    repo.write("Makefile", "test:\n\tcd web && npm test\n");
    repo.write("api/pyproject.toml", "[project]\nname = \"api\"\n");
    repo.write("api/uv.lock", "");
    repo.write("api/tests/test_api.py", "");
    repo.write("web/package.json", r#"{"scripts": {"test": "vitest run"}}"#);
    repo.write("web/node_modules/x/package.json", r#"{"scripts": {"test": "jest"}}"#);
    repo.write(".gitignore", "node_modules\n");
    let (_, out, _) = crate::ralph_loop(repo.root(), &["init"]);
    for line in [
        "check    cd web && npm test ",
        "check    cd api && uv run pytest ",
        "proposed make test   (tasks: Makefile)",
    ] {
        assert!(out.contains(line), "no `{line}` in {out}");
    }
    assert!(!out.contains("node_modules"), "{out}");
    repo.remove(".git");
    repo.remove(".ralph");
    let (_, out, _) = crate::ralph_loop(repo.root(), &["init"]);
    assert!(out.contains("check    cd web && npm test "), "{out}");
    assert!(!out.contains("node_modules"), "{out}");
}

#[test]
fn files_of_other_loops_are_reported_and_their_scripts_are_used() {
    let stage = Stage::new("works", ONE);
    stage.script("unused", "");
    stage.repo.remove(".ralph/hooks");
    let files = "ralph.sh PROMPT.md fix_plan.md scripts/ralph/prd.json .ralphrc \
                 .ralph-tui/config.toml .agents/ralph/config.sh @fix_plan.md";
    files.split_whitespace().for_each(|file| stage.repo.write(file, ""));
    stage.repo.write(".fresher/hooks/started", "#!/bin/sh\ntouch \"$AGENT_NOTES/theirs\"\n");
    stage.repo.chmod(".fresher/hooks/started", 0o755);
    let ran = stage.run(&["init"]);
    ran.ended(0).says("found    .fresher/hooks: its lifecycle scripts are used");
    ran.says("found    ralph.sh: another loop").says("found    PROMPT.md: the prompt of another");
    let others =
        ".ralphrc .ralph-tui .agents/ralph @fix_plan.md fix_plan.md scripts/ralph/prd.json";
    for file in others.split(' ') {
        ran.says(&format!("found    {file}: "));
    }
    assert!(!stage.exists(".ralph/hooks"));
    stage.repo.commit_all("both");
    stage.run(&["--agent", WORK]).ended(0);
    assert!(stage.note_path("theirs").exists());
}

#[test]
fn a_check_without_a_setup_gets_the_one_that_init_would_write() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(
        "package.json",
        r#"{"scripts": {"test": "node t.js"}, "devDependencies": {"a": "1"}}"#,
    );
    stage.repo.write("package-lock.json", "{}\n");
    stage.repo.commit_all("npm");
    let shown = "no setup is set, so `npm ci` is used";
    stage.run(&["--dry-run", "--verify", "npm test"]).ended(0).says(shown);
    let own = ["--dry-run", "--verify", "npm test", "--setup", "true"];
    assert!(!stage.run(&own).out.contains(shown));
    stage.repo.write(".ralph/config.toml", "[verify]\ncommands = []\n");
    assert!(!stage.run(&["--dry-run"]).out.contains(shown), "nothing is checked");
}
