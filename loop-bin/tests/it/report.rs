//! The report of a run: what needs the user, what was done, and what it cost.

use serde_json::Value;

use crate::stage::{ONE, Ran, Stage};

const PLAN: &str = "- [ ] US-001: Log in\n- [ ] US-002: <script>alert(1)</script> & more\n\
                    - [ ] US-003: Later (depends: US-002)\n";

/// A run with one story done, one blocked by a test with hostile output, and one waiting.
fn bad_night() -> (Stage, Ran) {
    let stage = Stage::new("works", PLAN);
    let agent = "cat >/dev/null; id=$(cat \"$RALPH_ROOT/.ralph/current-story\"); echo x >$id.txt; \
                 echo '{\"type\":\"result\",\"is_error\":false,\"result\":\"All <b>done</b>.\",\
                 \"total_cost_usd\":0.5}'";
    let check = "if test -e US-002.txt; then printf '</pre><script>alert(2)</script>\\033[31m\\n'; \
                 exit 1; fi";
    let args = ["--agent", agent, "--verify", check, "--attempts", "2"];
    let ran = stage.run(&args);
    (stage, ran)
}

#[test]
fn the_report_path_is_printed_and_passed_to_the_finished_script() {
    let stage = Stage::new("works", "- [ ] US-001: Log in\n");
    stage.script("finished", "echo \"the page is $RALPH_REPORT\"");
    let ran = stage.run(&[]);
    ran.ended(0).says("report: .ralph/logs/report-").says("the page is /");
    let untracked = stage.repo.git(["status", "--porcelain", "--untracked-files=all"]);
    assert!(!untracked.contains("report"), "it is nothing of git's: {untracked}");
    let html = stage.run(&["report"]);
    let page = fs_err::read_to_string(html.out.trim()).unwrap();
    assert!(page.contains("1 story done, 1 unchecked; review 1 story"), "{page}");
}

#[test]
fn what_needs_the_user_is_reported_with_the_commands_and_escaped() {
    let (stage, ran) = bad_night();
    ran.ended(8);
    let json = stage.run(&["report", "--json"]);
    let page: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(page["verdict"], "1 story done, 1 blocked, 1 open; 1 thing needs you");
    let need = &page["stories"][1];
    assert_eq!((&need["story"], &need["keeps_waiting"]), (&"US-002".into(), &"US-003".into()));
    assert_eq!(need["failed"].as_array().unwrap().len(), 2, "one below the other");
    assert!(need["failed"][0]["diff"].as_str().unwrap().contains("+x"));
    let given = &need["failed"][1]["commands"];
    assert_eq!(given[0], "ralph-loop attempts US-002/2");
    assert_eq!(given[1], "ralph-loop attempts take US-002/2");
    let [done, _, open] = &page["stories"].as_array().unwrap()[..] else { panic!("{page:#}") };
    assert_eq!((&done["state"], &open["state"]), (&"checked".into(), &"open".into()));
    assert_eq!(open["why"], "waits for US-002");
    assert_eq!((&page["failed_cost"], &done["cost"]), (&"$1.00".into(), &"$0.50".into()));
    // A later run without anything to do does not hide this one.
    stage.run(&["--agent", "true"]).ended(8);
    let html = stage.run(&["report", "--output", "page.html"]);
    let html = fs_err::read_to_string(stage.repo.root().join(html.out.trim())).unwrap();
    for said in [
        ", landing on main, sandbox ",
        "The next run has nothing to work on until you reopen or tick a story.",
        " passed on exactly this commit",
    ] {
        assert!(html.contains(said), "no `{said}` in {html}");
    }
    // Foreign text is escaped.
    assert!(!html.contains("<script") && !html.contains("<b>done"), "{html}");
    assert!(html.contains("&#60;script&#62;alert(2)") && !html.contains('\u{1b}'), "{html}");
    let markdown = stage.run(&["report", "--markdown"]).out;
    assert!(!markdown.contains("<script>alert(1)"), "{markdown}");
    let failing = "    ```\n    </pre><script>alert(2)</script>\n    ```\n";
    for part in ["&lt;script>alert(1)", failing, "> All &lt;b>done&lt;/b>."] {
        assert!(markdown.contains(part), "no `{part}` in {markdown}");
    }
    stage.run(&["attempts", "US-002/2"]).ended(0).says("US-002.txt");
}

#[test]
fn the_report_keeps_code_and_omits_our_files_and_missing_hooks() {
    let stage = Stage::new("works", "- [ ] US-001: Log in\n- [ ] US-002: Log out\n");
    stage.repo.commit_all("the plan");
    let check = "test ! -e US-002.txt # a_b";
    stage.run(&["--verify", check, "--attempts", "3"]).ended(8);
    let shown = stage.run(&["report", "--markdown"]);
    shown.ended(0).says(" 1 file changed, +1 −0 |").says("`test ! -e US-002.txt # a_b` failed");
    assert!(!shown.out.contains("[stop] verify"), "{}", shown.out);
    let red = ["--verify", "echo first line; echo second line; exit 1", "--baseline", "check"];
    stage.run(&["retry", "US-002"]).ended(0);
    stage.run(&red).ended(9);
    let shown = stage.run(&["report", "--markdown"]);
    shown.ended(0).says("  first line\n  second line\n");
    assert!(!shown.out.contains("first line; second line"), "{}", shown.out);
}

#[test]
fn history_survives_the_next_run() {
    let (stage, _) = bad_night();
    stage.run(&["--max-iterations", "1"]).ended(8);
    let verdict = |which: &str| -> String {
        let json = stage.run(&["report", "--json", "--run", which]).out;
        let page = serde_json::from_str::<Value>(&json).unwrap();
        let stories = page["stories"].as_array().unwrap();
        stories.iter().filter(|story| story["commit"] != "").count().to_string()
    };
    assert_eq!([verdict("last"), verdict("1"), verdict("all")], ["1", "1", "1"]);
    let all = stage.run(&["status", "--run", "all"]);
    all.ended(0).says("  1  ").says("1 story done in 3 attempts, $1.50");
    let past = stage.run(&["status", "--run", "1"]);
    past.ended(0).says("needs you: US-002").says("    ralph-loop attempts take US-002/2");
    stage.run(&["report", "--run", "7"]).ended(2).says("there is no run 7; the journal has 2");
}

#[test]
fn each_run_has_its_own_undo_command() {
    let stage = Stage::new("works", "- [ ] US-001: Log in\n- [ ] US-002: Log out\n");
    stage.repo.commit_all("the plan");
    stage.run(&["--max-iterations", "1"]).ended(0);
    stage.run(&[]).ended(0);
    stage.run(&[]).ended(0);
    let undo = |which: &str| -> String {
        let json = stage.run(&["report", "--json", "--run", which]).out;
        let page: Value = serde_json::from_str(&json).unwrap();
        page["undo"][0].as_str().unwrap().to_owned()
    };
    let command = undo("last");
    assert!(command.starts_with("git revert --no-edit $(git rev-list"), "{command}");
    assert_ne!(command, undo("1"), "a start with nothing to do is not the last run");
    let list = command.split(['(', ')']).nth(1).unwrap().replace('\'', "");
    let list = list.replace("git rev-list", "log --format=%s");
    let subjects = stage.repo.git(list.split(' '));
    assert_eq!(subjects, "chore(ralph): record progress\nfeat(US-002): Log out\n");
}

#[test]
fn sessions_outside_of_runs_are_reported() {
    let stage = Stage::new("works", ONE);
    stage.run(&["report"]).ended(1).says("there is no run to report on yet");
    let event = |more: &str| {
        format!(
            r#"{{"v":1,"at":"2026-01-02T03:04:05.678Z","source":"ralph-on-stop","session":"s1",{more}}}"#
        )
    };
    let journal = [
        event(r#""event":"stop_blocked","reasons":["x"],"gates":["TASKS","TESTS"]"#),
        event(r#""event":"stop_allowed","status":"let_go","gates":["TESTS"]"#),
        event(r#""event":"denied","rule":"git-push","tool":"Bash","target":"git push""#),
    ];
    stage.repo.write(".ralph/events.jsonl", &(journal.join("\n") + "\n"));
    let ran = stage.run(&["report", "--markdown"]);
    ran.ended(0).says("## sessions without a run: 1 call refused, 0 rollbacks, gates held 2× and");
    ran.says("| s1 | TASKS 1×, TESTS 1× | TASKS: met 1×; TESTS: given up 1× | let\\_go  |");
    stage.run(&[]).ended(0);
    stage.run(&["report", "--markdown"]).ended(0).says("## 1 story done");
    stage.run(&["report", "--run", "sessions", "--json"]).ended(0).says("\"given_up\": 1");
}
