//! Undo restores the files of the attempt and changes nothing else.

use std::path::PathBuf;

use ralph_base::state::StateDir;
use ralph_core::git::{Checkpoint, Repo, SnapshotError, rollback, undo};
use test_support::{Fingerprint, TestRepo};

struct Project {
    test: TestRepo,
    repo: Repo,
    state: StateDir,
}

impl Project {
    fn new(test: TestRepo) -> Self {
        let (repo, state) = (Repo::open(test.root()).unwrap(), StateDir::of_project(test.root()));
        state.prepare().unwrap();
        Self { test, repo, state }
    }

    /// Makes an attempt that does `work` and rolls it back; returns the ref that keeps the attempt.
    fn attempt(&self, work: impl Fn(&TestRepo)) -> String {
        Checkpoint::create(&self.repo, &self.state, "checkpoint").unwrap();
        work(&self.test);
        rollback(&self.repo, &self.state, None, "failed").unwrap().saved.name
    }

    fn undo(&self, name: &str) -> Result<Vec<PathBuf>, SnapshotError> {
        undo(&self.repo, &self.state, name)
    }

    /// Returns the fingerprint without the state folder, which every operation changes.
    fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = self.test.fingerprint();
        fingerprint.files.retain(|path, _| !path.starts_with(".ralph"));
        fingerprint
    }

    fn read(&self, name: &str) -> Option<String> {
        fs_err::read_to_string(self.test.root().join(name)).ok()
    }
}

fn several_files(test: &TestRepo) {
    test.write("a.txt", "an attempt\n");
    test.write("new/file.txt", "new\n");
    test.chmod("new/file.txt", 0o755);
    test.remove("src/lib.rs");
    test.symlink("link", "a.txt");
}

#[test]
fn later_commits_stay_and_only_the_attempts_files_change() {
    let project = Project::new(TestRepo::new());
    let name = project.attempt(several_files);
    project.test.write("later.txt", "a later story\n");
    project.test.commit_all("a later story");
    project.test.write("mine.txt", "uncommitted\n");
    let before = project.fingerprint();
    assert_eq!(project.undo(&name).unwrap().len(), 4);
    let after = project.fingerprint();
    assert_eq!(
        (&after.head, &after.refs, &after.index),
        (&before.head, &before.refs, &before.index)
    );
    assert_eq!(project.read("a.txt").as_deref(), Some("an attempt\n"));
    assert_eq!((project.read("link"), project.read("src/lib.rs")), (project.read("a.txt"), None));
    assert_eq!(project.read("new/file.txt").as_deref(), Some("new\n"));
    assert_eq!(project.read("later.txt").as_deref(), Some("a later story\n"));
    assert_eq!(project.read("mine.txt").as_deref(), Some("uncommitted\n"));
}

#[test]
fn committed_work_is_restored_as_files_except_our_own_files() {
    let test = TestRepo::new();
    test.write(".gitattributes", "*.crlf text eol=crlf\n");
    test.write("b.crlf", "one\r\n");
    test.commit_all("converted");
    let project = Project::new(test);
    let name = project.attempt(|test| {
        test.write("b.crlf", "two\r\n");
        test.write("a.txt", "committed by the agent\n");
        test.write(".ralph/[a*b]/plan.md", "committed by the agent\n");
        test.write(".claude/x.md", "committed by the agent\n");
        test.commit_all("by the agent");
        test.write("half.txt", "half\n");
    });
    project.test.write(".claude/x.md", "later\n");
    project.test.commit_all("a later story");
    let head = project.test.head();
    assert_eq!(project.undo(&name).unwrap().len(), 3);
    // The filters of git make the bytes on disk differ from those in the commit.
    assert_eq!(project.read("b.crlf").as_deref(), Some("two\r\n"));
    assert_eq!(project.test.head(), head);
    assert_eq!(project.read("a.txt").as_deref(), Some("committed by the agent\n"));
    assert_eq!(project.read("half.txt").as_deref(), Some("half\n"));
    assert_eq!(project.read(".claude/x.md").as_deref(), Some("later\n"));
}

#[test]
fn an_undo_is_refused_if_a_file_changed_since() {
    // The last two: a file where a folder is needed, and a folder where a link is needed.
    let changes = ["a.txt", "src/lib.rs", "new/file.txt", "new", "link/x.txt"];
    for is_committed in [true, false] {
        for file in changes {
            let project = Project::new(TestRepo::new());
            let name = project.attempt(several_files);
            project.test.commit_all("a later story");
            project.test.write(file, "changed since\n");
            if is_committed {
                project.test.commit_all("changed since");
            }
            let before = project.fingerprint();
            let error = project.undo(&name).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains("nothing was changed"), "{error}");
            assert!(error.contains("git branch NAME"), "{error}");
            assert_eq!(project.fingerprint(), before, "{file}");
        }
    }
}

#[test]
fn files_that_are_already_restored_are_not_conflicts() {
    let project = Project::new(TestRepo::new());
    let name = project.attempt(several_files);
    project.test.commit_all("a later story");
    project.test.write("a.txt", "an attempt\n");
    project.test.remove("src/lib.rs");
    assert_eq!(project.undo(&name).unwrap().len(), 2, "the rest of it");
    let before = project.fingerprint();
    assert_eq!(project.undo(&name).unwrap(), Vec::<PathBuf>::new());
    assert_eq!(project.fingerprint(), before);
}

#[test]
fn a_change_that_git_is_set_to_ignore_is_still_a_conflict() {
    let project = Project::new(TestRepo::new());
    let name = project.attempt(several_files);
    project.test.git(["update-index", "--assume-unchanged", "a.txt"]);
    project.test.write("a.txt", "changed since\n");
    assert!(project.undo(&name).unwrap_err().to_string().contains("a.txt"));
    assert_eq!(project.read("a.txt").as_deref(), Some("changed since\n"));
}
