//! Receipts: written by whatever lands, and `ralph-loop audit` against tampering of every kind.

use std::sync::LazyLock;

use camino::Utf8PathBuf;
use serde_json::{Value, json};
use test_support::{TestRepo, fixtures, program};

use crate::stage::{LOOP, ONE, Ran, Stage, TWO};

const NOTES: &str = "refs/notes/ralph";

/// The statement in the note about a commit.
pub(crate) fn statement(repo: &TestRepo, commit: &str) -> Value {
    let note = repo.git(["notes", "--ref=ralph", "show", commit]);
    let note: Value = serde_json::from_str(&note).unwrap();
    match note.get("payload") {
        Some(payload) => serde_json::from_slice(&base64(payload.as_str().unwrap())).unwrap(),
        None => note,
    }
}

fn base64(text: &str) -> Vec<u8> {
    data_encoding::BASE64.decode(text.as_bytes()).unwrap()
}

/// All commits that landed have a receipt of their own that holds, and says this about its parent.
#[track_caller]
fn holds(stage: &Stage, range: &str, receipts: usize) -> Ran {
    let ran = stage.run(&["audit", range, "--json"]);
    let found: Value = serde_json::from_str(&ran.ended(0).out).unwrap();
    let commits = found["commits"].as_array().unwrap();
    let claimed = commits.iter().filter(|it| it["state"] == "claimed").count();
    assert_eq!(claimed, receipts, "{found:#}");
    for commit in commits.iter().filter(|commit| !commit["statement"].is_null()) {
        let id = commit["commit"].as_str().unwrap();
        let parent = stage.repo.git(["rev-parse", &format!("{id}^")]);
        let facts = &commit["statement"]["predicate"]["annotations"];
        assert_eq!(facts["base"].as_str().unwrap(), parent.trim(), "{facts:#}");
        assert_ne!(facts["scale"], "unchecked");
    }
    ran
}

/// A project whose plan and settings are committed.
fn ready(agent: &str, plan: &str) -> Stage {
    let stage = Stage::new(agent, plan);
    stage.repo.write("tests.sh", "test ! -e broken && echo '2 passed'\n");
    stage.repo.write(".ralph/config.toml", "[verify]\ncommands = [\"sh tests.sh\"]\n");
    stage.repo.commit_all("checks");
    stage
}

#[test]
fn a_receipt_says_what_was_known_and_nothing_of_the_machine() {
    let stage = ready("works", ONE);
    let root = stage.repo.root().to_string();
    let leak = format!("echo {root} token=hunter2hunter2hunter2; sh {root}/tests.sh");
    stage.run(&["--verify", "sh tests.sh", "--verify", &leak]).ended(0);
    let commit = stage.repo.git(["rev-parse", "HEAD~1"]);
    let statement = statement(&stage.repo, "HEAD~1");
    let tree = stage.repo.git(["rev-parse", "HEAD~1^{tree}"]);
    assert_eq!(statement["subject"][0]["digest"]["gitCommit"], commit.trim());
    assert_eq!(statement["subject"][1]["digest"]["gitTree"], tree.trim());
    let facts = &statement["predicate"]["annotations"];
    assert_eq!((&facts["story"], &facts["plan"]), (&json!("US-001"), &json!("PRD-1")));
    assert_eq!((&facts["attempt"], &facts["scale"]), (&json!(1), &json!("checked")));
    let check = &facts["checks"][0];
    assert_eq!((&check["command"], &check["exitCode"]), (&json!("sh tests.sh"), &json!(0)));
    assert_eq!((&check["passed"], &check["failed"]), (&json!(2), &json!(0)));
    // Of "2 passed\n".
    let sum = "ec5ce487789f0bf1b922299cf02b3e3633d037e37a94d17df2b3bbbe3ed5fcc6";
    assert_eq!(check["outputSha256"], sum);
    for name in ["promptSha256", "planSha256", "settingsSha256"] {
        assert_eq!(facts[name].as_str().unwrap().len(), sum.len(), "{name}");
    }
    let text = statement.to_string();
    assert!(text.contains("sh ./tests.sh") && text.contains("[masked]"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains(&root), "{text}");
    holds(&stage, "HEAD~2..HEAD~1", 1);
}

#[test]
fn several_workers_write_one_receipt_each_beside_the_users_notes() {
    let plan = "- [ ] US-001: A\n- [ ] US-002: B\n- [ ] US-003: C\n- [ ] US-004: D\n";
    let stage = ready("works", plan);
    let base = stage.repo.head();
    stage.repo.git(["notes", "--ref=ralph", "add", "-m", "mine", &base]);
    stage.run(&["--workers", "2"]).ended(0);
    assert_eq!(stage.repo.git(["notes", "--ref=ralph", "show", &base]), "mine\n");
    holds(&stage, &format!("{}..", base.trim()), 5);
    let left = stage.repo.git(["for-each-ref", "refs/ralph/notes"]);
    assert_eq!(left, "");
}

#[test]
fn work_in_place_gets_receipts() {
    let stage = ready("works", TWO);
    let base = stage.repo.head();
    stage.run(&["--in-place"]).ended(0);
    holds(&stage, &format!("{}..", base.trim()), 3);
}

#[test]
fn stories_of_one_session_get_a_receipt_each() {
    let (stage, ran) =
        crate::sessions::in_sessions(&["--stories-per-session", "3", "--verify", "test -d src"], 3);
    ran.ended(0);
    holds(&stage, "HEAD~3..", 3);
    let story = |commit: &str| statement(&stage.repo, commit)["predicate"]["annotations"].clone();
    let (first, last) = (story("HEAD~2"), story("HEAD"));
    assert_eq!((&first["story"], &last["story"]), (&json!("US-001"), &json!("US-003")));
    assert_ne!(first["promptSha256"], last["promptSha256"]);
}

#[test]
fn work_that_is_rebased_by_its_landing_gets_a_receipt_of_what_landed() {
    let stage = ready("works", ONE);
    // The user commits while the agent works.
    let agent = format!(
        "cat >/dev/null; echo x >US-001.txt; cd {}; echo y >mine.txt; git add mine.txt; git commit -qm mine",
        stage.repo.root()
    );
    let base = stage.repo.head();
    stage.run(&["--agent", &agent, "--sandbox", "off"]).ended(0);
    assert!(stage.subjects().contains(&"mine".to_owned()));
    holds(&stage, &format!("{}..", base.trim()), 2);
}

#[test]
fn waiting_work_that_is_rebased_gets_new_receipts() {
    let stage = ready("works", TWO);
    let base = stage.repo.head();
    stage.repo.write("US-001.txt", "mine\n");
    stage.run(&["--max-iterations", "1"]).ended(8);
    stage.repo.remove("US-001.txt");
    stage.repo.write("other.txt", "mine\n");
    stage.repo.commit_all("mine");
    stage.run(&[]).ended(0).says("rebasing");
    let ran = holds(&stage, &format!("{}..", base.trim()), 4);
    assert!(ran.out.contains("US-001"), "{}", ran.out);
}

#[test]
fn taking_and_undoing_leave_receipts_as_they_are() {
    let stage = ready("works", TWO);
    stage.run(&["--max-iterations", "1"]).ended(0);
    let notes = stage.repo.git(["rev-parse", NOTES]);
    stage.run(&["attempts", "take", "US-001/1", "--branch", "taken"]).ended(0);
    stage.run(&["undo"]);
    assert_eq!(stage.repo.git(["rev-parse", NOTES]), notes);
    // The attempt that landed is the landed commit.
    stage.run(&["audit", "taken"]).ended(0).says("1 receipt, claimed");
    let failing = "cat >/dev/null; touch broken";
    stage.run(&["--agent", failing, "--max-iterations", "1", "--attempts", "1"]);
    stage.run(&["attempts", "take", "US-002/1", "--branch", "failed"]).ended(0);
    stage.run(&["audit", "failed"]).ended(1).says("no receipt is about its tree");
}

#[test]
fn the_commit_names_agent_and_model_unless_that_is_off() {
    for expected in [true, false] {
        let stage = ready("works", ONE);
        if !expected {
            stage.repo.write(".ralph/config.toml", "[commit]\nassisted_by = false\n");
        }
        let client = stage.repo.scratch().path("bin/claude");
        let stream = r#"{"type":"system","subtype":"init","session_id":"s","model":"m-1"}
{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}"#;
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo '2.1.300 (Claude Code)' && exit\ncat >/dev/null\necho x >x.txt\ncat <<'E'\n{stream}\nE\n"
        );
        stage.repo.scratch().script("bin/claude", &script);
        stage.run(&["--agent", client.as_str(), "--unguarded", "--verify", "sh tests.sh"]).ended(0);
        let body = stage.repo.git(["log", "-1", "--format=%B", "HEAD~1"]);
        let line = "\nAssisted-by: claude:m-1 [ralph-loop]\n";
        assert_eq!(body.contains(line), expected, "{body}");
        let facts = &statement(&stage.repo, "HEAD~1")["predicate"]["annotations"];
        assert_eq!((&facts["agent"], &facts["model"]), (&json!("claude"), &json!("m-1")));
        assert!(facts["agentVersion"].as_str().unwrap().contains("2.1.300"), "{facts}");
    }
}

/// A project with three landed stories on the branch `work`, signed or not; it is copied for each case.
struct Landed(Stage);

static SIGNED: LazyLock<Landed> = LazyLock::new(|| Landed::new(true));
static UNSIGNED: LazyLock<Landed> = LazyLock::new(|| Landed::new(false));

impl Landed {
    fn new(is_signed: bool) -> Self {
        let plan = "- [ ] US-001: A\n- [ ] US-002: B\n- [ ] US-003: C\n";
        let stage = ready("works", plan);
        stage.repo.git(["switch", "-qc", "work"]);
        if is_signed {
            let key = stage.notes.path("key");
            for name in ["key", "other"] {
                let path = stage.notes.path(name);
                let args = ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path.as_str()];
                let made = program("ssh-keygen", stage.notes.root()).args(args).status();
                assert!(made.unwrap().success());
            }
            let public = fs_err::read_to_string(stage.notes.path("key.pub")).unwrap();
            let allowed = stage.notes.file("allowed", format!("dev@example.org {public}"));
            for (name, value) in [
                ("gpg.format", "ssh"),
                ("user.signingkey", key.as_str()),
                ("commit.gpgsign", "true"),
                ("gpg.ssh.allowedSignersFile", allowed.as_str()),
            ] {
                stage.repo.git(["config", name, value]);
            }
        }
        stage.run(&[]).ended(0);
        Self(stage)
    }

    /// Runs a script in a copy of the project, where `$A`, `$B` and `$C` are the stories' commits, and then the audit.
    fn after(&self, case: &str, act: &str, args: &[&str]) -> Ran {
        let stage = &self.0;
        let copy =
            stage.repo.scratch().path(&format!("case-{}", case.replace([' ', '`', ','], "-")));
        let copied = program("cp", stage.notes.root())
            .args(["-a", stage.repo.root().as_str(), copy.as_str()])
            .status();
        assert!(copied.unwrap().success());
        let git = |args: &[&str]| stage.repo.git_in(copy.as_std_path(), args.to_vec());
        if let Some(how) = act.strip_prefix("forge ") {
            let note = git(&["notes", "--ref=ralph", "show", "HEAD~1"]);
            let file = stage.notes.file("forged", forged(stage, how, &note));
            git(&["notes", "--ref=ralph", "add", "-f", "-F", file.as_str(), "HEAD~1"]);
        } else {
            let mut shell = program("sh", stage.notes.root());
            shell.args(["-e", "-c", act]).envs(stage.repo.isolation()).current_dir(&copy);
            for (name, commit) in [("A", "HEAD~3"), ("B", "HEAD~2"), ("C", "HEAD~1")] {
                shell.env(name, git(&["rev-parse", commit]).trim());
            }
            let ran = shell.env("KEYS", stage.notes.root()).output().unwrap();
            assert!(ran.status.success(), "{case}: {}", String::from_utf8_lossy(&ran.stderr));
        }
        let has_range = args.first().is_some_and(|first| first.starts_with("HEAD"));
        let range: &[&str] = if has_range { &[] } else { &["main..HEAD"] };
        let mut command = stage.command_of(LOOP, &[&["audit"], range, args].concat());
        let ran: Ran = command.current_dir(&copy).output().unwrap().into();
        fs_err::remove_dir_all(&copy).unwrap();
        ran
    }
}

/// The text of a note that somebody forged: a field of the statement has another value, or the envelope is another.
fn forged(stage: &Stage, how: &str, note: &str) -> String {
    let mut note: Value = serde_json::from_str(note).unwrap();
    let statement = || String::from_utf8(base64(note["payload"].as_str().unwrap())).unwrap();
    match how {
        "unsigned" => return statement(),
        "payload" => {
            let text = statement().replace("\"checked\"", "\"proven\"");
            note["payload"] = json!(data_encoding::BASE64.encode(text.as_bytes()));
        }
        "key" => {
            let (kind, text) = (note["payloadType"].as_str().unwrap(), statement());
            let to_sign = format!("DSSEv1 {} {kind} {} {text}", kind.len(), text.len());
            let file = stage.notes.file("to-sign", to_sign);
            let key = stage.notes.path("other");
            let args = ["-q", "-Y", "sign", "-n", "git", "-f", key.as_str(), file.as_str()];
            assert!(
                program("ssh-keygen", stage.notes.root()).args(args).status().unwrap().success()
            );
            let made = file.with_extension("sig");
            note["signatures"][0]["sig"] =
                json!(data_encoding::BASE64.encode(&fs_err::read(&made).unwrap()));
            fs_err::remove_file(made).unwrap();
        }
        field => {
            let (pointer, value) = field.split_once(' ').unwrap();
            *note.pointer_mut(pointer).unwrap() = serde_json::from_str(value).unwrap();
        }
    }
    note.to_string()
}

/// Each row of the fixture is a case: what is done to a project whose commits are signed, or are not, and the answer.
#[test]
fn tampering_gets_the_right_answer() {
    let text = fs_err::read_to_string(fixtures().join("tampering.tsv")).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let docs = fs_err::read_to_string(fixtures().join("../docs/receipts.md")).unwrap();
    let mut wrong = Vec::new();
    for row in rows {
        let [project, case, act, args, code, words] = row.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("{row}");
        };
        let landed = if project == "signed" { &SIGNED } else { &UNSIGNED };
        let args: Vec<&str> = args.split_whitespace().collect();
        let ran = landed.after(case, act, &args);
        let said = format!("{}{}", ran.out, ran.err);
        if ran.code.map(|code| code.to_string()).as_deref() != Some(code) || !said.contains(words) {
            wrong.push(format!("{project}, {case}: {:?}\n{said}", ran.code));
        }
        assert!(docs.contains(case), "docs/receipts.md has no `{case}`");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_checks_run_again_in_a_fresh_clone_that_is_removed() {
    let ran = UNSIGNED.after("rerun", "true", &["--rerun", "--workers", "2"]);
    ran.ended(0).says("4 receipts confirmed");
    let ran = UNSIGNED.after("rerun last", "true", &["--rerun=last", "--markdown"]);
    ran.ended(0).says("3 of them claimed only").says("| confirmed |");
    let caches = UNSIGNED.0.repo.scratch().path("home/.cache/ralph");
    let left = caches.read_dir_utf8().unwrap().flatten();
    let left = left.flat_map(|entry| entry.path().read_dir_utf8().unwrap().flatten());
    let left: Vec<Utf8PathBuf> = left.map(|entry| entry.path().to_owned()).collect();
    assert!(!left.iter().any(|path| path.as_str().contains("audit")), "{left:?}");
}
