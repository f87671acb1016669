//! Many machines: one story is one task of an engine that the user has, and git's push, which only moves a branch
//! from where it was seen, is all the coordination. Nothing here is part of a run on one machine.

mod jobs;
mod server;
mod task;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ralph_base::env::Env;

use crate::exit::Failure;
use crate::terminal::{counted, say};
use jobs::Job;
use server::Server;
pub(crate) use task::task;

/// Print a job that works on every open story, for an engine that you have; or clean up a server
#[derive(Debug, Args)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// A Slurm job array for `sbatch`, with the dependencies of the stories
    Slurm(Job),
    /// Kubernetes Jobs, one for each story
    Kubernetes(Job),
    /// A GitHub Actions workflow, with the dependencies of the stories
    GithubActions(Job),
    /// A GitLab CI pipeline, with the dependencies of the stories
    GitlabCi(Job),
    /// A GNU parallel command line
    Parallel(Job),
    /// Remove kept attempts and journals from a server; branches stay
    Clean {
        /// The server
        remote: String,
    },
}

impl Fleet {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let (job, engine) = match &self.act {
            Act::Slurm(job) => (job, "slurm"),
            Act::Kubernetes(job) => (job, "kubernetes"),
            Act::GithubActions(job) => (job, "github-actions"),
            Act::GitlabCi(job) => (job, "gitlab-ci"),
            Act::Parallel(job) => (job, "parallel"),
            Act::Clean { remote } => {
                let server = Server::open(env, remote)?;
                let removed =
                    counted(server.remove_kept()?, "attempt or journal", "attempts and journals");
                say(format!("removed {removed} from {remote}"));
                return Ok(ExitCode::SUCCESS);
            }
        };
        job.print(env, engine)
    }
}

/// For commands that look: works in a clone of the server with the journals of all tasks, if there is one.
pub(crate) fn enter(env: &Env, remote: Option<&str>) -> Result<Option<Server>, Failure> {
    let Some(remote) = remote else { return Ok(None) };
    let server = Server::open(env, remote)?;
    server.fetch()?;
    let branch = server.default_branch()?;
    server.check_out(&branch)?;
    server.enter()?;
    Ok(Some(server))
}

/// After `retry`: the reopened plan and what the next attempt begins with go to the server.
pub(crate) fn publish_retry(server: &Server) -> Result<(), Failure> {
    let git = &server.git;
    git.run(&["add", "--update"])?;
    let (head, tree) = (git.line(&["rev-parse", "HEAD"])?, git.line(&["write-tree"])?);
    if git.line(&["rev-parse", "HEAD^{tree}"])? != tree {
        let commit = board::commit_tree(git, &tree, &[&head], "chore: reopen stories")?;
        git.run(&["update-ref", "HEAD", &commit])?;
    }
    server.publish()?;
    let branch = server.default_branch()?;
    if server.push(&branch)? {
        return Ok(());
    }
    Err(Failure::because(format!("{branch} has just moved on the server; run it again")))
}
