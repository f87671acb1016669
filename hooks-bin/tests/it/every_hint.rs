//! Every next step that a gate suggests is performed as an agent would: the guard must allow the
//! step, and then the gate must be met. So no session is blocked for good.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::StateDir;
use ralph_project::claim::{Claim, ClaimStatus};
use serde_json::json;
use test_support::{TestRepo, program};

use crate::client::{Client, ON_STOP};

/// A step that follows a hint. `{}` is replaced by the file or folder that the hint names.
enum Step {
    /// Reads a file and rewrites it.
    Rewrite(&'static str, &'static str),
    /// Runs a command line.
    Bash(&'static str),
    /// Runs a command line of `ralph-loop`, which the function simulates.
    Ours(&'static str, fn(&Session)),
    /// Runs tests, which pass.
    Test(&'static str),
}

/// A session of an agent in a project.
struct Session {
    repo: TestRepo,
    client: Client,
}

impl Session {
    fn new() -> Self {
        let repo = TestRepo::new();
        repo.introduce_user();
        repo.write(".ralph/config.toml", "");
        StateDir::of_project(repo.root()).prepare().unwrap();
        repo.commit_all("state");
        let client = Client::in_repo(&repo);
        Self { repo, client }
    }

    /// Returns the state folder of the session, in the project or in the home folder.
    fn folder(&self, at_home: bool) -> Utf8PathBuf {
        let root = if at_home { self.client.home.root() } else { self.repo.root() };
        root.join(".ralph/state").join(&self.client.session)
    }

    /// Writes a state file of the session, as a skill of the user would.
    fn keep(&self, at_home: bool, name: &str, text: &str) {
        let path = self.folder(at_home).join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    /// Returns the reason why a new turn may not end.
    fn held(&self) -> Option<String> {
        let answer = self.client.send(ON_STOP, json!({"hook_event_name": "Stop"}))?;
        assert_eq!(answer["decision"], "block", "{answer}");
        Some(answer["reason"].as_str().unwrap().to_owned())
    }

    /// Performs a step, which the guard must allow.
    #[track_caller]
    fn take(&self, step: &Step, named: &Utf8Path) {
        match step {
            Step::Rewrite(file, text) => {
                let file = file.replace("{}", named.as_str());
                self.client.tool_ended("Read", &file);
                for tool in ["Edit", "Write"] {
                    assert_eq!(self.client.edit_denied(tool, &file), None, "{tool} {file}");
                }
                fs_err::write(self.client.cwd.join(file), text).unwrap();
            }
            Step::Bash(line) => {
                let line = line.replace("{}", named.as_str());
                assert_eq!(self.client.bash_denied(&line), None, "{line}");
                let mut shell = program("sh", self.client.home.root());
                shell.envs(self.repo.isolation()).args(["-c", &line]);
                assert!(shell.current_dir(self.repo.root()).status().unwrap().success(), "{line}");
            }
            Step::Ours(line, done) => {
                assert_eq!(self.client.bash_denied(line), None, "{line}");
                done(self);
            }
            Step::Test(line) => {
                assert_eq!(self.client.bash_denied(line), None, "{line}");
                self.client.bash_ended(line, 0, "test result: ok. 3 passed; 0 failed; 0 ignored");
            }
        }
    }
}

/// Checks that the guard allows everything that a hint quotes, including commands.
#[track_caller]
fn is_allowed(session: &Session, reason: &str) {
    for quoted in reason.split('`').skip(1).step_by(2) {
        assert_eq!(session.client.bash_denied(quoted), None, "{quoted}");
    }
}

/// Returns the path that a hint names.
fn path_in(reason: &str) -> Option<Utf8PathBuf> {
    let word = reason.split_whitespace().find(|word| word.starts_with('/') && word.len() > 1)?;
    Some(word.trim_end_matches(['.', ',', ';']).into())
}

/// A gate on a state file: its name, the file, the unmet content, and the steps that meet it.
type FileGate = (&'static str, &'static str, &'static str, &'static [Step]);

const DONE: &str = r#"{"verified_done": true}"#;
const PASSED: &str = r#"{"last_result": "passed"}"#;
const COMPLETED: &str = r#"{"status": "completed"}"#;

const FILE_GATES: [FileGate; 4] = [
    (
        "ORCHESTRATOR",
        "orchestrator.json",
        r#"{"phase": "tests", "verified_done": false, "conditions": {"mine_alone": false}}"#,
        &[
            Step::Rewrite("{}", DONE),
            Step::Bash("sed -i 's/\"verified_done\": false/\"verified_done\": true/' {}"),
            Step::Bash("printf '%s' '{\"verified_done\": true}' > {}"),
            Step::Bash("cat > {} <<'END'\n{\"verified_done\": true}\nEND"),
            Step::Ours("ralph-loop verified --condition mine_alone --done", |session| {
                for at_home in [false, true] {
                    session.keep(at_home, "orchestrator.json", DONE);
                }
            }),
        ],
    ),
    (
        "LOOP",
        "loop.json",
        r#"{"iteration": 1, "max_iterations": 9, "verified_done": false, "last_error": "E1"}"#,
        &[
            Step::Rewrite("{}", DONE),
            Step::Bash("sed -i 's/\"iteration\": 1/\"iteration\": 9/' {}"),
            Step::Bash("new=$(mktemp); echo '{\"verified_done\": true}' > $new; mv $new {}"),
            Step::Ours("ralph-loop verified --iteration 2 --done", |session| {
                for at_home in [false, true] {
                    session.keep(at_home, "loop.json", DONE);
                }
            }),
        ],
    ),
    (
        "QUALITY",
        "quality-gate.json",
        r#"{"last_result": "failed", "stages": {"types": {"status": "failed"}}}"#,
        &[
            Step::Rewrite("{}", PASSED),
            Step::Bash("echo '{\"last_result\": \"passed\"}' | tee {} > /dev/null"),
            Step::Bash("sed -i 's/failed/passed/g' {}"),
        ],
    ),
    (
        "TASKS",
        "tasks/1.json",
        r#"{"status": "in_progress", "title": "Log in"}"#,
        &[
            Step::Rewrite("{}/1.json", COMPLETED),
            Step::Bash("sed -i 's/in_progress/completed/' {}/1.json"),
            Step::Bash("rm {}/1.json"),
        ],
    ),
];

#[test]
fn a_session_can_meet_each_gate_with_its_state_files() {
    for (gate, file, text, steps) in FILE_GATES {
        for step in steps {
            for at_home in [false, true] {
                let session = Session::new();
                session.keep(at_home, file, text);
                let reason = session.held().unwrap();
                assert!(reason.starts_with(&format!("{gate} gate failed")), "{reason}");
                is_allowed(&session, &reason);
                let named = path_in(&reason).unwrap();
                assert!(named.starts_with(session.folder(at_home)), "{reason}");
                session.take(step, &named);
                assert_eq!(session.held(), None, "{gate}");
            }
        }
    }
}

/// A gate on the work: its name, how it becomes unmet, and the steps that meet it.
type WorkGate = (&'static str, fn(&Session), &'static [&'static [Step]]);

fn fail_tests(session: &Session) {
    session.keep(false, "loop.json", DONE);
    session.client.bash_ended("cargo test", 101, "test result: FAILED. 2 passed; 1 failed");
}

fn open_story(session: &Session) {
    session.repo.write(".ralph/.checkpoint", session.repo.head());
    session.keep(false, "loop.json", DONE);
    session.repo.write(".ralph/current-story", "US-001\n");
    session.repo.write(".ralph/PRD-1/plan.md", "- [ ] US-001: Log in\n");
}

fn verify(session: &Session) {
    let config = "[stop]\nverify = true\n[verify]\ncommands = [\"test -e fixed\"]\n";
    session.repo.write(".ralph/config.toml", config);
}

fn change(session: &Session) {
    session.keep(false, "orchestrator.json", DONE);
    session.repo.write("new.txt", "x");
}

fn report(session: &Session, status: ClaimStatus) {
    Claim::new("US-001", status, "so").save(&StateDir::of_project(session.repo.root())).unwrap();
}

const WORK_GATES: [WorkGate; 4] = [
    ("TESTS", fail_tests, &[&[Step::Test("cargo test")]]),
    (
        "STORY",
        open_story,
        &[
            &[Step::Ours("ralph-loop complete US-001 --summary x", |session| {
                report(session, ClaimStatus::Success);
            })],
            &[Step::Ours("ralph-loop complete US-001 --status blocked --summary x", |session| {
                report(session, ClaimStatus::Blocked);
            })],
        ],
    ),
    ("VERIFY", verify, &[&[Step::Bash("touch fixed"), Step::Bash("test -e fixed")]]),
    (
        "CHANGES",
        change,
        &[&[Step::Bash("git add -A && git commit -qm 'the work'")], &[Step::Bash("rm new.txt")]],
    ),
];

#[test]
fn a_session_can_meet_each_gate_on_its_work() {
    for (gate, unmeet, ways) in WORK_GATES {
        for way in ways {
            let session = Session::new();
            unmeet(&session);
            let reason = session.held().unwrap_or_default();
            assert!(reason.starts_with(&format!("{gate} gate failed")), "{gate}: {reason}");
            is_allowed(&session, &reason);
            way.iter().for_each(|step| session.take(step, "".into()));
            assert_eq!(session.held(), None, "{gate}");
        }
    }
}
