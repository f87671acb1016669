//! The checkpoint to which an attempt would be rolled back, and whether it applies to a session.

use std::io;
use std::time::{Duration, SystemTime};

use camino::Utf8Path;
use ralph_base::state::{self, SessionDir, StateDir};
use ralph_core::git::{Checkpoint, GitError, Repo, SnapshotError};

/// The maximum age: a loop writes a checkpoint for each attempt, so an older one belongs to none.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Loads the checkpoint, if there is one. A pipe in its place is an error.
pub fn checkpoint(state: &StateDir) -> Result<Option<Checkpoint>, SnapshotError> {
    match state::open_regular(state.checkpoint()) {
        Ok(_) => Checkpoint::load(state),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether a file that a loop writes for each attempt is too old to belong to one. A time
/// in the future only means that the clock was set back.
fn is_old(path: &Utf8Path) -> bool {
    let written = fs_err::metadata(path).and_then(|found| found.modified());
    written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age > LONGEST_LIFE))
}

/// The facts about a session that decide whether a checkpoint applies to it.
#[derive(Debug, Clone, Default)]
pub struct Bound {
    /// When it began, if that is known.
    pub began: Option<SystemTime>,
    /// The commits that it made itself.
    pub commits: Vec<String>,
}

impl Bound {
    /// Reads them from the transcript, created with the session, and from the session's folder.
    pub fn of(transcript: Option<&Utf8Path>, session: Option<&SessionDir>) -> Self {
        let created = |path: &Utf8Path| fs_err::metadata(path).and_then(|file| file.created()).ok();
        let began = transcript.and_then(created).or_else(|| created(session?.root()));
        let commits = session.and_then(|session| state::read_text(session.commits()).ok());
        let commits = commits.unwrap_or_default().lines().map(str::to_owned).collect();
        Self { began, commits }
    }

    /// Returns why a checkpoint does not apply to the session, if so: a rollback to it would lose
    /// what a person did since.
    pub fn stale(
        &self,
        state: &StateDir,
        checkpoint: &Checkpoint,
        repo: &Repo,
    ) -> Result<Option<&'static str>, GitError> {
        let written = fs_err::metadata(state.checkpoint()).and_then(|found| found.modified()).ok();
        if written > self.began && self.began.is_some() {
            return Ok(Some("it was written after this session began"));
        }
        if is_old(&state.checkpoint()) {
            return Ok(Some("it is more than a day old"));
        }
        let between = match (&checkpoint.commit, repo.head()?) {
            (Some(from), Some(_)) => {
                repo.git().line(&["rev-list", "--left-right", &format!("{from}...HEAD")])?
            }
            (None, Some(head)) => format!(">{head}"),
            _ => String::new(),
        };
        let is_own = |line: &str| {
            let id = line.strip_prefix('>');
            id.is_some_and(|id| self.commits.iter().any(|own| own == id))
        };
        let is_moved = !between.lines().all(is_own);
        Ok(is_moved.then_some("there are newer commits that this session did not make"))
    }
}

/// Records the commits that a command of the session made after `since`, in seconds since 1970.
pub fn note_commits(repo: &Repo, session: &SessionDir, since: u64) -> Result<(), SnapshotError> {
    let since = format!("--since={since}");
    let made = repo.git().line(&["rev-list", "--max-count=100", &since, "HEAD"])?;
    made.lines().try_for_each(|id| state::append_line(&session.commits(), id.as_bytes()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use test_support::{Scratch, TestRepo};

    use super::*;

    #[test]
    fn a_checkpoint_becomes_stale_by_age_and_by_foreign_commits() {
        let test = TestRepo::new();
        let (repo, state) = (Repo::open(test.root()).unwrap(), StateDir::of_project(test.root()));
        test.write(".ralph/.checkpoint", test.head());
        let found = checkpoint(&state).unwrap().unwrap();
        let hours = |hours: u64| Duration::from_secs(hours * 60 * 60);
        let mut session = Bound { began: Some(SystemTime::now() + hours(1)), ..Bound::default() };
        let stale =
            |session: &Bound| session.stale(&state, &found, &repo).unwrap().unwrap_or_default();
        assert_eq!(stale(&session), "");
        assert_eq!(stale(&Bound::default()), "");
        let earlier = Bound { began: Some(SystemTime::now() - hours(1)), ..Bound::default() };
        assert_eq!(stale(&earlier), "it was written after this session began");
        let file = fs_err::OpenOptions::new().write(true).open(state.checkpoint()).unwrap();
        file.file().set_modified(SystemTime::now() - hours(23)).unwrap();
        assert_eq!(stale(&session), "");
        file.file().set_modified(SystemTime::now() - hours(25)).unwrap();
        assert_eq!(stale(&session), "it is more than a day old");
        file.file().set_modified(SystemTime::now()).unwrap();
        // Even with a current story, a person's commit does not belong to the session.
        test.write(".ralph/current-story", "US-001\n");
        test.write("a.txt", "mine");
        test.commit_all("mine");
        let others = "there are newer commits that this session did not make";
        assert_eq!(stale(&session), others);
        session.commits.push(test.head());
        assert_eq!(stale(&session), "");
    }

    #[test]
    fn a_pipe_as_checkpoint_is_an_error_and_a_missing_file_is_none() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        assert_eq!(checkpoint(&state).unwrap(), None);
        scratch.pipe(".ralph/.checkpoint");
        let error = checkpoint(&state).unwrap_err().to_string();
        assert!(error.ends_with("is not a regular file"), "{error}");
    }
}
