//! Submodules and nested repositories are left alone and reported.

use camino::Utf8PathBuf;
use ralph_base::state::StateDir;
use ralph_core::git::{Checkpoint, Repo, changed_since, rollback, undo};
use test_support::TestRepo;

const ADD: [&str; 4] = ["-c", "protocol.file.allow=always", "submodule", "--quiet"];

/// A repository with a submodule `lib` in it, on the branch `main`.
struct Project {
    test: TestRepo,
    _library: TestRepo,
    repo: Repo,
    state: StateDir,
}

impl Project {
    fn new() -> Self {
        let (test, library) = (TestRepo::new(), TestRepo::new());
        test.git(ADD.into_iter().chain(["add", library.root().as_str(), "lib"]));
        test.commit_all("submodule");
        let repo = Repo::open(test.root()).unwrap();
        let state = StateDir::of_project(test.root());
        state.prepare().unwrap();
        Self { test, _library: library, repo, state }
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        self.test.root().join(name)
    }

    fn git_in(&self, folder: &str, args: &[&str]) -> String {
        self.test.git_in(self.path(folder).as_std_path(), args)
    }

    /// Creates a separate repository with one commit.
    fn make_repository(&self, folder: &str) {
        self.test.write(format!("{folder}/file.txt"), "theirs\n");
        for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "theirs"]] {
            self.git_in(folder, args);
        }
    }

    fn checkpoint(&self) {
        Checkpoint::create(&self.repo, &self.state, "checkpoint").unwrap();
    }

    fn changed(&self) -> Vec<std::path::PathBuf> {
        let checkpoint = Checkpoint::load(&self.state).unwrap().unwrap();
        changed_since(&self.repo, &checkpoint.target(&self.repo).unwrap()).unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.path(name)).unwrap()
    }

    /// Rolls back an attempt that also changes `a.txt`, then undoes the rollback; the content of
    /// these folders stays the same.
    #[track_caller]
    fn stays(&self, folders: &[&str], attempt: impl FnOnce(&Self)) {
        self.checkpoint();
        self.test.write("a.txt", "agent\n");
        attempt(self);
        let inner = || {
            let mut files = self.test.files();
            files.retain(|path, _| folders.iter().any(|folder| path.starts_with(folder)));
            files
        };
        let before = inner();
        let restored = rollback(&self.repo, &self.state, None, "why").unwrap();
        assert_eq!((&*restored.left_alone, inner()), (&*named(folders), before.clone()));
        assert_eq!(self.read("a.txt"), "a\n");
        undo(&self.repo, &self.state, &restored.saved.name).unwrap();
        assert_eq!((self.read("a.txt").as_str(), inner()), ("agent\n", before));
    }
}

fn named(folders: &[&str]) -> Vec<String> {
    folders.iter().map(|folder| (*folder).to_owned()).collect()
}

#[test]
fn work_in_submodules_and_nested_repositories_stays_and_is_no_change_of_the_project() {
    let project = Project::new();
    project.make_repository("inner");
    project.test.write("lib/mine.txt", "the user's\n");
    project.stays(&["inner", "lib"], |project| {
        project.test.write("inner/file.txt", "the agent's\n");
        project.test.write("lib/a.txt", "committed\n");
        project.git_in("lib", &["commit", "-qam", "in the submodule"]);
        project.test.write("lib/new.txt", "new\n");
        assert_eq!(project.changed(), [std::path::Path::new("a.txt")]);
    });
}

#[test]
fn a_new_commit_in_a_submodule_stays_when_its_record_is_reverted() {
    let project = Project::new();
    project.stays(&["lib"], |project| {
        project.test.write("lib/a.txt", "committed\n");
        project.git_in("lib", &["commit", "-qam", "in the submodule"]);
        project.test.commit_all("the submodule's new state");
    });
    assert_eq!(project.test.git(["status", "--porcelain"]), " M a.txt\n M lib\n");
}

#[test]
fn nested_repositories_made_by_an_attempt_stay() {
    Project::new().stays(&["tools/inner"], |project| project.make_repository("tools/inner"));
    Project::new().stays(&["inner"], |project| {
        project.make_repository("inner");
        project.test.commit_all("with a repository in it");
    });
}

#[test]
fn a_repository_in_place_of_a_file_stays_and_is_reported_unlike_an_ignored_one() {
    let project = Project::new();
    project.checkpoint();
    project.make_repository("build/inner");
    project.test.write("src/lib.rs", "agent\n");
    project.test.remove("a.txt");
    project.make_repository("a.txt");
    let restored = rollback(&project.repo, &project.state, None, "why").unwrap();
    assert_eq!(restored.left_alone, ["a.txt"]);
    assert_eq!(project.read("a.txt/file.txt"), "theirs\n");
    assert_eq!(project.read("build/inner/file.txt"), "theirs\n");
    assert_ne!(project.read("src/lib.rs"), "agent\n");
}

#[test]
fn a_repository_in_the_way_is_reported_before_any_change() {
    let project = Project::new();
    project.checkpoint();
    project.test.write("src/lib.rs", "agent\n");
    project.test.remove("a.txt");
    project.make_repository("a.txt/inner");
    let error = rollback(&project.repo, &project.state, None, "why").unwrap_err().to_string();
    assert!(
        error.contains("a.txt/inner is a nested git repository") && error.contains("nothing"),
        "{error}"
    );
    assert_eq!(project.read("src/lib.rs"), "agent\n");
}

#[test]
fn a_removed_submodule_is_reported() {
    let project = Project::new();
    project.checkpoint();
    project.test.git(["rm", "-q", "lib"]);
    project.test.commit_all("without the submodule");
    let restored = rollback(&project.repo, &project.state, None, "why").unwrap();
    assert_eq!(restored.left_alone, ["lib"]);
    assert_eq!(project.test.git(["status", "--porcelain"]), " D lib\n");
}

#[test]
fn a_submodule_without_a_git_folder_does_not_prevent_a_rollback() {
    let project = Project::new();
    project.checkpoint();
    project.test.write("a.txt", "agent\n");
    project.test.remove(".git/modules/lib");
    let restored = rollback(&project.repo, &project.state, None, "why").unwrap();
    assert_eq!(project.read("a.txt"), "a\n");
    undo(&project.repo, &project.state, &restored.saved.name).unwrap();
    assert_eq!(project.read("a.txt"), "agent\n");
}
