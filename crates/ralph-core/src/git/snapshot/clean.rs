//! The snapshot of a tree in which nothing is changed: a ref to the commit that is checked out.
//!
//! No object has to be written for it. What other snapshots keep in a record, the branch and the
//! loop's run, is in the ref's name: `<name>+<run>+<branch>`, or `<name>+<run>` if HEAD is detached.

use super::ledger::CHECKPOINTS;
use super::take::Snapshot;
use crate::git::command::GitError;
use crate::git::ignore::own_rules::OwnRules;
use crate::git::repo::Repo;
use crate::git::restore::nested;
use crate::git::status::Status;
use crate::state;

/// Stands for "no run" in a name.
const NO_RUN: &str = "none";

/// Between the parts of a name.
const SEPARATOR: char = '+';

/// What a branch has and a part of a name must not have.
const ESCAPES: [(&str, &str); 3] = [("%", "%25"), ("/", "%2F"), ("+", "%2B")];

/// The longest file name, with room for the ending of a lock.
const LONGEST: usize = 240;

/// Makes the ref, if nothing is changed; none if an ordinary snapshot is needed.
pub(in crate::git) fn take(
    repo: &Repo,
    stem: &str,
    status: &Status,
    run: Option<&str>,
) -> Result<Option<Snapshot>, GitError> {
    let (Some(head), true) = (&status.head, is_all_committed(repo, status)) else {
        return Ok(None);
    };
    let Some(name) = name(stem, run, status.branch.as_deref()) else { return Ok(None) };
    make(repo, &name, head)?;
    Ok(parse(&name, head))
}

/// Makes the ref of a commit, whatever is in the tree; none if a name cannot hold what belongs to it.
pub(in crate::git) fn make_at(
    repo: &Repo,
    stem: &str,
    commit: &str,
    run: &str,
    branch: Option<&str>,
) -> Result<Option<String>, GitError> {
    let Some(name) = name(stem, Some(run), branch) else { return Ok(None) };
    make(repo, &name, commit).map(|()| Some(name))
}

/// A name has no room for what is noted about submodules, files that git is told to overlook and
/// ignore rules that no commit holds.
fn is_all_committed(repo: &Repo, status: &Status) -> bool {
    let has_inner = !status.nested.is_empty() || nested::has_submodules(repo);
    let is_plain = !has_inner && repo.overlooked().is_empty() && OwnRules::read(repo).are_none();
    is_plain && !status.staged && status.is_clean(repo)
}

/// A ref that was not there before is a file that was not there before, where refs are files; to
/// have git write it takes a hundred times longer.
fn make(repo: &Repo, name: &str, commit: &str) -> Result<(), GitError> {
    let folder = repo.shared_git_dir();
    let path = camino::Utf8PathBuf::from_path_buf(folder.join(name)).ok();
    let written = path.filter(|_| !folder.join("reftable").exists()).map(|path| {
        // It is not worth a wait for the disk: the commit is on a branch.
        state::replace_unsynced(&path, format!("{commit}\n").as_bytes())
    });
    match written {
        Some(Ok(())) => Ok(()),
        _ => repo.git().run(&["update-ref", name, commit]).map(drop),
    }
}

/// None if a name cannot hold the run's or the branch's.
fn name(stem: &str, run: Option<&str>, branch: Option<&str>) -> Option<String> {
    let run = run.unwrap_or(NO_RUN);
    let fits = run.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let mut name = format!("{stem}{SEPARATOR}{run}");
    if let Some(branch) = branch {
        name.push(SEPARATOR);
        name.push_str(
            &ESCAPES.iter().fold(branch.to_owned(), |text, (from, to)| text.replace(from, to)),
        );
    }
    let length = name.rsplit('/').next().map_or(0, str::len);
    (fits && !run.is_empty() && length <= LONGEST).then_some(name)
}

/// The snapshot that a name tells of, if it is one of these.
pub(in crate::git) fn parse(name: &str, commit: &str) -> Option<Snapshot> {
    let mut parts = name.strip_prefix(CHECKPOINTS)?.split(SEPARATOR).skip(1);
    let run = parts.next()?;
    let branch = parts.next().map(|branch| {
        ESCAPES.iter().rev().fold(branch.to_owned(), |text, (to, from)| text.replace(from, to))
    });
    let mut snapshot = Snapshot::of_commit(commit, branch);
    name.clone_into(&mut snapshot.name);
    snapshot.record.excludes_file = Some(String::new());
    snapshot.record.run = Some(run).filter(|run| *run != NO_RUN).map(str::to_owned);
    Some(snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEM: &str = "refs/ralph/checkpoint/20260102-030405-678";

    #[test]
    fn a_name_tells_run_and_branch() {
        for (run, branch) in [
            (Some("run-1"), Some("main")),
            (Some("run-1"), None),
            (None, Some("feature/a+b%2Fc")),
            (None, None),
        ] {
            let name = name(STEM, run, branch).unwrap();
            assert_eq!(name.matches('/').count(), 3, "{name}");
            let found = parse(&name, "c0ffee").unwrap();
            assert_eq!(found.record.head.as_deref(), Some("c0ffee"));
            assert_eq!(
                (found.record.run.as_deref(), found.record.branch.as_deref()),
                (run, branch)
            );
        }
    }

    #[test]
    fn other_names_tell_nothing_and_what_a_name_cannot_hold_gets_none() {
        for other in [STEM, "refs/ralph/discarded/run-1+aside", "refs/heads/a+b+c"] {
            assert_eq!(parse(other, "c0ffee"), None, "{other}");
        }
        assert_eq!(name(STEM, Some("a/b"), Some("main")), None);
        assert_eq!(name(STEM, Some(""), Some("main")), None);
        assert_eq!(name(STEM, Some("run-1"), Some(&"b".repeat(230))), None);
    }
}
