//! Many machines: one story is one task of an engine that the user has, and git's push, which only moves a branch
//! from where it was seen, is all the coordination. Nothing here is part of a run on one machine.

mod jobs;
mod server;
mod task;

use ralph_base::env::Env;

use crate::exit::Failure;
pub(crate) use jobs::Fleet;
use server::Server;
pub(crate) use task::{IN_TASK, task};

/// For commands that look: works in a clone of the server with the journals of all tasks, if there is one.
pub(crate) fn enter(env: &Env, remote: Option<&str>) -> Result<Option<Server>, Failure> {
    let Some(remote) = remote else { return Ok(None) };
    let server = Server::open(env, remote)?;
    server.publish()?;
    server.fetch()?;
    server.check_out(&server.branch(&env.get("RALPH_BRANCH").unwrap_or_default())?)?;
    server.write_journal()?;
    Ok(Some(server))
}

/// After `retry`: the reopened plan and what the next attempt begins with go to the server.
pub(crate) fn publish_retry(server: &Server) -> Result<(), Failure> {
    let git = &server.git;
    let branch = git.line(&["symbolic-ref", "--short", "HEAD"])?;
    git.run(&["add", "--update"])?;
    let tree = git.line(&["write-tree"])?;
    if git.line(&["rev-parse", "HEAD^{tree}"])? != tree {
        let commit = server.commit(&tree, "HEAD", "chore: reopen stories")?;
        git.run(&["update-ref", "HEAD", &commit])?;
    }
    server.publish()?;
    if server.push(&branch)? {
        return Ok(());
    }
    Err(Failure::because(format!("{branch} has just moved on the server; run it again")))
}

/// Removes attempts and journals from a server.
pub(crate) fn clean(env: &Env, remote: &str) -> Result<(), Failure> {
    Ok(Server::open(env, remote)?.remove_kept()?)
}
