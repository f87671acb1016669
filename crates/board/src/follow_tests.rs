//! A user's checkout in every state in which a story may find it.

use super::Advance;
use super::test_case::{Case, LANDS, sh};

#[test]
fn user_changes_to_other_files_survive_a_landing() {
    for (user, status, then) in [
        ("true", "", "grep story a.txt && ! [ -e dir/one.txt ]"),
        ("echo mine >tool.sh", " M tool.sh\n", "grep mine tool.sh"),
        ("echo mine >tool.sh; git add tool.sh", "M  tool.sh\n", "grep mine tool.sh"),
        ("echo mine >m; git add -N m", " A m\n", "grep mine m"),
        ("git mv tool.sh t2", "R  tool.sh -> t2\n", "[ -e t2 ]"),
        ("echo mine >m.log; mkdir build; echo b >build/b", "", "grep mine m.log && [ -e build/b ]"),
        ("rm tool.sh", " D tool.sh\n", "! [ -e tool.sh ]"),
        ("touch -d 2001-01-01 a.txt dir/one.txt", "", "grep story a.txt"),
        ("git update-index --split-index", "", "grep story a.txt"),
        ("git update-index --index-version 4", "", "grep story a.txt"),
        ("git update-index --untracked-cache", "", "grep story a.txt"),
        ("git config core.fsmonitor true; git config submodule.recurse true", "", "true"),
        ("git config core.autocrlf true", "", "grep story a.txt"),
        (
            "git update-index --skip-worktree a.txt",
            "",
            "grep story a.txt; git ls-files -v a.txt | grep '^S'",
        ),
        (
            "git update-index --assume-unchanged a.txt",
            "",
            "grep story a.txt; git ls-files -v a.txt | grep '^h'",
        ),
        ("git sparse-checkout set --cone build", "", "! [ -e dir/two.txt ] && grep story a.txt"),
        ("git sparse-checkout set --cone --sparse-index build", "", "! [ -e dir/two.txt ]"),
        ("git sparse-checkout set --no-cone /tool.sh", "", "! [ -e a.txt ] && ! [ -e new.txt ]"),
    ] {
        Case::new(&[]).check("true", user, (LANDS, status, then));
    }
}

#[test]
fn user_changes_identical_to_the_story_do_not_block_it() {
    for (user, status, then) in [
        ("echo story >>a.txt", "", "grep story a.txt"),
        ("echo story >>a.txt; git add a.txt", "", "grep story a.txt"),
        ("echo new >new.txt", "", "grep new new.txt"),
        ("rm dir/one.txt", "", "! [ -e dir/one.txt ]"),
        ("git rm -q dir/one.txt", "", "! [ -e dir/one.txt ]"),
        ("echo story >>a.txt; git add a.txt; git checkout -q HEAD a.txt", "", "grep story a.txt"),
    ] {
        Case::new(&[]).check("true", user, (LANDS, status, then));
    }
}

#[test]
fn a_story_waits_if_it_would_overwrite_user_changes() {
    let files = "overwrite your uncommitted";
    for (user, then) in [
        ("echo mine >>a.txt", "grep mine a.txt"),
        ("echo mine >>a.txt; git add a.txt", "grep mine a.txt"),
        ("echo mine >>a.txt; git add a.txt; git show HEAD:a.txt >a.txt", "true"),
        ("echo mine >>dir/one.txt", "grep mine dir/one.txt"),
        ("rm a.txt", "! [ -e a.txt ]"),
        ("git rm -q --cached a.txt", "true"),
        ("chmod +x a.txt", "[ -x a.txt ]"),
        ("echo mine >new.txt", "grep mine new.txt"),
        ("echo mine >new.txt; git add -N new.txt", "grep mine new.txt"),
        ("echo mine >new.txt; echo new.txt >.git/info/exclude", "grep mine new.txt"),
        ("mkdir new.txt; echo mine >new.txt/x.log", "grep mine new.txt/x.log"),
        ("git init -q new.txt", "[ -e new.txt/.git ]"),
        ("rm a.txt; ln -s tool.sh a.txt", "[ -L a.txt ]"),
        ("git update-index --skip-worktree a.txt; echo mine >a.txt", "grep mine a.txt"),
        ("git update-index --assume-unchanged a.txt; echo mine >a.txt", "grep mine a.txt"),
        // Same size and mtime as in the index, and written at the same time as the index.
        (
            "git config core.trustctime false; git config core.checkStat minimal; touch -d @9 a.txt; \
             git update-index --refresh; echo b >a.txt; touch -d @9 a.txt .git/index",
            "grep b a.txt",
        ),
    ] {
        Case::new(&[]).check("true", user, (files, "", then));
    }
    for (story, user) in [
        ("echo x >x.log", "echo mine >x.log"),
        ("mkdir build; echo x >build/x", "mkdir build; echo mine >build/x"),
        ("mkdir build; echo x >build/x", "echo mine >build"),
        ("echo >.gitignore; echo x >x.log", "echo mine >x.log"),
        ("mkdir d; echo x >d/x", "mkdir ../d; ln -s ../d d"),
        ("rm -r dir; echo x >dir", "echo mine >dir/mine.log"),
        ("mv dir/two.txt dir/2.txt", "rm -r dir; ln -s /tmp dir"),
    ] {
        Case::new(&[]).check(story, user, (files, "", "true"));
    }
}

#[test]
fn any_kind_of_change_lands() {
    for (story, then) in [
        ("git mv tool.sh bin.sh", "[ -e bin.sh ] && ! [ -e tool.sh ]"),
        ("chmod +x tool.sh", "[ -x tool.sh ]"),
        ("rm link; echo file >link", "! [ -L link ] && grep file link"),
        ("rm tool.sh; ln -s a.txt tool.sh", "[ -L tool.sh ]"),
        ("rm -r dir; echo file >dir", "grep file dir"),
        ("rm tool.sh; mkdir tool.sh; echo x >tool.sh/x", "grep x tool.sh/x"),
        ("rm -r dir", "! [ -e dir ]"),
        ("echo '*.txt text eol=crlf' >.gitattributes", "[ -e .gitattributes ]"),
        ("printf 'x' >'odd \"name'", "[ -e 'odd \"name' ]"),
        (
            "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),mod; mkdir mod",
            "[ -d mod ]",
        ),
    ] {
        Case::new(&[]).check(story, "true", (LANDS, "", then));
    }
    for init in [["--object-format=sha256"], ["--ref-format=reftable"]] {
        Case::new(&init).check("true", "echo mine >tool.sh", (LANDS, " M tool.sh\n", "true"));
    }
}

#[test]
fn a_locally_edited_plan_gets_the_tick_and_keeps_the_edits() {
    let mine = "sed -i 's/First/First, mine/' plan.md; echo mine >>progress.md";
    let ticked = "grep -q '\\[x\\] US-001: First, mine' plan.md; tail -n 3 progress.md | tr '\\n' ' ' | \
                  grep -q 'mine  US-001 landed'";
    let staged = "git show :plan.md | grep '\\[x\\] US-001: First, mine'";
    let own = " M plan.md\n M progress.md\n";
    for (user, status, then) in [
        (mine, own, ticked),
        (
            &*format!("{mine}; git add plan.md"),
            "M  plan.md\n M progress.md\n",
            &*format!("{ticked}; {staged}"),
        ),
        ("git rm -q --cached plan.md", "D  plan.md\n?? plan.md\n", "grep '\\[x\\]' plan.md"),
        ("rm plan.md", " D plan.md\n", "! [ -e plan.md ]"),
        (
            &*format!("git update-index --skip-worktree plan.md; {mine}"),
            " M progress.md\n",
            &*format!("{ticked}; git ls-files -v plan.md | grep '^S'"),
        ),
        (
            &*format!("git update-index --assume-unchanged plan.md; {mine}"),
            " M progress.md\n",
            &*format!("{ticked}; git ls-files -v plan.md | grep '^h'"),
        ),
        ("sed -i 's/ \\]/x]/' plan.md", "", "grep '\\[x\\]' plan.md"),
    ] {
        Case::new(&[]).check("true", user, (LANDS, status, then));
    }
}

/// Operations the user has started, how each is named, and the branch that is then checked out.
const BEGUN: [(&str, &str, &str); 12] = [
    (
        "git checkout -q -b side HEAD~1; git commit -q --allow-empty -m s; git checkout -q main; \
         git merge -q --no-commit --no-ff side",
        "a merge",
        "main",
    ),
    ("git merge -q other || true", "a merge", "main"),
    ("git cherry-pick other || true", "a cherry-pick", "main"),
    ("git revert --no-commit HEAD", "a revert", "main"),
    ("git rebase -q other || true", "a rebase", "HEAD"),
    ("git rebase -q --apply other || true", "a rebase", "HEAD"),
    ("git format-patch -q -1 other; git am -q *.patch || true", "a rebase or am", "main"),
    ("git bisect start HEAD HEAD~1 || true; git checkout -q HEAD~1", "bisect", "HEAD"),
    ("cd $(elsewhere); git rebase -q other || true", "a rebase", "other"),
    ("cd $(elsewhere); git bisect start; git checkout -q HEAD~1", "bisect", "other"),
    ("elsewhere", "is checked out in", "other"),
    (
        "echo x >tool.sh; git stash -q; echo y >tool.sh; git commit -qam y; git stash pop || true",
        "a conflict resolution",
        "main",
    ),
];

#[test]
fn a_multi_step_git_command_in_progress_is_not_disturbed() {
    let branches = "git checkout -q -b other; echo o >tool.sh; git commit -qam other; \
                    git checkout -q main; echo m >tool.sh; git commit -qam mine; \
                    elsewhere() { git checkout -q other; git worktree add -q ../tree main; echo ../tree; }";
    for (user, expected, head) in BEGUN {
        let mut case = Case::new(&[]);
        assert!(sh(&case.repo, case.repo.root(), &format!("{branches}; {user}")), "{user}");
        let before = case.repo.fingerprint();
        case.old = case.tip("main").unwrap();
        let new = case.story("echo new >new.txt");
        let Advance::Waits(cause) = case.land(&new) else { panic!("{user}") };
        assert!(cause.why("main").contains(expected), "{user}: {}", cause.why("main"));
        let after = case.repo.fingerprint();
        assert_eq!((after.files, after.index), (before.files, before.index), "{user}");
        assert_eq!(after.status, before.status, "{user}");
        assert_eq!(case.tip("main"), Some(case.old.clone()), "{user}");
        assert_eq!(case.board.tip().unwrap().branch, "ralph/main");
        let waiting = case.board.waiting().unwrap().unwrap().in_words(None);
        assert!(waiting.contains(expected), "{user}: {waiting}");
        case.has_no_leftovers(user);
        let found = case.repo.git(["rev-parse", "--abbrev-ref", "HEAD"]);
        assert_eq!(found.trim_end(), head, "{user}");
    }
}
