//! Landings that fail, race with other processes, or run in unusual repositories.

use std::time::Duration;

use ralph_base::env::Env;
use test_support::TestRepo;

use super::follow::move_alone;
use super::test_case::{Case, LANDS, PLAN, STORY, sh, source_of};
use super::{Advance, Board};

#[test]
fn a_landing_that_fails_halfway_is_undone() {
    let filter = "git config filter.f.clean cat; git config filter.f.smudge false; \
                  git config filter.f.required true; echo 'filtered.bin filter=f' >.git/info/attributes";
    let story = "echo z >filtered.bin; rm -r dir; echo file >dir; rm link; echo l >link";
    let case = Case::new(&[]);
    case.check(story, filter, ("main cannot be updated", "", "git update-index --refresh"));
    // It lands once the cause is fixed.
    assert!(sh(&case.repo, case.repo.root(), "git config --unset filter.f.required"));
    let new = case.tip("ralph/main").unwrap();
    assert_eq!(case.board.follow(&case.files(&new)).unwrap(), Advance::Landed);
    assert_eq!((case.tip("main"), case.tip("ralph/main")), (Some(new), None));
    assert_eq!(case.repo.git(["status", "--porcelain"]), "");
    assert_eq!(case.repo.git(["show", "HEAD:plan.md"]), PLAN.replace("[ ]", "[x]"));

    // The same with user edits in the loop's files, which are written last.
    let case = Case::new(&[]);
    let user = format!("{filter}; echo mine >>progress.md; echo >>plan.md; git add plan.md");
    case.check(story, &user, ("main cannot be updated", "", "true"));
    // A file becomes a submodule.
    let story = "echo z >filtered.bin; git rm -q tool.sh; mkdir tool.sh; \
                 git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),tool.sh";
    Case::new(&[]).check(story, filter, ("main cannot be updated", "", "true"));
    // The plan is already ticked when progress.md turns out to be a folder.
    let user = "echo mine >>plan.md; rm progress.md; mkdir progress.md; echo x >progress.md/x";
    Case::new(&[]).check("true", user, ("main cannot be updated", "", "! grep '\\[x\\]' plan.md"));
}

#[test]
fn a_landing_waits_while_another_process_holds_a_lock() {
    for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        let case = Case::new(&[]);
        let new = case.story(STORY);
        let path = case.source.git_dir.join(lock);
        fs_err::write(&path, "").unwrap();
        let file = fs_err::File::open(&path).unwrap();
        file.file().set_modified(std::time::UNIX_EPOCH).unwrap();
        let before = case.repo.files();
        let Advance::Waits(cause) = case.land(&new) else { panic!("{lock}") };
        assert!(cause.why("main").ends_with(lock), "{}", cause.why("main"));
        fs_err::remove_file(&path).unwrap();
        case.has_no_leftovers(lock);
        assert_eq!(case.repo.files(), before, "{lock}");
        assert_eq!(case.board.follow(&case.files(&new)).unwrap(), Advance::Landed);
        assert_eq!(case.repo.git(["status", "--porcelain"]), "");
    }
    // Hooks apply only to the user's own commits.
    let refuse = "mkdir -p .git/hooks; printf '#!/bin/sh\nexit 1' >.git/hooks/reference-transaction; \
                  chmod +x .git/hooks/reference-transaction";
    let case = Case::new(&[]);
    case.check("true", refuse, (LANDS, "", "true"));
}

#[test]
fn landing_works_in_a_linked_worktree_and_on_a_branch_called_ralph() {
    for branch in ["side", "ralph"] {
        let mut case = Case::new(&[]);
        let tree = case.repo.scratch().path("tree");
        case.repo.git(["worktree", "add", "-q", "-b", branch, tree.as_str()]);
        case.source = source_of(&tree, &case.repo);
        case.board = Board::find(&case.source, "").unwrap();
        let new = case.story(STORY);
        fs_err::write(tree.join("new.txt"), "mine\n").unwrap();
        assert!(matches!(case.land(&new), Advance::Waits(_)));
        assert_eq!(case.board.tip().unwrap().commit, Some(new.clone()));
        fs_err::remove_file(tree.join("new.txt")).unwrap();
        assert_eq!(case.board.follow(&case.files(&new)).unwrap(), Advance::Landed);
        assert_eq!(case.tip(branch), Some(new));
        assert_eq!(case.repo.git_in(tree.as_std_path(), ["status", "--porcelain"]), "");
        let branches = case.repo.git(["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        assert_eq!(branches.lines().collect::<Vec<_>>(), ["main", branch]);
        case.has_no_leftovers(branch);
    }
}

#[test]
fn a_branch_without_commits_gets_its_first_commit() {
    let repo = TestRepo::empty();
    repo.introduce_user();
    let story = Case::new(&[]);
    repo.git(["fetch", "-q", story.repo.root().as_str(), "main"]);
    repo.write("mine.txt", "mine\n");
    repo.git(["add", "mine.txt"]);
    let board = Board::find(&source_of(repo.root(), &repo), "").unwrap();
    repo.write("a.txt", "mine\n");
    assert!(matches!(
        board.land((None, false), &story.old, (&[], &[])).unwrap(),
        Advance::Waits(_)
    ));
    repo.remove("a.txt");
    assert_eq!(board.follow(&[]).unwrap(), Advance::Landed);
    assert_eq!((repo.head(), &*repo.git(["status", "--porcelain"])), (story.old, "A  mine.txt\n"));
}

#[test]
fn a_checkout_of_the_waiting_branch_follows_landings() {
    let mut case = Case::new(&[]);
    let first = case.story(STORY);
    case.repo.write("new.txt", "mine\n");
    assert!(matches!(case.land(&first), Advance::Waits(_)));
    case.repo.remove("new.txt");
    case.repo.git(["checkout", "-q", "ralph/main"]);
    case.repo.git(["commit", "-q", "--allow-empty", "-m", "mine", "-m", "Ralph-Story: none"]);
    case.old = case.repo.head();
    assert!(case.board.tip().unwrap().is_followed);
    let second = case.story("echo second >second.txt");
    assert_eq!(
        case.board.land((Some(&case.old), false), &second, (&[], &[])).unwrap(),
        Advance::Landed
    );
    assert_eq!((case.repo.head(), case.tip("main")), (second.clone(), Some(second)));
    assert_eq!(case.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn a_user_commit_without_a_reflog_entry_is_not_taken_for_ours() {
    let mut case = Case::new(&[]);
    case.repo.git(["commit", "-q", "--allow-empty", "-m", "mine"]);
    case.old = case.repo.head();
    let new = case.story(STORY);
    case.repo.write("new.txt", "mine\n");
    assert!(matches!(case.land(&new), Advance::Waits(_)));
    case.repo.git(["commit", "-q", "--allow-empty", "-m", "later"]);
    case.repo.git(["reflog", "delete", "main@{1}"]);
    let found = Board::find(&case.source, "main").map(|board| board.branch);
    assert_eq!(found.map_err(|failure| failure.to_string()), Ok("main".to_owned()));
}

#[test]
fn a_checked_out_branch_is_not_moved_without_its_files() {
    let case = Case::new(&[]);
    let (new, before) = (case.story(STORY), case.repo.fingerprint());
    let git = case.source.git();
    assert_eq!(move_alone(&git, "main", Some(&case.old), &new).unwrap(), None);
    assert_eq!((case.tip("main"), case.repo.fingerprint()), (Some(case.old.clone()), before));
    case.repo.git(["switch", "-q", "-c", "other"]);
    assert_eq!(case.land(&new), Advance::Landed);
    assert_eq!((case.tip("main"), case.repo.head()), (Some(new), case.old));
}

/// The environment variable that sets the number of rounds.
const ROUNDS: &str = "RALPH_TEST_RACES";

/// Concurrent user commands; each round adds one line to mine.txt, even if the command fails.
const ACTS: [&str; 5] = [
    "git add mine.txt; git commit -qm mine",
    "git commit -qam mine",
    "git add mine.txt",
    "git stash -q; git stash pop -q",
    "git status >/dev/null; git add -A; git commit -q --amend --no-edit",
];

#[test]
fn concurrent_user_commits_lose_no_work_and_revert_no_story() {
    let rounds = Env::process().get(ROUNDS).map_or(40, |rounds| rounds.parse().unwrap());
    let mut case = Case::new(&[]);
    case.repo.write("mine.txt", "0\n");
    case.repo.commit_all("mine.txt");
    let (mut landed, mut lines) = (Vec::new(), "0\n".to_owned());
    let mut random = 7_u64;
    for round in 1..=rounds {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let act = ACTS[(random >> 33) as usize % ACTS.len()];
        case.old = case.repo.head();
        let name = format!("story-{round}.txt");
        let new = case.story(&format!("echo story >{name}; echo {round} >>a.txt"));
        let user_script = format!("echo {round} >>mine.txt; {act}");
        let advance = std::thread::scope(|scope| {
            let user = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis((random >> 40) % 150));
                sh(&case.repo, case.repo.root(), &user_script)
            });
            let advance = case.board.land((Some(&case.old), false), &new, (&[], &[])).unwrap();
            user.join().unwrap();
            advance
        });
        let round = format!("round {round}, `{act}`: {advance:?}");
        case.has_no_leftovers(&round);
        lines += &format!("{}\n", round.split([' ', ',']).nth(1).unwrap());
        if !case.repo.git(["stash", "list"]).is_empty() {
            // Our lock interrupted the stash command; git keeps the entry, and maybe the files.
            sh(&case.repo, case.repo.root(), "git stash pop -q || git stash drop -q");
        }
        let mine = fs_err::read_to_string(case.repo.root().join("mine.txt")).unwrap();
        assert_eq!(mine, lines, "{round}");
        if advance == Advance::Landed {
            landed.push(name);
        } else if matches!(advance, Advance::Waits(_)) {
            match case.board.follow(&[]).unwrap() {
                Advance::Landed => landed.push(name),
                _ => {
                    case.repo.git(["branch", "-q", "-D", "ralph/main"]);
                }
            }
        }
        let status = case.repo.git(["status", "--porcelain"]);
        assert!(status.lines().all(|line| line.ends_with(" mine.txt")), "{round}: {status}");
        let kept = case.repo.git(["ls-tree", "--name-only", "HEAD"]);
        for story in &landed {
            assert!(kept.lines().any(|name| name == story), "{round}: {story} was reverted");
        }
    }
}
