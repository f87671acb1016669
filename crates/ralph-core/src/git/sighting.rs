//! Where HEAD was when a run was last alive: what moved it afterwards was not the run's agent.
//!
//! The note is written only when HEAD moves while an agent is at work, so that most iterations
//! write none. Where refs are not kept as files nothing is noted, and nobody can tell who moved HEAD.

use super::position::{HeadFiles, Position};
use super::repo::Repo;
use crate::state;

/// Looks after HEAD while the agent of a run is at work.
#[derive(Debug)]
pub struct HeadWatch {
    repo: Repo,
    run: String,
    seen: Option<HeadFiles>,
}

impl HeadWatch {
    /// Begins to look after it, for an attempt of `run` that began at a position.
    pub fn begin(repo: &Repo, run: &str, began: &Position) -> Self {
        // A note of an earlier attempt says nothing about this one.
        forget_sighting(repo);
        let seen = HeadFiles::read(repo);
        let watch = Self { repo: repo.clone(), run: run.to_owned(), seen };
        // An attempt that is continued may have moved it before.
        if Position::of(repo).is_some_and(|now| now != *began) {
            note_head(repo, run);
        }
        watch
    }

    /// Notes where HEAD is, if it moved.
    pub fn look(&mut self) {
        let now = HeadFiles::read(&self.repo);
        if now == self.seen {
            return;
        }
        match now {
            Some(_) => note_head(&self.repo, &self.run),
            None => leave_no_trace(&self.repo),
        }
        self.seen = now;
    }
}

/// Somebody is removing the git folder: a note that was written meanwhile must not keep it there.
fn leave_no_trace(repo: &Repo) {
    forget_sighting(repo);
    // It stays if there is anything else in it.
    let _ = fs_err::remove_dir(repo.git_dir());
}

/// Notes where HEAD is now, for a run that is alive.
pub fn note_head(repo: &Repo, run: &str) {
    let (Some(path), Some(now)) = (repo.own_file(state::HEAD_SEEN), Position::of(repo)) else {
        return;
    };
    let line = |text: Option<String>| text.unwrap_or_default();
    let text = format!("{run}\n{}\n{}\n", line(now.branch), line(now.commit));
    // Without the note a move counts as somebody else's, and then nothing is taken back.
    let _ = state::replace_unsynced(&path, text.as_bytes());
}

/// Forgets where HEAD was: no attempt is under way any more.
pub fn forget_sighting(repo: &Repo) {
    // One that stays is told from others by the name of its run.
    repo.own_file(state::HEAD_SEEN).map(fs_err::remove_file);
}

/// Where HEAD was last while an agent of `run` was at work; none if it did not move.
pub fn last_sighting(repo: &Repo, run: &str) -> Option<Position> {
    let text = fs_err::read_to_string(repo.own_file(state::HEAD_SEEN)?).ok()?;
    let mut lines = text.split('\n');
    lines.next().filter(|noted| *noted == run)?;
    let mut line =
        || lines.next().map(|line| Some(line.to_owned()).filter(|line| !line.is_empty()));
    let (branch, commit) = (line()?, line()?);
    // The last line is whole only if another one, empty, comes after it.
    lines.next().map(|_| Position { branch, commit })
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    #[test]
    fn only_moves_are_noted_and_only_for_their_run() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        let began = Position::of(&repo).unwrap();
        let mut watch = HeadWatch::begin(&repo, "r1", &began);
        watch.look();
        assert_eq!(last_sighting(&repo, "r1"), None);
        test.commit_all("by the agent");
        watch.look();
        assert_eq!(last_sighting(&repo, "r1"), Position::of(&repo));
        assert_eq!(last_sighting(&repo, "r2"), None);
        test.commit_all("by hand, after the run");
        assert_ne!(last_sighting(&repo, "r1"), Position::of(&repo));
        HeadWatch::begin(&repo, "r1", &Position::of(&repo).unwrap());
        assert_eq!(last_sighting(&repo, "r1"), None, "that was another attempt");
        HeadWatch::begin(&repo, "r1", &began);
        assert_eq!(last_sighting(&repo, "r1"), Position::of(&repo), "it had moved before");
    }
}
