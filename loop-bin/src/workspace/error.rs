//! Why a workspace cannot be used, and what to do about it.

use std::io;

use ralph_core::git::GitError;

/// Why a workspace cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    #[error("{path} is not UTF-8, and paths of a project have to be; rename the folder")]
    NotText { path: String },
    #[error(
        "no folder for the copy: neither XDG_CACHE_HOME nor HOME is set; set one, or name a folder \
         with --workspace-folder"
    )]
    NoCache,
    #[error(
        "the copy cannot be made in {folder}: {source}; make room or name another folder with \
         --workspace-folder, or let the agent work in the project with --in-place"
    )]
    Folder { folder: String, source: io::Error },
    #[error(
        "{folder} lies inside the project, and the copy would be copied into itself; name another \
         folder with --workspace-folder"
    )]
    InsideProject { folder: String },
    #[error(
        "this is a partial clone, so a copy would have to fetch from the network; run `git fetch \
         --refetch --no-filter` and `git config --unset remote.origin.promisor`, or start with \
         --in-place"
    )]
    PartialClone,
    #[error(
        ".worktreeinclude names {size} in {files}, more than the {limit} that may be copied; \
         narrow its patterns, or raise [workspace] include_limit_mb"
    )]
    TooMuchIncluded { size: String, files: String, limit: String },
    #[error(
        "the setup command `{command}` {verdict}; fix it in [workspace] setup, or start with \
         --in-place\n{output}"
    )]
    Setup { command: String, verdict: String, output: String },
    #[error("the setup was stopped")]
    Stopped,
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Io(#[from] io::Error),
}
