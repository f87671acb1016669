//! Settling in real repositories: what is committed, what is ticked, and what a crash leaves.

use camino::Utf8PathBuf;
use ralph_core::config::{Config, Flag};
use ralph_core::env::Env;
use ralph_core::git::{Checkpoint, Repo};
use ralph_core::plan::{self, Next, Options};
use ralph_core::settle::{self, Attempt, Onlooker, Outcome, Place, Recovered, Report};
use ralph_core::state::{Journal, StateDir};
use test_support::TestRepo;

const PLAN: &str = ".ralph/PRD-1/plan.md";
const STORIES: &str = "- [ ] US-001: Greet\n- [ ] US-002: Part\n";

struct Stage {
    test: TestRepo,
    repo: Repo,
    state: StateDir,
    config: Config,
    journal: Journal,
}

impl Stage {
    fn new(flags: &[(&str, &str)]) -> Self {
        let test = TestRepo::new();
        test.git(["config", "user.name", "Test"]);
        test.git(["config", "user.email", "test@localhost"]);
        Self::with(test, flags)
    }

    fn with(test: TestRepo, flags: &[(&str, &str)]) -> Self {
        test.write(PLAN, STORIES);
        let flags: Vec<Flag> = flags.iter().map(|(key, value)| Flag::new(*key, *value)).collect();
        let config = Config::from_parts("", "", &Env::of([("", "")]), &flags).unwrap();
        let state = StateDir::of_project(test.root());
        state.prepare().unwrap();
        let journal = Journal::new(&state, "test");
        Self { repo: Repo::open(test.root()).unwrap(), state, config, journal, test }
    }

    fn place(&self) -> Place<'_> {
        Place {
            root: self.test.root(),
            repo: &self.repo,
            state: &self.state,
            config: &self.config,
            journal: &self.journal,
            run: "r1",
        }
    }

    fn begin(&self) -> Attempt {
        let path: Utf8PathBuf = self.test.root().join(PLAN);
        let plan = plan::load(&path, &Options::default()).unwrap();
        let Next::Story(story) = plan.next_story(&Default::default()) else { panic!("no story") };
        settle::begin(&self.place(), &plan, story, 1).unwrap()
    }

    fn settle(&self, attempt: &Attempt) -> Outcome {
        settle::settle(&self.place(), attempt, &Report::default(), Onlooker::default()).unwrap()
    }

    fn plan(&self) -> String {
        self.read(PLAN)
    }

    fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.test.root().join(name)).unwrap()
    }

    fn subjects(&self) -> Vec<String> {
        self.test.git(["log", "--format=%s"]).lines().map(str::to_owned).collect()
    }

    fn is_over(&self) {
        assert!(Checkpoint::load(&self.state).unwrap().is_none());
        assert!(Attempt::load(&self.state).unwrap().is_none());
        assert!(!self.state.current_story().exists() && !self.state.settling().exists());
    }
}

#[test]
fn work_and_tick_are_one_commit() {
    let stage = Stage::new(&[("verify.commands", "test -e new.txt")]);
    let attempt = stage.begin();
    stage.test.write("new.txt", "new\n");
    stage.test.write("ignored.log", "x\n");
    let Outcome::Done(done) = stage.settle(&attempt) else { panic!("not done") };
    assert_eq!(stage.plan(), "- [x] US-001: Greet\n- [ ] US-002: Part\n");
    assert_eq!(stage.subjects(), ["feat(US-001): Greet", "first"]);
    let committed = stage.test.git(["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(committed, ".ralph/PRD-1/plan.md\nnew.txt\n");
    assert_eq!(stage.test.git(["show", "HEAD:.ralph/PRD-1/plan.md"]), stage.plan());
    let progress = stage.read(".ralph/PRD-1/progress.md");
    let short = &done.commit.unwrap()[..8];
    assert!(progress.contains("## Iteration 1 - US-001\n- Status: SUCCESS"), "{progress}");
    assert!(progress.contains(short) && progress.contains("`test -e new.txt` passed"));
    stage.is_over();
}

#[test]
fn our_state_is_never_committed_whatever_the_ignore_rules() {
    for test in [TestRepo::new(), TestRepo::empty()] {
        let stage = Stage::with(test, &[]);
        stage.test.write(".ralph/.gitignore", "");
        stage.test.write(".ralph/logs/a b/x.log.txt", "raw\n");
        let attempt = stage.begin();
        stage.test.write("new.txt", "new\n");
        assert!(matches!(stage.settle(&attempt), Outcome::Done(_)));
        let committed = stage.test.git(["show", "--format=", "--name-only", "HEAD"]);
        assert_eq!(committed, ".ralph/PRD-1/plan.md\nnew.txt\n");
    }
}

#[test]
fn nothing_changed_is_not_done() {
    let stage = Stage::new(&[]);
    let attempt = stage.begin();
    stage.test.write(PLAN, STORIES.replace("[ ]", "[x]"));
    assert_eq!(stage.settle(&attempt), Outcome::NothingChanged);
    assert_eq!((stage.plan().as_str(), stage.subjects().len()), (STORIES, 1));
}

#[test]
fn the_agents_word_needs_checks_to_count_without_changes() {
    for (flags, done) in [(vec![("verify.commands", "true")], true), (vec![], false)] {
        let stage = Stage::new(&flags);
        let attempt = stage.begin();
        let report = Report { claimed: true, ..Report::default() };
        let outcome =
            settle::settle(&stage.place(), &attempt, &report, Onlooker::default()).unwrap();
        assert_eq!(matches!(outcome, Outcome::Done(_)), done);
        assert_eq!(stage.plan() != STORIES, done);
    }
}

#[test]
fn a_failing_check_leaves_everything_open() {
    let stage = Stage::new(&[("verify.commands", "echo broken; false")]);
    let attempt = stage.begin();
    stage.test.write("new.txt", "new\n");
    let Outcome::CheckFailed(checks) = stage.settle(&attempt) else { panic!("no failure") };
    assert_eq!(checks[0].output, "broken\n");
    assert_eq!((stage.plan().as_str(), stage.subjects().len()), (STORIES, 1));
    assert!(Attempt::load(&stage.state).unwrap().is_some());
}

/// Removes one of two tests and settles.
fn weaken(flags: &[(&str, &str)]) -> (Stage, Outcome) {
    let stage = Stage::new(flags);
    stage.test.write("sum.test.js", "it('adds')\nit('subtracts')\n");
    stage.test.commit_all("tests");
    let attempt = stage.begin();
    stage.test.write("sum.test.js", "it('adds')\n");
    let outcome = stage.settle(&attempt);
    (stage, outcome)
}

#[test]
fn weakened_tests_are_reported_refused_or_ignored() {
    let what = "1 test fewer runs than before (sum.test.js)";
    let (stage, outcome) = weaken(&[]);
    let Outcome::Done(done) = outcome else { panic!("not done") };
    assert_eq!(done.weakened.as_deref(), Some(what));
    assert!(
        stage.read(".ralph/PRD-1/progress.md").contains(&format!("- Tests weakened: {what}\n"))
    );
    assert!(stage.read(".ralph/events.jsonl").contains("tests_weakened"));
    let (stage, outcome) = weaken(&[("tests.weakened", "refuse")]);
    assert_eq!(outcome, Outcome::TestsWeakened(what.to_owned()));
    assert_eq!(stage.plan(), STORIES);
    let (stage, outcome) = weaken(&[("tests.weakened", "ignore")]);
    assert!(matches!(outcome, Outcome::Done(done) if done.weakened.is_none()));
    assert!(!stage.read(".ralph/events.jsonl").contains("tests_weakened"));
}

#[test]
fn the_users_hooks_run_and_a_refusal_takes_the_tick_back() {
    let stage = Stage::new(&[]);
    let attempt = stage.begin();
    stage.test.write("new.txt", "new\n");
    let hook = ".git/hooks/pre-commit";
    stage.test.write(hook, "#!/bin/sh\necho no tabs please >&2\nexit 1\n");
    stage.test.chmod(hook, 0o755);
    assert_eq!(stage.settle(&attempt), Outcome::CommitRefused("no tabs please".into()));
    assert_eq!((stage.plan().as_str(), stage.subjects().len()), (STORIES, 1));
    assert!(!stage.state.settling().exists());
    stage.test.write(hook, "#!/bin/sh\nexit 0\n");
    assert!(matches!(stage.settle(&attempt), Outcome::Done(_)));
}

#[test]
fn files_that_git_knows_are_committed_and_a_refusal_is_not_taken_for_nothing_to_do() {
    let stage = Stage::new(&[]);
    stage.test.commit_all("a plan");
    let attempt = stage.begin();
    stage.test.write("a.txt", "better\n");
    for (name, value) in [("commit.gpgSign", "true"), ("gpg.program", "/bin/false")] {
        stage.test.git(["config", name, value]);
    }
    assert!(matches!(stage.settle(&attempt), Outcome::CommitImpossible(_)));
    assert_eq!((stage.plan().as_str(), stage.subjects().len()), (STORIES, 2));
    stage.test.git(["config", "commit.gpgSign", "false"]);
    stage.test.git(["config", "user.useConfigOnly", "true"]);
    stage.test.git(["config", "--unset", "user.email"]);
    let Outcome::Done(done) = stage.settle(&attempt) else { panic!("not done") };
    assert_eq!(done.commit, Some(stage.test.head()));
    let committed = stage.test.git(["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(committed, ".ralph/PRD-1/plan.md\na.txt\n");
}

#[test]
fn the_agents_own_commits_and_branches_are_folded_in() {
    let stage = Stage::new(&[]);
    let attempt = stage.begin();
    stage.test.git(["checkout", "-q", "-b", "agent"]);
    stage.test.write("new.txt", "new\n");
    stage.test.commit_all("by the agent");
    assert!(matches!(stage.settle(&attempt), Outcome::Done(_)));
    assert_eq!(stage.test.git(["symbolic-ref", "--short", "HEAD"]), "main\n");
    assert_eq!(stage.subjects(), ["feat(US-001): Greet", "first"]);
    assert!(stage.test.git(["show", "--format=", "--name-only", "HEAD"]).contains("new.txt"));
}

#[test]
fn rewritten_history_is_not_settled() {
    let stage = Stage::new(&[]);
    let attempt = stage.begin();
    stage.test.git(["commit", "-q", "--amend", "-m", "other"]);
    stage.test.write("new.txt", "new\n");
    assert!(matches!(stage.settle(&attempt), Outcome::Displaced(_)));
}

#[test]
fn a_repository_without_commits_and_identity_gets_its_first() {
    let test = TestRepo::empty();
    test.git(["config", "user.useConfigOnly", "true"]);
    let stage = Stage::with(test, &[]);
    let attempt = stage.begin();
    stage.test.write("new.txt", "new\n");
    assert!(matches!(stage.settle(&attempt), Outcome::Done(_)));
    assert_eq!(stage.subjects(), ["feat(US-001): Greet"]);
}

/// Leaves the disk as a crash between tick and commit, or between commit and log, would.
fn crash(stage: &Stage, after_commit: bool) {
    stage.begin();
    stage.test.write("new.txt", "new\n");
    let head = stage.test.head();
    let marker = format!("{{\"version\":1,\"story\":\"US-001\",\"head\":\"{head}\"}}");
    stage.test.write(".ralph/settling.json", marker);
    stage.test.write(PLAN, STORIES.replacen("[ ]", "[x]", 1));
    stage.test.git(["add", "-A"]);
    if after_commit {
        stage.test.git(["commit", "-q", "-m", "feat(US-001): Greet"]);
    }
}

#[test]
fn a_crash_before_the_commit_takes_the_tick_back_and_keeps_the_work() {
    let stage = Stage::new(&[]);
    crash(&stage, false);
    let story = "US-001".to_owned();
    // This marker does not tell what the files looked like, so nobody can tell whether they are as
    // they were.
    assert_eq!(
        settle::recover(&stage.place()).unwrap(),
        Recovered::Undone { story, findings: vec![], is_changed: true }
    );
    assert_eq!((stage.plan().as_str(), stage.read("new.txt").as_str()), (STORIES, "new\n"));
    assert_eq!(settle::recover(&stage.place()).unwrap(), Recovered::Nothing);
    let attempt = Attempt::load(&stage.state).unwrap().unwrap();
    assert!(matches!(stage.settle(&attempt), Outcome::Done(_)));
    assert_eq!(stage.subjects().len(), 2);
}

#[test]
fn a_crash_after_the_commit_is_finished() {
    let stage = Stage::new(&[]);
    crash(&stage, true);
    let Recovered::Finished { story, .. } = settle::recover(&stage.place()).unwrap() else {
        panic!("not finished")
    };
    assert_eq!(story, "US-001");
    assert_eq!(stage.subjects().len(), 2);
    assert!(stage.read(".ralph/PRD-1/progress.md").contains("SUCCESS"));
    stage.is_over();
}

#[test]
fn a_commit_of_somebody_else_is_not_taken_for_the_storys() {
    let stage = Stage::new(&[]);
    crash(&stage, false);
    stage.test.write("by-hand.txt", "by hand\n");
    stage.test.git(["add", "by-hand.txt"]);
    stage.test.git(["commit", "-q", "--only", "-m", "by hand", "--", "by-hand.txt"]);
    let story = "US-001".to_owned();
    assert_eq!(
        settle::recover(&stage.place()).unwrap(),
        Recovered::Undone { story, findings: vec![], is_changed: true }
    );
    assert_eq!((stage.plan().as_str(), stage.read("new.txt").as_str()), (STORIES, "new\n"));

    let stage = Stage::new(&[]);
    crash(&stage, true);
    let own = stage.test.head();
    stage.test.commit_all("by hand");
    let story = "US-001".to_owned();
    let finished = Recovered::Finished { story, commit: Some(own), taken_out: None };
    assert_eq!(settle::recover(&stage.place()).unwrap(), finished);
}

#[test]
fn a_commit_whose_subject_a_hook_changed_is_known_by_its_tick() {
    let stage = Stage::new(&[]);
    crash(&stage, false);
    stage.test.git(["commit", "-q", "-m", "TICKET-7 Greet"]);
    assert!(matches!(settle::recover(&stage.place()).unwrap(), Recovered::Finished { .. }));
}

#[test]
fn the_storys_commit_is_named_even_if_somebody_commits_right_after_it() {
    let stage = Stage::new(&[]);
    let attempt = stage.begin();
    stage.test.write("new.txt", "new\n");
    let by_hand = "#!/bin/sh\n[ -e .git/once ] && exit\n: >.git/once\n\
        env -u GIT_INDEX_FILE git commit -q --allow-empty -m 'by hand'\n";
    stage.test.write(".git/hooks/post-commit", by_hand);
    stage.test.chmod(".git/hooks/post-commit", 0o755);
    let Outcome::Done(done) = stage.settle(&attempt) else { panic!("it is done") };
    assert_eq!(stage.subjects()[..2], ["by hand", "feat(US-001): Greet"]);
    assert_eq!(done.commit.unwrap(), stage.test.git(["rev-parse", "HEAD^"]).trim());
}

#[test]
fn a_commit_that_somebody_overtakes_is_made_again() {
    let stage = Stage::new(&[]);
    let attempt = stage.begin();
    stage.test.write("new.txt", "new\n");
    let by_hand = "#!/bin/sh\n[ -e .git/once ] && exit\n: >.git/once\n\
        env -u GIT_INDEX_FILE git commit -q --no-verify --allow-empty --only -m 'by hand'\n";
    stage.test.write(".git/hooks/pre-commit", by_hand);
    stage.test.chmod(".git/hooks/pre-commit", 0o755);
    assert!(matches!(stage.settle(&attempt), Outcome::Done(_)));
    assert_eq!(stage.subjects(), ["feat(US-001): Greet", "by hand", "first"]);
}

#[test]
fn our_commits_start_no_maintenance() {
    let stage = Stage::new(&[]);
    // Without this it would come a moment later, and not always.
    for (key, value) in [
        ("maintenance.autoDetach", "false"),
        ("maintenance.gc.enabled", "false"),
        ("maintenance.commit-graph.enabled", "true"),
        ("maintenance.commit-graph.auto", "-1"),
    ] {
        stage.test.git(["config", key, value]);
    }
    let graphs = stage.test.root().join(".git/objects/info/commit-graphs");
    let attempt = stage.begin();
    stage.test.write("new.txt", "new\n");
    assert!(matches!(stage.settle(&attempt), Outcome::Done(_)));
    assert!(!graphs.exists());
    stage.test.commit_all("by hand");
    assert!(graphs.exists(), "git does look after the repository otherwise");
}

#[test]
fn progress_follows_after_one_blank_line_whatever_the_file_ends_with() {
    for (notes, expected) in [
        ("notes", "notes\n\n## Iteration 1"),
        ("notes\n", "notes\n\n## Iteration 1"),
        ("notes\r\nmore", "notes\r\nmore\r\n\r\n## Iteration 1"),
    ] {
        let stage = Stage::new(&[]);
        let attempt = stage.begin();
        fs_err::write(&attempt.progress, notes).unwrap();
        stage.test.write("a.txt", "done\n");
        assert!(matches!(stage.settle(&attempt), Outcome::Done(_)));
        let progress = fs_err::read_to_string(&attempt.progress).unwrap();
        assert!(progress.starts_with(expected), "{progress:?}");
    }
}

/// What a hook leaves that is killed in the middle of a rollback.
fn half_rolled_back(stage: &Stage) {
    let checkpoint = Checkpoint::load(&stage.state).unwrap().unwrap();
    let note = format!("snapshot {} {}\n", checkpoint.snapshot.unwrap(), stage.test.head());
    stage.test.write(".git/ralph-restoring", note);
}

#[test]
fn a_rollback_that_a_killed_hook_began_is_finished_before_anything_is_settled() {
    let stage = Stage::new(&[]);
    let attempt = stage.begin();
    stage.test.write("half.txt", "of an attempt that failed");
    half_rolled_back(&stage);
    assert_eq!(stage.settle(&attempt), Outcome::NothingChanged);
    assert!(!stage.test.root().join("half.txt").exists());
    assert!(!stage.test.root().join(".git/ralph-restoring").exists());
    assert_eq!(ralph_core::git::discarded(&stage.repo).unwrap().len(), 1, "it is kept");
}

#[test]
fn a_rollback_is_not_finished_over_commits_that_came_after_it() {
    let stage = Stage::new(&[]);
    stage.begin();
    half_rolled_back(&stage);
    stage.test.write("later.txt", "by hand");
    stage.test.commit_all("later");
    let head = stage.test.head();
    assert!(!ralph_core::git::finish_interrupted(&stage.repo, &stage.state).unwrap());
    assert_eq!(stage.test.head(), head);
    assert!(!stage.test.root().join(".git/ralph-restoring").exists());
}

#[test]
fn a_commit_whose_bookkeeping_failed_is_not_made_twice() {
    let stage = Stage::new(&[]);
    let attempt = stage.begin();
    stage.test.write("greet.rs", "hello");
    stage.test.write(".ralph/events.jsonl/in-the-way", "so that nothing can be journaled");
    settle::settle(&stage.place(), &attempt, &Report::default(), Onlooker::default()).unwrap_err();
    let head = stage.test.head();
    stage.test.remove(".ralph/events.jsonl");
    let Outcome::Done(done) = stage.settle(&attempt) else { panic!("it is done") };
    assert_eq!((done.commit.as_deref(), stage.test.head()), (Some(head.as_str()), head.clone()));
    assert!(!stage.state.settling().exists() && !stage.state.attempt().exists());
}
