//! `ralph-loop audit`: checks the receipts of landed commits, without network.
//!
//! | file | contents |
//! | --- | --- |
//! | `history.rs` | the commits of a range and the receipts of the repository, as read from git |
//! | `judge.rs` | what a commit's receipt is worth; pure |
//! | `rerun.rs` | runs the stated checks again in a fresh clone |

mod history;
mod judge;
mod rerun;

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ralph_base::env::Env;
use ralph_core::git::{Git, Repo};
use ralph_project::config::Config;
use serde_json::json;

use super::Subcommand;
use crate::exit::Failure;
use crate::forge::{default_branch, remote_of};
use crate::here;
use crate::record::run_dir;
use crate::terminal::{counted, say, say_as_it_is};
use history::History;
use judge::{Judged, State};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "audit",
    args: Audit::augment_args,
    run: |call| call.parsed::<Audit>()?.run(call.env),
};

/// Check the receipts of landed commits
///
/// Says for each commit whether a receipt is about it, who signed that, and which checks it states. Exits with 1 if
/// a commit of the loop's has no receipt, or one that is wrong. See docs/receipts.md.
#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// The commits, as for `git log`, or one commit; by default those of the current branch that its upstream or the
    /// default branch lacks
    range: Option<String>,
    /// Run the stated checks again, in a fresh clone in the sandbox
    #[arg(long, value_name = "all|last", num_args = 0..=1, default_missing_value = "all", require_equals = true)]
    rerun: Option<Rerun>,
    /// Run the checks of so many commits at once
    #[arg(long, value_name = "N", default_value_t = 1, requires = "rerun")]
    workers: usize,
    /// Accept only signed receipts
    #[arg(long)]
    signed: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown, for a pull request
    #[arg(long)]
    markdown: bool,
}

/// Whose checks run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rerun {
    /// Those of all commits.
    All,
    /// Those of the last commit.
    Last,
}

impl Audit {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let repo = Repo::open(project.root())?;
        let (git, scratch) = (repo.git(), run_dir(&repo)?);
        let range = self.range.clone().map_or_else(|| usual_range(git), Ok)?;
        let mut history = History::read(git, &range)?;
        if self.range.is_none() && !range.contains("..") {
            history.begin_with_ours();
        }
        let config = settings(env, git, &history)?;
        let judge = |commit| {
            let mut judged = judge::judge(commit, &history, &config.verify.commands);
            let envelope = judged.receipt.as_ref().and_then(|it| it.envelope.as_ref());
            let verified =
                envelope.map(|it| it.verify(git, scratch.root(), commit.at)).transpose()?;
            judged.sign(verified, self.signed || commit.is_signed);
            Ok::<_, Failure>(judged)
        };
        let mut all: Vec<Judged> = history.commits.iter().map(judge).collect::<Result<_, _>>()?;
        if let Some(which) = self.rerun {
            let mut due: Vec<&mut Judged> =
                all.iter_mut().filter(|judged| judged.can_run_again()).collect();
            if which == Rerun::Last {
                due = due.pop().into_iter().collect();
            }
            rerun::rerun(env, (&project, &repo, &config), history.base(), (due, self.workers))?;
        }
        let why = all.iter().find_map(Judged::refused);
        let in_words = why.clone().unwrap_or_else(|| sentence(&all, &range));
        if self.json {
            let commits: Vec<_> = all.iter().map(Judged::json).collect();
            let all =
                json!({"range": range, "ok": why.is_none(), "says": in_words, "commits": commits});
            say_as_it_is(&serde_json::to_string_pretty(&all)?);
        } else if self.markdown {
            say_as_it_is(&markdown(&all, &in_words));
        } else {
            all.iter().flat_map(Judged::lines).for_each(say);
            say(in_words);
        }
        Ok(ExitCode::from(u8::from(why.is_some())))
    }
}

/// What the current branch has and its upstream or the default branch lacks; all of it, if there is neither.
fn usual_range(git: &Git) -> Result<String, Failure> {
    let name = |args: &[&str]| git.line(args).ok().filter(|name| !name.is_empty());
    let upstream = name(&["rev-parse", "--abbrev-ref", "@{upstream}"]);
    let branch = name(&["symbolic-ref", "--short", "HEAD"]).unwrap_or_default();
    let remote = remote_of(git, &branch).unwrap_or_default().0;
    let default = match default_branch(git, &remote) {
        name if name.is_empty() || remote.is_empty() => None,
        name => Some(format!("{remote}/{name}")),
    };
    Ok(upstream.or(default).map_or_else(|| "HEAD".to_owned(), |base| format!("{base}..HEAD")))
}

/// The settings as they were before the first of the commits: what the commits changed in them does not count. Settings
/// that git does not track are the user's own.
fn settings(env: &Env, git: &Git, history: &History) -> Result<Config, Failure> {
    let project = here::project(env)?;
    let path = project.own_state().config();
    let top = git.line(&["rev-parse", "--show-prefix"])?;
    let name = format!("{top}.ralph/config.toml");
    let at = |commit: &str| git.line(&["show", &format!("{commit}:{name}")]).ok();
    let text = match history.base().and_then(at) {
        Some(text) => text,
        None if at("HEAD").is_some() => String::new(),
        None => return here::config(&project, env, &[]),
    };
    Config::from_parts(path.as_str(), &text, env, &[]).map_err(Failure::usage)
}

/// The result in one sentence, if nothing was refused.
fn sentence(all: &[Judged], range: &str) -> String {
    let of = |is: &dyn Fn(&Judged) -> bool| all.iter().filter(|judged| is(judged)).count();
    let ours = of(&|judged| judged.receipt.is_some());
    if ours == 0 {
        return format!("{range} has no commit with a receipt");
    }
    let confirmed = of(&|judged| judged.state == State::Confirmed);
    let others = match all.len() - ours {
        0 => String::new(),
        count => format!("; {} by others", counted(count, "commit", "commits")),
    };
    let receipts = counted(ours, "receipt", "receipts");
    match ours - confirmed {
        0 => format!("{receipts} confirmed{others}"),
        left if confirmed > 0 => format!("{receipts}, {left} of them claimed only{others}"),
        _ => format!("{receipts}, claimed; `--rerun` runs the checks again{others}"),
    }
}

fn markdown(all: &[Judged], in_words: &str) -> String {
    let row = |judged: &Judged| {
        let cells = judged.cells().map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        format!("| {} |\n", cells.join(" | "))
    };
    let rows: String = all.iter().map(row).collect();
    let names = "| commit | story | state | signature | checks | notes |";
    format!("{in_words}\n\n{names}\n| --- | --- | --- | --- | --- | --- |\n{rows}")
}
