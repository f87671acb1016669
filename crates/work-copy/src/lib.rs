//! The agent's workspace: a copy of the project in the cache folder, or the project itself.
//!
//! One rule is central: **the loop works with a git folder of its own,** beside the copy and out of
//! the attempt's reach, through a door of its own. What an attempt does to the repository in its
//! copy (rewrites history, removes `.git`, changes settings) is read by the copy's own git in the
//! sandbox, and comes out as objects.
//!
//! | file | contents |
//! | --- | --- |
//! | `cache.rs` | the folder of the copies, their size, and folders that cannot be written |
//! | `known.rs` | what is known about a copy since other processes ran in it |
//! | `repository.rs` | the loop's own git folder, and the repository that a copy is lent |
//! | `source.rs` | the project |
//! | `git_settings.rs` | which of the project's git settings apply in the copy |
//! | `doors.rs` | how programs are started in the copy: inside the sandbox |
//! | `carry.rs` | files that a fresh clone lacks |
//! | `import.rs` | what an agent committed, and what hooks rolled back |
//! | `setup.rs` | the commands that set up a new copy |
//! | `aside.rs` | repositories and work trees that an agent creates inside the copy |
//! | `stage.rs` | the changes of an attempt as a tree, and applying them to another commit |
//! | `linked_back.rs` | links and settings that point from the copy back into the project |
//! | `left_out.rs` | what checks would see although the commit does not contain it |
//! | `in_place.rs` | working in the project itself: clean tree, protected files |

mod aside;
pub mod cache;
pub mod carry;
pub mod doors;
pub mod git_output;
mod git_settings;
mod import;
pub mod in_place;
mod known;
mod left_out;
mod linked_back;
pub mod probes;
mod remove;
mod repository;
mod setup;
mod source;
mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::fault;
use ralph_base::state::{Id, RunDir};
use ralph_core::git::{Git, GitError, Patience, Repo, RepoError, Status};
use ralph_project::config::{Config, Mode};
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;

use doors::Doors;
use git_output::{base_of, written_files};
use git_settings::GitSettings;
pub use import::{Imported, bring, import, name_of_discarded};
use known::{Files, Known};
pub use left_out::LeftOut;
pub use linked_back::{linked_by_environment, linked_by_files};
use ralph_project::failure::Failure;
pub use remove::{make_readable, remove_all};
pub use repository::{adopt, copy_index};
pub use setup::{changed_by_setup, is_used, needs_setup, set_up, withheld};
pub use source::{Source, text_path};
pub use stage::{AfterChecks, Staged};

/// The name of the worker if there is only one.
pub const ONLY_WORKER: &str = "1";

/// Returns the name of the folder beside a worker's copy with the loop's own git folder.
fn own_git_name(worker: &str) -> String {
    format!("git-{worker}")
}

/// Returns the name of the folder in which a worker's reviewer reads.
fn room_name(worker: &str) -> String {
    format!("review-{worker}")
}

/// Adds objects to a repository after checking them.
const STRICTLY: [&str; 3] = ["unpack-objects", "-q", "--strict"];

/// How long one git may take over files of an attempt.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// The directory tree in which the agent works.
#[derive(Debug)]
pub struct Workspace {
    /// Whether it is the project's own work tree.
    pub is_in_place: bool,
    /// Whether the agent's task is to write the plan.
    is_planning: bool,
    /// The top of the work tree.
    top: Utf8PathBuf,
    /// The project's folder below `top`.
    root: Utf8PathBuf,
    /// The project that it belongs to.
    pub source: Source,
    /// The loop's own files about the workspace, out of the agent's reach.
    own: OwnFiles,
    /// What is known about the workspace since other processes ran in it.
    known: Known,
    /// Files that were carried into the copy, with their stamps at that time.
    carried: BTreeMap<PathBuf, Option<carry::Stamp>>,
    /// The project's git settings.
    pub settings: GitSettings,
    /// What is not staged: files that the agent must not change, and commits on its other branches,
    /// tags and stashes, which are in the project's object store.
    left_out: (Vec<PathBuf>, BTreeSet<String>),
    /// What the repository in the copy is lent.
    lent: Lent,
    /// The commits that were taken from the agent's repository since it last began or went on.
    taken: BTreeSet<String>,
    /// The files that were staged last, with their state when the checks began.
    staged_as: BTreeMap<PathBuf, stage::FileState>,
    /// How programs are started in the workspace.
    pub doors: Doors,
    /// How many megabytes an attempt may leave in new and changed files; 0 means any.
    most_changes: u64,
    /// Whether the user trusts what landed enough to set it up with credentials.
    trusts_setup: bool,
}

/// The loop's own files about a workspace.
#[derive(Debug)]
struct OwnFiles {
    /// The loop's own git folder for the work tree.
    git: Utf8PathBuf,
    /// A fingerprint of what the setup commands were last run for.
    setup_stamp: Utf8PathBuf,
    /// Ignore patterns for files that the setup left and the project does not ignore.
    setup_leftovers: Utf8PathBuf,
    /// The folder in which a reviewer reads.
    reading_room: Utf8PathBuf,
    /// The records of the attempt.
    records: RunDir,
}

impl OwnFiles {
    /// The loop's own index of the work tree.
    fn index(&self) -> PathBuf {
        self.git.join("index").into_std_path_buf()
    }
}

/// What the repository in a copy is lent besides the project's settings and hooks.
#[derive(Debug, Default)]
struct Lent {
    /// The commit at which it stands.
    tip: Option<String>,
    /// The branch that is checked out.
    branch: String,
    /// Its other refs.
    refs: String,
}

/// The state of a workspace when an agent begins.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The commit; `None` in a repository without commits.
    pub tip: Option<&'a str>,
    /// The branch that the agent sees as checked out.
    pub branch: &'a str,
    /// The paths of plan and progress, which are never reset in place.
    pub books: [&'a Utf8PathBuf; 2],
}

impl<'a> Start<'a> {
    /// Returns the state from which an attempt began.
    pub fn of(attempt: &'a Attempt) -> Self {
        let books = [&attempt.plan, &attempt.progress];
        Self { tip: attempt.base.as_deref(), branch: &attempt.target, books }
    }
}

impl Workspace {
    /// Describes the workspace of a project, without creating or changing anything.
    pub fn of(
        env: &Env,
        project: &Project,
        repo: &Repo,
        run_dir: &RunDir,
        config: &Config,
    ) -> Result<Self, Failure> {
        let mut source = Source::of(project, repo)?;
        let settings = GitSettings::read(&source.git())?;
        let is_in_place = config.workspace.in_place;
        let shared = run_dir.of_run().root().to_owned();
        let cache = match cache::folder(env, config, &source.top) {
            // Without a home folder there is no cache folder.
            Err(_) if is_in_place => shared.join("cache"),
            other => other?,
        };
        let worker = project.worker().map_or(ONLY_WORKER, Id::as_str);
        let top = if is_in_place { source.top.clone() } else { cache.join(worker) };
        let attempt = doors::Attempt {
            env,
            config,
            source: &source,
            git: &settings,
            cache: &cache,
            worker,
            top: &top,
        };
        let doors = Doors::of(&attempt)?;
        source.filters = settings.through(&doors.checks);
        Ok(Self {
            is_in_place,
            is_planning: config.run.mode == Mode::Planning,
            root: top.join(&source.inside),
            top,
            own: OwnFiles {
                git: cache.join(own_git_name(worker)),
                setup_stamp: shared.join(format!("setup-{worker}")),
                setup_leftovers: shared.join(format!("setup-{worker}-left")),
                reading_room: cache.join(room_name(worker)),
                records: run_dir.clone(),
            },
            doors,
            source,
            known: Known::default(),
            carried: BTreeMap::new(),
            settings,
            left_out: Default::default(),
            lent: Lent::default(),
            taken: BTreeSet::new(),
            staged_as: BTreeMap::new(),
            most_changes: config.limits.changes,
            trusts_setup: config.workspace.trust_setup,
        })
    }

    /// Returns the records of the attempt.
    pub fn records(&self) -> &RunDir {
        &self.own.records
    }

    /// Returns the folder in which agent and checks are started.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Returns the top of the work tree.
    pub fn top(&self) -> &Utf8Path {
        &self.top
    }

    /// Returns the path in the workspace of a project file; `None` for one outside the repository.
    pub fn counterpart(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        Some(self.top.join(self.source.below_top(path)?))
    }

    /// Returns git for the files of the workspace: with the loop's own git folder and index, in the
    /// sandbox. New objects are only in that folder's store.
    pub fn git(&self) -> Git {
        self.git_over(self.top.as_std_path())
    }

    /// Returns such git for another folder with files of an attempt.
    fn git_over(&self, folder: &Path) -> Git {
        let git = self.own_git(folder).with_var("GIT_WORK_TREE", folder);
        let patience = Patience { busy: Some(LONGEST), ..Patience::default() };
        git.through(&self.doors.git).with_patience(patience)
    }

    /// Returns git for index and objects, which knows no work tree. New objects are in the project.
    pub fn store(&self) -> Git {
        let git = self.own_git(self.own.git.as_std_path());
        // The variable is a list; a quoted path may contain what separates its entries.
        let lent = self.own.git.join("objects");
        let lent = lent.as_str().replace('\\', "\\\\").replace('"', "\\\"");
        let git = git.with_var("GIT_ALTERNATE_OBJECT_DIRECTORIES", format!("\"{lent}\""));
        git.with_var("GIT_OBJECT_DIRECTORY", self.source.objects())
    }

    fn own_git(&self, folder: &Path) -> Git {
        let git = Git::at(folder).with_var("GIT_DIR", &self.own.git);
        git.with_var("GIT_CONFIG_GLOBAL", "/dev/null").with_var("GIT_CONFIG_NOSYSTEM", "1")
    }

    /// Returns git in the sandbox with the repository that the agent sees.
    pub fn git_inside(&self) -> Git {
        let patience = Patience { busy: Some(LONGEST), ..Patience::default() };
        Git::at(self.top.as_std_path()).through(&self.doors.checks).with_patience(patience)
    }

    /// Prepares the repository that the agent sees for a commit of the index, and returns its git.
    pub fn git_to_commit(&self) -> Result<Git, Failure> {
        if !self.is_in_place {
            repository::lend(self)?;
            return Ok(self.git_inside());
        }
        let index = self.source.git_dir.join("ralph-index");
        copy_index(&self.own.index(), &index)?;
        Ok(self.git_inside().on_index(index))
    }

    /// Writes the tree of the index, and brings what only the loop's own store has of it into the
    /// project. `base` is a commit or tree that the project has.
    pub fn write_tree(&self, base: &str) -> Result<String, GitError> {
        let tree = self.store().line(&["write-tree"])?;
        if !repository::has_own_objects(self) {
            return Ok(tree);
        }
        let own = self.own_git(self.own.git.as_std_path());
        let list = format!("{tree}\n^{base}\n");
        import::bring_pack(&own, &self.source.git(), &list, &["--local", "--window=0"])?;
        Ok(tree)
    }

    /// Opens the repository that the agent sees, which must exist.
    pub fn repo(&self) -> Result<Repo, RepoError> {
        if self.is_in_place {
            return Ok(Repo::open(&self.root)?.using(self.source.git()));
        }
        Ok(self.repo_of(self.git_inside()))
    }

    /// Returns the repository of the work tree for questions about objects.
    pub fn repo_of_objects(&self) -> Repo {
        self.repo_of(self.store())
    }

    fn repo_of(&self, git: Git) -> Repo {
        let (top, inside) = (self.top.as_std_path(), self.source.inside.as_std_path());
        Repo::made_in(top, inside).using(git)
    }

    /// Returns the folder of the copy; `None` in place.
    pub fn folder(&self) -> Option<&Utf8Path> {
        (!self.is_in_place).then_some(self.top.as_path())
    }

    /// Whether a copy exists; its repository may be missing if a crash interrupted its recreation.
    pub fn exists(&self) -> bool {
        self.top.is_dir()
    }

    /// Resets the workspace to a commit, leaving only what git ignores. A copy that is too damaged
    /// for that is deleted and created again.
    pub fn reset(&mut self, start: Start<'_>) -> Result<(), Failure> {
        if self.is_in_place {
            self.open_own_git(start)?;
            in_place::reset(&self.source, self.source.git(), start)?;
            copy_index(&self.source.git_dir.join("index"), &self.own.index())?;
            let git = self.store();
            git.run(&["read-tree", "-m", &base_of(&git, start.tip)?])?;
            return Ok(());
        }
        if !self.exists() {
            // Delete the records of the old copy too: a new one has to be set up.
            self.throw_away()?;
        }
        if let Err(error) = self.try_reset(start) {
            log::warn!("the copy is damaged ({error}); creating a new one");
            self.throw_away()?;
            self.try_reset(start)?;
        }
        fault::point("workspace.reset");
        Ok(())
    }

    fn try_reset(&mut self, start: Start<'_>) -> Result<(), Failure> {
        self.open_own_git(start)?;
        repository::make_top(&self.top)?;
        self.known.pipes.remove(&self.top, true);
        repository::empty_store(self)?;
        let refs = repository::refs_to_lend(&self.source)?;
        self.lent = Lent { refs, ..std::mem::take(&mut self.lent) };
        self.match_files_to(start.tip)?;
        self.known.files = Files::Clean;
        // Git reads submodules from the index of the copy.
        repository::lend(self)?;
        repository::update_submodules(&self.source, &self.git_inside())
    }

    /// Brings the loop's own git folder up to date, with HEAD at `start`.
    fn open_own_git(&mut self, start: Start<'_>) -> Result<(), Failure> {
        self.remove_own_lock()?;
        repository::write_own(self, start.tip)?;
        self.lent.tip = start.tip.map(str::to_owned);
        start.branch.clone_into(&mut self.lent.branch);
        Ok(())
    }

    /// Makes index and files match the commit, at which HEAD is already.
    fn match_files_to(&self, tip: Option<&str>) -> Result<(), Failure> {
        if matches!(&self.known.files, Files::Of(commit) if Some(commit.as_str()) == tip) {
            return Ok(());
        }
        let look = ["status", "--porcelain", "-z", "--untracked-files=normal"];
        let git = self.git();
        // Settings of submodules hold in them, so the loop's git folder may not be written.
        let inside = git.through(&self.doors.checks);
        if self.own.index().exists() {
            let (tracked, new) = written_files(&git)?;
            let is_short = self.too_long(&self.top, tracked.iter().chain(&new)).is_empty();
            if is_short && inside.run(&look)?.is_empty() {
                return Ok(());
            }
        }
        // A new copy contains nothing but its repository.
        let is_new = fs_err::read_dir(&self.top)?.count() <= 1;
        match tip {
            Some(tip) => git.run(&["read-tree", "--reset", "-u", tip])?,
            None => git.run(&["read-tree", "--empty"])?,
        };
        if is_new {
            return Ok(());
        }
        git.run(&["clean", "-ffdq"])?;
        Ok(())
    }

    /// Shows the loop's index to the agent, so that it starts with all file states known.
    fn lend_index(&self) -> Result<(), Failure> {
        if self.is_in_place {
            return Ok(copy_index(&self.own.index(), &self.source.git_dir.join("index"))?);
        }
        repository::lend(self)
    }

    /// In place, makes the project's index that of the commit just made.
    pub fn settle_index(&self) -> Result<(), Failure> {
        if self.is_in_place { self.lend_index() } else { Ok(()) }
    }

    /// Forgets what is known about the workspace when an agent begins or goes on.
    pub fn forget_state(&mut self) {
        self.known = Known::default();
        self.left_out.1.clear();
        self.taken.clear();
    }

    /// Forgets what is known about the files because programs of the attempt have run, and removes
    /// pipes on which git would wait.
    pub fn doubt_files(&mut self) {
        self.known = Known::default();
        self.known.pipes.remove(&self.top, false);
    }

    /// Does so, and in place restores what controls the run; returns a message for each such file.
    pub fn programs_ran(&mut self) -> Result<Vec<String>, Failure> {
        self.doubt_files();
        in_place::restore_protected(self)
    }

    /// Records that the staged tree was committed, with these files of the loop. If no other file
    /// differs from what is staged and no git hook ran, the files match the commit.
    pub fn settle(&mut self, commit: &str, files: &[&Path]) {
        let is_as_committed = matches!(&self.known.files, Files::StagedBut(others)
            if others.iter().all(|path| files.contains(&path.as_path())));
        if is_as_committed && !self.needs_full_commits() {
            self.known.files = Files::Of(commit.to_owned());
        }
    }

    /// Whether a commit may run the user's git hooks, or be signed.
    pub fn needs_full_commits(&self) -> bool {
        self.is_in_place || self.settings.need_full_commits(&self.source)
    }

    /// Returns the status of the workspace, without running git if it is known to be clean.
    pub fn status(&self, repo: &Repo, start: Start<'_>) -> Result<Status, GitError> {
        if self.known.files == Files::Clean {
            return Ok(Status::clean(start.tip, start.branch));
        }
        Status::read(repo)
    }

    /// Opens the loop's own git folder for files that an attempt has changed. In place, also returns
    /// HEAD to `start`.
    pub fn open(&mut self, start: Start<'_>) -> Result<(), Failure> {
        self.open_own_git(start)?;
        self.known.pipes.remove(&self.top, false);
        if self.is_in_place {
            in_place::return_head(&self.source, start)?;
        } else if !self.top.join(".git").is_dir() {
            // Submodules have their repositories there.
            repository::lend(self)?;
        }
        if !self.own.index().exists() {
            let git = self.store();
            git.run(&["read-tree", &base_of(&git, start.tip)?])?;
        }
        Ok(())
    }

    /// Removes the lock of the loop's own index, which a killed git of ours may have left.
    fn remove_own_lock(&self) -> io::Result<()> {
        remove_all(&self.own.index().with_extension("lock"))
    }

    /// Deletes the copy and all records about it.
    pub fn throw_away(&mut self) -> Result<(), Failure> {
        self.forget_state();
        remove_all(self.top.as_std_path())?;
        remove_all(self.own.git.as_std_path())?;
        remove_all(self.own.setup_leftovers.as_std_path())?;
        Ok(remove_all(self.own.setup_stamp.as_std_path())?)
    }
}
