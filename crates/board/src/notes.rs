//! Notes about landed commits, under `refs/notes/ralph`. They are written by the ref transaction that
//! lands the commits, so a crash leaves both or neither. What the notes say is not known here.

use std::collections::BTreeSet;

use ralph_core::git::{Git, GitError};

use super::commit::FALLBACK_IDENTITY;
use super::refs::resolve;

/// The ref with the notes.
pub const NOTES: &str = "refs/notes/ralph";

/// Where notes of another repository are fetched to, and where they are merged with ours.
const FETCHED: [&str; 2] = ["refs/notes/ralph-fetched", "refs/notes/ralph-merged"];

/// Refs of ours that keep notes reachable until they are written. A killed loop may leave one.
pub(crate) const PREPARED: &str = "refs/ralph/notes";

/// How often others may write notes at the same moment before it is an error.
const MOST_TRIES: usize = 20;

/// A note about a commit that is about to land.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Note {
    /// The commit.
    pub commit: String,
    /// The text.
    pub text: String,
}

/// Moves refs by these lines for `git update-ref --stdin`, and writes the notes: all of it or nothing.
/// Notes of the user and of other loops stay, even if they are written meanwhile.
pub fn move_refs(git: &Git, lines: &str, notes: &[Note]) -> Result<(), GitError> {
    let update = |lines: &str| {
        git.feed(&["update-ref", "-m", "ralph: land", "--stdin"], lines.as_bytes()).map(drop)
    };
    let Some(first) = notes.first() else { return update(lines) };
    let prepared = format!("{PREPARED}/{}", first.commit);
    for attempt in 1.. {
        let old = resolve(git, NOTES)?;
        let new = prepare(git, &prepared, old.as_deref(), notes)?;
        let from = old.as_deref().unwrap_or("\"\"");
        let all = format!("{lines}update {NOTES} {new} {from}\ndelete {prepared}\n");
        match update(&all) {
            Err(_) if attempt < MOST_TRIES && resolve(git, NOTES)? != old => {}
            done => return done,
        }
    }
    Ok(())
}

/// Commits the notes on top of the others, below a ref of its own; git knows how they are stored.
fn prepare(git: &Git, name: &str, old: Option<&str>, notes: &[Note]) -> Result<String, GitError> {
    let mut stream =
        format!("commit {name}\nmark :1\ncommitter Ralph <ralph@localhost> now\ndata 7\nreceipt\n");
    stream.extend(old.iter().flat_map(|old| ["from ", old, "\n"]));
    for Note { commit, text } in notes {
        stream.push_str(&format!("N inline {commit}\ndata {}\n{text}\n", text.len()));
    }
    stream.push_str("get-mark :1\ndone\n");
    let import = ["fast-import", "--quiet", "--done", "--force", "--date-format=now"];
    let printed = git.feed(&import, stream.as_bytes())?;
    Ok(String::from_utf8_lossy(&printed).trim().to_owned())
}

/// Returns the text of the note about a commit, if there is one.
pub fn note_of(git: &Git, commit: &str) -> Result<Option<String>, GitError> {
    match git.run(&["notes", "--ref", NOTES, "show", commit]) {
        Ok(text) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
        Err(error) if error.exit_code() == Some(1) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Pushes all notes. The remote's are merged in first where it has others; ours win.
pub fn push_notes(git: &Git, remote: &str) -> Result<(), GitError> {
    if resolve(git, NOTES)?.is_none() {
        return Ok(());
    }
    for attempt in 1.. {
        let [theirs, merged] = FETCHED;
        let pushed = git.run(&["push", "--quiet", remote, &format!("{NOTES}:{NOTES}")]);
        let fetch = ["fetch", "--quiet", "--no-tags", remote, &format!("+{NOTES}:{theirs}")];
        if pushed.is_ok() || attempt == MOST_TRIES || git.run(&fetch).is_err() {
            return pushed.map(drop);
        }
        // Git merges without looking whether the ref has moved meanwhile.
        let old = git.line(&["rev-parse", NOTES])?;
        git.run(&["update-ref", merged, &old])?;
        let merge = ["notes", "--ref", merged, "merge", "--quiet", "--strategy=ours", theirs];
        git.run(&[&FALLBACK_IDENTITY[..], &merge].concat())?;
        let new = git.line(&["rev-parse", merged])?;
        let lines = format!("delete {merged}\ndelete {theirs}\n");
        git.feed(&["update-ref", "--stdin"], lines.as_bytes())?;
        if new == old {
            // It was refused for another reason.
            return pushed.map(drop);
        }
        // Where another process was faster, its notes are merged too.
        let _ = git.run(&["update-ref", NOTES, &new, &old]);
    }
    Ok(())
}

/// Returns which of the commits that `tip` has and `base` lacks have notes, oldest first.
pub fn noted(git: &Git, base: &str, tip: &str) -> Result<Vec<String>, GitError> {
    let listed = git.line(&["notes", "--ref", NOTES, "list"])?;
    let known: BTreeSet<&str> = listed.lines().filter_map(|it| it.split(' ').nth(1)).collect();
    let range = ["rev-list", "--reverse", "--ignore-missing", tip, &format!("^{base}")];
    let commits = git.line(&range)?;
    Ok(commits.lines().filter(|commit| known.contains(commit)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    fn note(commit: &str, text: &str) -> Note {
        Note { commit: commit.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_branch_and_its_notes_move_together_or_not_at_all() {
        let repo = TestRepo::new();
        let (git, head) = (Git::at(repo.root().as_std_path()), repo.head());
        let tip = || repo.git(["for-each-ref", "--format=%(refname)"]);
        let create = |name: &str| format!("update refs/heads/{name} {head} \"\"\n");
        move_refs(&git, &create("a"), &[note(&head, "first\n")]).unwrap();
        assert_eq!(note_of(&git, &head).unwrap().unwrap(), "first\n");
        let before = tip();
        assert!(before.contains("refs/heads/a\n") && !before.contains(PREPARED), "{before}");
        // The branch is there already.
        move_refs(&git, &create("a"), &[note(&head, "second\n")]).unwrap_err();
        assert_eq!(note_of(&git, &head).unwrap().unwrap(), "first\n");
    }

    #[test]
    fn pushed_notes_join_those_of_the_remote() {
        let repo = TestRepo::new();
        let server = repo.scratch().path("server.git");
        repo.git(["clone", "--quiet", "--bare", ".", server.as_str()]);
        repo.git(["remote", "add", "origin", server.as_str()]);
        let commit = |n: &str| repo.git(["commit-tree", "-m", n, "HEAD^{tree}"]).trim().to_owned();
        let (git, [mine, theirs]) = (Git::at(repo.root().as_std_path()), ["1", "2"].map(commit));
        push_notes(&git, "origin").unwrap();
        move_refs(&git, "", &[note(&theirs, "theirs\n")]).unwrap();
        push_notes(&git, "origin").unwrap();
        repo.git(["update-ref", "-d", NOTES]);
        move_refs(&git, "", &[note(&mine, "mine\n")]).unwrap();
        push_notes(&git, "origin").unwrap();
        let there = repo.git_in(server.as_std_path(), ["rev-parse", NOTES]);
        assert_eq!(there, repo.git(["rev-parse", NOTES]));
        assert_eq!(note_of(&git, &theirs).unwrap().unwrap(), "theirs\n");
        assert_eq!(note_of(&git, &mine).unwrap().unwrap(), "mine\n");
        let refs = repo.git(["for-each-ref", "--format=%(refname)", "refs/notes"]);
        assert_eq!(refs, "refs/notes/ralph\n");
    }

    #[test]
    fn notes_of_others_stay() {
        let repo = TestRepo::new();
        repo.introduce_user();
        let (git, first) = (Git::at(repo.root().as_std_path()), repo.head());
        repo.git(["notes", "--ref", NOTES, "add", "-m", "mine", &first]);
        let commit = |n: usize| {
            let commit = repo.git(["commit-tree", "-m", &n.to_string(), "HEAD^{tree}"]);
            commit.trim().to_owned()
        };
        let commits: Vec<String> = (0..4).map(commit).collect();
        std::thread::scope(|scope| {
            for (n, commit) in commits.iter().enumerate() {
                let git = &git;
                scope.spawn(move || {
                    let line = format!("update refs/heads/n{n} {commit} \"\"\n");
                    move_refs(git, &line, &[note(commit, &n.to_string())]).unwrap();
                });
            }
        });
        for (n, commit) in commits.iter().enumerate() {
            assert_eq!(note_of(&git, commit).unwrap(), Some(n.to_string()));
        }
        assert_eq!(note_of(&git, &first).unwrap().unwrap(), "mine\n");
        assert_eq!(repo.git(["rev-list", "--count", NOTES]), "5\n");
    }
}
