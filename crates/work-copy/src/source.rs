//! The project from which a copy is made.

use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::git::{Git, Repo};

use ralph_project::failure::Failure;
use ralph_project::project::Project;

/// The project from which a copy is made.
#[derive(Debug, Clone)]
pub struct Source {
    /// The top of its work tree.
    pub top: Utf8PathBuf,
    /// The project's folder, relative to the top.
    pub inside: Utf8PathBuf,
    /// The git folder of this work tree.
    pub git_dir: PathBuf,
    /// The git folder that all work trees of the repository share.
    pub shared: PathBuf,
    /// The settings by which git starts filter programs in the sandbox, because an agent may have
    /// changed them.
    pub filters: Vec<(String, String)>,
}

impl Source {
    /// Describes a project in its repository.
    pub fn of(project: &Project, repo: &Repo) -> Result<Self, Failure> {
        let top = text_path(repo.top())?;
        let root = project.root().canonicalize_utf8().unwrap_or_else(|_| project.root().to_owned());
        let inside = root.strip_prefix(top).unwrap_or(Utf8Path::new("")).to_owned();
        let (git_dir, shared) = (repo.git_dir().to_owned(), repo.shared_git_dir().to_owned());
        Ok(Self { top: top.to_owned(), inside, git_dir, shared, filters: Vec::new() })
    }

    /// Returns git for the project.
    pub fn git(&self) -> Git {
        Git::at(self.top.as_std_path()).with_settings(&self.filters)
    }

    /// Returns the folder of its objects.
    pub(super) fn objects(&self) -> PathBuf {
        self.shared.join("objects")
    }

    /// Returns a path relative to the top of the repository; `None` if it is outside.
    pub fn below_top(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        let (folder, name) = (path.parent()?, path.file_name()?);
        let folder = folder.canonicalize_utf8().unwrap_or_else(|_| folder.to_owned());
        folder.join(name).strip_prefix(&self.top).ok().map(Utf8Path::to_owned)
    }
}

/// Returns a path of the project as UTF-8, or an error if it is not.
pub fn text_path(path: &Path) -> Result<&Utf8Path, Failure> {
    Utf8Path::from_path(path).ok_or_else(|| {
        let path = path.display();
        Failure::because(format!(
            "{path} is not UTF-8, but project paths must be; rename the folder"
        ))
    })
}
