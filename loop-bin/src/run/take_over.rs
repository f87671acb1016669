//! Merges what the hooks and commands of an attempt write to its state folder into the project's state.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::secrets::mask;
use ralph_base::state::{self, Journal, OnTheWay, Record, RunDir, StateDir, beneath};
use ralph_project::strikes::append_failures;
use run_history::LOOP;
use work_copy::{make_readable, remove_all};

/// Merges what is new since the last call. An attempt can write anything to its folder: its events are
/// marked with the run, story and time of `journal`, and those that only the loop may record are dropped.
pub(super) fn take_over(
    own: &StateDir,
    run: &RunDir,
    (project, journal): (&StateDir, &Journal),
) -> io::Result<()> {
    if !own.is_of_attempt() || !own.own().is_dir() {
        return Ok(());
    }
    sweep(own)?;
    state::drain(&own.journal(), |lines| {
        for line in lines.split(|byte| *byte == b'\n') {
            let Ok(theirs) = serde_json::from_slice::<Record>(line) else { continue };
            if theirs.source != LOOP && theirs.event.is_of_hooks() {
                let Record { source, session, .. } = theirs;
                journal.write(&Record { source, session, ..journal.record(&theirs.event) })?;
            }
        }
        Ok(())
    })?;
    state::drain(&own.sessions_log(), |lines| append(&project.sessions_log(), lines))?;
    state::drain(&own.failure_context(), |blocks| {
        append_failures(project, masked(blocks).as_bytes())
    })?;
    state::drain(&own.lessons(), |lines| {
        // Another attempt may have added the same lesson.
        let known = state::read_if_there(run.lessons())?.unwrap_or_default();
        let is_known =
            |line: &[u8]| known.split_inclusive(|byte| *byte == b'\n').any(|it| it == line);
        let lines = masked(lines);
        let lines = lines.as_bytes().split_inclusive(|byte| *byte == b'\n');
        let new = lines.filter(|line| !is_known(line)).collect::<Vec<_>>().concat();
        if new.is_empty() { Ok(()) } else { append(&run.lessons(), &new) }
    })?;
    // The file stays, because the attempt itself reports it after its agent's end.
    if let Some(error) = state::read_if_there(own.hook_error())? {
        let error = masked(&error).into_bytes();
        if state::read_if_there(project.hook_error())?.as_ref() != Some(&error) {
            state::replace_unsynced(&project.hook_error(), &error)?;
        }
    }
    for name in state::names(own.merge_requests()) {
        let Some(name) = name.to_str() else { continue };
        let left = own.merge_requests().join(name);
        // Whatever is not a regular file stays where it is.
        if let Ok(request) = state::read(&left) {
            state::replace(&project.merge_requests().join(name), masked(&request).as_bytes())?;
            state::remove_if_there(&left)?;
        }
    }
    Ok(())
}

/// Removes files of an attempt from its state folder, whatever it has made of them.
pub(super) fn clear_own(files: &[Utf8PathBuf]) -> io::Result<()> {
    files.iter().try_for_each(state::remove_if_there).or_else(|_| {
        let folders = files.iter().filter_map(|file| file.parent());
        folders.for_each(|folder| _ = make_readable(folder.as_std_path()));
        files.iter().try_for_each(|file| remove_all(file.as_std_path()))
    })
}

/// Removes what an attempt has put in the place of our files and folders.
pub(super) fn sweep(own: &StateDir) -> io::Result<()> {
    if !own.is_of_attempt() {
        return Ok(());
    }
    let (folders, files) = own.of_hooks();
    let folders = folders.iter().map(|path| (path, true));
    for (path, is_folder) in folders.chain(files.iter().map(|path| (path, false))) {
        let Ok(below) = path.strip_prefix(own.own()) else { continue };
        let removed =
            beneath(own.own().as_std_path(), below.as_std_path(), OnTheWay::Replace, |at| {
                let found = at.symlink_metadata();
                let is_ours = |found: std::fs::Metadata| {
                    if is_folder { found.is_dir() } else { found.is_file() }
                };
                if found.map_or(true, is_ours) { Ok(()) } else { remove_all(at) }
            });
        removed?;
    }
    Ok(())
}

fn masked(text: &[u8]) -> String {
    mask(&String::from_utf8_lossy(text))
}

fn append(to: &Utf8Path, lines: &[u8]) -> io::Result<()> {
    let lines = masked(lines);
    state::append_line(to, lines.strip_suffix('\n').unwrap_or(&lines).as_bytes())
}

#[cfg(test)]
mod tests {
    use ralph_base::state::{Event, HookFailure, Marks};
    use ralph_project::strikes::{add_lesson, last_failure, record_failure};
    use test_support::Scratch;

    use super::*;

    #[test]
    fn everything_that_hooks_write_reaches_the_project_once() {
        let scratch = Scratch::new();
        let project = StateDir::of_project(scratch.root());
        let own = project.of_attempt(scratch.path("cache/state-1/.ralph"));
        let run = RunDir::in_git_folder(&scratch.path(".git"));
        let marks = Marks { story: Some("US-001".to_owned()), ..Marks::default() };
        let journal = Journal::new(&project, LOOP).marked(marks);
        let failure = HookFailure { error: "a bug".to_owned(), ..HookFailure::default() };
        for _ in 0..2 {
            let prompt = || Event::Prompt { prompt: "x".to_owned() };
            Journal::new(&own, "ralph-pre-prompt").append(&prompt()).unwrap();
            // Events reserved for the loop are dropped, as are those that claim to be from it.
            Journal::new(&own, "ralph-pre-tool").append(&Event::StoryDone { scale: None }).unwrap();
            Journal::new(&own, LOOP).append(&prompt()).unwrap();
            state::append_line(&own.journal(), b"rubbish").unwrap();
            add_lesson(&own, Some(&run), "keep it small").unwrap();
            record_failure(&own, Some("PRD-1/US-001"), "1 failed").unwrap();
            state::append_line(&own.sessions_log(), b"incomplete:US-001:1").unwrap();
            failure.save(&own, "ralph-pre-tool").unwrap();
            state::replace(&own.merge_requests().join("a.md"), b"please").unwrap();
            take_over(&own, &run, (&project, &journal)).unwrap();
            take_over(&own, &run, (&project, &journal)).unwrap();
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
        take_over(&own, &run, (&project, &journal)).unwrap();
        assert_eq!(scratch.read("keys/key"), "secret");
        assert!(!scratch.path(".ralph/merge-requests/key").exists());
    }

    #[test]
    fn an_attempt_decides_neither_story_nor_time_of_its_lines_and_shows_no_secret() {
        let scratch = Scratch::new();
        let project = StateDir::of_project(scratch.root());
        let own = project.of_attempt(scratch.path("cache/state-1/.ralph"));
        let run = RunDir::in_git_folder(&scratch.path(".git"));
        let of_loop = Marks {
            run: Some("20261116-101500-7".to_owned()),
            plan_name: Some("PRD-1".to_owned()),
            story: Some("US-001".to_owned()),
            session: None,
        };
        let journal = Journal::new(&project, LOOP).marked(of_loop);
        let forged = "{\"v\":1,\"at\":\"2001-01-01T00:00:00Z\",\"source\":\"ralph-post-tool\",\"run\":\"other\",\
                      \"worker\":\"7\",\"plan_name\":\"PRD-2\",\"story\":\"US-002\",\"event\":\"rolled_back\",\
                      \"to\":\"a\",\"saved_as\":\"b\",\"why\":\"PASSWORD=hunter2hunter2\"}";
        state::append_line(&own.journal(), forged.as_bytes()).unwrap();
        state::replace(&own.merge_requests().join("a.md"), b"PASSWORD=hunter2hunter2").unwrap();
        take_over(&own, &run, (&project, &journal)).unwrap();
        let kept = Journal::new(&project, LOOP).tail(9).unwrap();
        let [line] = &*kept else { panic!("{kept:?}") };
        let marks = [&line.run, &line.worker, &line.plan_name, &line.story].map(Option::as_deref);
        assert_eq!(marks, [Some("20261116-101500-7"), None, Some("PRD-1"), Some("US-001")]);
        assert!(line.at.as_str() > "2026" && line.source == "ralph-post-tool", "{line:?}");
        let written =
            scratch.read(".ralph/events.jsonl") + &scratch.read(".ralph/merge-requests/a.md");
        assert!(!written.contains("hunter2") && written.contains("[masked]"), "{written}");
    }
}
