//! Fleets: one story is one task of the user's own engine, and a git push, which only moves a branch that has not
//! changed since it was fetched, is all the coordination. A run on one machine uses nothing of this.
//!
//! | file | purpose |
//! | --- | --- |
//! | `mod.rs` | for commands that read from a server |
//! | `task.rs` | a task: waits, runs the loop, pushes |
//! | `server.rs` | a clone of the server, attempts and journals |

pub(crate) mod server;
mod task;

use ralph_base::env::Env;

use crate::exit::Failure;
use crate::terminal::say;
pub(crate) use server::{Server, has_moved};
pub(crate) use task::{BLOCKED, task};

/// Enters a clone of the server, if one is named, with the journals of all tasks.
pub(crate) fn enter(env: &Env, remote: Option<&str>) -> Result<(Env, Option<Server>), Failure> {
    let Some(remote) = remote else { return Ok((env.clone(), None)) };
    let server = Server::open(env, remote, "look")?;
    server.fetch()?;
    server.check_out(&server.branch(&env.get("RALPH_BRANCH").unwrap_or_default()))?;
    server.write_journal()?;
    Ok((server.env.clone(), Some(server)))
}

/// Adds a reminder that the printed commands need `--fleet`.
pub(crate) fn say_remote(remote: Option<&str>) {
    if let Some(remote) = remote {
        say(format!("\nAdd `--fleet {remote}` to these commands."));
    }
}

/// An id as part of a name that every engine accepts.
pub(crate) fn named(id: &str) -> String {
    let name = id.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    format!("ralph-{}", name.trim_matches('-'))
}
