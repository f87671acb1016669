//! `ralph-loop completions`: what a shell needs to complete our command line, values included.
//!
//! The script asks this very program at each tab, so it knows every flag, and the stories and attempts
//! of the project at hand.

use std::io;
use std::process::ExitCode;

use clap::{Arg, Args, Command};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use ralph_base::env::Env;
use ralph_core::git::Repo;
use ralph_project::config::{self, Key, Kind};

use crate::exit::Failure;
use crate::here;
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::saved;
use crate::show_config;
use crate::terminal::say_as_it_is;

/// The variable by which a script asks.
const ASKS: &str = "RALPH_INTERNAL__COMPLETE";

const PROGRAM: &str = "ralph-loop";

/// What makes the script for zsh answer at the first tab too where it lies as `_ralph-loop` in a folder
/// of `fpath`: there it is a function that runs when it is needed.
const AS_FILE: &str = "
if [[ $funcstack[1] = _ralph-loop ]]; then _clap_dynamic_completer_ralph_loop; fi
";

/// Print a script that completes commands, flags, stories and attempts in your shell
#[derive(Debug, Args)]
#[command(after_help = "\
bash:  echo 'source <(ralph-loop completions bash)' >> ~/.bashrc
zsh:   echo 'source <(ralph-loop completions zsh)' >> ~/.zshrc
fish:  ralph-loop completions fish > ~/.config/fish/completions/ralph-loop.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let shells = Shells::builtins();
        let shell = shells.completer(&self.shell).ok_or_else(|| {
            Failure::because(format!("there is no completion for {}", self.shell))
        })?;
        let mut script = Vec::new();
        shell.write_registration(ASKS, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
        if self.shell == "zsh" {
            script.extend(AS_FILE.bytes());
        }
        say_as_it_is(&String::from_utf8_lossy(&script));
        Ok(ExitCode::SUCCESS)
    }
}

/// Answers a shell, if it is one that asks; false if this is an ordinary start.
pub(crate) fn answer(env: &Env, command: fn() -> Command) -> Result<bool, clap::Error> {
    if env.get(ASKS).is_none() {
        return Ok(false);
    }
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(|| with_values(command())).var(ASKS);
    asked.try_complete(std::env::args_os(), here.as_deref())
}

/// The command line with what is known of its values. Only a shell needs that, and an ordinary start
/// should not pay for it.
fn with_values(command: Command) -> Command {
    let valued =
        |command: Command, name: &'static str, arg: &'static str, values: fn() -> Values| {
            let with_values =
                |arg: Arg| arg.add(ArgValueCandidates::new(move || values().unwrap_or_default()));
            command.mut_subcommand(name, |one| one.mut_arg(arg, with_values))
        };
    let command = valued(command, "logs", "story", stories);
    let command = valued(command, "retry", "stories", stories);
    let command = valued(command, "retry", "from", attempts);
    let command = valued(command, "complete", "story", stories);
    let command = valued(command, "attempts", "of", stories_and_attempts);
    let command = valued(command, "config", show_config::KEY, keys);
    let command = command.mut_subcommand("attempts", |one| valued(one, "take", "id", attempts));
    command.mut_args(|arg| match Key::find(arg.get_id().as_str()) {
        Some(key) if key.kind == Kind::Choice => arg.add(ArgValueCandidates::new(|| {
            key.choices().into_iter().map(CompletionCandidate::new).collect()
        })),
        _ => arg,
    })
}

/// What may be typed; an error completes nothing, because a shell that asks wants no message.
type Values = Result<Vec<CompletionCandidate>, Failure>;

fn keys() -> Values {
    let candidate = |key: &Key| CompletionCandidate::new(key.name).help(Some(key.help.into()));
    Ok(config::keys().map(candidate).collect())
}

fn stories_and_attempts() -> Values {
    let stories = stories().unwrap_or_default().into_iter();
    Ok(stories.chain(attempts().unwrap_or_default()).collect())
}

fn stories() -> Values {
    let env = Env::process();
    let project = here::project(&env)?;
    let config = PlanChoice::default().config(&env, &project)?;
    let plan = plan_with_work(&env, &project, &config)?;
    let stories = plan.stories().iter();
    let candidates = stories.map(|story| {
        CompletionCandidate::new(story.id.clone()).help(Some(story.title.clone().into()))
    });
    Ok(candidates.collect())
}

fn attempts() -> Values {
    let project = here::project(&Env::process())?;
    let repo = Repo::open(project.root()).map_err(io::Error::other)?;
    let attempts = saved::all(repo.git())?.into_iter();
    let candidates =
        attempts.map(|attempt| CompletionCandidate::new(attempt.id).help(Some(attempt.why.into())));
    Ok(candidates.collect())
}
