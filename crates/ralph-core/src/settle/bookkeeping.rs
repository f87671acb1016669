//! What follows from a commit that is there: what journal and progress say of it. The procedure that
//! leads to the commit is elsewhere.

use std::io;
use std::path::PathBuf;

use jiff::Timestamp;

use super::attempt::{self, Attempt};
use super::marker::Marker;
use super::procedure::{Done, Place, Report, SettleError};
use crate::attempt::clear_failure;
use crate::fault;
use crate::plan::progress::{self, Entry};
use crate::secrets::mask;
use crate::state::{self, Cap, Event};

/// What follows from a commit that is there; done again after a crash, it does no harm.
pub(super) fn record_done(
    place: &Place<'_>,
    attempt: &Attempt,
    report: &Report,
    done: &Done,
) -> Result<(), SettleError> {
    if let Some(commit) = &done.commit {
        place.journal.append(&Event::Committed { commit: commit.clone() })?;
    }
    fault::point("settle.journaled");
    let entry = Entry {
        commit: short(done.commit.as_deref()),
        verify: done.checks.iter().map(|check| (check.name(), check.passed())).collect(),
        files_changed: done.files.iter().map(|file| file.display().to_string()).collect(),
        weakened: done.weakened.clone(),
        ..progress_entry(attempt, report, progress::Status::Success)
    };
    if !is_logged(attempt, &entry) {
        log_progress(attempt, &entry)?;
        if let Some(what) = &done.weakened {
            place.journal.append(&Event::TestsWeakened { what: what.clone() })?;
        }
        let named = |paths: &[PathBuf]| paths.iter().map(|p| p.display().to_string()).collect();
        if !done.kept_out.is_empty() {
            place.journal.append(&Event::FilesKeptOut { files: named(&done.kept_out) })?;
        }
        if let Some(kept) = &done.taken_out {
            let (kept_as, files) = (kept.name.clone(), named(&kept.files));
            place.journal.append(&Event::WorkNotReturned { kept_as, files })?;
        }
        if !done.hidden.is_empty() {
            place.journal.append(&Event::FilesHidden { files: named(&done.hidden) })?;
        }
        place.journal.append(&Event::StoryDone)?;
    }
    fault::point("settle.logged");
    clear_failure(place.state)?;
    attempt::end(place.state)?;
    Marker::clear(place.state)?;
    Ok(())
}

/// Whether a crash came after the success was logged; the commit tells it from an older one.
fn is_logged(attempt: &Attempt, entry: &Entry) -> bool {
    let Some(commit) = &entry.commit else { return false };
    let log = fs_err::read(&attempt.progress).unwrap_or_default();
    progress::logged(&log).last().is_some_and(|last| {
        last.story == attempt.story
            && last.status == Some(progress::Status::Success)
            && last.text.contains(commit.as_str())
    })
}

fn short(commit: Option<&str>) -> Option<String> {
    commit.map(|commit| commit.chars().take(8).collect())
}

/// What the progress says about an attempt, before anything is known but how it ended.
pub fn progress_entry(attempt: &Attempt, report: &Report, status: progress::Status) -> Entry {
    Entry {
        iteration: attempt.iteration,
        story: attempt.story.clone(),
        status,
        commit: None,
        time: Timestamp::now(),
        reason: None,
        duration: report.duration,
        tokens: report.tokens,
        cost_usd: report.cost_usd,
        verify: Vec::new(),
        files_changed: Vec::new(),
        weakened: None,
        summary: report.summary.clone(),
    }
}

/// Appends an entry to the progress, without the keys in its texts: the file is committed.
pub fn log_progress(attempt: &Attempt, entry: &Entry) -> io::Result<()> {
    let existing = match fs_err::read(&attempt.progress) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other?,
    };
    let entry = Entry {
        reason: entry.reason.as_deref().map(mask),
        summary: entry.summary.as_deref().map(mask),
        verify: entry.verify.iter().map(|(command, passed)| (mask(command), *passed)).collect(),
        ..entry.clone()
    };
    let never = Cap { above: u64::MAX, keep_lines: 0 };
    state::append_capped(&attempt.progress, &entry.appended_to(&existing), never)
}
