//! The snapshot of a tree in which nothing is changed: a ref to the commit that is checked out.
//!
//! No object has to be written for it. What other snapshots keep in a record, the branch and the
//! loop's run, is in the ref's name: `<name>/on/<run>/<branch>`, or `<name>/detached/<run>`.

use super::nested;
use super::own_rules;
use super::position::Position;
use super::repo::Repo;
use super::snapshot::Snapshot;
use super::status::Status;

/// Stands for "no run" in a name.
const NO_RUN: &str = "-";

/// Makes the ref for what is checked out, before it is known whether anything is changed. None if a
/// name cannot hold the run's, or if git does not like the name: then the ordinary way is open.
pub(super) fn guess(repo: &Repo, name: &str, run: Option<&str>) -> Option<Snapshot> {
    let run = run.unwrap_or(NO_RUN);
    let fits = run.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let position = Position::of(repo).filter(|_| fits && !run.is_empty())?;
    let head = position.commit?;
    let name = match position.branch {
        Some(branch) => format!("{name}/on/{run}/{branch}"),
        None => format!("{name}/detached/{run}"),
    };
    // The empty word says that there must be no such ref yet.
    repo.git().run(&["update-ref", &name, &head, ""]).ok()?;
    parse(&name, &head)
}

/// Whether the guess was right. The name has no room for what is noted about submodules, files that
/// git is told to overlook and ignore rules that no commit holds.
pub(super) fn is_right(guess: &Snapshot, repo: &Repo, status: &Status) -> bool {
    let is_there = guess.record.head == status.head && guess.record.branch == status.branch;
    let has_inner = !status.nested.is_empty() || nested::has_submodules(repo);
    let is_plain = !has_inner && repo.overlooked().is_empty() && own_rules::read(repo).is_none();
    is_there && is_plain && !status.staged && status.is_clean(repo)
}

/// The snapshot that a name tells of, if it is one of these.
pub(super) fn parse(name: &str, commit: &str) -> Option<Snapshot> {
    let (_, rest) = name.strip_prefix("refs/ralph/")?.split_once('/')?;
    let (_, rest) = rest.split_once('/')?;
    let (run, branch) = match rest.split_once('/')? {
        ("on", rest) => rest.split_once('/').map(|(run, branch)| (run, Some(branch)))?,
        ("detached", run) => (run, None),
        _ => return None,
    };
    let mut snapshot = Snapshot::of_commit(commit, branch.map(str::to_owned));
    name.clone_into(&mut snapshot.name);
    snapshot.record.run = Some(run).filter(|run| *run != NO_RUN).map(str::to_owned);
    Some(snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Option<(Option<&str>, Option<&str>)>) {
        let found = parse(name, "c0ffee");
        let found = found.as_ref().map(|snapshot| {
            assert_eq!(snapshot.record.head.as_deref(), Some("c0ffee"));
            (snapshot.record.run.as_deref(), snapshot.record.branch.as_deref())
        });
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn a_name_tells_run_and_branch() {
        let stamp = "refs/ralph/checkpoint/20260102-030405-678";
        check(&format!("{stamp}/on/run-1/main"), Some((Some("run-1"), Some("main"))));
        check(&format!("{stamp}/on/-/on/x/y"), Some((None, Some("on/x/y"))));
        check(&format!("{stamp}/detached/run-1"), Some((Some("run-1"), None)));
        check(stamp, None);
        check("refs/ralph/discarded/US-001/20260102-030405-678", None);
        check("refs/heads/on/x/y/z", None);
    }
}
