//! Files that the user told git to overlook: `--skip-worktree` and `--assume-unchanged`.

use crate::stage::Stage;

const ONE: &str = "- [ ] US-001: First\n";

fn overlooking() -> Stage {
    let stage = Stage::new("works", ONE);
    stage.repo.write("skipped.ini", "committed\n");
    stage.repo.write("assumed.ini", "committed\n");
    stage.repo.commit_all("settings");
    stage.repo.git(["update-index", "--skip-worktree", "skipped.ini"]);
    stage.repo.git(["update-index", "--assume-unchanged", "assumed.ini"]);
    stage.repo.write("skipped.ini", "my password\n");
    stage.repo.write("assumed.ini", "my password\n");
    stage
}

#[test]
fn what_git_overlooks_comes_back_after_an_attempt_in_vain() {
    for what in [
        "echo x >new.txt",
        "true",
        "echo x >new.txt; git add -A",
        "rm skipped.ini; echo x >a.txt; git commit -qam mine",
    ] {
        let stage = overlooking();
        let flags = stage.repo.git(["ls-files", "-v"]);
        let agent = format!(
            "[ -e .git/second ] && {{ echo done >done.txt; exit 0; }}; : >.git/second; \
             echo agent >skipped.ini; echo agent >assumed.ini; {what}; exit 1"
        );
        stage.run(&["--agent", &agent]).ended(0).says("rolled back");
        for name in ["skipped.ini", "assumed.ini"] {
            assert_eq!(stage.read(name), "my password\n", "{what}: {name}");
            assert_eq!(stage.repo.git(["show", &format!("HEAD:{name}")]), "committed\n");
        }
        let now = stage.repo.git(["ls-files", "-v"]);
        for line in flags.lines().filter(|line| line.ends_with(".ini")) {
            assert!(now.contains(line), "{what}: {now}");
        }
        stage.is_clean();
    }
}

#[test]
fn what_an_agent_tells_git_to_overlook_is_seen_all_the_same() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        for (end, line) in [(0, "agent\n"), (1, "a\n")] {
            let stage = Stage::new("works", ONE);
            let agent = format!(
                "git update-index {flag} a.txt; echo agent >a.txt; echo x >x.txt; exit {end}"
            );
            let ran = stage.run(&["--agent", &agent, "--max-iterations", "1"]);
            ran.says("the agent changed what git overlooks").says("a.txt; undone");
            assert_eq!(stage.read("a.txt"), line, "{flag} {end}");
            assert_eq!(stage.repo.git(["show", "HEAD:a.txt"]), line, "{flag} {end}");
            assert!(stage.repo.git(["ls-files", "-v", "a.txt"]).starts_with("H "), "{flag}");
            stage.is_clean();
        }
    }
}

#[test]
fn what_the_user_overlooks_does_not_become_visible() {
    let stage = overlooking();
    let agent = "git update-index --no-skip-worktree skipped.ini; \
                 git update-index --no-assume-unchanged assumed.ini; echo x >x.txt";
    let ran = stage.run(&["--agent", agent]);
    ran.ended(0).says("the agent changed what git overlooks").says("assumed.ini, skipped.ini");
    for (name, tag) in [("skipped.ini", "S"), ("assumed.ini", "h")] {
        assert_eq!(stage.repo.git(["show", &format!("HEAD:{name}")]), "committed\n");
        assert_eq!(stage.repo.git(["ls-files", "-v", name]), format!("{tag} {name}\n"));
        assert_eq!(stage.read(name), "my password\n");
    }
}

#[test]
fn what_a_sparse_checkout_of_the_agents_takes_out_of_the_tree_comes_back() {
    for end in ["exit 0", "exit 1"] {
        let stage = Stage::new("works", ONE);
        stage.repo.write("docs/page.md", "page\n");
        stage.repo.commit_all("pages");
        let agent =
            format!("git sparse-checkout set --no-cone '/*' '!/docs'; echo x >x.txt; {end}");
        stage.run(&["--agent", &agent, "--attempts", "1"]);
        assert_eq!(stage.repo.git(["show", "HEAD:docs/page.md"]), "page\n", "{end}");
        assert_eq!(stage.read("docs/page.md"), "page\n", "{end}");
        assert_eq!(stage.repo.git(["ls-files", "-v", "docs"]), "H docs/page.md\n", "{end}");
    }
}

#[test]
fn a_sparse_checkout_of_the_users_stays_one() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("docs/page.md", "page\n");
    stage.repo.commit_all("pages");
    stage.repo.git(["sparse-checkout", "set", "--no-cone", "/*", "!/docs"]);
    stage.run(&[]).ended(0);
    assert_eq!(stage.repo.git(["show", "HEAD:docs/page.md"]), "page\n");
    assert!(!stage.exists("docs/page.md"));
}
