//! Why a run does not begin.

use ralph_core::prompt;

/// Why a run does not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReady {
    #[error(
        "{path} is reached through a symlink below .ralph, and those are never written through; \
         name the file itself with --plan, or put it there"
    )]
    Linked { path: String },
    #[error(
        "the check `{check}` needs `{program}`, which was not found; install it, or fix [verify] \
         commands"
    )]
    NoCheck { check: String, program: String },
    #[error(
        "the check `{check}` needs {file}, which is not committed, so the copy that the agent works \
         in does not have it; commit it, or start with --in-place"
    )]
    UncommittedCheck { check: String, file: String },
    #[error("{message}")]
    LinkedBack { message: String },
    #[error("{missing}; install it, or name another with --agent")]
    NoAgent { missing: String },
    #[error(
        "the agent's command `{line}` cannot be read by a shell ({flaw}); fix it where it was \
         given: --agent, RALPH_AGENT, or `command` in the table [agent]"
    )]
    AgentCommand { line: String, flaw: String },
    #[error(
        "the agent's command `{line}` runs nothing; give one with --agent, RALPH_AGENT or `command` \
         in the table [agent], or leave it out for Claude Code"
    )]
    EmptyAgent { line: String },
    #[error(
        "there is no folder {path} for planning to read; name one below the project with --specs, or \
         leave it out"
    )]
    NoSpecs { path: String },
    #[error("{path}: {source}")]
    Prompt { path: String, source: prompt::UnknownVariable },
    #[error(
        "{path} is empty, so the agent would be told nothing; write a prompt or remove the file"
    )]
    EmptyPrompt { path: String },
    #[error(
        "{path} is a folder, and progress is written into a file; name one with --progress or \
         PROGRESS_PATH"
    )]
    ProgressIsFolder { path: String },
}
