//! `ralph-loop init`: a config with the right checks, an example plan and lifecycle templates.
//! Nothing that exists is overwritten.

mod kinds;

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

use camino::Utf8Path;
use ralph_base::env::Env;
use ralph_base::state::{self, StateDir};

use crate::exit::Failure;
use crate::terminal::say;
use crate::{here, lifecycle};

const PLAN: &str = "\
# Plan

### US-001: Say what is to be done in one line

- [ ] What a person would see when it is done
  - Where: the files concerned
  - Acceptance: how one can tell

### US-002: The next story (depends: US-001)

- [ ] …
";

/// The lifecycle scripts and what they are told.
const SCRIPTS: [(&str, &str); 4] = [
    ("started", "Runs once, before the first iteration: RALPH_PLAN_FILE, RALPH_SPEC_DIR."),
    (
        "next_iteration",
        "Runs before each iteration: RALPH_ITERATION, RALPH_LAST_EXIT_CODE, RALPH_LAST_DURATION, \
         RALPH_COMMITS_MADE. Exit 1 skips the iteration.",
    ),
    (
        "post_iteration",
        "Runs after each iteration: RALPH_STORY, RALPH_EXIT_CODE, RALPH_DURATION, RALPH_OUTCOME.",
    ),
    (
        "finished",
        "Runs once, at the end: RALPH_FINISH_TYPE, RALPH_TOTAL_ITERATIONS, RALPH_TOTAL_COMMITS, \
         RALPH_DURATION.",
    ),
];

/// A program of the user's own that scripts may call.
const NOTIFY: &str = "\
#!/bin/sh
# A program of your own: every lifecycle script can call it by its name, `notify \"some text\"`.
# Put more of them beside it; the loop itself never runs them.
echo \"$*\"
";

/// Does it.
pub(crate) fn run(env: &Env) -> Result<ExitCode, Failure> {
    let project = here::project(env)?;
    let root = project.root();
    let state = project.own_state();
    state.prepare()?;
    let (kind, checks) = kinds::checks(root);
    let setup = kinds::setup(root);
    say(match kind {
        Some(kind) => format!("The kind of project is {kind}."),
        None => {
            "The kind of project was not recognised; set [verify] commands yourself.".to_owned()
        }
    });
    write_new(&state.config(), &config(&checks, &setup), false)?;
    let find = || Ok::<_, Failure>(here::plan(&project, env, &here::config(&project, env, &[])?));
    if find()?.is_err() && state.prd_numbers().is_empty() {
        write_new(&state.plan(1), PLAN, false)?;
    }
    let plan = match find()? {
        Ok(plan) => plan.path().to_owned(),
        Err(_) => state.plan(state.prd_numbers().first().copied().unwrap_or(1)),
    };
    // Scripts in the folder of another tool would be hidden by those in ours.
    let scripts = lifecycle::folder(state, root);
    if scripts == state.lifecycle() {
        write_scripts(&scripts)?;
    }
    say(format!("\nNext:\n  write your stories into {}, and commit", here::shown(&plan)));
    say("  ralph-loop doctor            # is everything in place?");
    say("  ralph-loop --dry-run         # what would be done?");
    say("  ralph-loop                   # go");
    Ok(ExitCode::SUCCESS)
}

fn write_scripts(folder: &Utf8Path) -> Result<(), Failure> {
    for (name, about) in SCRIPTS {
        let text = format!(
            "#!/bin/sh\n# {about}\n# Also: RALPH_MODE, RALPH_MAX_ITERATIONS, RALPH_PROJECT_DIR, \
             RALPH_LOG_DIR, RALPH_STARTED_AT.\n# Exit 0: go on; 2: stop the loop; anything else: \
             a warning.\n# Programs in custom/ are called by their names: notify \"hello from \
             {name}\"\nexit 0\n"
        );
        write_new(&folder.join(name), &text, true)?;
    }
    write_new(&StateDir::custom_programs(folder).join("notify"), NOTIFY, true)
}

fn config(checks: &[String], setup: &[String]) -> String {
    format!(
        "# All settings are optional; docs/configuration.md lists them.\n\n[verify]\n\
         # A story is done only when all of these succeed.\ncommands = {checks:?}\n\n[workspace]\n\
         # What makes a new copy of the project ready; run again when a lock file changed.\n\
         setup = {setup:?}\n"
    )
}

fn write_new(path: &Utf8Path, text: &str, executable: bool) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        say(format!("kept     {}", here::shown(path)));
        return Ok(());
    }
    state::replace(path, text.as_bytes())?;
    if executable {
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    say(format!("written  {}", here::shown(path)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_that_is_written_can_be_read() {
        let text =
            config(&["cargo test", "echo \"hi\" \\ x"].map(str::to_owned), &["npm ci".to_owned()]);
        let env = Env::of([("", "")]);
        let read = ralph_project::config::Config::from_parts("c", &text, &env, &[]).unwrap();
        assert_eq!(read.verify.commands, ["cargo test", "echo \"hi\" \\ x"]);
        assert_eq!(read.workspace.setup, ["npm ci"]);
    }
}
