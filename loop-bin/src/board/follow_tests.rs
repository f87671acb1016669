//! Real repositories in every state that a user's may be in when a story lands.

use std::path::PathBuf;
use std::time::Duration;

use ralph_core::plan::{Options, State};
use test_support::TestRepo;

use super::{Advance, Board, Change, LoopFile, PlanChanges, is_interrupted};
use crate::workspace::Source;

const PLAN: &str = "# Plan\n\n- [ ] US-001: First\n";
const PROGRESS: &str = "# Progress Log\n\nbefore\n";
const ENTRY: &str = "\nUS-001 landed\n";

/// What every story does besides what is tried: it changes, adds and deletes.
const STORY: &str = "echo story >>a.txt; echo new >new.txt; git rm -q dir/one.txt; \
                     sed -i 's/\\[ \\]/[x]/' plan.md; printf '\\nUS-001 landed\\n' >>progress.md";

/// The state before: what the user has committed.
const BEFORE: &str = "mkdir dir; echo 1 >dir/one.txt; echo 2 >dir/two.txt; echo t >tool.sh; \
                      ln -s a.txt link; echo f >filtered.bin";

/// Ends well: the story is on the branch and in the files.
const LANDS: &str = "";

struct Case {
    repo: TestRepo,
    source: Source,
    board: Board,
    old: String,
}

fn source_of(top: &camino::Utf8Path, repo: &TestRepo) -> Source {
    let folder = |which| {
        let args = ["rev-parse", "--path-format=absolute", which];
        PathBuf::from(repo.git_in(top.as_std_path(), args).trim_end())
    };
    let (git_dir, shared) = (folder("--git-dir"), folder("--git-common-dir"));
    Source { top: top.to_owned(), inside: "".into(), git_dir, shared }
}

fn sh(repo: &TestRepo, folder: &camino::Utf8Path, script: &str) -> bool {
    let mut shell = test_support::program("sh", &repo.scratch().path("home"));
    let shell = shell.args(["-e", "-c", script]).envs(repo.isolation()).current_dir(folder);
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        eprintln!("`{script}`: {said}");
    }
    output.status.success()
}

impl Case {
    fn new(init: &[&str]) -> Self {
        let repo = if init.is_empty() { TestRepo::new() } else { TestRepo::empty() };
        if !init.is_empty() {
            repo.remove(".git");
            repo.git([&["init", "-q", "-b", "main"], init].concat());
            repo.write("a.txt", "a\n");
            repo.write(".gitignore", "*.log\n/build/\n");
        }
        repo.introduce_user();
        repo.write("plan.md", PLAN);
        repo.write("progress.md", PROGRESS);
        assert!(sh(&repo, repo.root(), BEFORE));
        repo.commit_all("before");
        let source = source_of(repo.root(), &repo);
        let board = Board::find(&source, "main").unwrap();
        let old = repo.head();
        Self { repo, source, board, old }
    }

    /// A story that a script makes on top of the branch, away from the user's files.
    fn story(&self, script: &str) -> String {
        let copy = self.repo.scratch().path("story");
        let _ = fs_err::remove_dir_all(&copy);
        let from = self.repo.root().as_str();
        self.repo.git(["clone", "-q", "--no-checkout", from, copy.as_str()]);
        let commit = "git add -Af && git commit -qm story -m 'Ralph-Story: US-001'";
        let script = format!("git checkout -q {}; {script}; {commit}", self.old);
        assert!(sh(&self.repo, &copy, &script), "{script}");
        self.repo.git(["fetch", "-q", copy.as_str(), "HEAD"]);
        let head = self.repo.git_in(copy.as_std_path(), ["rev-parse", "HEAD"]);
        head.trim_end().to_owned()
    }

    fn files(&self, new: &str) -> Vec<LoopFile> {
        let marks = vec![("US-001".to_owned(), State::Done)];
        let changes = PlanChanges { marks, ..PlanChanges::default() };
        let plan = Change::Plan { path: "plan.md".into(), options: Options::default(), changes };
        let append = Change::Append { title: "", text: ENTRY.into() };
        let file = |path: &str, before: &str, change| {
            LoopFile::new(path.into(), Some(before.into()), change)
                .in_commit(&self.source.git(), new)
        };
        vec![file("plan.md", PLAN, plan), file("progress.md", PROGRESS, append)]
    }

    fn land(&self, new: &str) -> Advance {
        self.board.land(Some(&self.old), new, &self.files(new)).unwrap()
    }

    fn tip(&self, branch: &str) -> Option<String> {
        super::resolve(&self.source.git(), &format!("refs/heads/{branch}")).unwrap()
    }

    #[track_caller]
    fn has_no_leftovers(&self, what: &str) {
        assert!(!is_interrupted(&self.source), "{what}");
        for name in ["index.lock", "ralph/undo", "ralph/index-next", "refs/heads/main.lock"] {
            assert!(!self.source.git_dir.join(name).exists(), "{what}: {name}");
        }
    }

    /// Lands a story where the user has done this. `expected` is the reason for which it waits.
    fn check(&self, story: &str, user: &str, expected: &str, status: &str, then: &str) {
        let what = format!("user: `{user}`, story: `{story}`");
        let new = self.story(&format!("{STORY}; {story}"));
        assert!(sh(&self.repo, self.repo.root(), user), "{what}");
        let before = self.repo.fingerprint();
        let advance = self.land(&new);
        self.has_no_leftovers(&what);
        let after = self.repo.fingerprint();
        if expected == LANDS {
            assert_eq!(advance, Advance::Landed, "{what}");
            assert_eq!(self.tip("main"), Some(new), "{what}");
            assert_eq!(self.tip("ralph/main"), None, "{what}");
            assert_eq!(self.repo.git(["status", "--porcelain"]), status, "{what}");
        } else {
            let Advance::Waits(cause) = advance else { panic!("{what}: {advance:?}") };
            let why = cause.why("main");
            assert!(why.contains(expected), "{what}: {why}");
            assert_eq!((after.files, after.index), (before.files, before.index), "{what}");
            assert_eq!(after.status, before.status, "{what}");
            assert_eq!(self.tip("main"), Some(self.old.clone()), "{what}");
            assert_eq!(self.tip("ralph/main"), Some(new), "{what}");
        }
        assert!(sh(&self.repo, self.repo.root(), then), "{what}: `{then}`");
    }
}

/// A story that does nothing special, and then this of the user's.
fn user(cases: &[(&str, &str, &str, &str)]) {
    for (user, expected, status, then) in cases {
        Case::new(&[]).check("true", user, expected, status, then);
    }
}

#[test]
fn work_elsewhere_stays_and_the_story_lands() {
    user(&[
        ("true", LANDS, "", "grep story a.txt && ! [ -e dir/one.txt ]"),
        ("echo mine >tool.sh", LANDS, " M tool.sh\n", "grep mine tool.sh"),
        ("echo mine >tool.sh; git add tool.sh", LANDS, "M  tool.sh\n", "grep mine tool.sh"),
        ("echo mine >m; git add -N m", LANDS, " A m\n", "grep mine m"),
        ("git mv tool.sh t2", LANDS, "R  tool.sh -> t2\n", "[ -e t2 ]"),
        (
            "echo mine >m.log; mkdir build; echo b >build/b",
            LANDS,
            "",
            "grep mine m.log && [ -e build/b ]",
        ),
        ("rm tool.sh", LANDS, " D tool.sh\n", "! [ -e tool.sh ]"),
        ("touch -d 2001-01-01 a.txt dir/one.txt", LANDS, "", "grep story a.txt"),
        ("git update-index --split-index", LANDS, "", "grep story a.txt"),
        ("git update-index --index-version 4", LANDS, "", "grep story a.txt"),
        ("git update-index --untracked-cache", LANDS, "", "grep story a.txt"),
        ("git config core.fsmonitor true; git config submodule.recurse true", LANDS, "", "true"),
        ("git config core.autocrlf true", LANDS, "", "grep story a.txt"),
        (
            "git update-index --skip-worktree a.txt",
            LANDS,
            "",
            "grep story a.txt; git ls-files -v a.txt | grep '^S'",
        ),
        (
            "git update-index --assume-unchanged a.txt",
            LANDS,
            "",
            "grep story a.txt; git ls-files -v a.txt | grep '^h'",
        ),
        (
            "git sparse-checkout set --cone build",
            LANDS,
            "",
            "! [ -e dir/two.txt ] && grep story a.txt",
        ),
        ("git sparse-checkout set --cone --sparse-index build", LANDS, "", "! [ -e dir/two.txt ]"),
        (
            "git sparse-checkout set --no-cone /tool.sh",
            LANDS,
            "",
            "! [ -e a.txt ] && ! [ -e new.txt ]",
        ),
    ]);
}

#[test]
fn what_the_user_has_already_as_the_story_leaves_it_is_no_obstacle() {
    user(&[
        ("echo story >>a.txt", LANDS, "", "grep story a.txt"),
        ("echo story >>a.txt; git add a.txt", LANDS, "", "grep story a.txt"),
        ("echo new >new.txt", LANDS, "", "grep new new.txt"),
        ("rm dir/one.txt", LANDS, "", "! [ -e dir/one.txt ]"),
        ("git rm -q dir/one.txt", LANDS, "", "! [ -e dir/one.txt ]"),
        (
            "echo story >>a.txt; git add a.txt; git checkout -q HEAD a.txt",
            LANDS,
            "",
            "grep story a.txt",
        ),
    ]);
}

#[test]
fn what_would_be_overwritten_stays_and_the_story_waits() {
    let files = "overwrite your uncommitted";
    user(&[
        ("echo mine >>a.txt", files, "", "grep mine a.txt"),
        ("echo mine >>a.txt; git add a.txt", files, "", "grep mine a.txt"),
        ("echo mine >>a.txt; git add a.txt; git show HEAD:a.txt >a.txt", files, "", "true"),
        ("echo mine >>dir/one.txt", files, "", "grep mine dir/one.txt"),
        ("rm a.txt", files, "", "! [ -e a.txt ]"),
        ("git rm -q --cached a.txt", files, "", "true"),
        ("chmod +x a.txt", files, "", "[ -x a.txt ]"),
        ("echo mine >new.txt", files, "", "grep mine new.txt"),
        ("echo mine >new.txt; git add -N new.txt", files, "", "grep mine new.txt"),
        ("echo mine >new.txt; echo new.txt >.git/info/exclude", files, "", "grep mine new.txt"),
        ("mkdir new.txt; echo mine >new.txt/x.log", files, "", "grep mine new.txt/x.log"),
        ("git init -q new.txt", files, "", "[ -e new.txt/.git ]"),
        ("rm a.txt; ln -s tool.sh a.txt", files, "", "[ -L a.txt ]"),
        ("git update-index --skip-worktree a.txt; echo mine >a.txt", files, "", "grep mine a.txt"),
        (
            "git update-index --assume-unchanged a.txt; echo mine >a.txt",
            files,
            "",
            "grep mine a.txt",
        ),
        // The same size within the same second as the index.
        ("git update-index --refresh; echo b >a.txt", files, "", "grep b a.txt"),
    ]);
    for (story, user) in [
        ("echo x >x.log", "echo mine >x.log"),
        ("mkdir build; echo x >build/x", "mkdir build; echo mine >build/x"),
        ("mkdir build; echo x >build/x", "echo mine >build"),
        ("echo >.gitignore; echo x >x.log", "echo mine >x.log"),
        ("mkdir d; echo x >d/x", "mkdir ../d; ln -s ../d d"),
        ("rm -r dir; echo x >dir", "echo mine >dir/mine.log"),
        ("mv dir/two.txt dir/2.txt", "rm -r dir; ln -s /tmp dir"),
    ] {
        Case::new(&[]).check(story, user, files, "", "true");
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
        let case = Case::new(&[]);
        case.check(story, "true", LANDS, "", then);
    }
    for init in [["--object-format=sha256"], ["--ref-format=reftable"]] {
        Case::new(&init).check("true", "echo mine >tool.sh", LANDS, " M tool.sh\n", "true");
    }
}

#[test]
fn the_users_own_plan_gets_the_tick_and_keeps_the_rest() {
    let mine = "sed -i 's/First/First, mine/' plan.md; echo mine >>progress.md";
    let ticked = "grep -q '\\[x\\] US-001: First, mine' plan.md; tail -n 3 progress.md | tr '\\n' ' ' | \
                  grep -q 'mine  US-001 landed'";
    let staged = "git show :plan.md | grep '\\[x\\] US-001: First, mine'";
    let own = " M plan.md\n M progress.md\n";
    user(&[
        (mine, LANDS, own, ticked),
        (
            &format!("{mine}; git add plan.md"),
            LANDS,
            "M  plan.md\n M progress.md\n",
            &format!("{ticked}; {staged}"),
        ),
        ("git rm -q --cached plan.md", LANDS, "D  plan.md\n?? plan.md\n", "grep '\\[x\\]' plan.md"),
        ("rm plan.md", LANDS, " D plan.md\n", "! [ -e plan.md ]"),
        (
            &format!("git update-index --skip-worktree plan.md; {mine}"),
            LANDS,
            " M progress.md\n",
            &format!("{ticked}; git ls-files -v plan.md | grep '^S'"),
        ),
        (
            &format!("git update-index --assume-unchanged plan.md; {mine}"),
            LANDS,
            " M progress.md\n",
            &format!("{ticked}; git ls-files -v plan.md | grep '^h'"),
        ),
        ("sed -i 's/ \\]/x]/' plan.md", LANDS, "", "grep '\\[x\\]' plan.md"),
    ]);
}

#[test]
fn a_git_command_of_several_steps_is_not_disturbed() {
    let conflict = "git checkout -q -b other; echo o >tool.sh; git commit -qam other; \
                    git checkout -q main; echo m >tool.sh; git commit -qam mine";
    let elsewhere = "git worktree add -q --detach ../tree; cd ../tree";
    for (user, expected, on) in [
        (
            "git checkout -q -b side HEAD~1; git commit -q --allow-empty -m s; git checkout -q main; \
          git merge -q --no-commit --no-ff side",
            "a merge",
            true,
        ),
        ("git merge -q other || true", "a merge", true),
        ("git cherry-pick other || true", "a cherry-pick", true),
        ("git revert --no-commit HEAD", "a revert", true),
        ("git rebase -q other || true", "a rebase", false),
        ("git rebase -q --apply other || true", "a rebase", false),
        ("git format-patch -q -1 other; git am -q *.patch || true", "a rebase or am", true),
        ("git bisect start HEAD HEAD~1 || true; git checkout -q HEAD~1", "bisect", false),
        (
            &format!(
                "git checkout -q other; {elsewhere}; git checkout -q main; git rebase -q other || true"
            ),
            "a rebase",
            false,
        ),
        (
            &format!(
                "git checkout -q other; {elsewhere}; git checkout -q main; git bisect start; git checkout -q HEAD~1"
            ),
            "bisect",
            false,
        ),
        (
            &format!("git checkout -q other; {elsewhere}; git checkout -q main"),
            "is checked out in",
            false,
        ),
        (
            "echo x >tool.sh; git stash -q; echo y >tool.sh; git commit -qam y; git stash pop || true",
            "a conflict resolution",
            true,
        ),
    ] {
        let mut case = Case::new(&[]);
        assert!(sh(&case.repo, case.repo.root(), conflict));
        assert!(sh(&case.repo, case.repo.root(), user), "{user}");
        let before = case.repo.fingerprint();
        case.old = case.tip("main").unwrap();
        let new = case.story("echo new >new.txt");
        let Advance::Waits(cause) = case.land(&new) else { panic!("{user}") };
        assert!(cause.why("main").contains(expected), "{user}: {}", cause.why("main"));
        let after = case.repo.fingerprint();
        assert_eq!(
            (after.files, after.index, after.status),
            (before.files, before.index, before.status),
            "{user}"
        );
        assert_eq!(case.tip("main"), Some(case.old.clone()), "{user}");
        assert_eq!(case.board.look().unwrap().branch, "ralph/main");
        let waiting = case.board.waiting().unwrap().unwrap().told(None);
        assert!(waiting.contains(expected), "{user}: {waiting}");
        case.has_no_leftovers(user);
        let head = case.repo.git(["rev-parse", "--abbrev-ref", "HEAD"]);
        assert_eq!(head == "main\n", on, "{user}");
    }
}

#[test]
fn a_landing_that_fails_halfway_is_undone() {
    let filter = "git config filter.f.clean cat; git config filter.f.smudge false; \
                  git config filter.f.required true; echo 'filtered.bin filter=f' >.git/info/attributes";
    let story = "echo z >filtered.bin; rm -r dir; echo file >dir; rm link; echo l >link";
    let case = Case::new(&[]);
    case.check(story, filter, "main cannot be updated", "", "git update-index --refresh");
    // Once the reason is gone, it lands.
    assert!(sh(&case.repo, case.repo.root(), "git config --unset filter.f.required"));
    let new = case.tip("ralph/main").unwrap();
    assert_eq!(case.board.follow(&case.files(&new)).unwrap(), Advance::Landed);
    assert_eq!((case.tip("main"), case.tip("ralph/main")), (Some(new), None));
    assert_eq!(case.repo.git(["status", "--porcelain"]), "");
    assert_eq!(case.repo.git(["show", "HEAD:plan.md"]), PLAN.replace("[ ]", "[x]"));

    // The same with text of the user's in the loop's files, which is changed last.
    let case = Case::new(&[]);
    let user = format!("{filter}; echo mine >>progress.md; echo >>plan.md; git add plan.md");
    case.check(story, &user, "main cannot be updated", "", "true");
}

#[test]
fn what_other_processes_lock_is_waited_for_and_left_alone() {
    for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        let case = Case::new(&[]);
        let new = case.story(STORY);
        let path = case.source.git_dir.join(lock);
        fs_err::write(&path, "").unwrap();
        std::fs::File::open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        let before = case.repo.files();
        let Advance::Waits(cause) = case.land(&new) else { panic!("{lock}") };
        assert!(cause.why("main").ends_with(lock), "{}", cause.why("main"));
        fs_err::remove_file(&path).unwrap();
        case.has_no_leftovers(lock);
        assert_eq!(case.repo.files(), before, "{lock}");
        assert_eq!(case.board.follow(&case.files(&new)).unwrap(), Advance::Landed);
        assert_eq!(case.repo.git(["status", "--porcelain"]), "");
    }
    // Hooks are for the user's own commits.
    let refuse = "mkdir -p .git/hooks; printf '#!/bin/sh\nexit 1' >.git/hooks/reference-transaction; \
                  chmod +x .git/hooks/reference-transaction";
    let case = Case::new(&[]);
    case.check("true", refuse, LANDS, "", "true");
}

#[test]
fn a_linked_work_tree_and_a_branch_called_ralph_are_like_any_other() {
    for branch in ["side", "ralph"] {
        let mut case = Case::new(&[]);
        let tree = case.repo.scratch().path("tree");
        case.repo.git(["worktree", "add", "-q", "-b", branch, tree.as_str()]);
        case.source = source_of(&tree, &case.repo);
        case.board = Board::find(&case.source, "").unwrap();
        let new = case.story(STORY);
        fs_err::write(tree.join("new.txt"), "mine\n").unwrap();
        assert!(matches!(case.land(&new), Advance::Waits(_)));
        assert_eq!(case.board.look().unwrap().commit, Some(new.clone()));
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
fn a_branch_without_commits_gets_its_first_one() {
    let repo = TestRepo::empty();
    repo.introduce_user();
    let story = Case::new(&[]);
    repo.git(["fetch", "-q", story.repo.root().as_str(), "main"]);
    repo.write("mine.txt", "mine\n");
    repo.git(["add", "mine.txt"]);
    let board = Board::find(&source_of(repo.root(), &repo), "").unwrap();
    repo.write("a.txt", "mine\n");
    let Advance::Waits(_) = board.land(None, &story.old, &[]).unwrap() else { panic!("it waits") };
    repo.remove("a.txt");
    assert_eq!(board.follow(&[]).unwrap(), Advance::Landed);
    assert_eq!(
        (repo.head(), repo.git(["status", "--porcelain"])),
        (story.old, "A  mine.txt\n".into())
    );
}

#[test]
fn a_user_who_looks_at_the_work_that_waits_has_its_files() {
    let mut case = Case::new(&[]);
    let first = case.story(STORY);
    case.repo.write("new.txt", "mine\n");
    assert!(matches!(case.land(&first), Advance::Waits(_)));
    case.repo.remove("new.txt");
    case.repo.git(["checkout", "-q", "ralph/main"]);
    case.repo.git(["commit", "-q", "--allow-empty", "-m", "mine", "-m", "Ralph-Story: none"]);
    case.old = case.repo.head();
    assert!(case.board.look().unwrap().is_followed);
    let second = case.story("echo second >second.txt");
    assert_eq!(case.board.land(Some(&case.old), &second, &[]).unwrap(), Advance::Landed);
    assert_eq!((case.repo.head(), case.tip("main")), (second.clone(), Some(second)));
    assert_eq!(case.repo.git(["status", "--porcelain"]), "");
}

/// As many rounds as this variable says, or few.
const ROUNDS: &str = "RALPH_TEST_RACES";

/// What a user does at the same time, once; each ends with a line more in mine.txt, however it ends.
const ACTS: [&str; 5] = [
    "git add mine.txt; git commit -qm mine",
    "git commit -qam mine",
    "git add mine.txt",
    "git stash -q; git stash pop -q",
    "git status >/dev/null; git add -A; git commit -q --amend --no-edit",
];

#[test]
fn a_user_who_commits_and_stages_at_the_same_time_loses_nothing_and_reverts_nothing() {
    let rounds = std::env::var(ROUNDS).map_or(40, |rounds| rounds.parse().unwrap());
    let mut case = Case::new(&[]);
    case.repo.write("mine.txt", "0\n");
    case.repo.commit_all("mine.txt");
    let (mut landed, mut lines) = (Vec::new(), "0\n".to_owned());
    let mut ends = std::collections::BTreeMap::<String, usize>::new();
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
            let advance = case.board.land(Some(&case.old), &new, &[]).unwrap();
            user.join().unwrap();
            advance
        });
        let round = format!("round {round}, `{act}`: {advance:?}");
        *ends.entry(format!("{advance:?}").chars().take(20).collect()).or_default() += 1;
        case.has_no_leftovers(&round);
        lines += &format!("{}\n", round.split([' ', ',']).nth(1).unwrap());
        if case.repo.git(["stash", "list"]) != "" {
            // Our lock came between the two; git keeps the entry.
            case.repo.git(["stash", "pop", "-q"]);
        }
        assert_eq!(
            fs_err::read_to_string(case.repo.root().join("mine.txt")).unwrap(),
            lines,
            "{round}"
        );
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
    println!("{rounds} rounds, {} landed: {ends:?}", landed.len());
}
