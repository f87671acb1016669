//! `ralph-loop verified`: records a session's verification progress in the file that the stop
//! gate reads, and refuses false claims.

use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use ralph_base::env::Env;
use ralph_base::state::{self, Id, LastVerdict, SessionDir};
use ralph_project::gate::{Said, new_loop, new_orchestrator, write_state};
use ralph_project::project::Project;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Subcommand, said, until_asked_to_end};
use crate::exit::Failure;
use crate::here;
use crate::in_progress::refuse_red_checks;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "verified",
    args: Verified::augment_args,
    run: |call| said(call.parsed::<Verified>()?.answer(call.env, &until_asked_to_end()?)),
};

/// Record this session's verification progress (for the agent)
///
/// Writes the `orchestrator.json` or `loop.json` that keeps the session from stopping. A claim that
/// the last test run or the verify commands contradict is refused.
#[derive(Debug, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Verified {
    /// Begin this kind of verification; the session cannot stop until it is done
    #[arg(long, value_name = "KIND")]
    begin: Option<Verification>,
    /// What the session is to do
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// Maximum number of iterations of a loop
    #[arg(long, value_name = "N")]
    max_iterations: Option<u64>,
    /// A condition of an orchestrated session that holds now; may be repeated
    #[arg(long = "condition", value_name = "NAME")]
    conditions: Vec<String>,
    /// Where the work stands
    #[arg(long, value_name = "TEXT")]
    phase: Option<String>,
    /// Number of iterations that the loop has done
    #[arg(long, value_name = "N")]
    iteration: Option<u64>,
    /// Everything is done and verified; the verify commands run first
    #[arg(long)]
    done: bool,
    /// The session; defaults to that of `CLAUDE_CODE_SESSION_ID`, which the client sets
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// The kind of verification that keeps a session from stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verification {
    /// Iterates until its result is verified
    Loop,
    /// Nine conditions, one after the other
    Orchestrator,
}

impl Verification {
    fn file(self, session: &SessionDir) -> Utf8PathBuf {
        match self {
            Self::Loop => session.loop_state(),
            Self::Orchestrator => session.orchestrator(),
        }
    }
}

impl Verified {
    /// Records what is true, and refuses the rest. `stop` cancels running checks.
    pub(crate) fn answer(&self, env: &Env, stop: &dyn Fn() -> bool) -> Result<String, Failure> {
        let is_of_begin = self.task.is_some() || self.max_iterations.is_some();
        if self.begin.is_some() != self.task.is_some() || self.begin.is_none() && is_of_begin {
            return Err(Failure::usage("`begin` (the kind) and `task` must be given together"));
        }
        let project = here::project(env)?;
        let config = here::config(&project, env, &[])?;
        let id = self.session(env)?;
        let states = [Some(project.own_state()), project.home_state()].into_iter().flatten();
        let sessions: Vec<SessionDir> = states.map(|state| state.session(&id)).collect();
        if let Some(kind) = self.begin {
            return self.begin(kind, &project, &id);
        }
        let kinds = [Verification::Orchestrator, Verification::Loop];
        let found: Vec<(Verification, Utf8PathBuf)> = kinds
            .into_iter()
            .flat_map(|kind| sessions.iter().map(move |session| (kind, kind.file(session))))
            .filter(|(_, file)| file.is_file())
            .collect();
        if found.is_empty() {
            return Err(Failure::because(format!(
                "session {id} has nothing to verify; begin with `ralph-loop verified --begin \
                 orchestrator --task TEXT` or `--begin loop`"
            )));
        }
        let last = sessions.iter().find_map(LastVerdict::load);
        // A session may have both: iterations belong to a loop, everything else to an orchestrator.
        let [orchestrator, round] = kinds;
        let wanted = if self.iteration.is_some() { round } else { orchestrator };
        let is_there = found.iter().any(|(kind, _)| *kind == wanted);
        let is_meant = |kind: Verification| self.done || kind == wanted || !is_there;
        let changed = found.iter().filter(|(kind, _)| is_meant(*kind));
        let changed = changed.map(|(kind, file)| Ok((file, self.recorded(*kind, file, &last)?)));
        let changed: Vec<(&Utf8PathBuf, Map<String, Value>)> =
            changed.collect::<Result<_, Failure>>()?;
        if self.done {
            refuse_red_checks(env, (&project, &config), stop, "not done")?;
        }
        let mut lines = Vec::new();
        for (file, state) in changed {
            write_state(file, &state)?;
            lines.push(format!("{}{file}", if self.done { "verified: " } else { "recorded in " }));
        }
        if self.done && config.verify.commands.is_empty() {
            lines.push(
                "not checked: no [verify] commands are set, so your claim was accepted".to_owned(),
            );
        }
        Ok(lines.join("\n"))
    }

    /// The session whose state it is. Agents report only for their own session; a user's terminal has none.
    fn session(&self, env: &Env) -> Result<Id, Failure> {
        let id = match (self.session.clone(), env.client_session()) {
            (Some(named), Some(own)) if named != own => {
                return Err(Failure::usage(format!(
                    "session {named} is not yours, so nothing was recorded; yours is {own}"
                )));
            }
            (named, own) => named.or(own).ok_or_else(|| {
                Failure::usage(
                    "no session is given; run this in one (the client sets CLAUDE_CODE_SESSION_ID), or \
                     name one with --session",
                )
            })?,
        };
        Id::parse(&id).map_err(Failure::usage)
    }

    fn recorded(
        &self,
        kind: Verification,
        file: &Utf8PathBuf,
        last: &Option<LastVerdict>,
    ) -> Result<Map<String, Value>, Failure> {
        let text = state::read_text(file)?;
        let state: Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
            Failure::because(format!(
                "{file} is damaged and ignored ({error}); delete it to start over"
            ))
        })?;
        let said = Said {
            conditions: self.conditions.clone(),
            phase: self.phase.clone(),
            iteration: self.iteration,
            done: self.done,
        };
        let recorded = match kind {
            Verification::Loop => said.of_loop(state, last.as_ref()),
            Verification::Orchestrator => said.of_orchestrator(state, last.as_ref()),
        };
        recorded.map_err(|why| Failure::because(format!("{why} ({file})")))
    }

    fn begin(&self, kind: Verification, project: &Project, id: &Id) -> Result<String, Failure> {
        let state = project.state().unwrap_or_else(|| project.own_state());
        let file = kind.file(&state.session(id));
        if file.is_file() && is_unfinished(&file) {
            return Err(Failure::because(format!(
                "this session has already begun in {file}; continue, or delete it to start over"
            )));
        }
        state.prepare()?;
        let task = self.task.as_deref().unwrap_or_default();
        let begun = match kind {
            Verification::Loop => new_loop(task, self.max_iterations),
            Verification::Orchestrator => new_orchestrator(task),
        };
        write_state(&file, &begun)?;
        Ok(format!(
            "begun in {file}; the session cannot stop until `ralph-loop verified --done` succeeds"
        ))
    }
}

/// Whether this file holds a session: damaged and verified files do not.
fn is_unfinished(file: &Utf8PathBuf) -> bool {
    let state: Option<Value> =
        state::read_text(file).ok().and_then(|t| serde_json::from_str(&t).ok());
    state.is_some_and(|state| state.get("verified_done") != Some(&Value::Bool(true)))
}
