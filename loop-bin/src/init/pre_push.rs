//! The backstop behind the guard: a git hook that refuses the agent's pushes, however they are
//! disguised.

use std::os::unix::fs::PermissionsExt;

use camino::Utf8PathBuf;
use ralph_core::git::Repo;
use ralph_core::project::Project;

use crate::exit::Failure;
use crate::terminal::say;

/// Writes the hook, unless there is one already.
pub(super) fn write(project: &Project) -> Result<(), Failure> {
    let repo = Repo::open(project.root())?;
    let git = repo.git().with_hooks();
    let path = git.line(&["rev-parse", "--git-path", "hooks/pre-push"])?;
    let path = Utf8PathBuf::from(repo.top().join(path).to_string_lossy().into_owned());
    if path.symlink_metadata().is_ok() {
        say(format!("{path} exists already and was left as it is."));
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    fs_err::write(&path, SCRIPT)?;
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    say(format!("wrote {path}"));
    Ok(())
}

/// The agent and all that it starts carry `RALPH_RUN`; everybody else may push.
const SCRIPT: &str = "\
#!/bin/sh
# Written by `ralph-loop init --pre-push`: the agent of a loop does not push.
[ -z \"$RALPH_RUN\" ] || {
    echo 'this push was started by the agent of a ralph loop; push by hand' >&2
    exit 1
}
";
