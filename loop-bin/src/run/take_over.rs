//! Merges what the hooks and commands of an attempt write to its state folder into the project's state.

use std::io;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{self, Record, RunDir, StateDir};
use ralph_project::strikes::append_failures;
use run_history::LOOP;
use work_copy::{beneath, remove_all};

/// Merges what is new since the last call.
pub(super) fn take_over(own: &StateDir, run: &RunDir, project: &StateDir) -> io::Result<()> {
    if !own.is_of_attempt() {
        return Ok(());
    }
    sweep(own)?;
    state::drain(&own.journal(), |lines| {
        // An attempt can write anything to its folder, even events that only the loop may record.
        let is_of_hooks = |line: &&[u8]| {
            let record = serde_json::from_slice::<Record>(line);
            record.is_ok_and(|record| record.source != LOOP && record.event.is_of_hooks())
        };
        let lines = lines.split_inclusive(|byte| *byte == b'\n').filter(is_of_hooks);
        let lines = lines.collect::<Vec<_>>().concat();
        if lines.is_empty() { Ok(()) } else { append(&project.journal(), &lines) }
    })?;
    state::drain(&own.sessions_log(), |lines| append(&project.sessions_log(), lines))?;
    state::drain(&own.failure_context(), |blocks| append_failures(project, blocks))?;
    state::drain(&own.lessons(), |lines| {
        // Another attempt may have added the same lesson.
        let known = state::read_if_there(run.lessons())?.unwrap_or_default();
        let is_known =
            |line: &[u8]| known.split_inclusive(|byte| *byte == b'\n').any(|it| it == line);
        let lines = lines.split_inclusive(|byte| *byte == b'\n');
        let new = lines.filter(|line| !is_known(line)).collect::<Vec<_>>().concat();
        if new.is_empty() { Ok(()) } else { append(&run.lessons(), &new) }
    })?;
    // The file stays, because the attempt itself reports it after its agent's end.
    if let Some(error) = state::read_if_there(own.hook_error())?
        && state::read_if_there(project.hook_error())?.as_ref() != Some(&error)
    {
        state::replace_unsynced(&project.hook_error(), &error)?;
    }
    let requests = own.merge_requests();
    let folder = requests.parent().unwrap_or(&requests).as_std_path();
    let any = Path::new(requests.file_name().unwrap_or_default()).join("any");
    let take = |path: &Path| {
        for entry in fs_err::read_dir(path.parent().unwrap_or(path))? {
            let entry = entry?;
            if let (true, Ok(name)) =
                (entry.file_type()?.is_file(), entry.file_name().into_string())
            {
                let request = state::read(entry.path())?;
                state::replace(&project.merge_requests().join(name), &request)?;
                state::remove_if_there(entry.path())?;
            }
        }
        Ok(())
    };
    if !requests.exists() {
        return Ok(());
    }
    beneath(folder, &any, false, take)
}

/// Removes what an attempt has put in the place of our files and folders.
pub(super) fn sweep(own: &StateDir) -> io::Result<()> {
    let (folders, files) = own.of_hooks();
    let found = |path: &Utf8PathBuf| path.symlink_metadata().ok();
    let folders = folders.into_iter().filter(|path| found(path).is_some_and(|it| !it.is_dir()));
    let files = files.into_iter().filter(|path| found(path).is_some_and(|it| !it.is_file()));
    let misplaced = folders.chain(files).filter(|_| own.is_of_attempt());
    misplaced.into_iter().try_for_each(|path| remove_all(path.as_std_path()))
}

fn append(to: &Utf8Path, lines: &[u8]) -> io::Result<()> {
    state::append_line(to, lines.strip_suffix(b"\n").unwrap_or(lines))
}

#[cfg(test)]
mod tests {
    use ralph_base::state::{Event, HookFailure, Journal};
    use ralph_project::strikes::{add_lesson, last_failure, record_failure};
    use test_support::Scratch;

    use super::*;

    #[test]
    fn everything_that_hooks_write_reaches_the_project_once() {
        let scratch = Scratch::new();
        let project = StateDir::of_project(scratch.root());
        let own = project.of_attempt(scratch.path("cache/state-1/.ralph"));
        let run = RunDir::in_git_folder(&scratch.path(".git"));
        let failure = HookFailure { error: "a bug".to_owned(), ..HookFailure::default() };
        for _ in 0..2 {
            let prompt = || Event::Prompt { prompt: "x".to_owned() };
            Journal::new(&own, "ralph-pre-prompt").append(&prompt()).unwrap();
            // Events reserved for the loop are dropped, as are those that claim to be from it.
            Journal::new(&own, "ralph-pre-tool").append(&Event::StoryDone).unwrap();
            Journal::new(&own, LOOP).append(&prompt()).unwrap();
            state::append_line(&own.journal(), b"rubbish").unwrap();
            add_lesson(&own, Some(&run), "keep it small").unwrap();
            record_failure(&own, Some("PRD-1/US-001"), "1 failed").unwrap();
            state::append_line(&own.sessions_log(), b"incomplete:US-001:1").unwrap();
            failure.save(&own, "ralph-pre-tool").unwrap();
            state::replace(&own.merge_requests().join("a.md"), b"please").unwrap();
            take_over(&own, &run, &project).unwrap();
            take_over(&own, &run, &project).unwrap();
        }
        assert_eq!(scratch.read(".ralph/events.jsonl").lines().count(), 2);
        assert_eq!(scratch.read(".ralph/sessions.log").lines().count(), 2);
        assert_eq!(scratch.read(".git/ralph/lessons-pending"), "- keep it small\n");
        assert_eq!(last_failure(&project, "PRD-1/US-001").unwrap(), "1 failed");
        assert!(scratch.read(".ralph/.hook-error.json").contains("a bug"));
        assert_eq!(scratch.read(".ralph/merge-requests/a.md"), "please");
        // A link is not followed.
        let (secret, requests) = (scratch.file("keys/key", "secret"), own.merge_requests());
        fs_err::remove_dir_all(&requests).unwrap();
        fs_err::os::unix::fs::symlink(secret.parent().unwrap(), &requests).unwrap();
        take_over(&own, &run, &project).unwrap();
        assert_eq!(scratch.read("keys/key"), "secret");
        assert!(!scratch.path(".ralph/merge-requests/key").exists());
    }
}
