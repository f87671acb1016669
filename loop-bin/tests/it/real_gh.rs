//! Pull requests and issues with the installed `gh`, against a fake GitHub.

use test_support::gh_is_there;

use crate::github::{GitHub, on_server, project_on};
use crate::stage::Stage;

/// A project whose remote is GitHub.
fn on_github(plan: &str) -> (Stage, GitHub) {
    let stage = project_on("github.com", plan);
    let github = GitHub::serve(stage.repo.scratch());
    (stage, github)
}

#[test]
fn gh_opens_a_pull_request_for_the_run_and_updates_it() {
    if !gh_is_there() {
        return;
    }
    let (stage, github) = on_github("- [ ] US-001: First\n- [ ] US-002: Second\n");
    let args = ["--pr", "run", "--branch", "ralph/{plan}", "--max-iterations", "1"];
    GitHub::run(&stage, &args).says("pull request: https://github.com/o/r/pull/1\n");
    let requests = github.requests();
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    let said = (&request["headRefName"], &request["baseRefName"], &request["title"]);
    assert_eq!((said.0, said.1, said.2), (&"ralph/prd-1".into(), &"main".into(), &"First".into()));
    assert_eq!(request["draft"], false);
    let body = request["body"].as_str().unwrap();
    assert!(body.contains("US-001") && body.contains("| "), "{body}");
    let pushed = on_server(&stage, "ralph/prd-1");
    assert_eq!(pushed, stage.repo.git(["rev-parse", "ralph/prd-1"]));
    // The next story, then an update by hand.
    GitHub::run(&stage, &args).ended(0).says("https://github.com/o/r/pull/1\n");
    assert_ne!(on_server(&stage, "ralph/prd-1"), pushed);
    GitHub::run(&stage, &["pr"]).ended(0).says("https://github.com/o/r/pull/1\n");
    let requests = github.requests();
    let [updated] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(updated["title"].as_str().unwrap().starts_with("2 stories of"), "{updated}");
    assert!(updated["body"].as_str().unwrap().starts_with("## 2 stories done"), "{updated}");
    for (args, is_draft) in [(&["pr", "--draft"][..], true), (&["pr"], false), (&["pr"], false)] {
        GitHub::run(&stage, args).ended(0).says("https://github.com/o/r/pull/1\n");
        assert_eq!(github.requests()[0]["isDraft"], is_draft);
    }
}

#[test]
fn gh_opens_a_pull_request_for_each_story_and_asks_for_its_merge() {
    if !gh_is_there() {
        return;
    }
    let (stage, github) = on_github("- [ ] US-001: First\n- [ ] US-002: Second\n");
    let args = ["--pr", "story", "--wait", "1s", "--prove", "off"];
    let ran = GitHub::run(&stage, &args);
    ran.ended(75)
        .says("US-001: https://github.com/o/r/pull/1; to be merged as soon as the forge allows")
        .says("US-002: https://github.com/o/r/pull/2; to be merged as soon as the forge allows")
        .says("US-002: https://github.com/o/r/pull/2: its checks failed on the forge");
    assert!(!ran.out.contains("pull/1: its checks failed"), "{}", ran.out);
    let requests = github.requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
    for (request, story) in requests.iter().zip(["US-001", "US-002"]) {
        let branch = format!("ralph-prd-1-{}", story.to_lowercase());
        let said = (&request["headRefName"], &request["baseRefName"], &request["autoMerge"]);
        assert_eq!(said, (&branch.as_str().into(), &"main".into(), &"MERGE".into()));
        assert!(request["body"].as_str().unwrap().contains(story), "{request}");
        assert_ne!(on_server(&stage, &branch), on_server(&stage, "main"));
    }
}

#[test]
fn gh_lists_issues_which_become_stories_that_close_them() {
    if !gh_is_there() {
        return;
    }
    let (stage, _) = on_github("- [x] US-001: First\n");
    GitHub::run(&stage, &["plan", "--from-issues", "unknown"])
        .ended(1)
        .says("no open issue has the label unknown");
    GitHub::run(&stage, &["plan", "--from-issues", "ready"]).ended(0).says("GH-12  Add login");
    let plan = stage.read(".ralph/PRD-2/plan.md");
    assert!(plan.contains("Issue: https://github.com/o/r/issues/12\n\n- [ ] a form\n"), "{plan}");
    GitHub::run(&stage, &["--prd", "2"]).ended(0).says("1 story landed");
    let message = stage.repo.git(["log", "--format=%B", "-2"]);
    assert!(message.contains("Closes #12\n"), "{message}");
}
