//! Submodules and repositories inside the repository: rolled back and brought back with it.

use camino::Utf8PathBuf;
use ralph_core::git::{Checkpoint, Repo, Status, Target, changed_since, rollback, undo};
use ralph_core::state::StateDir;
use test_support::TestRepo;

/// A repository with a submodule `lib` in it, on the branch `main`.
struct Project {
    test: TestRepo,
    library: TestRepo,
    repo: Repo,
    state: StateDir,
}

const ADD: [&str; 4] = ["-c", "protocol.file.allow=always", "submodule", "--quiet"];

impl Project {
    fn new() -> Self {
        let (test, library) = (TestRepo::new(), TestRepo::new());
        test.git(ADD.into_iter().chain(["add", library.root().as_str(), "lib"]));
        test.commit_all("submodule");
        let repo = Repo::open(test.root()).unwrap();
        let state = StateDir::of_project(test.root());
        state.prepare().unwrap();
        Self { test, library, repo, state }
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        self.test.root().join(name)
    }

    fn git_in(&self, folder: &str, args: &[&str]) -> String {
        self.test.git_in(self.path(folder).as_std_path(), args)
    }

    /// A repository of its own, with one commit.
    fn make_repository(&self, folder: &str) {
        self.test.write(format!("{folder}/file.txt"), "theirs\n");
        for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "theirs"]] {
            self.git_in(folder, args);
        }
    }

    fn checkpoint(&self) {
        Checkpoint::create(&self.repo, &self.state, "checkpoint").unwrap();
    }

    /// Rolls back, and tells what was left alone and how the attempt is brought back.
    #[track_caller]
    fn roll_back(&self) -> (Vec<String>, String) {
        assert!(!self.changed().is_empty(), "something is to be rolled back");
        let restored = rollback(&self.repo, &self.state, None, "why").unwrap();
        assert_eq!(self.changed(), Vec::<std::path::PathBuf>::new());
        (restored.left_alone, restored.saved.name)
    }

    fn changed(&self) -> Vec<std::path::PathBuf> {
        let checkpoint = Checkpoint::load(&self.state).unwrap().unwrap();
        let target: Target = checkpoint.target(&self.repo).unwrap();
        changed_since(&self.repo, &target).unwrap()
    }

    /// All that git says about this repository and its submodule, and the files of both.
    fn everything(&self) -> (test_support::Fingerprint, String, String) {
        let mut print = self.test.fingerprint();
        print.files.retain(|path, _| !path.starts_with(".ralph"));
        let inner = ["status", "--porcelain=v2", "--branch"];
        let heads = ["for-each-ref", "refs/heads/main"];
        match self.path("lib/.git").exists() {
            true => (print, self.git_in("lib", &inner), self.git_in("lib", &heads)),
            false => (print, String::new(), String::new()),
        }
    }

    /// Rolls the attempt back, brings it back, and does both again; all of it exactly.
    #[track_caller]
    fn there_and_back(&self, attempt: impl FnOnce(&Self)) {
        self.checkpoint();
        let before = self.everything();
        attempt(self);
        let after = self.everything();
        assert_ne!(before, after);
        let (left_alone, saved) = self.roll_back();
        assert_eq!(left_alone, Vec::<String>::new());
        assert_eq!(self.everything(), before);
        let undone = undo(&self.repo, &self.state, &saved).unwrap();
        assert_eq!((undone.left_alone.len(), self.everything()), (0, after));
        undo(&self.repo, &self.state, &undone.saved.name).unwrap();
        assert_eq!(self.everything(), before);
        assert!(Status::read(&self.repo).unwrap().nested.is_empty());
    }
}

#[test]
fn work_in_a_submodule_goes_and_comes_back_committed_or_not() {
    Project::new().there_and_back(|project| {
        project.test.write("a.txt", "agent\n");
        project.test.write("lib/a.txt", "committed\n");
        project.git_in("lib", &["commit", "-qam", "in the submodule"]);
        project.test.write("lib/a.txt", "staged\n");
        project.git_in("lib", &["add", "a.txt"]);
        project.test.write("lib/a.txt", "and changed\n");
        project.test.write("lib/new.txt", "new\n");
    });
}

#[test]
fn where_work_went_on_in_a_submodule_the_way_to_the_attempts_is_told() {
    let project = Project::new();
    project.checkpoint();
    project.test.write("lib/new.txt", "the attempt's\n");
    let (_, saved) = project.roll_back();
    project.test.write("lib/other.txt", "later\n");
    project.git_in("lib", &["add", "-A"]);
    project.git_in("lib", &["commit", "-qm", "later"]);
    project.test.commit_all("later");
    let told = undo(&project.repo, &project.state, &saved).unwrap_err().to_string();
    assert!(
        told.contains(&format!("checkout {saved} -- <file>")) && told.contains(": lib;"),
        "{told}"
    );
    project.git_in("lib", &["checkout", &saved, "--", "new.txt"]);
    assert_eq!(fs_err::read_to_string(project.path("lib/new.txt")).unwrap(), "the attempt's\n");
}

#[test]
fn a_submodule_is_on_its_branch_again() {
    Project::new().there_and_back(|project| {
        project.git_in("lib", &["switch", "-qc", "attempt"]);
    });
    Project::new().there_and_back(|project| {
        project.git_in("lib", &["checkout", "-q", "--detach"]);
        project.test.write("lib/a.txt", "detached\n");
        project.git_in("lib", &["commit", "-qam", "detached"]);
    });
}

#[test]
fn a_new_commit_of_a_submodule_that_was_recorded_goes_with_the_record() {
    Project::new().there_and_back(|project| {
        project.test.write("lib/a.txt", "committed\n");
        project.git_in("lib", &["commit", "-qam", "in the submodule"]);
        project.test.commit_all("the submodule's new state");
    });
}

#[test]
fn repositories_that_an_attempt_made_are_moved_as_a_whole() {
    Project::new().there_and_back(|project| {
        project.make_repository("tools/inner");
        project.git_in(".", &["init", "-q", "empty"]);
    });
}

#[test]
fn one_that_was_committed_by_the_agent_as_well() {
    Project::new().there_and_back(|project| {
        project.make_repository("inner");
        project.test.commit_all("with a repository in it");
    });
}

#[test]
fn one_that_stands_where_a_file_was() {
    Project::new().there_and_back(|project| {
        project.test.remove("a.txt");
        project.make_repository("a.txt");
    });
}

#[test]
fn one_that_the_attempt_hid_with_new_rules() {
    Project::new().there_and_back(|project| {
        project.make_repository("inner");
        project.test.write(".gitignore", "*.log\n/build/\ninner/\n");
    });
}

#[test]
fn an_ignored_one_stays() {
    let project = Project::new();
    project.checkpoint();
    project.make_repository("build/inner");
    project.test.write("a.txt", "agent\n");
    assert_eq!(project.roll_back().0, Vec::<String>::new());
    assert!(project.path("build/inner/file.txt").exists());
}

#[test]
fn a_submodule_that_was_added_can_be_added_again() {
    let project = Project::new();
    let add = |project: &Project| {
        let url = project.library.root().to_owned();
        project.test.git(ADD.into_iter().chain(["add", url.as_str(), "other"]));
    };
    project.there_and_back(add);
    add(&project);
}

#[test]
fn a_submodule_that_was_removed_is_checked_out_again() {
    Project::new().there_and_back(|project| project.test.remove("lib"));
    Project::new().there_and_back(|project| {
        project.test.git(["rm", "-q", "lib"]);
        project.test.commit_all("without the submodule");
    });
    Project::new().there_and_back(|project| {
        project.test.remove("lib");
        project.test.write("lib", "a file\n");
    });
}

#[test]
fn a_submodule_whose_git_folder_is_gone_is_named_and_does_not_keep_the_rest() {
    for folder in [".git/modules/lib", "lib"] {
        let project = Project::new();
        project.checkpoint();
        project.test.write("a.txt", "agent\n");
        project.test.remove(".git/modules/lib");
        if folder == "lib" {
            project.test.remove("lib");
        }
        let restored = rollback(&project.repo, &project.state, None, "why").unwrap();
        assert_eq!(restored.left_alone, ["lib"], "{folder}");
        assert_eq!(fs_err::read_to_string(project.path("a.txt")).unwrap(), "a\n");
        undo(&project.repo, &project.state, &restored.saved.name).unwrap();
        assert_eq!(fs_err::read_to_string(project.path("a.txt")).unwrap(), "agent\n");
    }
}

#[test]
fn a_submodule_that_was_never_checked_out_stays_so() {
    let project = Project::new();
    project.test.git(["submodule", "--quiet", "deinit", "lib"]);
    project.checkpoint();
    let before = project.everything();
    project.test.remove("lib");
    assert_eq!(project.roll_back().0, Vec::<String>::new());
    assert_eq!(project.everything(), before);
    assert!(!project.path("lib/.git").exists());
}

#[test]
fn an_operation_that_was_left_under_way_in_a_submodule_is_given_up() {
    let project = Project::new();
    project.checkpoint();
    for (branch, text) in [("one", "1\n"), ("two", "2\n")] {
        project.git_in("lib", &["switch", "-qc", branch, "main"]);
        project.test.write("lib/a.txt", text);
        project.git_in("lib", &["commit", "-qam", branch]);
    }
    let merged = project.test.try_git(project.path("lib").as_std_path(), ["merge", "one"]);
    assert!(!merged.status.success());
    project.roll_back();
    assert_eq!(
        project.git_in("lib", &["status", "--porcelain", "--branch"]),
        "## main...origin/main\n"
    );
}

#[test]
fn a_submodule_with_work_of_the_users_is_left_alone_and_named() {
    let project = Project::new();
    project.make_repository("inner");
    project.test.write("lib/a.txt", "the user's\n");
    project.checkpoint();
    project.test.write("lib/a.txt", "the agent's\n");
    project.test.write("inner/file.txt", "the agent's\n");
    project.test.write("a.txt", "agent");
    let (left_alone, _) = project.roll_back();
    assert_eq!(left_alone, ["inner", "lib"]);
    let files = project.test.fingerprint().files;
    assert_eq!(files[std::path::Path::new("lib/a.txt")].1, b"the agent's\n");
    assert_eq!(files[std::path::Path::new("inner/file.txt")].1, b"the agent's\n");
    assert_eq!(files[std::path::Path::new("a.txt")].1, b"a\n");
}

#[test]
fn a_submodule_of_a_submodule_goes_back_too() {
    let project = Project::new();
    let deep = TestRepo::new();
    let add = ADD.into_iter().chain(["add", deep.root().as_str(), "deep"]).collect::<Vec<_>>();
    project.git_in("lib", &add);
    project.git_in("lib", &["commit", "-qam", "deep"]);
    project.test.commit_all("deep");
    project.there_and_back(|project| {
        project.test.write("lib/deep/a.txt", "deep down\n");
        project.make_repository("lib/inner");
    });
}
