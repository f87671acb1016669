//! A machine of a fleet, as the server has it: a commit that says where its run stands, with what it has
//! not committed of the progress; and its journal in another one, which only a report fetches.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use camino::Utf8Path;
use ralph_core::git::GitError;
use serde::{Deserialize, Serialize};

use super::server::{Server, Update};
use crate::git_output::text_at;
use crate::run::RunRecord;

/// The version of the text's format. One that is newer is not counted, and is left alone.
pub(super) const VERSION: u32 = 1;

/// The kinds of refs.
pub(super) const MACHINES: &str = "machines";
pub(super) const CLAIMS: &str = "claims";
pub(super) const JOURNALS: &str = "journals";

/// The files in a machine's commits.
pub(super) const JOURNAL: &str = "journal.jsonl";
pub(super) const PENDING: &str = "pending.md";

/// A machine of a fleet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Machine {
    pub(crate) version: u32,
    pub(crate) name: String,
    /// Counts on with every heartbeat.
    pub(crate) beat: u64,
    /// When it beat, as RFC 3339 in UTC by that machine's clock: for people only.
    pub(crate) at: String,
    /// For how long the heart may not beat before others take the machine for gone.
    pub(crate) lease_s: u64,
    /// Whether another machine took it for gone.
    pub(crate) gone: bool,
    pub(crate) record: RunRecord,
    /// The commit that says so.
    #[serde(skip)]
    pub(crate) commit: String,
}

impl Machine {
    /// Whether it has neither ended nor gone, as far as the server knows.
    pub(crate) fn is_at_work(&self) -> bool {
        !self.gone && self.record.finish.is_none()
    }

    pub(crate) fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_s.max(1))
    }

    /// Its journal since it joined, as it was when its last story began or its run ended.
    pub(crate) fn journal(&self, server: &Server) -> Vec<u8> {
        let own = server.mirror_of(JOURNALS, &self.name);
        text_at(server.git(), &own, JOURNAL.as_ref()).unwrap_or_default()
    }

    /// What it wrote into the progress and did not commit.
    pub(crate) fn pending(&self, server: &Server) -> Vec<u8> {
        text_at(server.git(), &self.commit, PENDING.as_ref()).unwrap_or_default()
    }

    /// Says on the server that it is gone, unless its heart has beaten meanwhile.
    pub(super) fn gone(&self, server: &Server) -> Result<Update, GitError> {
        let gone = Self { gone: true, ..self.clone() };
        let new = Some(server.commit(&gone.text(), &[(PENDING, self.pending(server))])?);
        let name = server.name(MACHINES, &self.name);
        Ok(Update { name, old: Some(self.commit.clone()), new })
    }

    /// As it stands in its commit.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// All machines, as they were last seen.
pub(crate) fn machines(server: &Server) -> Result<Vec<Machine>, GitError> {
    let read = |(_, commit, text): (String, String, String)| {
        let machine: Machine = serde_json::from_str(&text).ok()?;
        (machine.version == VERSION).then_some(Machine { commit, ..machine })
    };
    Ok(server.mirrored(MACHINES)?.into_iter().filter_map(read).collect())
}

/// A machine's word that it works on a story.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Claim {
    pub(super) machine: String,
    pub(super) story: String,
    #[serde(skip)]
    pub(super) commit: String,
    /// The last part of its ref's name.
    #[serde(skip)]
    pub(super) name: String,
}

/// All claims, as they were last seen.
pub(super) fn claims(server: &Server) -> Result<Vec<Claim>, GitError> {
    let read = |(name, commit, text): (String, String, String)| {
        let claim: Claim = serde_json::from_str(&text).ok()?;
        Some(Claim { commit, name, ..claim })
    };
    Ok(server.mirrored(CLAIMS)?.into_iter().filter_map(read).collect())
}

/// A name that no other machine has: that of the computer and of the run with which it joined, and
/// something random, because containers are alike.
pub(super) fn new_name(run: &str) -> String {
    let host = nix::unistd::gethostname().unwrap_or_default();
    let host = host.to_string_lossy();
    let host = if host.is_empty() { "machine" } else { &host };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let host: String = host.chars().take(40).map(plain).collect();
    let random = RandomState::new().hash_one(run) & 0xff_ffff;
    format!("{}-{run}-{random:06x}", host.trim_matches('-'))
}

/// The lines of a journal since a moment.
pub(super) fn lines_since(journal: &Utf8Path, since: &str) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(borrow)]
        at: std::borrow::Cow<'a, str>,
    }
    let text = fs_err::read(journal).unwrap_or_default();
    let is_new = |line: &&[u8]| {
        serde_json::from_slice::<Line<'_>>(line).is_ok_and(|line| line.at.as_ref() >= since)
    };
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(is_new);
    lines.flatten().copied().collect()
}
