//! A real repository and a story to land, for the tests of this crate.

use std::path::PathBuf;

use ralph_core::plan::{Options, State};
use test_support::TestRepo;

use super::loop_files::Change;
use super::{Advance, Board, LoopFile, PlanChanges, is_interrupted};
use work_copy::Source;

pub(super) const PLAN: &str = "# Plan\n\n- [ ] US-001: First\n";
const PROGRESS: &str = "# Progress Log\n\nbefore\n";
const ENTRY: &str = "\nUS-001 landed\n";

/// The changes common to all stories: files are modified, added and deleted.
pub(super) const STORY: &str = "echo story >>a.txt; echo new >new.txt; git rm -q dir/one.txt; \
                     sed -i 's/\\[ \\]/[x]/' plan.md; printf '\\nUS-001 landed\\n' >>progress.md";

/// Creates the files that the user has committed before.
const BEFORE: &str = "mkdir dir; echo 1 >dir/one.txt; echo 2 >dir/two.txt; echo t >tool.sh; \
                      ln -s a.txt link; echo f >filtered.bin";

/// The expected outcome of a story that lands: it is on the branch and in the files.
pub(super) const LANDS: &str = "";

/// Why the story waits (or `LANDS`), git's status after landing, and a script that then succeeds.
pub(super) type End<'a> = (&'a str, &'a str, &'a str);

pub(super) struct Case {
    pub(super) repo: TestRepo,
    pub(super) source: Source,
    pub(super) board: Board,
    pub(super) old: String,
}

pub(super) fn source_of(top: &camino::Utf8Path, repo: &TestRepo) -> Source {
    let folder = |which| {
        let args = ["rev-parse", "--path-format=absolute", which];
        PathBuf::from(repo.git_in(top.as_std_path(), args).trim_end())
    };
    let (git_dir, shared) = (folder("--git-dir"), folder("--git-common-dir"));
    Source { top: top.to_owned(), inside: "".into(), git_dir, shared, filters: Default::default() }
}

pub(super) fn sh(repo: &TestRepo, folder: &camino::Utf8Path, script: &str) -> bool {
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
    pub(super) fn new(init: &[&str]) -> Self {
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

    /// Commits the result of a script in a separate clone, on top of the branch.
    pub(super) fn story(&self, script: &str) -> String {
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

    pub(super) fn files(&self, new: &str) -> Vec<LoopFile> {
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

    pub(super) fn land(&self, new: &str) -> Advance {
        self.board.land((Some(&self.old), false), new, (&self.files(new), &[])).unwrap()
    }

    pub(super) fn tip(&self, branch: &str) -> Option<String> {
        super::resolve(&self.source.git(), &format!("refs/heads/{branch}")).unwrap()
    }

    #[track_caller]
    pub(super) fn has_no_leftovers(&self, what: &str) {
        assert!(!is_interrupted(&self.source), "{what}");
        for name in ["index.lock", "ralph-undo", "ralph-index-next", "refs/heads/main.lock"] {
            assert!(!self.source.git_dir.join(name).exists(), "{what}: {name}");
        }
    }

    /// Lands a story after the user's script. `expected` is the reason why it waits, or `LANDS`.
    pub(super) fn check(&self, story: &str, user: &str, (expected, status, then): End<'_>) {
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
