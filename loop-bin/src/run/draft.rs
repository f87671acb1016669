//! The plan as it was before planning began: in memory, and on disk for the next start if this one
//! does not get to its end. Also how a draft of the agent's is taken back, and kept.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::git::{self, Position, Repo, Status};
use ralph_core::plan::{self, Plan};
use ralph_core::settle;
use ralph_core::state::{self, StateDir};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// The version of the file's format.
const VERSION: u32 = 1;

/// Where planning began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Draft {
    version: u32,
    /// The loop's run.
    run: String,
    /// The plan's file.
    plan: Utf8PathBuf,
    /// Whether it was there.
    was_there: bool,
    /// Whether it is a link of the user's.
    is_link: bool,
    /// What was checked out.
    head: Option<String>,
    branch: Option<String>,
    /// When it began, as RFC 3339 in UTC.
    pub(super) began: String,
    /// The plan as it was, and its length, because half of a plan must not take its place.
    length: usize,
    #[serde(skip)]
    before: Vec<u8>,
}

/// Where the agent's draft of the plan is, now that it is not the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeptDraft {
    /// As `ralph-loop undo` knows it.
    Under(String),
    /// Outside of the repository, whose commits cannot hold it.
    In(Utf8PathBuf),
}

impl Draft {
    /// Reads the plan as it is.
    pub(super) fn begin(run: &str, plan: &Utf8Path, status: &Status) -> io::Result<Self> {
        let before = plan::read_file(plan)?;
        Ok(Self {
            version: VERSION,
            run: run.to_owned(),
            plan: plan.to_owned(),
            was_there: before.is_some(),
            is_link: plan.is_symlink(),
            head: status.head.clone(),
            branch: status.branch.clone(),
            began: state::now(),
            length: before.as_ref().map_or(0, Vec::len),
            before: before.unwrap_or_default(),
        })
    }

    /// The planning under way; none if there is none.
    pub(crate) fn load(state: &StateDir) -> io::Result<Option<Self>> {
        let path = state.planning();
        let text = match fs_err::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // A power cut just after it was written may leave it empty; then no agent had begun.
        let Some(end) = text.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let (header, rest) = text.split_at(end);
        let advice = "remove it if the plan is as you want it";
        let mut draft: Self = serde_json::from_slice(header)
            .map_err(|error| io::Error::other(format!("{path}: {error}; {advice}")))?;
        if draft.version > VERSION {
            let what = "was written by a newer version";
            return Err(io::Error::other(format!("{path} {what}; {advice}")));
        }
        draft.before = rest.get(1..).unwrap_or_default().to_vec();
        if draft.before.len() != draft.length {
            return Err(io::Error::other(format!("{path} is damaged; {advice}")));
        }
        Ok(Some(draft))
    }

    /// Writes it down. It is on the disk long before the agent has done anything.
    pub(super) fn save(&self, state: &StateDir) -> io::Result<()> {
        let mut content = serde_json::to_vec(self)?;
        content.push(b'\n');
        content.extend_from_slice(&self.before);
        state::replace_soon(&state.planning(), &content)
    }

    /// Nothing is planned any more.
    pub(super) fn forget(state: &StateDir) -> io::Result<()> {
        state::remove_if_there(state.planning())
    }

    /// The plan as it was, if there was one.
    pub(super) fn before(&self) -> Option<&[u8]> {
        self.was_there.then_some(&self.before)
    }

    /// What was checked out.
    pub(super) fn position(&self) -> Position {
        Position { branch: self.branch.clone(), commit: self.head.clone() }
    }

    /// The plan's file.
    pub(super) fn plan(&self) -> &Utf8Path {
        &self.plan
    }

    /// The commit that was checked out.
    pub(super) fn head(&self) -> Option<&String> {
        self.head.as_ref()
    }

    /// Whether somebody moved HEAD since the run was last alive. What its agent did is not that.
    pub(crate) fn is_moved_since(&self, repo: &Repo) -> Result<bool, Failure> {
        let now = Position::read(repo)?;
        let seen = git::last_sighting(repo, &self.run);
        Ok(now != self.position() && seen != Some(now))
    }

    /// Makes the plan what it was. What is there instead is kept first, and named.
    pub(super) fn take_back(
        &self,
        repo: &Repo,
        state: &StateDir,
        why: &str,
    ) -> Result<Option<KeptDraft>, Failure> {
        let obstacle = state::in_the_way(&self.plan, self.is_link);
        // One that is too large to be read is no plan either.
        let obstacle = obstacle.or(plan::read_file(&self.plan).err().map(|_| self.plan.clone()));
        let mut kept = match obstacle {
            Some(obstacle) => Some(KeptDraft::In(state::keep_as_found(&obstacle, &state.logs())?)),
            None => None,
        };
        let now = plan::read_file(&self.plan)?;
        if now.as_deref() == self.before() {
            return Ok(kept);
        }
        if let Some(now) = now {
            let now = self.without_ticks(now)?;
            if self.before() == Some(&now) {
                return Ok(kept);
            }
            kept = Some(self.keep(repo, state, &now, why)?);
        }
        match self.before() {
            Some(before) => state::replace_users(&self.plan, before)?,
            None => fs_err::remove_file(&self.plan)?,
        }
        Ok(kept)
    }

    /// Nobody checked what the agent ticked, and a draft may be brought back.
    fn without_ticks(&self, found: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let parse =
            |bytes: &[u8]| Plan::parse(&self.plan, bytes.to_vec(), &plan::Options::default()).ok();
        let Some(after) = parse(&found) else { return Ok(found) };
        let planned = plan::planned(self.before().and_then(parse).as_ref(), &after);
        if planned.bytes != found {
            state::replace_users(&self.plan, &planned.bytes)?;
        }
        Ok(planned.bytes)
    }

    fn keep(
        &self,
        repo: &Repo,
        state: &StateDir,
        now: &[u8],
        why: &str,
    ) -> Result<KeptDraft, Failure> {
        if let Some(saved) = git::keep_draft(repo, &self.plan, why)? {
            return Ok(KeptDraft::Under(saved.id().to_owned()));
        }
        Ok(KeptDraft::In(state::keep_content_as_found(&self.plan, now, &state.logs())?))
    }

    /// A copy of the plan as it was, where nothing is committed.
    pub(super) fn copy_before(&self, state: &StateDir) -> io::Result<Option<Utf8PathBuf>> {
        let Some(before) = self.before() else { return Ok(None) };
        state::keep_content_as_found(&self.plan, before, &state.logs()).map(Some)
    }

    /// Makes the plan what it was if it is not one that can be read, so that a start gets to where
    /// the rest is taken back. A plan that somebody committed or checked out is theirs.
    pub(super) fn make_readable(
        &self,
        repo: &Repo,
        state: &StateDir,
    ) -> Result<Option<KeptDraft>, Failure> {
        if plan::load(&self.plan, &plan::Options::default()).is_ok()
            || settle::is_plan_committed(repo, &self.plan)?
            || self.is_moved_since(repo)?
        {
            return Ok(None);
        }
        self.take_back(repo, state, "left by planning that was ended")
    }
}

impl std::fmt::Display for KeptDraft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Under(id) => {
                write!(f, "the agent's draft is kept: `ralph-loop undo {id}` brings it back")
            }
            Self::In(path) => write!(f, "the agent's draft is kept as {path}"),
        }
    }
}
