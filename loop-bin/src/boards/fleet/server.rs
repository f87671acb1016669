//! A fleet's server, by way of a clone that no other task of this machine uses. Nothing on the server is ever
//! overwritten.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::{self, Event, Lock, LockError, Record, Scale, StateDir};
use ralph_core::git::{Git, GitError, Repo};
use ralph_project::config::Config;

use crate::exit::Failure;
use crate::forge::default_branch;
use crate::receipts::{self, Receipt};
use crate::record::run_dir;
use board::{NewCommit, Note, commit_tree, made_again, move_refs, push_notes, resolve};
use run_history::saved::{ATTEMPTS, FLEET};
use work_copy::{cache, remove_all};

/// Where attempts and journals are kept; the second place is for servers that accept only branches.
const KEPT: [&str; 2] = ["refs/ralph", "refs/heads/ralph-kept"];

/// The refs below it that all machines share.
const SHARED: [&str; 2] = ["attempts", "tasks"];

/// The server's default branch.
const ORIGIN_HEAD: &str = "refs/remotes/origin/HEAD";

/// Stands for the clone's folder in a journal, because it differs for every task.
const CLONE: &str = "$CLONE";

/// Journal events of landings. They are read from the server's branches instead: a push may fail, and a rebase makes
/// another commit.
const LANDINGS: [&str; 2] = ["\"event\":\"committed\"", "\"event\":\"story_done\""];

/// Variables that point to another project.
pub(super) const PROJECT_VARS: [&str; 2] = ["RALPH_ROOT", "CLAUDE_PROJECT_DIR"];

/// A clone of the server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(super) folder: Utf8PathBuf,
    pub(crate) git: Git,
    pub(super) env: Env,
    pub(super) state: StateDir,
    _lock: Lock,
}

/// Makes a server's address absolute. One with a password is refused, because agents can read the clone's
/// settings.
pub(crate) fn address(url: &str) -> Result<String, Failure> {
    let user = url.split_once("://").and_then(|(_, rest)| rest.split('/').next()?.rsplit_once('@'));
    if user.is_some_and(|(user, _)| user.contains(':')) {
        let why =
            "the address contains a password, which agents could read; use a credential helper";
        return Err(Failure::usage(why));
    }
    let local = Utf8Path::new(url).canonicalize_utf8();
    Ok(local.map_or_else(|_| url.to_owned(), Utf8PathBuf::into_string))
}

impl Server {
    /// Opens a clone for this purpose that no other process uses. Clones are kept, so that later builds in them are
    /// fast.
    pub(super) fn open(env: &Env, url: &str, purpose: &str) -> Result<Self, Failure> {
        let url = address(url)?;
        let base = cache::folder(env, &Config::default(), Utf8Path::new(&url))?;
        let has_loop = |repo| run_dir(&repo).is_ok_and(|it| Lock::holder(&it.lock()).is_some());
        let mut number = 1;
        let (folder, lock) = loop {
            let folder = base.join(format!("{purpose}-{number}"));
            number += 1;
            match Lock::take(&folder.with_extension("lock"), "ralph-loop --fleet") {
                // The loop of a killed task may still be running there.
                Ok(lock) if !Repo::open(&folder).is_ok_and(has_loop) => break (folder, lock),
                Ok(_) | Err(LockError::Held(_)) => {}
                Err(error) => return Err(error.into()),
            }
        };
        if !folder.join(".git").is_dir() {
            let fresh = folder.with_extension("new");
            remove_all(fresh.as_std_path())?;
            Git::at(&base).run(&["clone", "--quiet", &url, fresh.as_str()])?;
            let none = |_| Failure::because("the server has no branch yet; push the project to it");
            Git::at(&fresh).run(&["symbolic-ref", ORIGIN_HEAD]).map_err(none)?;
            fs_err::rename(&fresh, &folder)?;
        }
        std::env::set_current_dir(&folder)?;
        let env = env.those(|name| !PROJECT_VARS.contains(&name));
        let (git, state) = (Git::at(&folder), StateDir::of_project(&folder));
        Ok(Self { folder, git, env, state, _lock: lock })
    }

    /// Fetches branches, attempts and journals, after ours have been published.
    pub(super) fn fetch(&self) -> Result<(), Failure> {
        let mut args = vec!["fetch".to_owned(), "--quiet".to_owned(), "--no-tags".to_owned()];
        args.extend(["origin", "+refs/heads/*:refs/remotes/origin/*"].map(str::to_owned));
        for from in KEPT {
            args.extend(SHARED.map(|what| format!("+{from}/{what}/*:refs/ralph/{what}/*")));
        }
        self.git.run(&args)?;
        Ok(state::replace_unsynced(&self.folder.join(FLEET), self.listed()?.as_bytes())?)
    }

    /// Lists attempts and journals, one per line.
    fn listed(&self) -> Result<String, GitError> {
        let [attempts, tasks] = SHARED.map(|what| format!("refs/ralph/{what}"));
        self.git.line(&["for-each-ref", "--format=%(objectname) %(refname)", &attempts, &tasks])
    }

    /// The journals of all tasks, concatenated.
    fn journals(&self) -> Result<String, GitError> {
        self.git.line(&["log", "--no-walk", "--reverse", "--format=%B", "--glob=refs/ralph/tasks"])
    }

    /// Writes the journal that commands read, from those of all tasks and from the landed commits.
    pub(super) fn write_journal(&self) -> Result<(), Failure> {
        self.keep_journal()?;
        let journals = self.journals()?.replace(CLONE, self.folder.as_str());
        let records = journals.lines().filter_map(|line| serde_json::from_str::<Record>(line).ok());
        let begun = records.filter(|it| matches!(it.event, Event::IterationStarted { .. }));
        let begun: Vec<Record> = begun.collect();
        let mut text = format!("{journals}\n");
        let trailer = |key| format!("%(trailers:key=Ralph-{key},valueonly=true,separator=)");
        let format = format!("--format=%H %cd {} {}", trailer("Run"), trailer("Story"));
        let format = format!("{format}%x00{}", trailer("Done"));
        let log = ["log", "--reverse", "--date=format-local:%FT%T.999Z", "--grep=^Ralph-Story: "];
        let on = ["--exclude=origin/ralph-kept/*", "--remotes", &format];
        let landed = self.git.with_var("TZ", "UTC0").line(&[&log[..], &on].concat())?;
        for line in landed.lines() {
            let (line, scale) = line.split_once('\0').unwrap_or((line, ""));
            let parts: Vec<&str> = line.splitn(4, ' ').collect();
            let [commit, at, run, story] = parts[..] else { continue };
            let is_before = |it: &&Record| it.story.as_deref() == Some(story) && *it.at <= *at;
            let of_story: Vec<&Record> = begun.iter().filter(is_before).collect();
            let of_run = of_story.iter().rfind(|it| it.run.as_deref() == Some(run));
            // The journals may have been deleted on the server.
            let Some(attempt) = of_run.or(of_story.last()) else { continue };
            let done = Event::StoryDone { scale: Scale::of_word(scale) };
            for event in [Event::Committed { commit: commit.to_owned() }, done] {
                let record = Record { at: at.to_owned(), event, ..(*attempt).clone() };
                text.push_str(&format!("{}\n", serde_json::to_string(&record)?));
            }
        }
        Ok(state::replace_unsynced(&self.state.journal(), text.as_bytes())?)
    }

    /// The named branch, or the server's default branch.
    pub(super) fn branch(&self, named: &str) -> String {
        if named.is_empty() { default_branch(&self.git, "origin") } else { named.to_owned() }
    }

    /// Checks a branch out as it is on the server.
    pub(super) fn check_out(&self, branch: &str) -> Result<(), GitError> {
        let theirs = format!("refs/remotes/origin/{branch}");
        let args = ["checkout", "--quiet", "--force", "--no-track", "-B", branch, &theirs];
        self.git.run(&args).map(drop)
    }

    /// Pushes a branch; returns false if it has moved on the server since it was fetched.
    pub(crate) fn push(&self, branch: &str) -> Result<bool, Failure> {
        let spec = format!("refs/heads/{branch}");
        // A server may take branches only; the next push sends all receipts again.
        if let Err(error) = push_notes(&self.git, "origin") {
            log::warn!("the receipts were not pushed: {error}");
        }
        match self.git.run(&["push", "--quiet", "origin", &spec]) {
            Err(GitError::Failed { stderr, .. }) if has_moved(&stderr) => Ok(false),
            pushed => Ok(pushed.map(|_| true)?),
        }
    }

    /// The commits that the server's branch lacks, oldest first, each with its story, if any.
    pub(super) fn unpushed(&self, branch: &str) -> Result<Vec<(String, String)>, Failure> {
        let ours = format!("refs/heads/{branch}");
        if resolve(&self.git, &ours)?.is_none() {
            return Ok(Vec::new());
        }
        let format = "--format=%H %(trailers:key=Ralph-Story,valueonly=true,separator=)";
        let range = format!("refs/remotes/origin/{branch}..{ours}");
        let listed = self.git.line(&["log", "--reverse", format, &range])?;
        let commits = listed.lines().filter_map(|line| line.split_once(' '));
        Ok(commits.map(|(commit, story)| (commit.to_owned(), story.to_owned())).collect())
    }

    /// Squashes the unpushed commit of a story with what the loop recorded after it, and adds the run's name, so that
    /// the server's history shows who landed what.
    fn seal(&self, branch: &str) -> Result<(), Failure> {
        let unpushed = self.unpushed(branch)?;
        let stories: Vec<_> = unpushed.iter().filter(|(_, of)| !of.is_empty()).cloned().collect();
        let ([(first, _), ..], [(commit, _)]) = (&*unpushed, &*stories) else { return Ok(()) };
        let (journal, mark) = (text_of(&self.state.journal())?, format!("\"commit\":\"{commit}\""));
        let landed = journal.lines().rfind(|line| line.contains(&mark));
        let run = landed.and_then(|line| serde_json::from_str::<Record>(line).ok()?.run);
        let message = self.git.line(&["log", "-1", "--format=%B", commit])?;
        // A rebase does not repeat this.
        let trailer = run.map(|run| format!("Ralph-Run: {run}\n")).unwrap_or_default();
        let message = format!("{}\n{trailer}", message.trim_end());
        // The new commit's id differs from the one in the progress file, so that line is dropped.
        let tip = format!("refs/heads/{branch}");
        let index = self.git.on_index(self.folder.join(".git/ralph-seal.index").into());
        index.run(&["read-tree", commit])?;
        let recorded = index.run(&["diff-tree", "-p", "--binary", commit, &tip])?;
        let id = format!("\n+- Commit: {}\n", commit.get(..8).unwrap_or(commit));
        let recorded = String::from_utf8_lossy(&recorded).replacen(&id, "\n", 1);
        let apply = ["apply", "--cached", "--recount", "--allow-empty", "--whitespace=nowarn"];
        index.feed(&apply, recorded.as_bytes())?;
        let tree = index.line(&["write-tree"])?;
        let mut sealed = commit_tree(&self.git, &tree, &[&format!("{first}^")], &message)?;
        if self.git.line(&["config", "--type=bool", "commit.gpgsign"]).is_ok_and(|it| it == "true")
        {
            let parent = format!("{first}^");
            sealed = made_again(&self.git, &sealed, Some(&parent), true)?;
        }
        let notes = self.receipt(commit, (&sealed, &tree), &format!("{first}^"))?;
        move_refs(&self.git, &format!("update {tip} {sealed}\n"), notes.as_slice())?;
        // The ref of a landed attempt points to the landed commit itself.
        let named = ["for-each-ref", "--format=%(refname)", &format!("--points-at={commit}")];
        for name in self.git.line(&[&named[..], &[ATTEMPTS]].concat())?.lines() {
            self.git.run(&["update-ref", name, &sealed, commit])?;
        }
        Ok(())
    }

    /// The receipt of a sealed commit: that of the story's.
    fn receipt(
        &self,
        story: &str,
        (sealed, tree): (&str, &str),
        base: &str,
    ) -> Result<Option<Note>, Failure> {
        let Some(receipt) = Receipt::of(&self.git, story)? else { return Ok(None) };
        let commit = sealed.to_owned();
        let made = NewCommit { commit, tree: tree.to_owned(), ..NewCommit::default() };
        let statement = receipt.statement.of_records(&made, &self.git.line(&["rev-parse", base])?);
        let git_folder = run_dir(&Repo::open(&self.folder)?)?;
        let signs = receipt.envelope.is_some();
        receipts::note((&self.git, git_folder.root()), &made, &statement, signs)
            .map(|(note, _)| Some(note))
    }

    /// Saves the journal lines that no task has saved yet.
    fn keep_journal(&self) -> Result<(), Failure> {
        let text = text_of(&self.state.journal())?.replace(self.folder.as_str(), CLONE);
        let kept = self.journals()?;
        let kept: BTreeSet<&str> = kept.lines().collect();
        let mut lines: Vec<&str> = text.lines().filter(|line| !kept.contains(line)).collect();
        lines.retain(|line| !line.is_empty() && !LANDINGS.iter().any(|event| line.contains(event)));
        if !lines.is_empty() {
            let empty = self.git.line(&["mktree"])?;
            let commit = commit_tree(&self.git, &empty, &[], &lines.join("\n"))?;
            self.git.run(&["update-ref", &format!("refs/ralph/tasks/{commit}"), &commit])?;
        }
        Ok(())
    }

    /// Pushes attempts and journals that the server lacks; the branch is pushed later. An attempt whose number another
    /// task has taken gets the next free one, also here with the next fetch.
    pub(crate) fn publish(&self, branch: &str) -> Result<(), Failure> {
        self.seal(branch)?;
        self.keep_journal()?;
        let (known, listed) = (text_of(&self.folder.join(FLEET))?, self.listed()?);
        let new = listed.lines().filter(|line| !known.lines().any(|known| known == *line));
        let new: Vec<_> = new.filter_map(|line| line.split_once(" refs/ralph/")).collect();
        if new.is_empty() {
            return Ok(());
        }
        let (mut theirs, mut specs) = (self.kept()?, Vec::new());
        for (commit, name) in new {
            let (folder, last) = name.rsplit_once('/').unwrap_or_default();
            let mut name = name.to_owned();
            let mut numbers = last.parse::<u64>().unwrap_or_default() + 1..;
            while theirs.get(&name).is_some_and(|known| known != commit) {
                name = format!("{folder}/{}", numbers.next().unwrap_or_default());
            }
            specs.push(format!("{commit}:PLACE/{name}"));
            theirs.insert(name, commit.to_owned());
        }
        let push = |place: &str| {
            let specs = specs.iter().map(|spec| spec.replacen("PLACE", place, 1));
            let args = ["push", "--quiet", "origin"].into_iter().map(str::to_owned);
            self.git.run(&args.chain(specs).collect::<Vec<_>>())
        };
        let [usual, branches] = KEPT;
        match push(usual) {
            Err(GitError::Failed { stderr, .. }) if !has_moved(&stderr) => push(branches)?,
            pushed => pushed?,
        };
        Ok(())
    }

    /// The server's attempts and journals, by name.
    fn kept(&self) -> Result<BTreeMap<String, String>, GitError> {
        let [usual, branches] = KEPT.map(|place| format!("{place}/*"));
        let listed = self.git.line(&["ls-remote", "--quiet", "origin", &usual, &branches])?;
        let found = listed.lines().filter_map(|line| {
            let (commit, full) = line.split_once('\t')?;
            let name = KEPT.iter().find_map(|place| full.strip_prefix(place)?.strip_prefix('/'))?;
            Some((name.to_owned(), commit.to_owned()))
        });
        Ok(found.collect())
    }
}

pub(super) fn text_of(file: &Utf8Path) -> Result<String, Failure> {
    let text = state::read_if_there(file)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Whether git reports that a ref of the server has moved, or that another push is changing it.
pub(crate) fn has_moved(stderr: &str) -> bool {
    let moved =
        ["fetch first", "non-fast-forward", "already exists", "cannot lock ref", "stale info"];
    moved.iter().any(|words| stderr.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_ref_is_distinguished_from_a_refused_push() {
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
