//! The server of a fleet: a clone that no other task of this machine uses, what is fetched into it, and what is
//! pushed from it. Nothing on the server is ever overwritten.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::{self, Event, Lock, LockError, Record, StateDir};
use ralph_core::git::{Git, GitError};
use ralph_project::config::Config;

use crate::exit::Failure;
use board::{commit_tree, resolve};
use work_copy::{cache, remove_all};

/// Attempts and journals, and where they are kept on a server that takes nothing but branches.
const KEPT: [&str; 2] = ["refs/ralph", "refs/heads/ralph-kept"];

/// Those of them that belong to all machines.
const SHARED: [&str; 2] = ["attempts", "tasks"];

/// The file with the events of a task, in its commit.
const EVENTS: &str = "journal";

/// How often names are chosen anew that another task has just taken.
const MOST_RENAMINGS: usize = 20;

/// A clone of the server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(super) folder: Utf8PathBuf,
    pub(super) git: Git,
    _lock: Lock,
}

impl Server {
    /// A clone that nobody else uses now; one that was there before keeps its builds warm.
    pub(super) fn open(env: &Env, url: &str) -> Result<Self, Failure> {
        let local = Utf8Path::new(url).canonicalize_utf8();
        let url = local.map_or_else(|_| url.to_owned(), Utf8PathBuf::into_string);
        let base = cache::folder(env, &Config::default(), Utf8Path::new(&url))?;
        let mut number = 1;
        let (folder, lock) = loop {
            let folder = base.join(format!("task-{number}"));
            match Lock::take(&base.join(format!("task-{number}.lock")), "ralph-loop --fleet") {
                Ok(lock) => break (folder, lock),
                Err(LockError::Held(_)) => number += 1,
                Err(error) => return Err(error.into()),
            }
        };
        if !folder.join(".git").is_dir() {
            let fresh = base.join(format!("task-{number}.new"));
            remove_all(fresh.as_std_path())?;
            Git::at(&base).run(&["clone", "--quiet", &url, fresh.as_str()])?;
            fs_err::rename(&fresh, &folder)?;
        }
        Ok(Self { git: Git::at(&folder), folder, _lock: lock })
    }

    /// Fetches branches, attempts and journals, and merges the journals.
    pub(super) fn fetch(&self) -> Result<(), GitError> {
        let kept = KEPT
            .iter()
            .flat_map(|from| SHARED.map(|what| format!("+{from}/{what}/*:refs/ralph/{what}/*")));
        let mut args = vec!["fetch".to_owned(), "--quiet".to_owned(), "--no-tags".to_owned()];
        args.extend(["origin".to_owned(), "+refs/heads/*:refs/remotes/origin/*".to_owned()]);
        args.extend(kept);
        self.git.run(&args)?;
        let tasks = self.git.line(&["for-each-ref", "--format=%(refname)", "refs/ralph/tasks"])?;
        let mut lines = Vec::new();
        for task in tasks.lines() {
            let events = self.git.run(&["cat-file", "blob", &format!("{task}:{EVENTS}")])?;
            lines.extend(String::from_utf8_lossy(&events).lines().map(str::to_owned));
        }
        // Each begins with its time.
        lines.sort();
        let journal = self.journal();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let written = state::replace_unsynced(&journal, text.as_bytes());
        written.map_err(|source| GitError::Start {
            command: "fetch".to_owned(),
            dir: journal.to_string(),
            source,
        })
    }

    pub(super) fn journal(&self) -> Utf8PathBuf {
        StateDir::of_project(&self.folder).journal()
    }

    /// The branch that clones of the server begin with.
    pub(super) fn default_branch(&self) -> Result<String, Failure> {
        let name = self.git.line(&["symbolic-ref", "--short", "refs/remotes/origin/HEAD"])?;
        Ok(name.trim_start_matches("origin/").to_owned())
    }

    /// Brings a branch to where the server's is.
    pub(super) fn check_out(&self, branch: &str) -> Result<(), GitError> {
        let theirs = format!("refs/remotes/origin/{branch}");
        self.git.run(&["checkout", "--quiet", "--force", "--no-track", "-B", branch, &theirs])?;
        Ok(())
    }

    /// Whether a branch has commits that the server's lacks.
    pub(super) fn is_ahead(&self, branch: &str) -> Result<bool, Failure> {
        if resolve(&self.git, &format!("refs/heads/{branch}"))?.is_none() {
            return Ok(false);
        }
        Ok(self.git.line(&["rev-list", "--count", &unseen(branch)])? != "0")
    }

    /// Pushes a branch; false if the server's has moved since it was fetched.
    pub(super) fn push(&self, branch: &str) -> Result<bool, GitError> {
        let spec = format!("refs/heads/{branch}:refs/heads/{branch}");
        match self.git.run(&["push", "--quiet", "origin", &spec]) {
            Err(GitError::Failed { stderr, .. }) if has_moved(&stderr) => Ok(false),
            pushed => pushed.map(|_| true),
        }
    }

    /// The stories of commits that the server lacks.
    pub(super) fn unpushed(&self, branch: &str) -> Result<Vec<String>, GitError> {
        let format = "--format=%(trailers:key=Ralph-Story,valueonly=true,separator=)";
        let stories = self.git.line(&["log", format, &unseen(branch)])?;
        Ok(stories.lines().filter(|story| !story.is_empty()).map(str::to_owned).collect())
    }

    /// What came since the journal was this long: what has happened, and landings, which the server is yet to see.
    pub(super) fn journal_since(&self, length: usize) -> Result<(String, String), Failure> {
        let text = state::read_if_there(self.journal())?.unwrap_or_default();
        let new = String::from_utf8_lossy(text.get(length..).unwrap_or_default()).into_owned();
        let is_landing = |line: &&str| {
            let record = serde_json::from_str::<Record>(line);
            record.is_ok_and(|it| matches!(it.event, Event::Committed { .. } | Event::StoryDone))
        };
        let (landings, rest): (Vec<&str>, Vec<&str>) =
            new.split_inclusive('\n').partition(is_landing);
        Ok((rest.concat(), landings.concat()))
    }

    /// Keeps lines of a task's journal.
    pub(super) fn keep_journal(&self, story: &str, lines: &str) -> Result<(), Failure> {
        if lines.is_empty() {
            return Ok(());
        }
        let blob = self.git.feed(&["hash-object", "-w", "--stdin"], lines.as_bytes())?;
        let blob = String::from_utf8_lossy(&blob).trim().to_owned();
        let tree =
            self.git.feed(&["mktree"], format!("100644 blob {blob}\t{EVENTS}\n").as_bytes())?;
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        let commit = commit_tree(&self.git, &tree, &[], &format!("journal of {story}"))?;
        let name = format!("refs/ralph/tasks/{story}/{commit}");
        self.git.run(&["update-ref", &name, &commit])?;
        Ok(())
    }

    /// Pushes attempts and journals that the server lacks. Where another task has taken a name, the next free
    /// one is used.
    pub(super) fn publish(&self) -> Result<(), Failure> {
        for _ in 0..MOST_RENAMINGS {
            let theirs = self.kept()?;
            let format = "--format=%(objectname) %(refname)";
            let ours = SHARED.map(|what| format!("refs/ralph/{what}"));
            let listed = self.git.line(&["for-each-ref", format, &ours[0], &ours[1]])?;
            let ours = listed.lines().filter_map(|line| line.split_once(" refs/ralph/"));
            let mut new = Vec::new();
            for (commit, name) in ours {
                match theirs.get(name) {
                    Some((_, known)) if known == commit => {}
                    Some(_) => new.push((commit, self.rename(name, commit, &theirs)?)),
                    None => new.push((commit, name.to_owned())),
                }
            }
            if new.is_empty() {
                return Ok(());
            }
            let push = |place: &str| {
                let specs = new.iter().map(|(commit, name)| format!("{commit}:{place}/{name}"));
                let args = ["push", "--quiet", "origin"].into_iter().map(str::to_owned);
                self.git.run(&args.chain(specs).collect::<Vec<_>>())
            };
            let [usual, branches] = KEPT;
            match push(usual) {
                Ok(_) => return Ok(()),
                Err(GitError::Failed { stderr, .. }) if has_moved(&stderr) => {}
                Err(_) => drop(push(branches)?),
            }
        }
        Err(Failure::because("other tasks keep taking the names of this one's attempts"))
    }

    /// Gives an attempt the next number that neither we nor the server have.
    fn rename(
        &self,
        name: &str,
        commit: &str,
        theirs: &BTreeMap<String, (String, String)>,
    ) -> Result<String, Failure> {
        let (story, number) = name.rsplit_once('/').unwrap_or((name, "0"));
        let mut number: u64 = number.parse().unwrap_or(0);
        loop {
            number += 1;
            let (next, full) =
                (format!("{story}/{number}"), format!("refs/ralph/{story}/{number}"));
            if !theirs.contains_key(&next) && resolve(&self.git, &full)?.is_none() {
                self.git.run(&["update-ref", &full, commit, ""])?;
                self.git.run(&["update-ref", "-d", &format!("refs/ralph/{name}"), commit])?;
                return Ok(next);
            }
        }
    }

    /// What the server keeps, by name: its ref, and the commit.
    fn kept(&self) -> Result<BTreeMap<String, (String, String)>, GitError> {
        let patterns = KEPT.map(|place| format!("{place}/*"));
        let listed =
            self.git.line(&["ls-remote", "--quiet", "origin", &patterns[0], &patterns[1]])?;
        let found = listed.lines().filter_map(|line| {
            let (commit, full) = line.split_once('\t')?;
            let name = KEPT.iter().find_map(|place| full.strip_prefix(place))?;
            Some((name.trim_start_matches('/').to_owned(), (full.to_owned(), commit.to_owned())))
        });
        Ok(found.collect())
    }

    /// Removes all of it; returns how many.
    pub(super) fn remove_kept(&self) -> Result<usize, Failure> {
        let kept: Vec<String> = self.kept()?.into_values().map(|(full, _)| full).collect();
        for some in kept.chunks(100) {
            let args = ["push", "--quiet", "origin", "--delete"].into_iter().map(str::to_owned);
            self.git.run(&args.chain(some.iter().cloned()).collect::<Vec<_>>())?;
        }
        Ok(kept.len())
    }

    /// Makes the clone the folder that commands work in.
    pub(super) fn enter(&self) -> Result<(), Failure> {
        Ok(std::env::set_current_dir(&self.folder)?)
    }
}

/// The commits of a branch that the server's lacks.
fn unseen(branch: &str) -> String {
    format!("refs/remotes/origin/{branch}..refs/heads/{branch}")
}

/// Whether git says that a ref of the server is not where it was, or that another push is at it.
fn has_moved(stderr: &str) -> bool {
    let moved =
        ["fetch first", "non-fast-forward", "already exists", "cannot lock ref", "stale info"];
    moved.iter().any(|words| stderr.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_ref_is_told_from_a_server_that_refuses() {
        for (words, expected) in [
            (" ! [rejected]        main -> main (fetch first)", true),
            (" ! [rejected]        main -> main (non-fast-forward)", true),
            (
                " ! [remote rejected] main -> main (cannot lock ref 'refs/heads/main': is at 1)",
                true,
            ),
            (" ! [remote rejected] main -> main (pre-receive hook declined)", false),
            ("fatal: unable to access 'http://127.0.0.1:1/': Connection refused", false),
        ] {
            assert_eq!(has_moved(words), expected, "{words}");
        }
    }
}
