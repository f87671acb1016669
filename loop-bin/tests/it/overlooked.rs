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
