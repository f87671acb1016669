//! Whatever an agent does to its copy costs at most that attempt, and never the run.

use crate::stage::{ONE, PLAN, Ran, Stage, TWO};

/// Runs the loop with an agent that does its story, and also this act in its first attempt.
fn run(stage: &Stage, act: &str) -> Ran {
    let agent = format!(
        "cat >/dev/null; echo done >$(cat \"$RALPH_ROOT/.ralph/current-story\").txt; \
         [ -e \"$AGENT_NOTES/acted\" ] || {{ touch \"$AGENT_NOTES/acted\"; {act}; }}"
    );
    stage.run(&["--agent", &agent, "--attempts", "2", "--verify", "test ! -e bad"])
}

/// The run completes, and nothing in the project changes except for what landed.
#[track_caller]
fn check(acts: &[&str]) -> (Stage, Ran) {
    let stage = Stage::acting(acts);
    stage.repo.git(["tag", "mine"]);
    let config = stage.read(".git/config");
    let ran = stage.run(&["--attempts", "2", "--verify", "test ! -e bad"]);
    ran.ended(0).says(&format!("{} stories landed", acts.len() + 1));
    stage.has_landed(acts.len());
    assert_eq!(stage.read(".git/config"), config);
    let refs = stage.repo.git(["for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"]);
    assert_eq!(refs, "refs/heads/main\nrefs/tags/mine\n");
    assert_eq!(stage.repo.git(["stash", "list"]), "");
    assert_eq!(stage.repo.git(["branch", "--show-current"]), "main\n");
    stage.repo.git(["fsck", "--strict"]);
    (stage, ran)
}

#[test]
fn damage_to_the_copys_repository_does_not_last() {
    let (stage, ran) = check(&[
        "rm -rf .git",
        "rm -rf .git; git init -q",
        "rm -rf .git; echo 'gitdir: /nowhere' >.git",
        "rm -rf .git; ln -s /nowhere .git",
        "rm -rf .git/objects .git/refs",
        "echo junk >.git/HEAD",
        "echo junk >.git/config",
        "echo junk >.git/index",
        ": >.git/index.lock; : >.git/HEAD.lock; : >.git/config.lock",
        "git gc -q --prune=now",
        "git reflog expire --expire=now --all; git prune --expire=now",
        "rm .git/objects/info/alternates",
        "mkdir $TMPDIR/o; echo $TMPDIR/o >>.git/objects/info/alternates; git add -A; \
         GIT_OBJECT_DIRECTORY=$TMPDIR/o GIT_ALTERNATE_OBJECT_DIRECTORIES=$PWD/.git/objects git commit -qm elsewhere",
        "git replace -f HEAD $(git commit-tree HEAD^{tree} -m replaced)",
        "git config core.worktree /nowhere",
        "git config core.bare true",
        "git config core.hooksPath /nowhere; git config user.name Other",
        "echo '*.txt' >>.git/info/exclude",
        "git update-index --skip-worktree a.txt; git update-index --assume-unchanged src/lib.rs",
        "git stash -q -u; git stash apply -q",
        "git branch other; git tag wild; git remote add origin /nowhere",
    ]);
    assert_eq!(stage.discarded(), 1, "only the stash is kept:\n{}", ran.out);
}

#[test]
fn rewritten_history_and_unfinished_operations_do_not_land() {
    check(&[
        "git commit -q --allow-empty -m one; git commit -q --amend -m two --allow-empty",
        "git checkout -q --orphan zz; git branch -q -D main; git add -A; git commit -q -m all",
        "git checkout -q -b topic; git branch -q -D main",
        "git update-ref -d HEAD",
        "git add -A; git commit -q -m mine; git branch -m renamed",
        "git checkout -q --detach",
        "git bisect start -q; git bisect bad",
        "git add -A; git commit -qm x; git rebase -q --exec false HEAD~1",
        "git checkout -q -b x; echo 1 >a.txt; git commit -qam 1; git checkout -q main; echo 2 >a.txt; \
         git commit -qam 2; git merge -q x; git checkout -q origin/main -- a.txt",
        "git worktree add -q ../side; rm -rf ../side",
    ]);
}

#[test]
fn acts_that_destroy_or_hide_the_work_cost_one_attempt() {
    check(&[
        "touch bad; rm -rf .git",
        "cd /; rm -rf \"$RALPH_WORKSPACE\"",
        "cd /; rm -rf \"$RALPH_WORKSPACE\"; echo file >\"${RALPH_WORKSPACE%/}\"",
        "cd /; rm -rf \"$RALPH_WORKSPACE\"; ln -s /tmp \"${RALPH_WORKSPACE%/}\"",
        "git init -q sub; echo x >sub/f; git add sub",
        "git init -q sub; echo x >sub/f; git -C sub add f; git -C sub -c user.name=a -c user.email=a commit -qm x",
        "exit 1",
        "kill -9 $$",
        "mkfifo pipe; exit 1",
        "rm -rf ./* .gitignore .git",
        "echo '*.txt' >>.git/info/exclude; exit 1",
        "echo '*.txt' >.gitignore; exit 1",
        "echo '*.txt' >../rules; git config core.excludesFile \"$PWD/../rules\"; exit 1",
    ]);
}

#[test]
fn a_filter_broken_by_the_agent_is_restored() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".gitattributes", "*.rot filter=rot\n");
    stage.repo.git(["config", "filter.rot.clean", "tr a-z n-za-m"]);
    stage.repo.git(["config", "filter.rot.smudge", "tr n-za-m a-z"]);
    stage.repo.git(["config", "filter.rot.required", "true"]);
    stage.repo.write("x.rot", "secret\n");
    stage.repo.git(["add", ".gitattributes", "x.rot"]);
    stage.repo.git(["commit", "-qm", "filtered"]);
    run(&stage, "git config filter.rot.clean false; echo new >y.rot").ended(0);
    assert_eq!(stage.repo.git(["cat-file", "blob", "HEAD~1:y.rot"]), "arj\n");
    assert_eq!((stage.read("y.rot").as_str(), stage.read("x.rot").as_str()), ("new\n", "secret\n"));
    stage.is_clean();
}

#[test]
fn a_copy_damaged_between_two_iterations_is_recreated() {
    let acts = [
        "rm -rf \"$copy\"",
        "rm -rf \"$copy/.git\"",
        "echo junk >\"$copy/.git/HEAD\"; echo junk >\"$copy/.git/index\"",
        "rm -rf \"$copy/.git/objects\"",
        "rm -rf \"$copy\"; echo file >\"$copy\"",
        "rm \"$copy/a.txt\"; echo stray >\"$copy/stray.txt\"; mkdir \"$copy/src/lib.rs.d\"",
        "rm -f \"$copy/../git-1/index\"",
        "echo junk >\"$copy/../git-1/index\"",
    ];
    for checks in [&[][..], &["--verify", "true"]] {
        let stage = Stage::acting(&[""; 8]);
        stage.script(
            "post_iteration",
            "copy=$(echo $HOME/.cache/ralph/repo-*/1); act=\"$RALPH_PROJECT_DIR/.git/after/$RALPH_STORY\"; \
             [ ! -e \"$act\" ] || . \"$act\"",
        );
        for (n, act) in (1..).zip(acts) {
            stage.repo.write(format!(".git/after/US-{n:03}"), act);
        }
        stage.run(checks).ended(0).says("9 stories landed");
        stage.has_landed(acts.len());
    }
}

#[test]
fn the_agent_cannot_change_files_that_control_the_run() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".claude/settings.json", "{\"model\":\"x\"}\n");
    stage.repo.write(".ralph/config.toml", "[limits]\nattempts_per_story = 2\n");
    stage.script("custom/notify", "echo mine");
    stage.script("finished", "notify");
    stage.repo.commit_all("settings");
    let act = format!(
        "echo '{{}}' >.claude/settings.json; echo '[verify]' >.ralph/config.toml; \
         echo '{{\"disableAllHooks\":true}}' >.claude/settings.local.json; rm {PLAN}; \
         echo exit 2 >.ralph/hooks/next_iteration; rm .ralph/hooks/finished; \
         echo 'echo theirs' >.ralph/hooks/custom/notify"
    );
    let ran = run(&stage, &act);
    ran.ended(0).says("left out of the commit: ").says(".claude/settings.json");
    ran.says("[finished] mine");
    assert_eq!(stage.read(".claude/settings.json"), "{\"model\":\"x\"}\n");
    assert_eq!(stage.read(".ralph/config.toml"), "[limits]\nattempts_per_story = 2\n");
    assert!(!stage.exists(".claude/settings.local.json"));
    assert!(!stage.exists(".ralph/hooks/next_iteration"));
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
}

/// A commit cannot contain a pipe, so the checks must not see it.
#[test]
fn pipes_and_sockets_are_removed_before_checks_and_the_next_attempt() {
    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; mkfifo pipe || exit 3; perl -MSocket -e 'socket(S, PF_UNIX, \
                 SOCK_STREAM, 0) && bind(S, sockaddr_un(\"own.sock\")) or exit 1' || exit 4; echo x >>x.txt; \
                 [ -e \"$AGENT_NOTES/again\" ] || { touch \"$AGENT_NOTES/again\"; exit 1; }";
    stage.run(&["--agent", agent, "--verify", "! test -e pipe"]).ended(0).says("US-001 done");
    assert_eq!(stage.read("x.txt"), "x\n");
    stage.is_clean();
}
