//! `ralph-loop demo`: the whole loop in a temporary project, with a scripted agent and no network.

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use jiff::Timestamp;
use ralph_base::env::Env;
use ralph_base::state::StateDir;
use ralph_core::git::Git;
use ralph_project::config::Flag;
use ralph_project::install::quoted;

use super::{EXTENSIONS, Subcommand};
use crate::exit::Failure;
use crate::run;
use crate::terminal::say;

/// The agent: a script that reads the prompt and works on its story.
const AGENT: &str = include_str!("agent.sh");
const PLAN: &str = include_str!("stories.md");
const TESTS: &str = include_str!("tests.sh");

/// With all its options, a command needs no completion; the script ignores them.
const OPTIONS: &str = "-p --dangerously-skip-permissions --output-format stream-json --verbose";

pub(super) const COMMAND: Subcommand =
    Subcommand { name: "demo", args: Demo::augment_args, run: |call| run(call.env) };

/// Run four stories in a temporary project: a failing test, a refused push, a blocked story
#[derive(Debug, Args)]
struct Demo;

fn run(env: &Env) -> Result<ExitCode, Failure> {
    let stamp = Timestamp::now().strftime("%Y%m%d-%H%M%S-%3f");
    let folder = env.temp_dir().join(format!("ralph-demo-{stamp}"));
    let root = folder.join("project");
    make_project(&root)?;
    say(format!("Demo project: {root}"));
    say("A local script stands in for Claude Code: no network access, no cost.\n");
    let agent = folder.join("claude");
    fs_err::write(&agent, AGENT)?;
    fs_err::set_permissions(&agent, std::fs::Permissions::from_mode(0o755))?;
    let flags = [
        Flag::new("agent.command", format!("{} {OPTIONS}", quoted(&agent))),
        Flag::new("agent.unguarded", "true"),
        Flag::new("agent.probe", "off"),
        Flag::new("verify.commands", "sh tests.sh"),
        Flag::new("limits.attempts_per_story", "2"),
        Flag::new("limits.max_cost_usd", "1"),
    ];
    let env = demo_env(env, &folder, &root);
    let outcome = run::run(&env, run::start::preflight(&env, &flags, EXTENSIONS)?)?;
    show_results(&root)?;
    // A blocked story is part of the demo, so it is no error here.
    Ok(if outcome == ExitCode::from(8) { ExitCode::SUCCESS } else { outcome })
}

/// The environment without settings of the user's that would change the demo.
fn demo_env(env: &Env, folder: &Utf8Path, root: &Utf8Path) -> Env {
    let kept = ["PATH", "TERM", "NO_COLOR"];
    let vars = kept.into_iter().filter_map(|name| Some((name.to_owned(), env.get(name)?)));
    let own = [
        ("RALPH_ROOT".to_owned(), root.to_string()),
        ("HOME".to_owned(), folder.to_string()),
        ("XDG_CACHE_HOME".to_owned(), folder.join("cache").into_string()),
        // Root may run the agent: it is a script of ours.
        ("IS_SANDBOX".to_owned(), "1".to_owned()),
    ];
    Env::of(vars.chain(own))
}

fn make_project(root: &Utf8Path) -> Result<(), Failure> {
    let state = StateDir::of_project(root);
    let write = |path: Utf8PathBuf, text: &str| -> Result<(), Failure> {
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        Ok(fs_err::write(path, text)?)
    };
    write(state.plan(1), PLAN)?;
    write(root.join("tests.sh"), TESTS)?;
    state.prepare()?;
    let git = Git::at(root.as_std_path());
    let setup: [&[&str]; 5] = [
        &["init", "--quiet", "--initial-branch=main"],
        &["config", "user.name", "Ralph's demo"],
        &["config", "user.email", "demo@localhost"],
        &["add", "--all"],
        &["-c", "commit.gpgsign=false", "commit", "--quiet", "--message=A project with a plan"],
    ];
    for args in setup {
        git.run(args)?;
    }
    git.run(&["config", "commit.gpgsign", "false"])?;
    Ok(())
}

fn show_results(root: &Utf8Path) -> Result<(), Failure> {
    let git = Git::at(root.as_std_path());
    say("\nCommits, oldest first:\n");
    say(git.line(&["log", "--reverse", "--format=  %h %s"])?);
    say("\nThe plan after the run:\n");
    let plan = fs_err::read_to_string(StateDir::of_project(root).plan(1))?;
    for line in plan.lines().filter(|line| line.contains('[')) {
        say(format!("  {line}"));
    }
    say(format!(
        "\nLook around:\n  cd '{root}'\n  ralph-loop attempts US-004   # why it failed\n  \
         ralph-loop status            # what needs you\n  \
         ralph-loop report            # an HTML report of the run\n\n\
         Remove it:\n  rm -r '{}'",
        root.parent().unwrap_or(root)
    ));
    Ok(())
}
