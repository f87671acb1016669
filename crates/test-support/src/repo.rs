//! A real git repository in a scratch folder, isolated from the user's git configuration.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use camino::Utf8Path;

use crate::Scratch;

/// The complete state of a repository, to be compared before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// Each file of the work tree, including ignored ones: mode and content, or the link's target.
    pub files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    /// Index entries with their flags.
    pub index: String,
    /// The output of `git status`: staged, unstaged, new and conflicting files.
    pub status: String,
    /// The branch that is checked out, and its commit.
    pub head: String,
    /// All refs except ours.
    pub refs: String,
    /// The list of stashes.
    pub stash: String,
}

/// A repository with short methods to work in it.
#[derive(Debug)]
pub struct TestRepo {
    scratch: Scratch,
    root: camino::Utf8PathBuf,
}

/// A folder, or a file with its content, by path from the top.
type Entry = (PathBuf, Option<Vec<u8>>);

/// The entries of a new repository. Git is run once for all the tests of a process.
static EMPTY: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let repo = TestRepo::made_of(&[], Scratch::new());
    repo.git(["init", "-q", "-b", "main"]);
    repo.entries()
});

/// The entries of a repository with one commit.
static ONE_COMMIT: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let repo = TestRepo::empty();
    repo.write("a.txt", "a\n");
    repo.write("src/lib.rs", "pub fn answer() -> u32 { 42 }\n");
    repo.write(".gitignore", "*.log\n/build/\n");
    repo.commit_all("first");
    repo.entries()
});

impl Default for TestRepo {
    fn default() -> Self {
        Self::new()
    }
}

impl TestRepo {
    /// Creates a repository without commits, on the branch `main`.
    pub fn empty() -> Self {
        Self::made_of(&EMPTY, Scratch::new())
    }

    /// Creates a repository with one commit: `a.txt` and `src/lib.rs`, and `*.log` ignored.
    pub fn new() -> Self {
        Self::made_of(&ONE_COMMIT, Scratch::new())
    }

    /// Renames the repository's folder within the scratch folder.
    pub fn move_to(&mut self, name: &str) {
        let new = self.scratch.path(name);
        fs_err::rename(&self.root, &new).expect("the folder is moved");
        self.root = new;
    }

    /// Like `new`, but on a disk, for measurements and for programs that are not ours.
    pub fn on_disk() -> Self {
        Self::made_of(&ONE_COMMIT, Scratch::on_disk())
    }

    /// Like `new`, but in this folder, for programs that do not trust a world-writable folder.
    pub fn below(place: &Path) -> Self {
        Self::made_of(&ONE_COMMIT, Scratch::below(place))
    }

    fn made_of(files: &[Entry], scratch: Scratch) -> Self {
        scratch.dir("home");
        let root = scratch.dir("repo");
        let repo = Self { scratch, root };
        for (path, content) in files {
            match content {
                Some(content) => fs_err::write(repo.at(path), content).expect("a file"),
                None => fs_err::create_dir(repo.at(path)).expect("a folder"),
            }
        }
        repo
    }

    /// Clones the repository, into its own scratch folder.
    pub fn cloned(&self) -> Self {
        let clone = Self::empty();
        fs_err::remove_dir_all(&clone.root).expect("an empty repository");
        let (from, to) = (self.root.as_str(), clone.root.as_str());
        clone.git_in(clone.scratch.root().as_std_path(), ["clone", "-q", from, to]);
        clone
    }

    /// Returns the top of the work tree.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Returns the scratch folder around the repository.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Runs git and returns its output; panics if git fails.
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        self.git_in(self.root.as_std_path(), args)
    }

    /// Runs git in another folder and returns its output; panics if git fails.
    pub fn git_in<S: AsRef<OsStr>>(&self, dir: &Path, args: impl IntoIterator<Item = S>) -> String {
        let output = self.try_git(dir, args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git failed: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs git and returns its result, whether or not it succeeded.
    pub fn try_git<S: AsRef<OsStr>>(
        &self,
        dir: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Output {
        Command::new("git")
            .args(["-c", "maintenance.auto=false"])
            .args(args)
            .current_dir(dir)
            .env_clear()
            .envs(self.isolation())
            .output()
            .expect("git runs")
    }

    /// Returns the variables of a machine without git configuration, with fixed people and dates.
    pub fn isolation(&self) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        let date = "2026-01-02T03:04:05Z";
        [
            ("PATH", path.as_str()),
            ("HOME", self.scratch.path("home").as_str()),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Test"),
            ("GIT_AUTHOR_EMAIL", "test@localhost"),
            ("GIT_AUTHOR_DATE", date),
            ("GIT_COMMITTER_NAME", "Test"),
            ("GIT_COMMITTER_EMAIL", "test@localhost"),
            ("GIT_COMMITTER_DATE", date),
            ("LC_ALL", "C"),
            // A probe starts the agent, which is a script in most tests.
            ("RALPH_PROBE", "off"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    /// Configures the user's name and email in this repository.
    pub fn introduce_user(&self) {
        let config = fs_err::read_to_string(self.at(".git/config")).expect("settings");
        let user = "[user]\n\tname = Test\n\temail = test@localhost\n";
        self.write(".git/config", config + user);
    }

    /// Writes a file of the work tree, creating its parent folders.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs_err::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs_err::write(path, content).expect("a file");
    }

    /// Sets a file's permission bits.
    pub fn chmod(&self, name: impl AsRef<Path>, mode: u32) {
        let permissions = std::fs::Permissions::from_mode(mode);
        fs_err::set_permissions(self.at(name), permissions).expect("a mode");
    }

    /// Creates a symlink.
    pub fn symlink(&self, name: impl AsRef<Path>, target: impl AsRef<Path>) {
        let path = self.at(name);
        fs_err::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::os::unix::fs::symlink(target, path).expect("a symlink");
    }

    /// Removes a file or a folder.
    pub fn remove(&self, name: impl AsRef<Path>) {
        let path = self.at(name);
        let is_folder = fs_err::symlink_metadata(&path).expect("something to remove").is_dir();
        let removed =
            if is_folder { fs_err::remove_dir_all(path) } else { fs_err::remove_file(path) };
        removed.expect("removed");
    }

    /// Commits everything that is not ignored.
    pub fn commit_all(&self, message: &str) {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// Returns the commit that is checked out.
    pub fn head(&self) -> String {
        self.git(["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Reads each file of the work tree, even ignored ones: mode and content, or the link's target.
    pub fn files(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut files = BTreeMap::new();
        walk(self.root.as_std_path(), Path::new(""), &mut files);
        files
    }

    /// Returns the complete state, for comparison.
    pub fn fingerprint(&self) -> Fingerprint {
        let status = "--no-optional-locks status --porcelain=v2 --branch -z --untracked-files=all";
        let status = self.git(status.split(' '));
        let (heads, rest): (Vec<&str>, Vec<&str>) =
            status.split('\0').partition(|line| line.starts_with("# branch."));
        let head = ["# branch.head ", "# branch.oid "]
            .map(|key| heads.iter().find_map(|line| line.strip_prefix(key)).unwrap_or_default());
        let refs = self.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
        Fingerprint {
            files: self.files(),
            index: self.git(["ls-files", "-s", "-v", "-z"]),
            status: rest.join("\0"),
            head: head.join("\n"),
            refs: refs.lines().filter(|line| !line.starts_with("refs/ralph/")).collect(),
            stash: fs_err::read_to_string(self.at(".git/logs/refs/stash")).unwrap_or_default(),
        }
    }

    /// Lists all entries, each folder before its contents, except the sample hooks.
    fn entries(&self) -> Vec<Entry> {
        let mut found = Vec::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs_err::read_dir(self.at(&folder)).expect("a folder") {
                let path = folder.join(entry.expect("an entry").file_name());
                if self.at(&path).is_dir() {
                    found.push((path.clone(), None));
                    folders.push(path);
                } else if path.extension().is_none_or(|kind| kind != "sample") {
                    let content = fs_err::read(self.at(&path)).expect("a readable file");
                    found.push((path, Some(content)));
                }
            }
        }
        found
    }

    fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.as_std_path().join(name)
    }
}

fn walk(root: &Path, below: &Path, files: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs_err::read_dir(root.join(below)).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = below.join(entry.file_name());
        let metadata = fs_err::symlink_metadata(entry.path()).expect("metadata");
        if name.as_os_str().as_bytes() == b".git" {
            continue;
        } else if metadata.is_dir() {
            walk(root, &name, files);
        } else if metadata.is_symlink() {
            let target = fs_err::read_link(entry.path()).expect("a link");
            files.insert(name, (0o120000, target.into_os_string().as_bytes().to_vec()));
        } else {
            let content = fs_err::read(entry.path()).expect("a readable file");
            files.insert(name, (metadata.mode() & 0o7777, content));
        }
    }
}
