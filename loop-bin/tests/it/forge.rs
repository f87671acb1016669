//! Pull requests and issues, with a fake `gh` that records its calls.

use crate::stage::{ONE, Ran, Stage, TWO};

const GH: &str = "#!/bin/sh\nprintf '%s|' \"$@\" >>\"$AGENT_NOTES/gh\"; echo >>\"$AGENT_NOTES/gh\"\n\
                  case \"$1 $2\" in\n\
                  'pr create') [ ! -e \"$AGENT_NOTES/down\" ] || { rm \"$AGENT_NOTES/down\"; echo 'error connecting'; exit 1; }; cat >\"$AGENT_NOTES/body\"; [ -e \"$AGENT_NOTES/exists\" ] && \
                  { echo 'a pull request already exists: https://forge.test/o/r/pull/8'; exit 1; }; \
                  : >\"$AGENT_NOTES/opened-${4##*/}\"; echo https://forge.test/pull/7;;\n\
                  'pr list') [ ! -e \"$AGENT_NOTES/logged-out\" ] || { echo 'run gh auth login'; exit 4; }; \
                  [ -e \"$AGENT_NOTES/opened-${4##*/}\" ] || { echo '[]'; exit; }; \
                  [ ! -e \"$AGENT_NOTES/act\" ] || sh \"$AGENT_NOTES/act\"; \
                  printf '[{\"state\":\"%s\",\"url\":\"https://forge.test/pull/7\",\"statusCheckRollup\":[{\"conclusion\":\"%s\"}]}]' \
                  \"$(cat \"$AGENT_NOTES/state\" 2>/dev/null || echo OPEN)\" \"$(cat \"$AGENT_NOTES/checks\" 2>/dev/null)\";;\n\
                  'api --hostname') cat >\"$AGENT_NOTES/body\";;\n\
                  'pr merge') [ ! -e \"$AGENT_NOTES/unmerged\" ] || { echo 'not allowed'; exit 1; };;\n\
                  'issue list') cat \"$AGENT_NOTES/issues\";;\nesac\n";

/// A project with a remote, on a separate branch, with the fake `gh` on the PATH.
fn with_forge() -> Stage {
    with_forge_for(ONE)
}

pub(crate) fn with_forge_for(plan: &str) -> Stage {
    let stage = Stage::new("works", plan);
    let scratch = stage.repo.scratch();
    scratch.script("bin/gh", GH);
    let server = scratch.path("server.git");
    stage.repo.git(["init", "-q", "--bare", "-b", "main", server.as_str()]);
    stage.repo.git(["remote", "add", "origin", server.as_str()]);
    stage.repo.git(["push", "-q", "origin", "main"]);
    stage.repo.git(["switch", "-q", "-c", "ralph/work"]);
    stage
}

pub(crate) fn run(stage: &Stage, args: &[&str]) -> Ran {
    let path = format!("{}:{}", stage.repo.scratch().path("bin"), std::env::var("PATH").unwrap());
    stage.run_env(&[("PATH", &path)], args)
}

pub(crate) fn on_server(stage: &Stage, branch: &str) -> String {
    let server = stage.repo.scratch().path("server.git");
    stage.repo.git(["ls-remote", server.as_str(), &format!("refs/heads/{branch}")])
}

#[test]
fn a_pull_request_has_the_report_as_its_body() {
    let stage = with_forge();
    run(&stage, &["--pr", "run"]).ended(0).says("pull request: https://forge.test/pull/7");
    assert!(on_server(&stage, "ralph/work").contains(stage.repo.git(["rev-parse", "HEAD"]).trim()));
    let called = stage.note("gh");
    let create = "pr|create|--head|ralph/work|--title|First|--body-file|-|\n";
    assert!(called.contains(create), "{called}");
    assert!(stage.note("body").contains("US-001"), "{}", stage.note("body"));
    assert!(stage.note("body").contains("`ralph-loop audit --rerun`"), "{}", stage.note("body"));
    let server = stage.repo.scratch().path("server.git");
    let notes = stage.repo.git(["ls-remote", server.as_str(), "refs/notes/ralph"]);
    assert!(notes.contains(stage.repo.git(["rev-parse", "refs/notes/ralph"]).trim()), "{notes}");
    // The second call, made by hand, updates the existing pull request.
    std::fs::write(stage.note_path("exists"), "").unwrap();
    run(&stage, &["pr", "--draft"]).ended(0).says("https://forge.test/o/r/pull/8");
    let called = stage.note("gh");
    let edit =
        "--draft|\napi|--hostname|forge.test|--method|PATCH|repos/o/r/pulls/8|-f|title=First|";
    assert!(called.contains(edit), "{called}");
    let draft = "\npr|ready|https://forge.test/o/r/pull/8|--undo|\n";
    assert!(called.ends_with(draft), "{called}");
    // Without `--draft` it becomes ready for review.
    run(&stage, &["pr"]).ended(0);
    let called = stage.note("gh");
    assert!(called.ends_with("\npr|ready|https://forge.test/o/r/pull/8|\n"), "{called}");
}

#[test]
fn work_on_another_branch_needs_no_action_once_it_has_a_pull_request() {
    let stage = with_forge();
    stage.repo.git(["switch", "-q", "main"]);
    let ran = run(&stage, &["--pr", "run", "--branch", "ralph/{plan}"]);
    ran.ended(0).says("1 of 1 story done, 1 unchecked (US-001); review 1 story");
    let status = stage.run(&["status"]);
    status.says("In PR     ralph/prd-1: https://forge.test/pull/7").says("review 1 story");
}

#[test]
fn missing_requirements_are_reported_and_nothing_is_pushed() {
    let stage = with_forge();
    stage.run(&[]).ended(0);
    stage.repo.git(["switch", "-q", "main"]);
    stage.repo.git(["merge", "-q", "ralph/work"]);
    stage.run(&[]).ended(0);
    let ran = run(&stage, &["pr"]);
    ran.ended(1).says("main is the branch that a pull request would be merged into");
    stage.repo.git(["remote", "remove", "origin"]);
    run(&stage, &["pr"]).ended(1).says("this repository has no remote");
    let stage = with_forge();
    stage.run(&[]).ended(0);
    let path = stage.repo.scratch().path("none");
    let git = stage.repo.scratch().path("only-git");
    std::fs::create_dir_all(&git).unwrap();
    std::os::unix::fs::symlink("/usr/bin/git", git.join("git")).unwrap();
    let ran = stage.run_env(&[("PATH", &format!("{git}:{path}"))], &["pr"]);
    ran.ended(1).says("need `gh` or `glab`, and neither is installed");
    assert_eq!(on_server(&stage, "ralph/work"), "");
}

#[test]
fn nothing_is_pushed_unless_requested() {
    let stage = with_forge();
    run(&stage, &[]).ended(0).says("1 story landed");
    assert_eq!((stage.note("gh") + &on_server(&stage, "ralph/work")).as_str(), "");
    // If a requested pull request is impossible, the work still lands.
    let stage = with_forge();
    stage.repo.git(["remote", "remove", "origin"]);
    let ran = run(&stage, &["--pr", "run"]);
    ran.ended(0).says("1 story landed");
    ran.says("this run will end without a pull request: this repository has no remote; add one");
}

#[test]
fn the_next_pull_request_leaves_out_merged_stories() {
    let stage = with_forge_for(TWO);
    let args = ["--pr", "run", "--max-iterations", "1"];
    run(&stage, &args).ended(0);
    stage.repo.git(["push", "-q", "origin", "ralph/work:main"]);
    run(&stage, &args).ended(0);
    assert!(stage.note("gh").contains("|--title|Second|"), "{}", stage.note("gh"));
}

#[test]
fn pr_needs_a_branch_that_contains_the_work_of_a_run_on_main() {
    let stage = with_forge();
    stage.repo.git(["switch", "-q", "main"]);
    stage.run(&[]).ended(0);
    run(&stage, &["pr"]).ended(1).says("git switch -c ralph/work");
    // The existing branch of that name does not contain the work.
    stage.repo.git(["switch", "-q", "ralph/work"]);
    run(&stage, &["pr"]).ended(1);
    stage.repo.git(["switch", "-q", "-C", "ralph/work", "main"]);
    run(&stage, &["pr"]).ended(0).says("https://forge.test/pull/7");
    assert!(stage.note("gh").contains("pr|create|--head|ralph/work|--title|First|"));
}

#[test]
fn a_refused_push_keeps_the_work_and_can_be_retried() {
    let stage = with_forge();
    let server = stage.repo.scratch().path("server.git");
    let refuse = "#!/bin/sh\necho 'this branch is protected' >&2\nexit 1\n";
    stage.repo.scratch().script("server.git/hooks/pre-receive", refuse);
    // The work has landed; only the pull request is missing.
    let ran = run(&stage, &["--pr", "run"]);
    ran.says("1 story landed").says("needs you: ralph/work has no pull request: ");
    ran.says("this branch is protected").says("`ralph-loop pr` tries again");
    let status = stage.run(&["status"]);
    status.says("ralph/work has no pull request: ").says("this branch is protected");
    run(&stage, &["pr"]).ended(1).says("this branch is protected");
    assert!(!stage.note("gh").contains("create") && on_server(&stage, "ralph/work").is_empty());
    std::fs::remove_file(server.join("hooks/pre-receive")).unwrap();
    run(&stage, &["pr"]).ended(0).says("https://forge.test/pull/7");
    assert!(on_server(&stage, "ralph/work").contains(stage.repo.head().trim()));
    let status = stage.run(&["status"]);
    assert!(!status.out.contains("no pull request"), "{}", status.out);
}

#[test]
fn issues_become_stories_that_close_them() {
    let stage = with_forge();
    let issues = r##"[{"number":12,"title":"Add login","url":"https://forge.test/issues/12",
        "body":"We need it.\n\n## Notes\n- [ ] a form\n- [ ] a test"},
        {"number":13,"title":"Fix logout","url":"https://forge.test/issues/13","body":null}]"##;
    std::fs::write(stage.note_path("issues"), issues).unwrap();
    let plan_of = ["plan", "--from-issues", "ready"];
    run(&stage, &plan_of).ended(0).says("GH-12  Add login").says("PRD-2");
    let plan = stage.read(".ralph/PRD-2/plan.md");
    let story = "### GH-12: Add login\n\nIssue: https://forge.test/issues/12\n\n- [ ] a form\n";
    assert!(plan.contains(story), "{plan}");
    // Issues that are in a plan already are skipped.
    std::fs::write(stage.note_path("issues"), issues.replace("12", "1")).unwrap();
    run(&stage, &plan_of).ended(0).says("GH-13 is in a plan already").says("GH-1  Add login");
    assert!(!stage.read(".ralph/PRD-3/plan.md").contains("GH-13"));
    let again = run(&stage, &plan_of);
    again.ended(1).says("no open issue has the label ready and is in no plan yet");
    assert!(!stage.exists(".ralph/PRD-4"));
    run(&stage, &["--prd", "2"]).ended(0).says("2 stories landed");
    let messages = stage.repo.git(["log", "--format=%b", "-3"]);
    assert!(messages.contains("Closes #12") && messages.contains("Closes #13"), "{messages}");
}

#[test]
fn text_of_an_issue_is_neither_a_dependency_nor_hidden() {
    let stage = with_forge();
    let issues = r##"[{"number":12,"title":"Add login (depends: US-001)","url":"https://forge.test/12",
        "body":"- [ ] Depends on: #13\n```\n- [ ] code\n```\n<!--\n- [ ] hidden\n-->\n- [ ] a <!-- b"}]"##;
    let list = |issues: String| std::fs::write(stage.note_path("issues"), issues).unwrap();
    let plan_of = ["plan", "--from-issues", "ready"];
    list(issues.replace("Add login (depends: US-001)", "Backlog"));
    let ran = run(&stage, &plan_of);
    ran.ended(1).says("https://forge.test/12 cannot become a story").says("rename it");
    assert!(!stage.exists(".ralph/PRD-2"));
    list(issues.to_owned());
    run(&stage, &plan_of).ended(0).says("GH-12");
    let plan = stage.read(".ralph/PRD-2/plan.md");
    let boxes: Vec<&str> = plan.lines().filter(|line| line.starts_with("- [")).collect();
    assert_eq!(boxes, ["- [ ] Depends on\u{a0}: #13", "- [ ] a <\\!-- b"], "{plan}");
    assert!(plan.contains("> - [ ] code\n") && plan.contains("> - [ ] hidden\n"), "{plan}");
    stage.run(&["stories", "--prd", "2"]).ended(0).says("GH-12");
}

#[test]
fn at_most_1000_issues_are_read() {
    let stage = with_forge();
    let issue = |number| {
        format!(r#"{{"number":{number},"title":"T","url":"https://forge.test/{number}"}}"#)
    };
    let issues: Vec<String> = (1..=1000).map(issue).collect();
    std::fs::write(stage.note_path("issues"), format!("[{}]", issues.join(","))).unwrap();
    run(&stage, &["plan", "--from-issues", "ready"]).ended(0).says("only the first 1000 issues");
    assert!(stage.note("gh").contains("|--limit|1000|"), "{}", stage.note("gh"));
}

#[test]
fn an_interview_needs_an_agent_and_a_terminal() {
    let stage = with_forge();
    let ran = run(&stage, &["plan", "a todo list", "--agent", "no-such-agent -x"]);
    ran.ended(1)
        .says("the agent `no-such-agent` was not found; install it, or name another with --agent");
    run(&stage, &["plan", "a todo list"]).ended(1).says("an interview needs a terminal");
}
