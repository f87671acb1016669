//! What tells the other machines that this one is at work: its commit on the server, written anew at
//! every beat, in a thread of its own, whatever the loop is busy with.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use camino::Utf8PathBuf;
use ralph_base::state::{self, RunDir};
use ralph_core::git::GitError;

use super::machine::{JOURNAL, JOURNALS, MACHINES, Machine, PENDING, VERSION, lines_since};
use super::rules::BEATS;
use super::server::{Pushed, Server, Update};
use crate::agent::hold_children;
use crate::landing::resolve;
use crate::run::RunRecord;

/// What a heart beats for.
#[derive(Debug)]
pub(super) struct Heart {
    pub(super) server: Server,
    pub(super) name: String,
    pub(super) lease: Duration,
    /// Where the run writes down how it stands, and what it says until it has.
    pub(super) run_dir: RunDir,
    pub(super) journal: Utf8PathBuf,
    pub(super) first: RunRecord,
    pub(super) beat: u64,
    /// What the server has of us, and of our journal.
    pub(super) last: Option<String>,
    pub(super) last_journal: Option<String>,
}

impl Heart {
    /// The next beat, as a change on the server.
    pub(super) fn next(&mut self) -> Result<Update, GitError> {
        self.beat += 1;
        let pending = fs_err::read(self.run_dir.progress_pending()).unwrap_or_default();
        let machine = Machine {
            version: VERSION,
            name: self.name.clone(),
            beat: self.beat,
            at: state::now(),
            lease_s: self.lease.as_secs(),
            record: self.record(),
            ..Machine::default()
        };
        let new = self.server.commit(&machine.text(), &[(PENDING, pending)])?;
        let name = self.server.name(MACHINES, &self.name);
        Ok(Update { name, old: self.last.clone(), new: Some(new) })
    }

    fn record(&self) -> RunRecord {
        let on_disk = RunRecord::load(&self.run_dir).ok().flatten();
        let record = on_disk.filter(|record| record.run == self.first.run);
        let record = record.unwrap_or_else(|| self.first.clone());
        RunRecord { counters: record.counters.for_others(), ..record }
    }

    /// The journal since this machine joined, as a change on the server.
    pub(super) fn journal(&self) -> Result<Update, GitError> {
        let lines = lines_since(&self.journal, &self.record().started_at);
        let (old, files) = (self.last_journal.clone(), [(JOURNAL, lines)]);
        // What the server has may be that of a machine with our name, and not be here.
        let is_here = |commit: &&str| matches!(resolve(self.server.git(), commit), Ok(Some(_)));
        let last = old.as_deref().filter(is_here);
        let new = Some(self.server.commit_after(last, &self.name, &files)?);
        Ok(Update { name: self.server.name(JOURNALS, &self.name), old, new })
    }

    /// What became of a beat. Where another machine took us for gone, the next one goes over that.
    pub(super) fn pushed(&mut self, update: Update, became: &Pushed) {
        match became {
            Pushed::Done => self.last = update.new,
            Pushed::Lost(now) => self.last.clone_from(now),
            Pushed::Refused(why) => log::warn!("heartbeat: {why}"),
        }
    }

    fn beat(&mut self) {
        let _held = hold_children();
        let Ok(update) = self.next() else { return };
        // One that does not get through is followed by another.
        if let Ok(became) = self.server.hurried().push(std::slice::from_ref(&update)) {
            became.iter().for_each(|became| self.pushed(update.clone(), became));
        }
    }
}

/// Ours, whoever panicked while it was theirs.
pub(super) fn lock(heart: &Mutex<Heart>) -> MutexGuard<'_, Heart> {
    heart.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Beats until nobody is there who could say `end`.
pub(super) fn keep_beating(heart: Arc<Mutex<Heart>>, end: Receiver<()>) {
    let pause = lock(&heart).lease / BEATS;
    std::thread::spawn(move || {
        while end.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            lock(&heart).beat();
        }
    });
}
