//! Pull requests and issues with the installed `gh`, against a fake of GitHub's API on a socket, as
//! far as `gh` needs it, and a git server. It has one repository, `o/r`.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use test_support::{Scratch, gh_is_there};

use crate::stage::{Ran, Stage, TWO};

const USER: &str = "[user]\n\tname = Test\n\temail = test@localhost\n";

/// The existing pull requests, as GitHub describes them.
#[derive(Clone, Default)]
struct GitHub(Arc<Mutex<Vec<Value>>>);

/// A project that is pushed to `o/r` on `host`; a fake ssh runs git's remote commands locally.
pub(crate) fn project_on(host: &str, plan: &str) -> Stage {
    let stage = Stage::new("works", plan);
    let scratch = stage.repo.scratch();
    let run = format!("#!/bin/sh\nshift $(($# - 1))\ncd '{}' && eval \"$1\"\n", scratch.root());
    let ssh = scratch.script("ssh", &run);
    scratch.file("home/.gitconfig", format!("[core]\n\tsshCommand = {ssh}\n{USER}"));
    let server = scratch.path("o/r.git");
    stage.repo.git(["init", "-q", "--bare", "-b", "main", server.as_str()]);
    stage.repo.commit_all("plan");
    stage.repo.git(["push", "-q", server.as_str(), "main"]);
    stage.repo.git(["remote", "add", "origin", &format!("git@{host}:o/r.git")]);
    stage
}

/// The commit of a branch on the server.
pub(crate) fn on_server(stage: &Stage, branch: &str) -> String {
    let server = stage.repo.scratch().path("o/r.git");
    stage.repo.git_in(server.as_std_path(), ["rev-parse", branch])
}

impl GitHub {
    /// Starts the fake API and configures `gh` in the home folder of `scratch`.
    fn serve(scratch: &Scratch) -> Self {
        let github = Self::default();
        let socket = scratch.path("api");
        scratch.file("home/.config/gh/config.yml", format!("http_unix_socket: {socket}\n"));
        let (listener, answering) = (UnixListener::bind(socket).unwrap(), github.clone());
        std::thread::spawn(move || {
            listener.incoming().flatten().for_each(|stream| answering.talk(stream));
        });
        github
    }

    /// Runs the loop with this server in place of GitHub.
    fn run(stage: &Stage, args: &[&str]) -> Ran {
        // `gh` caches answers in TMPDIR, for every repository of a host.
        let folder = stage.repo.scratch().dir("tmp");
        stage.run_env(&[("TMPDIR", folder.as_str()), ("GH_TOKEN", "none")], args)
    }

    fn requests(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    /// Reads one HTTP request and writes the answer.
    fn talk(&self, stream: UnixStream) {
        let mut reader = BufReader::new(&stream);
        let (mut head, mut length) = (String::new(), 0);
        reader.read_line(&mut head).unwrap();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let answer = self.answer(&head, &serde_json::from_slice(&body).unwrap_or_default());
        let answer = answer.to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
        // Writing fails if the client was killed.
        let _ = write!(&stream, "{head}\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
    }

    fn answer(&self, head: &str, asked: &Value) -> Value {
        let mut requests = self.0.lock().unwrap();
        let query = asked["query"].as_str().unwrap_or_default();
        let (variables, input) = (&asked["variables"], &asked["variables"]["input"]);
        if let Some(rest) = head.strip_prefix("PATCH /repos/o/r/pulls/") {
            let number: u64 = rest.split(' ').next().unwrap().parse().unwrap();
            let request = requests.iter_mut().find(|it| it["number"] == number).unwrap();
            for (key, value) in asked.as_object().unwrap() {
                request[key] = value.clone();
            }
            return request.clone();
        }
        if query.contains("createPullRequest(") {
            let mut request = input.clone();
            let number = requests.len() + 1;
            request["number"] = json!(number);
            request["id"] = json!(format!("P{number}"));
            request["url"] = json!(format!("https://github.com/o/r/pull/{number}"));
            request["state"] = json!("OPEN");
            request["isDraft"] = request["draft"].clone();
            request["mergeStateStatus"] = json!("BLOCKED");
            // The checks of every second pull request fail.
            let conclusion = if number.is_multiple_of(2) { "FAILURE" } else { "SUCCESS" };
            let check =
                json!({"__typename": "CheckRun", "status": "COMPLETED", "conclusion": conclusion});
            let page = json!({"nodes": [check], "pageInfo": {"hasNextPage": false}});
            let of_commit = json!({"commit": {"statusCheckRollup": {"contexts": page}}});
            request["statusCheckRollup"] = json!({"nodes": [of_commit]});
            requests.push(request.clone());
            return json!({"data": {"createPullRequest": {"pullRequest": request}}});
        }
        if query.contains("enablePullRequestAutoMerge(") {
            let of = |it: &&mut Value| it["id"] == input["pullRequestId"];
            requests.iter_mut().find(of).unwrap()["autoMerge"] = input["mergeMethod"].clone();
            return json!({"data": {"enablePullRequestAutoMerge": {"clientMutationId": null}}});
        }
        let drafts =
            [("convertPullRequestToDraft", true), ("markPullRequestReadyForReview", false)];
        if let Some((name, is_draft)) = drafts.into_iter().find(|(name, _)| query.contains(name)) {
            let of = |it: &&mut Value| it["id"] == input["pullRequestId"];
            let request = requests.iter_mut().find(of).unwrap();
            request["isDraft"] = json!(is_draft);
            return json!({"data": {name: {"pullRequest": {"id": request["id"]}}}});
        }
        if query.contains("__type(") {
            // The query asks for optional fields; this server has none.
            return json!({"data": {}});
        }
        // `gh` uses one name to look up a pull request and the other one to list them.
        let head = &variables["headRefName"].as_str().or(variables["headBranch"].as_str());
        let of_head = |it: &&Value| head.is_some_and(|head| it["headRefName"] == head);
        let repository = json!({
            "id": "R", "name": "r", "owner": {"login": "o"}, "hasIssuesEnabled": true,
            "viewerPermission": "WRITE", "defaultBranchRef": {"name": "main"},
            "pullRequest": requests.iter().find(|it| it["number"] == variables["pr_number"]),
            "pullRequests": {"totalCount": 1, "pageInfo": {"hasNextPage": false, "endCursor": ""},
                "nodes": requests.iter().filter(of_head).collect::<Vec<_>>()},
        });
        let labelled = variables["query"].as_str().is_some_and(|it| it.contains("label:ready"));
        let issue = json!({"number": 12, "title": "Add login", "body": "We need it.\n- [ ] a form",
            "url": "https://github.com/o/r/issues/12"});
        let nodes = if labelled { vec![issue] } else { Vec::new() };
        json!({"data": {"repository": repository, "search": {"nodes": nodes}}})
    }
}

/// A project whose remote is GitHub; `None` if `gh` is not installed.
fn on_github(plan: &str) -> Option<(Stage, GitHub)> {
    gh_is_there().then(|| {
        let stage = project_on("github.com", plan);
        let github = GitHub::serve(stage.repo.scratch());
        (stage, github)
    })
}

#[test]
fn gh_opens_a_pull_request_for_the_run_and_updates_it() {
    let Some((stage, github)) = on_github(TWO) else { return };
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
    let Some((stage, github)) = on_github(TWO) else { return };
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
    let Some((stage, _)) = on_github("- [x] US-001: First\n") else { return };
    let ran = GitHub::run(&stage, &["plan", "--from-issues", "unknown"]);
    ran.ended(1).says("no open issue has the label unknown");
    GitHub::run(&stage, &["plan", "--from-issues", "ready"]).ended(0).says("GH-12  Add login");
    let plan = stage.read(".ralph/PRD-2/plan.md");
    assert!(plan.contains("Issue: https://github.com/o/r/issues/12\n\n- [ ] a form\n"), "{plan}");
    GitHub::run(&stage, &["--prd", "2"]).ended(0).says("1 story landed");
    let message = stage.repo.git(["log", "--format=%B", "-2"]);
    assert!(message.contains("Closes #12\n"), "{message}");
}
