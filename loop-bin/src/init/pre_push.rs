//! The backstop behind the guard: a git hook that refuses to push while a loop holds the project,
//! whoever pushes and however the push is disguised.

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
    fs_err::write(&path, script(project.own_state().lock().as_str()))?;
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    say(format!("wrote {path}"));
    Ok(())
}

/// The agent and all that it starts carry `RALPH_RUN`; for everybody else the loop's lock tells,
/// where the machine has a program to ask for it.
fn script(lock: &str) -> String {
    let lock = lock.replace('\'', r"'\''");
    format!(
        "#!/bin/sh\n\
         # Written by `ralph-loop init --pre-push`: nobody pushes while a loop holds this project.\n\
         lock='{lock}'\n\
         refuse() {{\n\
         \x20   echo \"a ralph loop holds this project; push when it has ended ($1)\" >&2\n\
         \x20   exit 1\n\
         }}\n\
         [ -z \"$RALPH_RUN\" ] || refuse 'this push was started by its agent'\n\
         if [ -e \"$lock\" ] && command -v flock >/dev/null 2>&1; then\n\
         \x20   flock --nonblock --shared \"$lock\" true || refuse \"$(cat \"$lock\")\"\n\
         fi\n\
         exit 0\n"
    )
}
