//! Stories as tasks of an engine: a real server, real pushes, several tasks at once.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use camino::Utf8PathBuf;
use test_support::fixtures;

use crate::stage::{Ran, Stage, executable, is_alive, signal, until};

const PLAN: &str =
    "- [ ] US-001: First\n- [ ] US-002: Second (depends: US-001)\n- [ ] US-003: Third\n";

/// A project, and a git server with its commits.
fn served() -> (Stage, Utf8PathBuf) {
    let stage = Stage::new("works", PLAN);
    stage.repo.commit_all("plan");
    let server = stage.repo.scratch().path("server.git");
    stage.repo.git(["clone", "--quiet", "--bare", ".", server.as_str()]);
    (stage, server)
}

fn options<'a>(server: &'a Utf8PathBuf, story: &'a str) -> Vec<&'a str> {
    vec!["--fleet", server.as_str(), "--story", story, "--prove", "off"]
}

/// Runs a task.
fn task(stage: &Stage, server: &Utf8PathBuf, story: &str, more: &[&str]) -> Ran {
    stage.run(&[&options(server, story)[..], more].concat())
}

fn start(stage: &Stage, server: &Utf8PathBuf, story: &str) -> Child {
    stage.start(&options(server, story))
}

/// Runs git in the repository of the server.
fn git(stage: &Stage, server: &Utf8PathBuf, args: &[&str]) -> String {
    stage.repo.git_in(server.as_std_path(), args)
}

fn landed(stage: &Stage, server: &Utf8PathBuf) -> Vec<String> {
    let subjects = git(stage, server, &["log", "--reverse", "--format=%s", "main"]);
    subjects.lines().filter(|line| line.starts_with("feat(")).map(str::to_owned).collect()
}

/// The report lists the commit of each story on the server.
fn reported(stage: &Stage, server: &Utf8PathBuf) {
    let ran = stage.run(&["report", "--markdown", "--fleet", server.as_str()]);
    let log = ["log", "--format=%h %s", "--abbrev=8", "--grep=^Ralph-Story", "main"];
    for commit in git(stage, server, &["log", "--format=%H", "--grep=^Ralph-Story", "main"]).lines()
    {
        let note = git(stage, server, &["notes", "--ref=ralph", "show", commit]);
        assert!(note.contains(commit), "{note}");
    }
    for line in git(stage, server, &log).lines() {
        ran.ended(0).says(line.split(' ').next().unwrap());
    }
    assert!(!ran.out.contains("under way"), "{}", ran.out);
}

fn kept(stage: &Stage, server: &Utf8PathBuf) -> String {
    git(stage, server, &["for-each-ref", "--format=%(refname)", "refs/heads", "refs/ralph"])
}

#[test]
fn a_task_waits_for_its_dependencies_and_lands_by_push_once() {
    let (stage, server) = served();
    let ran = task(&stage, &server, "US-002", &["--wait", "1s"]);
    ran.ended(75).says("US-002 depends on US-001, which is not done");
    task(&stage, &server, "US-001", &[]).ended(0).says("US-001 is done");
    task(&stage, &server, "US-001", &[]).ended(0);
    task(&stage, &server, "US-002", &[]).ended(0);
    assert_eq!(landed(&stage, &server), ["feat(US-001): First", "feat(US-002): Second"]);
    let plan = git(&stage, &server, &["show", "main:.ralph/PRD-1/plan.md"]);
    assert_eq!(plan.matches("[x]").count(), 2, "{plan}");
    let progress = git(&stage, &server, &["show", "main:.ralph/PRD-1/progress.md"]);
    assert_eq!(progress.matches("Status: SUCCESS").count(), 2, "{progress}");
    assert!(!progress.contains("Commit:"), "a commit cannot name itself: {progress}");
    let commits = git(&stage, &server, &["rev-list", "--count", "main"]);
    assert_eq!(commits.trim(), "4", "one for each story, after those of the project");
    reported(&stage, &server);
    let look = ["status", "--fleet", server.as_str()];
    stage.run(&look).ended(0).says("2 done, 1 open");
    stage.run(&["stories", "--fleet", server.as_str()]).ended(0).says("US-003");
    let look = ["report", "--markdown", "--fleet", server.as_str()];
    stage.run(&look).ended(0).says("US-001: First").says("US-002: Second");
    assert_eq!(
        stage.repo.git(["status", "--porcelain"]),
        "",
        "the project itself has no part in it"
    );
    let clean = ["push", "--quiet", "--prune", server.as_str(), "refs/none/*:refs/ralph/*"];
    stage.repo.git(clean);
    task(&stage, &server, "US-002", &[]).ended(0);
    assert_eq!(kept(&stage, &server).trim(), "refs/heads/main", "what was removed stays away");
}

#[test]
fn of_two_tasks_for_one_story_one_lands_and_the_other_is_kept() {
    let (stage, server) = served();
    let (mut one, mut two) = (start(&stage, &server, "US-001"), start(&stage, &server, "US-001"));
    let mut other = start(&stage, &server, "US-003");
    for task in [&mut one, &mut two, &mut other] {
        assert_eq!(task.wait().unwrap().code(), Some(0));
    }
    let mut subjects = landed(&stage, &server);
    subjects.sort();
    assert_eq!(subjects, ["feat(US-001): First", "feat(US-003): Third"]);
    let kept = kept(&stage, &server);
    assert!(kept.matches("refs/ralph/attempts/PRD-1/US-001/").count() >= 1, "{kept}");
    assert!(kept.contains("refs/ralph/tasks/"), "{kept}");
    reported(&stage, &server);
}

#[test]
fn a_landing_is_reported_if_its_task_is_killed_after_the_push() {
    let (stage, server) = served();
    let pid = stage.note_path("pid");
    let hook = format!("#!/bin/sh\ngrep -q refs/heads/main && kill -9 $(cat '{pid}')\n");
    executable(&server.join("hooks/post-receive"), &hook);
    let mut child = start(&stage, &server, "US-001");
    fs_err::write(&pid, child.id().to_string()).unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it was killed");
    reported(&stage, &server);
    stage.run(&["status", "--fleet", server.as_str()]).ended(0).says("1 story landed");
    task(&stage, &server, "US-001", &[]).ended(0).says("US-001 is done");
    assert_eq!(landed(&stage, &server), ["feat(US-001): First"]);
}

/// Starts a git server that speaks HTTP; returns its address.
fn smart_http(stage: &Stage) -> (Child, String) {
    let script = fixtures().join("servers/smart_http.py");
    let mut python = Command::new("python3");
    python.args([script.as_str(), stage.repo.scratch().root().as_str(), "secret"]);
    let mut child = python.stdout(Stdio::piped()).spawn().expect("python3 is there");
    let mut port = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
    (child, format!("127.0.0.1:{}/server.git", port.trim()))
}

#[test]
fn the_push_has_credentials_that_the_attempt_cannot_read() {
    let (stage, server) = served();
    let (mut http, address) = smart_http(&stage);
    let url = Utf8PathBuf::from(format!("http://{address}"));
    let home = stage.repo.scratch().path("home");
    fs_err::write(home.join(".git-credentials"), format!("http://me:secret@{address}\n")).unwrap();
    let settings = home.join(".gitconfig");
    stage.repo.git(["config", "--file", settings.as_str(), "credential.helper", "store"]);
    let steal = "git push --quiet %s HEAD:refs/heads/stolen";
    let agent = format!(
        "cat >/dev/null; (cat ~/.git-credentials; {}; {}) >\"$AGENT_NOTES/heard\" 2>&1; echo x >done.txt",
        steal.replace("%s", url.as_str()),
        steal.replace("%s", server.as_str()),
    );
    let options = [&options(&url, "US-001")[..], &["--agent", &agent]].concat();
    let mut command = stage.command(&options);
    let ran: Ran = command.env("RALPH_SANDBOX_WRITE", stage.note_path("")).output().unwrap().into();
    ran.ended(0);
    let heard = stage.note("heard");
    assert!(heard.contains("Permission denied") && !heard.contains("secret"), "{heard}");
    assert_eq!(landed(&stage, &server), ["feat(US-001): First"]);
    assert!(!kept(&stage, &server).contains("stolen"), "{heard}");
    let shown = Utf8PathBuf::from(format!("http://me:secret@{address}"));
    task(&stage, &shown, "US-002", &[]).ended(2).says("contains a password");
    http.kill().unwrap();
    http.wait().unwrap();
}

#[test]
fn refused_work_is_pushed_by_the_next_task_on_the_machine() {
    let (stage, server) = served();
    let refuse = "#!/bin/sh\necho 'read-only for now' >&2; exit 1\n";
    executable(&server.join("hooks/pre-receive"), refuse);
    task(&stage, &server, "US-001", &["--wait", "1s"]).ended(75).says("read-only for now");
    fs_err::remove_file(server.join("hooks/pre-receive")).unwrap();
    let fails = ["--agent", "cat >/dev/null; exit 3"];
    task(&stage, &server, "US-001", &fails).ended(0).says("US-001 is done");
    assert_eq!(landed(&stage, &server), ["feat(US-001): First"]);
    reported(&stage, &server);
}

#[test]
fn a_terminated_task_keeps_its_work_on_the_server_for_the_next() {
    let (stage, server) = served();
    let agent = "cat >/dev/null; echo half >half.txt; echo x >\"$AGENT_NOTES/begun\"; sleep 600";
    let slow = [&options(&server, "US-001")[..], &["--agent", agent]].concat();
    let mut child = stage.start(&slow);
    until("the agent has begun", || !stage.note("begun").is_empty());
    signal("TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let attempt = "refs/ralph/attempts/PRD-1/US-001/1";
    assert!(kept(&stage, &server).contains(attempt), "{}", kept(&stage, &server));
    // Like another machine, which has nothing but the server.
    fs_err::remove_dir_all(stage.repo.scratch().path("home/.cache")).unwrap();
    task(&stage, &server, "US-001", &[]).ended(0);
    let files = git(&stage, &server, &["ls-tree", "--name-only", "main"]);
    assert!(files.contains("half.txt"), "the new task goes on with the work: {files}");
}

#[test]
fn a_blocked_story_is_recorded_on_the_server_and_can_be_reopened() {
    let (stage, server) = served();
    let red = ["--verify", "[ ! -e US-001.txt ]", "--attempts", "1"];
    task(&stage, &server, "US-001", &red).ended(8).says("US-001 is blocked");
    let ran = task(&stage, &server, "US-002", &[]);
    ran.ended(8).says("US-002 depends on US-001, which is blocked");
    let attempts = ["attempts", "--fleet", server.as_str()];
    stage.run(&attempts).ended(0).says("US-001/1");
    let ran = stage.run(&["report", "--markdown", "--fleet", server.as_str()]);
    ran.ended(0).says("gave up after 1");
    stage.run(&["retry", "US-001", "--fleet", server.as_str()]).ended(0);
    task(&stage, &server, "US-001", &[]).ended(0);
    assert_eq!(landed(&stage, &server), ["feat(US-001): First"]);
}

#[test]
fn a_task_copes_with_an_unreachable_or_branches_only_server() {
    let (stage, server) = served();
    let away = stage.repo.scratch().path("away.git");
    task(&stage, &away, "US-001", &["--wait", "1s"]).ended(75).says("try again later");
    let refuse =
        "#!/bin/sh\ncase $1 in refs/heads/*) ;; *) echo 'only branches' >&2; exit 1 ;; esac\n";
    executable(&server.join("hooks/update"), refuse);
    task(&stage, &server, "US-001", &[]).ended(0);
    let kept = kept(&stage, &server);
    assert!(kept.contains("refs/heads/ralph-kept/attempts/PRD-1/US-001/1"), "{kept}");
    stage.run(&["attempts", "--fleet", server.as_str()]).ended(0).says("US-001/1");
    let red = ["--verify", "[ ! -e US-002.txt ]", "--attempts", "1"];
    task(&stage, &server, "US-002", &red).ended(8);
    stage.run(&["status", "--fleet", server.as_str()]).ended(0).says("1 story landed");
}

#[test]
fn the_agent_learns_that_another_task_landed_first() {
    let (stage, server) = served();
    let agent = "s=$(cat $RALPH_STORY_FILE); cat >>\"$AGENT_NOTES/$s\"; echo $s $$ >shared.txt; \
                 echo x >\"$AGENT_NOTES/begun\"; \
                 until [ $s = US-003 ] || [ -e \"$AGENT_NOTES/go\" ]; do sleep 0.05; done";
    let with_agent = |story| [&options(&server, story)[..], &["--agent", agent]].concat();
    let mut slow = stage.start(&with_agent("US-001"));
    until("the agent has begun", || !stage.note("begun").is_empty());
    stage.run(&with_agent("US-003")).ended(0);
    std::fs::write(stage.notes.path("go"), "").unwrap();
    assert_eq!(slow.wait().unwrap().code(), Some(0));
    assert_eq!(landed(&stage, &server), ["feat(US-003): Third", "feat(US-001): First"]);
    let prompts = stage.note("US-001");
    assert!(prompts.contains("another story landed first: "), "{prompts}");
    let attempts = stage.run(&["attempts", "--fleet", server.as_str()]);
    let of_story = attempts.out.lines().filter(|line| line.starts_with("US-001/"));
    let said: Vec<bool> = of_story.map(|line| line.contains("  landed ")).collect();
    assert_eq!(said.iter().filter(|is_landed| **is_landed).count(), 1, "{}", attempts.out);
    assert!(said.len() > 1, "{}", attempts.out);
}

#[test]
fn unfit_options_are_refused_and_a_waiting_task_can_be_ended() {
    let (stage, server) = served();
    for option in [&["--workers", "2"][..], &["--in-place"], &["--mode", "planning"]] {
        task(&stage, &server, "US-001", option).ended(2).says("cannot be combined with --");
    }
    task(&stage, &server, "US-001", &["--dry-run"]).ended(0);
    task(&stage, &server, "US-009", &[]).ended(2).says("the plan on main has no story US-009");
    let mut waits = start(&stage, &server, "US-002");
    std::thread::sleep(std::time::Duration::from_secs(1));
    signal("TERM", waits.id());
    assert_eq!(waits.wait().unwrap().code(), Some(143));
    assert_eq!(landed(&stage, &server), [""; 0]);
}

#[test]
fn a_killed_task_leaves_no_agent_and_the_next_one_succeeds() {
    let (stage, server) = served();
    let agent =
        "cat >/dev/null; echo half >half.txt; echo $$ >\"$AGENT_NOTES/pid\"; exec sleep 600";
    let mut child = stage.start(&[&options(&server, "US-001")[..], &["--agent", agent]].concat());
    until("the agent has begun", || !stage.note("pid").is_empty());
    signal("KILL", child.id());
    child.wait().unwrap();
    until("the agent is gone", || !is_alive(&stage.note("pid")));
    until("the loop is gone", || {
        let ran = task(&stage, &server, "US-001", &[]);
        ran.code == Some(0) && ran.out.contains("US-001 is done")
    });
    assert_eq!(landed(&stage, &server), ["feat(US-001): First"]);
}

#[test]
fn jobs_list_open_stories_after_their_dependencies() {
    let (stage, _) = served();
    stage.repo.git(["remote", "add", "origin", "ssh://git@host/app.git"]);
    let job = |engine: &str| {
        let ran = stage.run(&["fleet", engine, "--options", "--max-cost 9"]);
        ran.ended(0);
        ran.out
    };
    let slurm = job("slurm");
    let behind = "ralph_us_002=$(submit 'US-002' \"--dependency=afterok:$ralph_us_001\")";
    assert!(slurm.contains(behind), "{slurm}");
    let actions = job("github-actions");
    assert!(actions.contains("  ralph-us-002:\n"), "{actions}");
    assert!(actions.contains("needs: [ralph-us-001]"), "{actions}");
    assert!(job("gitlab-ci").contains("needs: [\"ralph-us-001\"]"));
    assert!(job("kubernetes").contains("set -- 'US-001' 'US-002' 'US-003'\n"));
    let command = "ralph-loop --fleet ssh://git@host/app.git --max-cost 9 --story :::";
    assert!(job("parallel").contains(command), "{}", job("parallel"));
}
