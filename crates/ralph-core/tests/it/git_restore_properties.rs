//! Random work of a user and of an agent in random repositories: a rollback restores the user's
//! state, and an undo restores the agent's files.
//!
//! `RALPH_INTERNAL__CASES` sets the number of cases; CI runs a thousand. Each run uses the same
//! cases, so that a failure can be reproduced, unless `RALPH_INTERNAL__RANDOM` is set.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use ralph_base::env::Env;
use ralph_core::git::{Status, rollback, undo};
use test_support::{Fingerprint, TestRepo};

use crate::git_restore::{checkpoint, contents};

/// Few names, so that they collide: files, folders of the same name, ignored and odd ones.
const NAMES: [&[u8]; 12] = [
    b"a",
    b"b",
    b"d",
    b"d/a",
    b"d/e",
    b"d/e/f",
    b"x.log",
    b"d/y.log",
    b"t.txt",
    b"sp ace\"q",
    b"n\xe9w\nline",
    b".gitignore",
];

/// Contents that git filters, that are valid ignore rules, or that differ in only one byte.
const CONTENTS: [&str; 7] = ["1\n", "2\n", "", "*.log\n", "d\n*.txt\n", "a\r\nb\n", "\0bin\0"];

#[derive(Debug, Clone)]
enum Act {
    Write(usize, usize),
    Remove(usize),
    Mode(usize, u32),
    Link(usize, usize),
    Add(usize),
    AddForced(usize),
    Unstage(usize),
    AddAll,
    Commit,
    Stash,
    Branch(u8),
    Detach,
    Attributes,
}

fn act() -> impl Strategy<Value = Act> {
    let name = 0..NAMES.len();
    prop_oneof![
        8 => (name.clone(), 0..CONTENTS.len()).prop_map(|(n, c)| Act::Write(n, c)),
        4 => name.clone().prop_map(Act::Remove),
        2 => (name.clone(), prop_oneof![Just(0o600), Just(0o644), Just(0o755), Just(0o710)])
            .prop_map(|(n, m)| Act::Mode(n, m)),
        2 => (name.clone(), name.clone()).prop_map(|(n, t)| Act::Link(n, t)),
        3 => name.clone().prop_map(Act::Add),
        1 => name.clone().prop_map(Act::AddForced),
        1 => name.prop_map(Act::Unstage),
        2 => Just(Act::AddAll),
        2 => Just(Act::Commit),
        1 => Just(Act::Stash),
        1 => (0..3u8).prop_map(Act::Branch),
        1 => Just(Act::Detach),
        1 => Just(Act::Attributes),
    ]
}

/// Performs an action, or does nothing if the action is impossible in the current state.
fn perform(test: &TestRepo, act: &Act) {
    let path = |n: usize| test.root().as_std_path().join(name(n));
    let git = |args: &[&OsStr]| drop(test.try_git(test.root().as_std_path(), args));
    let on = |args: &[&str], n: usize| {
        let name = name(n);
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).chain([name.as_os_str()]).collect();
        git(&args);
    };
    match act {
        Act::Write(n, content) => {
            let content = CONTENTS[*content];
            if fs_err::create_dir_all(path(*n).parent().unwrap()).is_ok() {
                let _ = fs_err::write(path(*n), content);
            }
        }
        Act::Remove(n) => {
            let _ = fs_err::remove_file(path(*n)).or_else(|_| fs_err::remove_dir_all(path(*n)));
        }
        Act::Mode(n, mode) => {
            if path(*n).is_file() && !path(*n).is_symlink() {
                test.chmod(name(*n), *mode);
            }
        }
        Act::Link(n, target) => {
            let _ = fs_err::create_dir_all(path(*n).parent().unwrap());
            let _ = fs_err::os::unix::fs::symlink(name(*target), path(*n));
        }
        Act::Add(n) => on(&["add", "--"], *n),
        Act::AddForced(n) => on(&["add", "--force", "--"], *n),
        Act::Unstage(n) => on(&["rm", "-q", "-r", "--cached", "--ignore-unmatch", "--"], *n),
        Act::AddAll => git(&["add".as_ref(), "-A".as_ref()]),
        Act::Commit => git(&["commit", "-q", "--allow-empty", "-m", "c"].map(OsStr::new)),
        Act::Stash => git(&["stash", "push", "-q"].map(OsStr::new)),
        Act::Branch(n) => git(&["checkout", "-q", "-B", &format!("branch{n}")].map(OsStr::new)),
        Act::Detach => git(&["checkout", "-q", "--detach"].map(OsStr::new)),
        Act::Attributes => test.write(".gitattributes", "*.txt text eol=crlf\na text=auto\n"),
    }
}

fn name(n: usize) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(NAMES[n]))
}

/// Returns the tracked files, and the new files that are not ignored.
fn known(test: &TestRepo) -> BTreeSet<PathBuf> {
    let lists = [
        &["ls-files", "-z", "--cached", "--others", "--exclude-standard"][..],
        &["ls-tree", "-r", "-z", "--name-only", "HEAD"],
    ];
    let list = |args: &[&str]| test.try_git(test.root().as_std_path(), args).stdout;
    let output = lists.map(list).concat();
    output.split(|byte| *byte == 0).map(|name| OsStr::from_bytes(name).into()).collect()
}

fn is_ignored_now(test: &TestRepo, path: &Path) -> bool {
    let args = [OsStr::new("check-ignore"), "-q".as_ref(), "--no-index".as_ref(), path.as_os_str()];
    test.try_git(test.root().as_std_path(), args).status.success()
}

type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Returns the files after a rollback: those of the checkpoint, and unchanged all files that its
/// rules ignore or that the attempt ignored, unless they are in the way of a restored file.
fn expected_files(
    test: &TestRepo,
    before: &Before,
    changed: &Fingerprint,
    seen: &BTreeSet<PathBuf>,
) -> Files {
    let mut expected = before.state.files.clone();
    expected.retain(|path, _| before.known.contains(path));
    let restored: Vec<PathBuf> = expected.keys().cloned().collect();
    for (path, content) in &changed.files {
        let in_the_way = restored.iter().any(|r| r.starts_with(path) || path.starts_with(r));
        let stays = !seen.contains(path) || is_ignored_now(test, path);
        if !before.known.contains(path) && !in_the_way && stays {
            expected.insert(path.clone(), content.clone());
        }
    }
    expected
}

/// For committed files and for files whose name is not UTF-8, only the executable bit is known.
fn with_known_modes(files: &Files, uncommitted: &[PathBuf]) -> Files {
    let known = |path: &PathBuf, mode: u32| {
        let is_exact = uncommitted.contains(path) && path.to_str().is_some();
        if is_exact || mode == 0o120000 { mode } else { mode & 0o100 }
    };
    files
        .iter()
        .map(|(p, (mode, content))| (p.clone(), (known(p, *mode), content.clone())))
        .collect()
}

/// The state that a rollback must restore.
struct Before {
    state: Fingerprint,
    known: BTreeSet<PathBuf>,
}

fn run_case(with_commit: bool, user: &[Act], agent: &[Act]) -> Result<(), TestCaseError> {
    let test = if with_commit { TestRepo::new() } else { TestRepo::empty() };
    user.iter().for_each(|act| perform(&test, act));
    let before = Before { state: test.fingerprint(), known: known(&test) };
    let (repo, state) = checkpoint(&test);
    let uncommitted = Status::read(&repo).unwrap().changed;
    prop_assert_eq!(&test.fingerprint(), &before.state, "the checkpoint changed something");

    agent.iter().for_each(|act| perform(&test, act));
    let (changed, seen) = (test.fingerprint(), known(&test));
    let restored = rollback(&repo, &state, None, "random").unwrap();
    let after = test.fingerprint();
    let expected = with_known_modes(&expected_files(&test, &before, &changed, &seen), &uncommitted);
    prop_assert_eq!(with_known_modes(&after.files, &uncommitted), expected, "files, rolled back");
    prop_assert_eq!(&after.index, &before.state.index, "index, rolled back");
    prop_assert_eq!(&after.head, &before.state.head, "HEAD, rolled back");
    prop_assert_eq!(&after.stash, &changed.stash, "stash, rolled back");

    undo(&repo, &state, &restored.saved.name).unwrap();
    let undone = test.fingerprint();
    prop_assert_eq!(contents(&undone), contents(&changed), "files after the undo");
    prop_assert_eq!(&undone.index, &after.index, "index after the undo");
    prop_assert_eq!(&undone.head, &after.head, "HEAD after the undo");
    Ok(())
}

fn run_cases(with_commit: bool) {
    let cases = Env::process().get("RALPH_INTERNAL__CASES").and_then(|n| n.parse().ok());
    let config = ProptestConfig {
        cases: cases.unwrap_or(40) / 2,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let acts = || prop::collection::vec(act(), 0..12);
    let mut runner = match Env::process().get("RALPH_INTERNAL__RANDOM") {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    runner.run(&(acts(), acts()), |(user, agent)| run_case(with_commit, &user, &agent)).unwrap();
}

#[test]
fn rollback_and_undo_are_exact_in_a_repository_with_commits() {
    run_cases(true);
}

#[test]
fn rollback_and_undo_are_exact_in_a_new_repository() {
    run_cases(false);
}
