//! Files that git ignores stay out of every commit, whoever changes the rules.

use test_support::TestRepo;

use crate::stage::Stage;

const ONE: &str = "- [ ] US-001: First\n";
const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

fn committed(stage: &Stage) -> String {
    stage.repo.git(["log", "--format=", "--name-only"])
}

fn with_secret(agent: &str, plan: &str) -> Stage {
    let stage = Stage::new(agent, plan);
    stage.repo.write(".gitignore", ".env\n/cache/\n");
    stage.repo.commit_all("rules");
    stage.repo.write(".env", "KEY=1\n");
    stage.repo.write("cache/a/1", "1\n");
    stage.repo.write("cache/b/2", "2\n");
    stage
}

#[test]
fn uncommitted_rules_that_hide_files_are_not_set_aside() {
    let changed = Stage::new("works", ONE);
    changed.repo.write(".gitignore", "*.log\n.env\n");
    let untracked = Stage::with(TestRepo::empty(), "works", ONE);
    untracked.repo.commit_all("first");
    untracked.repo.write(".gitignore", ".env\n");
    for stage in [changed, untracked] {
        stage.repo.write(".env", "KEY=1\n");
        let ran = stage.run(&["--allow-dirty"]);
        ran.ended(1).says("hide .env").says("git add .gitignore && git commit");
        assert_eq!(stage.read(".env"), "KEY=1\n");
        assert!(stage.read(".gitignore").contains(".env"), "nothing was touched");
        assert_eq!(stage.subjects(), ["first"]);
        stage.repo.git(["add", ".gitignore"]);
        stage.repo.git(["commit", "-qm", "rules"]);
        stage.run(&["--allow-dirty"]).ended(0);
        assert!(!committed(&stage).contains(".env"));
    }
}

#[test]
fn uncommitted_rules_that_hide_nothing_are_set_aside_like_any_file() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".gitignore", "*.log\n/build/\n.env\n");
    stage.repo.write("old.log", "ignored either way\n");
    stage.run(&["--allow-dirty"]).ended(0).says("uncommitted work is back: 1 file");
    assert!(stage.read(".gitignore").contains(".env"));
}

#[test]
fn what_was_ignored_stays_out_of_the_commits_of_an_agent_that_rewrites_the_rules() {
    for rewrite in ["echo /dist/ >.gitignore", "rm .gitignore", "rm .gitignore; git add -A"] {
        let stage = with_secret("works", TWO);
        let agent = format!("[ -e new.txt ] || {{ {rewrite}; }}; echo $$ >>new.txt");
        let ran = stage.run(&["--agent", &agent]);
        ran.ended(0).says("US-001 changed ignore rules").says(".env, cache/a/1, cache/b/2");
        assert_eq!(stage.subjects()[..2], ["feat(US-002): Second", "feat(US-001): First"]);
        let files = committed(&stage);
        assert!(!files.contains(".env") && !files.contains("cache"), "{rewrite}: {files}");
        assert_eq!((stage.read(".env"), stage.read("cache/a/1")), ("KEY=1\n".into(), "1\n".into()));
        stage.is_clean();
        let journal = stage.read(".ralph/events.jsonl");
        let line =
            r#""story":"US-001","event":"files_kept_out","files":[".env","cache/a/1","cache/b/2"]"#;
        assert_eq!(journal.matches(line).count(), 1, "{rewrite}: {journal}");
        let own = stage.read(".git/info/exclude");
        assert!(own.ends_with("/.env\n/cache/\n"), "one rule for the whole folder: {own}");
    }
}

#[test]
fn rules_of_the_repository_itself_count_as_well() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".git/info/exclude", ".env\n");
    stage.repo.write(".env", "KEY=1\n");
    let agent = "[ -e new.txt ] || : >.git/info/exclude; echo $$ >>new.txt";
    stage.run(&["--agent", agent]).ended(0).says(".env were ignored before");
    assert!(!committed(&stage).contains(".env"));
    // A failed attempt that did the same leaves the file where it is.
    let stage = Stage::new("works", ONE);
    stage.repo.write(".git/info/exclude", ".env\n");
    stage.repo.write(".env", "KEY=1\n");
    stage.run(&["--agent", "rm .git/info/exclude; echo x >new.txt; exit 1"]).says("rolled back");
    assert_eq!((stage.read(".env").as_str(), stage.exists("new.txt")), ("KEY=1\n", false));
}

#[test]
fn what_the_attempt_made_and_showed_is_its_work() {
    let stage = with_secret("works", ONE);
    let agent = "mkdir -p dist; echo built >cache/new; sed -i /cache/d .gitignore";
    stage.run(&["--agent", agent]).ended(0).says("cache/a/1, cache/b/2 were ignored");
    let files = committed(&stage);
    assert!(files.contains("cache/new") && !files.contains("cache/a"), "{files}");
    stage.is_clean();
}

#[test]
fn a_secret_that_cannot_be_kept_out_is_not_committed_at_all() {
    for exposes in [
        "echo '!.env' >.gitignore; echo x >new.txt",
        "rm .gitignore; echo x >new.txt; git add -A; git commit -qm mine",
    ] {
        let stage = with_secret("works", ONE);
        let ran = stage.run(&["--agent", exposes]);
        ran.says("that were there and ignored before: .env").says("is set aside");
        assert!(!committed(&stage).contains(".env"), "{exposes}");
        assert_eq!(stage.read(".env"), "KEY=1\n");
        assert_eq!(stage.read(".gitignore"), ".env\n/cache/\n");
    }
}

/// A story whose first attempt writes rules and fails, and whose second makes the same files.
fn fails_and_goes_on(hides: &str) -> (Stage, crate::stage::Ran) {
    let stage = Stage::new("works", ONE);
    stage.repo.remove(".gitignore");
    stage.repo.git(["rm", "-q", "--cached", ".gitignore"]);
    stage.repo.commit_all("no rules");
    let agent = format!(
        "cat >/dev/null; echo work >>a.txt; echo new >new.rs; \
         [ -e \"$AGENT_NOTES/tried\" ] && exit 0; touch \"$AGENT_NOTES/tried\"; {hides}; exit 1"
    );
    let ran = stage.run(&["--agent", &agent]);
    ran.ended(0).says("rolled back");
    (stage, ran)
}

#[test]
fn rules_of_a_failed_attempt_are_taken_back_with_it_and_hide_nothing_later() {
    for hides in [
        "echo '*.rs' >>.git/info/exclude",
        "printf '.gitignore\\n*.rs\\n' >.gitignore",
        "echo '*.rs' >../rules; git config core.excludesFile \"$PWD/../rules\"",
    ] {
        let (stage, _) = fails_and_goes_on(hides);
        let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD"]);
        assert!(files.contains("new.rs"), "{hides}: {files}");
        assert!(!stage.exists(".gitignore"), "{hides}");
        let own = stage.repo.root().join(".git/config");
        assert!(!fs_err::read_to_string(own).unwrap().contains("xcludesFile"), "{hides}");
        assert!(!stage.read(".git/info/exclude").contains("*.rs"), "{hides}");
        let kept = stage.repo.git(["for-each-ref", "--format=%(refname)", "refs/ralph/discarded"]);
        let new = stage.repo.git(["show", &format!("{}:new.rs", kept.trim())]);
        assert_eq!(new, "new\n", "hidden files are the attempt's as well: {hides}");
    }
}

#[test]
fn an_attempt_that_hides_all_of_its_work_is_taken_back_as_well() {
    for hides in ["echo '*.rs' >>.git/info/exclude", "printf '.gitignore\\n*.rs\\n' >.gitignore"] {
        let stage = Stage::new("works", TWO);
        stage.repo.git(["rm", "-q", ".gitignore"]);
        stage.repo.commit_all("no rules");
        let agent = format!("cat >/dev/null; echo new >new.rs; {hides}");
        let ran = stage.run(&["--agent", &agent, "--attempts", "1", "--max-iterations", "1"]);
        ran.ended(0).says("the agent changed nothing").says("rolled back");
        assert_eq!((stage.exists("new.rs"), stage.exists(".gitignore")), (false, false), "{hides}");
        assert!(!stage.read(".git/info/exclude").contains("*.rs"), "{hides}");
        assert_eq!(stage.discarded(), 1);
    }
}

#[test]
fn rules_of_the_user_come_back_as_they_were_and_those_of_the_attempt_are_shown() {
    let stage = Stage::new("works", ONE);
    let mine = "# mine\n.env\n\n  # odd";
    stage.repo.write(".git/info/exclude", mine);
    stage.repo.write(".env", "KEY=1\n");
    let agent = "cat >/dev/null; echo '*.rs' >.git/info/exclude; echo new >new.rs; exit 1";
    let ran = stage.run(&["--agent", agent, "--attempts", "1", "--max-iterations", "1"]);
    ran.says("`ralph-loop undo ");
    assert_eq!(stage.read(".git/info/exclude"), mine);
    assert_eq!((stage.exists("new.rs"), stage.read(".env").as_str()), (false, "KEY=1\n"));
    let listed = stage.run(&["undo"]).out;
    let id = listed.split_whitespace().next().unwrap();
    let shown = stage.run(&["undo", id, "--show"]);
    shown.ended(0).says("+new").says(".git/info/exclude: +*.rs");
    stage.repo.git(["checkout", "-q", "--", "."]);
    stage.run(&["undo", id]).ended(0);
    assert_eq!(stage.read(".git/info/exclude"), "*.rs\n");
    assert_eq!((stage.read("new.rs").as_str(), stage.read(".env").as_str()), ("new\n", "KEY=1\n"));
}

#[test]
fn new_files_that_a_story_hides_itself_are_told_and_journaled() {
    for (hides, named) in [
        ("echo '*.rs' >>.git/info/exclude", "new.rs"),
        ("mkdir node; echo x >node/1; echo x >node/2; echo /node/ >>.gitignore", "node/"),
        ("printf '.gitignore\\n*.rs\\n' >src/.gitignore; echo x >src/lib.rs", "src/.gitignore"),
    ] {
        let stage = Stage::new("works", ONE);
        stage.repo.write("old.log", "ignored before\n");
        let agent = format!(
            "echo x >a.txt; echo x >>old.log; echo x >new.log; {hides}; \
                             echo new >new.rs"
        );
        let ran = stage.run(&["--agent", &agent]);
        ran.ended(0)
            .says(&format!("keep new files out of the commit, and out of later ones: {named};"));
        let journal = stage.read(".ralph/events.jsonl");
        let line = format!("\"event\":\"files_hidden\",\"files\":[\"{named}\"]");
        assert!(journal.contains(&line), "{hides}: {journal}");
        assert_eq!(stage.plan(), ONE.replace("[ ]", "[x]"));
    }
}

/// As the caches of many tools do.
#[test]
fn a_folder_of_the_users_that_hides_itself_is_no_attempts() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".venv/.gitignore", "*\n");
    stage.repo.write(".venv/bin/python", "mine\n");
    stage.repo.write("b.txt", "b\n");
    stage.repo.commit_all("some time later");
    let agent = "cat >/dev/null; echo x >>.gitignore; echo x >>.venv/bin/python; exit 1";
    stage.run(&["--agent", agent, "--attempts", "1", "--max-iterations", "1"]).says("rolled back");
    assert_eq!(stage.read(".venv/bin/python"), "mine\nx\n");
    stage.repo.write(".gitignore", "*.log\n*.tmp\n/build/\n");
    let ran = stage.run(&["--allow-dirty", "--agent", "echo x >a.txt"]);
    ran.says("US-002 done").says("uncommitted work is back: 1 file");
    assert_eq!(stage.read(".venv/bin/python"), "mine\nx\n");
}
