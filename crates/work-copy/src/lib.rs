//! The agent's workspace: a copy of the project in the cache folder, or the project itself.
//!
//! One rule is central: **the repository of the copy is recreated after every agent,** and after
//! checks that changed it. Whatever an agent did to its clone (rewrote history, removed `.git`,
//! left a rebase unfinished, changed settings) is discarded; only the files in the work tree count,
//! and they are read with a git folder and an index that no agent has touched.
//!
//! | file | contents |
//! | --- | --- |
//! | `cache.rs` | the folder of the copies, their size, and folders that cannot be written |
//! | `known.rs` | what is known about a copy since other processes ran in it |
//! | `repository.rs` | recreating the repository around the files of the copy |
//! | `source.rs` | the project |
//! | `git_settings.rs` | which of the project's git settings apply in the copy |
//! | `doors.rs` | how programs are started in the copy: inside the sandbox |
//! | `carry.rs` | files that a fresh clone lacks |
//! | `import.rs` | what an agent committed, and what hooks rolled back |
//! | `setup.rs` | the commands that set up a new copy |
//! | `aside.rs` | repositories and work trees that an agent creates inside the copy |
//! | `stage.rs` | the changes of an attempt as a tree, and applying them to another commit |
//! | `linked_back.rs` | links and settings that point from the copy back into the project |
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
mod linked_back;
mod remove;
mod repository;
mod setup;
mod source;
mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::fault;
use ralph_base::state::{Id, RunDir};
use ralph_core::git::{Git, GitError, Repo, RepoError, Status};
use ralph_project::config::{Config, Mode};
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;

use doors::Doors;
use git_output::base_of;
use git_settings::GitSettings;
pub use import::{Imported, bring, import};
use known::{Files, Known};
pub use linked_back::{linked_by_environment, linked_by_files};
use ralph_project::failure::Failure;
pub use remove::remove_all;
use repository::Stamps;
pub use repository::{adopt, copy_index};
pub use setup::{changed_by_setup, is_used, needs_setup, set_up, withheld};
pub use source::{Source, text_path};
pub use stage::Staged;

/// The name of the worker if there is only one.
pub const ONLY_WORKER: &str = "1";

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
    /// How programs are started in the workspace.
    pub doors: Doors,
}

/// The loop's own files about a workspace.
#[derive(Debug)]
struct OwnFiles {
    /// The loop's own index of the work tree.
    index: PathBuf,
    /// A fingerprint of what the setup commands were last run for.
    setup_stamp: Utf8PathBuf,
    /// Ignore patterns for files that the setup left and the project does not ignore.
    setup_leftovers: Utf8PathBuf,
    /// The folder in which a reviewer reads.
    reading_room: Utf8PathBuf,
    /// The records of the attempt.
    records: RunDir,
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
                index: source.git_dir.join(format!("ralph-index-{worker}")),
                setup_stamp: shared.join(format!("setup-{worker}")),
                setup_leftovers: shared.join(format!("setup-{worker}-left")),
                reading_room: cache.join(format!("review-{worker}")),
                records: run_dir.clone(),
            },
            doors,
            source,
            known: Known::default(),
            carried: BTreeMap::new(),
            settings,
            left_out: Default::default(),
        })
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

    /// Returns git for the files of the workspace, with the loop's own index. It writes to the
    /// project's object store, so that nothing has to be fetched.
    pub fn git(&self) -> Git {
        self.over(self.top.as_std_path()).on_index(self.own.index.clone())
    }

    /// Returns git in the sandbox, as the agent's own git sees the workspace.
    pub fn git_inside(&self) -> Git {
        let git = if self.is_in_place { self.git() } else { Git::at(self.top.as_std_path()) };
        git.through(&self.doors.checks)
    }

    /// Returns git for a folder. Programs that git runs on files start inside the sandbox. Settings
    /// that an agent may have changed are only read inside, where nothing can be written.
    fn over(&self, folder: &Path) -> Git {
        let door = &self.doors.checks;
        let git = self.source.filters.of(Git::at(folder));
        if self.is_in_place {
            return git;
        }
        let git = git.with_var("GIT_OBJECT_DIRECTORY", self.source.shared.join("objects"));
        // In a large index the checksum takes longer than everything else.
        let git = git.with_settings(&[("index.skipHash".to_owned(), "true".to_owned())]);
        if self.known.is_fresh { git } else { git.through(door) }
    }

    /// Opens the repository of the workspace, which must exist.
    pub fn repo(&self) -> Result<Repo, RepoError> {
        let (top, inside) = (self.top.as_std_path(), self.source.inside.as_std_path());
        let repo =
            if self.is_in_place { Repo::open(&self.root)? } else { Repo::made_in(top, inside) };
        Ok(repo.using(self.over(top)))
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
            in_place::reset(&self.source, self.over(self.top.as_std_path()), start)?;
            copy_index(&self.source_index(), &self.own.index)?;
            let git = self.git();
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
        self.renew(start)?;
        self.match_files_to(start.tip)?;
        self.known.files = Files::Clean;
        // Git reads submodules from the index of the copy.
        self.lend_index()?;
        repository::update_submodules(&self.source, &self.git_inside())
    }

    /// Makes index and files match the commit, at which HEAD is already.
    fn match_files_to(&self, tip: Option<&str>) -> Result<(), Failure> {
        if matches!(&self.known.files, Files::Of(commit) if Some(commit.as_str()) == tip) {
            return Ok(());
        }
        let look = ["status", "--porcelain", "-z", "--untracked-files=normal"];
        let git = self.git();
        // The repositories of submodules are not recreated.
        let inside = git.through(&self.doors.checks);
        if self.own.index.exists() && inside.run(&look)?.is_empty() {
            return Ok(());
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

    /// Copies the loop's index to the agent, so that it starts with all file states known.
    pub fn lend_index(&self) -> Result<(), Failure> {
        let own = self.source_index();
        Ok(copy_index(&self.own.index, &own)?)
    }

    /// In place, makes the project's index that of the commit just made.
    pub fn settle_index(&self) -> Result<(), Failure> {
        if self.is_in_place { self.lend_index() } else { Ok(()) }
    }

    fn source_index(&self) -> PathBuf {
        if self.is_in_place {
            return self.source.git_dir.join("index");
        }
        self.top.join(".git/index").into_std_path_buf()
    }

    /// Marks the workspace as changed by an agent: nothing that git keeps in it is trusted any
    /// more. If an agent `begins`, removes pipes and sockets that an earlier one left in a copy.
    pub fn distrust(&mut self, begins: bool) {
        self.known.pipes.remove(&self.top, begins && !self.is_in_place);
        self.known = Known::default();
        self.left_out.1.clear();
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
        self.is_in_place || self.settings.need_full_commits(&self.top)
    }

    /// Returns the stamps of the repository of a copy, to be compared after checks have run.
    pub fn stamps(&self) -> Option<Stamps> {
        if self.is_in_place { None } else { repository::stamps(&self.top) }
    }

    /// Marks the files as possibly changed by checks; if they changed the repository too, it is not
    /// trusted any more. Returns what was restored in place.
    pub fn doubt(&mut self, before: Option<Stamps>) -> Result<Vec<String>, Failure> {
        let is_fresh = self.known.is_fresh && before.is_some() && before == self.stamps();
        self.known = Known { is_fresh, ..Known::default() };
        self.known.pipes.remove(&self.top, false);
        in_place::restore_protected(self)
    }

    /// Returns the status of the workspace, without running git if it is known to be clean.
    pub fn status(&self, repo: &Repo, start: Start<'_>) -> Result<Status, GitError> {
        if self.known.files == Files::Clean {
            return Ok(Status::clean(start.tip, start.branch));
        }
        Status::read(repo)
    }

    /// Recreates the repository around the existing files, with HEAD at `start`.
    pub fn renew(&mut self, start: Start<'_>) -> Result<(), Failure> {
        self.remove_own_lock()?;
        if self.is_in_place {
            return in_place::return_head(&self.source, start);
        }
        if !self.known.is_fresh || !self.top.join(".git/objects").is_dir() {
            self.known.pipes.remove(&self.top, false);
            repository::renew(&self.source, &self.top, &self.settings)?;
            setup::ignore_leftovers(self)?;
            self.known.is_fresh = true;
        }
        repository::check_out(&self.top, start)
    }

    /// Removes the lock of the loop's own index, which a killed git of ours may have left.
    fn remove_own_lock(&self) -> io::Result<()> {
        remove_all(&self.own.index.with_extension("lock"))
    }

    /// Deletes the copy and all records about it.
    pub fn throw_away(&mut self) -> Result<(), Failure> {
        self.distrust(true);
        remove_all(self.top.as_std_path())?;
        remove_all(&self.own.index)?;
        remove_all(self.own.setup_leftovers.as_std_path())?;
        Ok(remove_all(self.own.setup_stamp.as_std_path())?)
    }
}
