//! Files that git cannot add: the attempt fails with git's message and is kept as it is on disk,
//! and the run continues.

use crate::stage::{ONE, PLAN, Stage, TWO, signal, until};

const PROGRESS: &str = ".ralph/PRD-1/progress.md";

/// A project with these attributes and git settings.
fn with(attributes: &str, settings: &[(&str, &str)]) -> Stage {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".gitattributes", attributes);
    stage.repo.commit_all("attributes");
    for (key, value) in settings {
        stage.repo.git(["config", key, value]);
    }
    stage
}

/// The first attempt runs `act` and exits with `code`; all others succeed.
fn check(stage: &Stage, act: &str, code: i32, words: &str) {
    let agent = format!(
        "cat >/dev/null; if mkdir \"$AGENT_NOTES/first\"; then {act}; exit {code}; fi; \
         echo done >$(cat \"$RALPH_ROOT/.ralph/current-story\").txt"
    );
    let ran = stage.run(&["--agent", &agent]);
    ran.ended(0).says(words).says("2 stories landed").says("attempt saved");
    let kept = stage.repo.git(["show", "refs/ralph/attempts/PRD-1/US-001/1:kept.txt"]);
    assert_eq!(kept, "kept\n", "{act}");
    stage.is_clean();
}

/// Checks an agent that exits with 0, and one that exits with 1.
fn check_both(stage: impl Fn() -> Stage, act: &str, words: &str) {
    let act = format!("echo kept >kept.txt; {act}");
    check(&stage(), &act, 0, words);
    check(&stage(), &act, 1, "the agent exited with code 1");
}

#[test]
fn a_pipe_in_place_of_a_tracked_file_fails_the_attempt() {
    let act = "rm a.txt; mkfifo a.txt";
    check_both(|| with("", &[]), act, "a.txt: unsupported file type");
    // `git diff` takes it for the empty file that it replaces.
    let with_empty = || {
        let stage = with("", &[]);
        stage.repo.write("empty", "");
        stage.repo.commit_all("an empty file");
        stage
    };
    check_both(with_empty, "rm empty; mkfifo empty", "empty: unsupported file type");
}

#[test]
fn content_that_git_rejects_fails_the_attempt() {
    let endings = [("core.safecrlf", "true"), ("core.autocrlf", "input")];
    let filter = [("filter.odd.clean", "false"), ("filter.odd.required", "true")];
    let utf_16 = "*.u16 text working-tree-encoding=UTF-16\n";
    let odd = "x.odd: clean filter 'odd' failed";
    for (attributes, settings, act, words) in [
        ("* text=auto\n", &endings[..], "printf 'a\\r\\n' >crlf.txt", "crlf.txt"),
        (utf_16, &[], "printf abc >x.u16", "x.u16"),
        ("*.odd filter=odd\n", &filter, "echo x >x.odd", odd),
        ("", &[], "echo '[nonsense' >.gitmodules", ".gitmodules"),
    ] {
        check_both(|| with(attributes, settings), act, words);
    }
}

#[test]
fn a_sparse_file_of_any_size_fails_the_attempt() {
    // Git would read every zero of it.
    let stage = || {
        let stage = with("* text=auto\n", &[]);
        stage.repo.write("a.txt", "");
        stage.repo.write(".gitignore", "*.o\n");
        stage.repo.commit_all("an empty file");
        stage
    };
    for act in [
        "truncate -s 4T new.bin",
        "truncate -s 4T a.txt",
        "echo >x.o; git add -f x.o; truncate -s 4T x.o",
        "mkdir -p .claude; truncate -s 4T .claude/settings.json",
    ] {
        check_both(stage, act, "too long to be saved; the limit is 1000 MB");
    }
    let act = "echo kept >kept.txt; git init -q inner; truncate -s 4T inner/x";
    check(&stage(), act, 1, "the agent exited with code 1");
}

#[test]
fn a_check_that_makes_a_file_too_long_fails() {
    let stage = Stage::new("works", ONE);
    let ran = stage.run(&["--verify", "truncate -s 4T a.txt", "--attempts", "1"]);
    ran.ended(8).says("the checks made a.txt longer than [limits] changes allows");
}

#[test]
fn a_submodule_without_its_repository_fails_the_attempt() {
    let stage = || {
        let stage = with("", &[]);
        stage.submodule("lib");
        stage
    };
    check_both(stage, "rm -rf .git", "not a git repository");
}

#[test]
fn missing_permissions_are_restored() {
    for act in ["chmod 000 kept.txt", "chmod 000 src", "chmod 500 .", "chmod 500 src"] {
        let stage = with("", &[]);
        let agent = format!("cat >/dev/null; echo kept >kept.txt; echo new >>src/lib.rs; {act}");
        let ran = stage.run(&["--agent", &agent, "--max-iterations", "1"]);
        ran.ended(0).says("US-001 done");
        assert_eq!(stage.read("kept.txt"), "kept\n", "{act}");
        assert!(stage.read("src/lib.rs").ends_with("new\n"), "{act}");
    }
}

/// Opening a pipe blocks until another process writes to it.
#[test]
fn pipes_in_place_of_files_that_are_read_do_not_block() {
    for place in [&[][..], &["--in-place"]] {
        for path in [".gitignore", ".git/info/exclude", "src/.gitattributes", PLAN, PROGRESS] {
            let stage = with("", &[]);
            stage.repo.commit_all("the plan");
            let agent = format!(
                "cat >/dev/null; echo x >>x.txt; mkdir -p $(dirname {path}); rm -f {path}; mkfifo {path}"
            );
            let begun = std::time::Instant::now();
            let args = ["--agent", &agent, "--max-iterations", "1"];
            stage.run(&[&args[..], place].concat()).ended(0).says("US-001 done");
            assert!(begun.elapsed().as_secs() < 60, "{path} {place:?}");
            assert_eq!(stage.plan(), TWO.replacen("[ ]", "[x]", 1), "{path} {place:?}");
        }
    }
}

#[test]
fn a_filter_that_hangs_is_ended_by_a_signal_and_the_attempt_is_kept() {
    for (name, code) in [("TERM", 143), ("INT", 130)] {
        let hang = "touch \"$AGENT_NOTES/hangs\"; exec sleep 600";
        let stage = with("*.slow filter=slow\n", &[("filter.slow.clean", hang)]);
        let agent = "cat >/dev/null; echo kept >kept.txt; echo x >x.slow";
        let mut child = stage.start(&["--agent", agent]);
        until("the filter hangs", || stage.note_path("hangs").exists());
        signal(name, child.id());
        let begun = std::time::Instant::now();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(begun.elapsed().as_secs() < 60, "{name}");
        let kept = stage.repo.git(["show", "refs/ralph/attempts/PRD-1/US-001/1:kept.txt"]);
        assert_eq!(kept, "kept\n", "{name}");
    }
}
