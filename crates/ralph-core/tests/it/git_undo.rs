//! Undo after work went on: the attempt's files come back, and nothing else moves.

use ralph_core::git::{Checkpoint, Repo, RollbackError, finish_interrupted, rollback, undo};
use ralph_core::state::{RESTORE_NOTE, StateDir};
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

    /// An attempt that did `work` and was rolled back; returns the ref that keeps it.
    fn attempt(&self, work: impl Fn(&TestRepo)) -> String {
        Checkpoint::create(&self.repo, &self.state, "checkpoint").unwrap();
        work(&self.test);
        rollback(&self.repo, &self.state, None, "failed").unwrap().saved.name
    }

    fn undo(&self, name: &str) -> Result<ralph_core::git::Restored, RollbackError> {
        undo(&self.repo, &self.state, name)
    }

    /// All but our own files, which change by the mere asking.
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
    let undone = project.undo(&name).unwrap();
    assert!(undone.as_files && undone.touched.len() == 4, "{undone:?}");
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
    project.undo(&undone.saved.name).unwrap();
    assert_eq!(project.fingerprint(), before, "and that can be undone");
}

#[test]
fn what_the_agent_had_committed_comes_back_as_files() {
    let project = Project::new(TestRepo::new());
    let name = project.attempt(|test| {
        test.write("a.txt", "committed by the agent\n");
        test.commit_all("by the agent");
        test.write("half.txt", "half\n");
    });
    project.test.commit_all("a later story");
    let head = project.test.head();
    project.undo(&name).unwrap();
    assert_eq!(project.test.head(), head);
    assert_eq!(project.read("a.txt").as_deref(), Some("committed by the agent\n"));
    assert_eq!(project.read("half.txt").as_deref(), Some("half\n"));
}

#[test]
fn where_nothing_moved_the_agents_commits_come_back_too() {
    let project = Project::new(TestRepo::new());
    let name = project.attempt(|test| {
        test.git(["checkout", "-q", "-b", "mine"]);
        test.write("a.txt", "committed by the agent\n");
        test.commit_all("by the agent");
    });
    assert!(!project.undo(&name).unwrap().as_files);
    assert_eq!(
        project.test.git(["log", "-1", "--format=%s %D"]).trim(),
        "by the agent HEAD -> mine"
    );
}

#[test]
fn a_file_that_changed_since_keeps_everything_as_it_is() {
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
            // What the attempt had removed is not in its commit.
            let is_removed = file == "src/lib.rs";
            let advice = format!("git checkout {name} -- <file>");
            assert_eq!(error.contains(&advice), !is_removed, "{error}");
            assert_eq!(error.contains("git rm -- <file>"), is_removed, "{error}");
            assert_eq!(project.fingerprint(), before, "{file}");
        }
    }
}

/// Git's filters make the bytes on disk differ from those in the commit.
#[test]
fn a_file_with_converted_line_endings_is_as_it_was() {
    let test = TestRepo::new();
    test.write(".gitattributes", "*.txt text eol=crlf\n");
    test.write("b.txt", "one\r\n");
    test.commit_all("converted");
    let project = Project::new(test);
    let name = project.attempt(|test| {
        test.write("b.txt", "two\r\n");
        test.commit_all("by the agent");
    });
    project.test.commit_all("a later story");
    project.undo(&name).unwrap();
    assert_eq!(project.read("b.txt").as_deref(), Some("two\r\n"));
}

#[test]
fn what_is_in_the_tree_already_is_not_brought_back_again() {
    let project = Project::new(TestRepo::new());
    let name = project.attempt(several_files);
    project.test.commit_all("a later story");
    project.undo(&name).unwrap();
    let error = project.undo(&name).unwrap_err().to_string();
    assert!(error.contains("is in the tree already"), "{error}");
}

#[test]
fn no_branch_of_another_work_tree_is_touched() {
    let project = Project::new(TestRepo::new());
    let name = project.attempt(|test| {
        test.git(["checkout", "-q", "-b", "mine"]);
        test.write("a.txt", "an attempt\n");
        test.commit_all("by the agent");
    });
    let folder = project.test.scratch().path("linked");
    project.test.git(["worktree", "add", "-q", "-b", "linked", folder.as_str()]);
    let linked = Repo::open(&folder).unwrap();
    let state = StateDir::of_project(&folder);
    let refs = || project.test.git(["for-each-ref", "refs/heads"]);
    let branch = || project.test.git_in(folder.as_std_path(), ["branch", "--show-current"]);
    let before = refs();
    assert!(undo(&linked, &state, &name).unwrap().as_files, "of another branch");
    assert_eq!((refs(), branch().trim()), (before.clone(), "linked"));
    assert_eq!(fs_err::read_to_string(folder.join("a.txt")).unwrap(), "an attempt\n");
    // The branch of the attempt is checked out elsewhere.
    project.test.git_in(folder.as_std_path(), ["checkout", "-q", "-f", "mine"]);
    assert!(project.undo(&name).unwrap().as_files);
    assert_eq!(refs(), before);
    assert_eq!(project.test.git(["branch", "--show-current"]).trim(), "main");
}

#[test]
fn an_undo_that_was_interrupted_is_finished_and_spares_other_files_as_well() {
    let project = Project::new(TestRepo::new());
    let name = project.attempt(several_files);
    project.test.write("mine.txt", "uncommitted\n");
    project.test.write("a.txt", "an attempt\n");
    let note = format!("snapshot {name} {}\n", project.test.head());
    let path = project.repo.git_dir().join(RESTORE_NOTE);
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(path, note).unwrap();
    assert!(finish_interrupted(&project.repo, &project.state).unwrap());
    assert_eq!(project.read("new/file.txt").as_deref(), Some("new\n"));
    assert_eq!(project.read("mine.txt").as_deref(), Some("uncommitted\n"));
}
