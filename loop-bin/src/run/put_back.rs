//! Uncommitted work that a run kept aside and never put back, brought back without another run.

use ralph_core::env::Env;

use super::prepare::{enter, ground};
use super::{Record, Request, refuge};
use crate::exit::Failure;

/// Why it stays aside.
#[derive(Debug, thiserror::Error)]
#[error("some of it could not be put back; it is kept as {name}")]
struct StaysAside {
    name: String,
}

/// Does what the next run would do at its start and its end, and starts no agent: an attempt that
/// was interrupted is taken back first.
pub(crate) fn put_back_aside(env: &Env) -> Result<(), Failure> {
    let request = Request { flags: Vec::new() };
    refuge::bring_back(env, &request)?;
    let mut stage = enter(env, ground(env, &request)?)?;
    let done = stage.bring_back();
    if let Some(record) = Record::load(stage.state())? {
        Record { aside: stage.aside.clone(), ..record }.save(stage.state())?;
    }
    match (done, stage.aside) {
        (Err(failure), _) => Err(failure),
        (Ok(()), Some(name)) => Err(StaysAside { name }.into()),
        (Ok(()), None) => Ok(()),
    }
}
