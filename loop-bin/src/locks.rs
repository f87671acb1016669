//! One loop per project and per work tree: locks that die with their holder.
//!
//! The project's lock is in `.ralph/`. That of the work tree is in its git folder, because a
//! rollback reaches the whole tree, in which there may be several projects.

use camino::Utf8Path;
use ralph_core::git::Repo;
use ralph_core::project::Project;
use ralph_core::state::{self, Held, Lock, LockError};

use crate::exit::Failure;

/// What the loop says that it does.
pub(crate) const LOOP: &str = "ralph-loop";

/// Both locks; dropped, they are free again.
#[derive(Debug)]
pub(crate) struct Locks {
    project: Lock,
    tree: Option<Lock>,
}

impl Locks {
    /// Takes both at once, or says who has one.
    pub(crate) fn take(project: &Project, repo: &Repo, doing: &str) -> Result<Self, Failure> {
        // In a clone or another work tree nothing keeps the locks out of git yet.
        project.own_state().prepare()?;
        let own = take(&project.own_state().lock(), doing)?;
        let tree = repo
            .own_file(state::TREE_LOCK)
            .map(|path| take(&path, &doing_in(project, doing)))
            .transpose()?;
        Ok(Self { project: own, tree })
    }

    /// An agent that removed `.ralph/` removed the lock's file as well; what we hold is a file that
    /// nobody finds any more.
    pub(crate) fn take_again(&mut self, project: &Project, repo: &Repo) -> Result<(), Failure> {
        let own = project.own_state().lock();
        if !own.exists() {
            self.project = take(&own, LOOP)?;
        }
        if let Some(path) = repo.own_file(state::TREE_LOCK).filter(|path| !path.exists()) {
            self.tree = Some(take(&path, &doing_in(project, LOOP))?);
        }
        Ok(())
    }
}

/// Who holds the project or its work tree, if anybody does; nothing is taken.
pub(crate) fn holder(project: &Project, repo: &Repo) -> Option<Held> {
    let own = Lock::holder(&project.own_state().lock());
    own.or_else(|| repo.own_file(state::TREE_LOCK).and_then(|path| Lock::holder(&path)))
}

fn take(path: &Utf8Path, doing: &str) -> Result<Lock, Failure> {
    match Lock::take(path, doing) {
        Ok(lock) => Ok(lock),
        Err(error @ LockError::Held(_)) => Err(Failure::Locked(Box::new(error))),
        Err(error) => Err(error.into()),
    }
}

/// The second is told in which project the first is at work.
fn doing_in(project: &Project, doing: &str) -> String {
    format!("{doing} in {}", project.root())
}
