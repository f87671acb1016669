//! The user's own verifiers: what they are told, what follows from their answers, and that no attempt
//! chooses them.

use crate::sandbox::is_missing;
use crate::stage::{ONE, Ran, Stage};

const CHECK: [&str; 2] = ["--verify", "test -f US-001.txt"];

fn with_verifier(name: &str, text: &str) -> Stage {
    let stage = Stage::new("works", ONE);
    let path = format!(".ralph/verifiers/{name}");
    stage.repo.write(&path, text);
    stage.repo.chmod(&path, 0o755);
    stage.repo.commit_all("a verifier");
    stage
}

/// A run whose attempts can only write where any attempt can.
fn run(stage: &Stage, args: &[&str]) -> Ran {
    let closed = [("RALPH_SANDBOX_WRITE", stage.notes.root().as_str())];
    stage.run_env(&closed, &[&CHECK[..], args].concat())
}

#[test]
fn a_verifier_gets_the_work_and_its_finding_is_shown_everywhere() {
    let told = r#"#!/bin/sh
work=$(cat)
for part in '"v":1' '"story":"US-001"' '"title":"First"' '"files":["US-001.txt"]' "\"copy\":\"$PWD\""; do
    case $work in *"$part"*) ;; *) echo "no $part in $work"; exit 2 ;; esac
done
tree=$(printf '%s' "$work" | sed 's/.*"tree":"\([0-9a-f]*\)".*/\1/')
base=$(printf '%s' "$work" | sed 's/.*"base":"\([0-9a-f]*\)".*/\1/')
git diff-tree --name-only "$base" "$tree" | grep -qx US-001.txt || { echo 'no tree'; exit 2; }
echo mine >>US-001.txt
touch PROJECT/escaped 2>/dev/null
echo '{"finding":"remark","text":"no header in US-001.txt"}'
"#;
    let stage = with_verifier("licences", "");
    let root = stage.repo.root().to_string();
    stage.repo.write(".ralph/verifiers/licences", told.replace("PROJECT", &root));
    let ran = run(&stage, &[]);
    ran.ended(0).says("US-001 licences: no header in US-001.txt").says("to review");
    let body = stage.repo.git(["log", "-1", "--format=%B", "--grep=Ralph-Story"]);
    assert!(body.contains("Ralph-Verifier: licences: no header in US-001.txt\n"), "{body}");
    let progress = stage.progress();
    assert!(progress.contains("- Verifier: licences: no header in US-001.txt\n"), "{progress}");
    stage.run(&["status"]).ended(0).says("licences: no header in US-001.txt");
    let journal = stage.read(".ralph/events.jsonl");
    assert!(
        journal.contains(r#""about":"licences","what":"no header in US-001.txt""#),
        "{journal}"
    );
    assert!(!stage.read("US-001.txt").contains("mine"), "what it writes is not the story's");
    assert!(is_missing() || !stage.exists("escaped"), "it runs in the sandbox");
    stage.is_clean();
}

#[test]
fn a_refusal_is_the_attempts_failure_and_reaches_the_next_prompt() {
    // Without a `#!` line.
    let text = "grep -q Header US-001.txt || { echo US-001.txt lacks its header; exit 2; }\n";
    let stage = with_verifier("headers.sh", text);
    let agent = "case $(cat) in *'lacks its header'*) echo Header >US-001.txt ;; \
                 *) echo hi >US-001.txt ;; esac";
    let ran = stage.run(&[&CHECK[..], &["--agent", agent]].concat());
    ran.ended(0).says("US-001: the verifier `headers.sh` refuses it: US-001.txt lacks its header");
    ran.says("US-001 headers.sh: ok");
    assert_eq!((stage.read("US-001.txt").as_str(), stage.discarded()), ("Header\n", 1));
}

#[test]
fn a_verifier_that_fails_leaves_the_story_to_review() {
    let stage = with_verifier("broken", "#!/bin/sh\necho no such tool >&2\nexit 127\n");
    let ran = stage.run(&CHECK);
    ran.ended(0).says("US-001 broken: failed with exit code 127: no such tool").says("to review");
    stage.repo.chmod(".ralph/verifiers/broken", 0o644);
    stage.run(&["doctor", "--no-checks"]).says("broken is not executable, so it looks at nothing");
}

#[test]
fn an_attempt_cannot_change_which_verifiers_look_at_it() {
    let refuses = "#!/bin/sh\necho never; exit 2\n";
    let agent = "cat >/dev/null; echo hi >US-001.txt; cd \"$RALPH_ROOT\" && \
                 for file in .ralph/verifiers .git/ralph/verifiers; do \
                 echo 'exit 0' >$file/strict; rm -rf $file; done 2>/dev/null; true";
    for place in [&[][..], &["--in-place"]] {
        if is_missing() {
            return;
        }
        let stage = with_verifier("strict", refuses);
        let args = ["--agent", agent, "--attempts", "2"];
        let ran = run(&stage, &[&args, place].concat());
        ran.ended(8).says("the verifier `strict` refuses it: never");
        assert_eq!(stage.discarded(), 2, "{place:?}");
        assert_eq!(stage.read(".ralph/verifiers/strict"), refuses, "{place:?}");
    }
}
