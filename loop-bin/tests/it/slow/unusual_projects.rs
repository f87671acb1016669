//! Unusual repositories, folders and files.

use test_support::TestRepo;

use crate::stage::{ONE, PLAN, Stage, TWO};

/// An agent that runs `act` and then does its story.
fn agent(act: &str) -> String {
    format!("cat >/dev/null; {act}; echo done >$(cat \"$RALPH_ROOT/.ralph/current-story\").txt")
}

#[test]
fn folders_with_any_characters_can_hold_the_copy() {
    let stage = Stage::new("works", TWO);
    for name in ["a b", "a:b", "a\"b", "a'b", "größer", "a\\b"] {
        stage.repo.write(PLAN, ONE);
        let cache = stage.repo.scratch().path(name);
        let act = agent("git status --short >/dev/null && git log >/dev/null && date +%N >x.txt");
        let args = ["--agent", &act, "--verify", "git diff --exit-code"];
        stage.run_env(&[("XDG_CACHE_HOME", cache.as_str())], &args).ended(0);
        assert!(cache.join("ralph").is_dir(), "{name}");
        stage.is_clean();
    }
}

#[test]
fn files_of_every_kind_and_name_land() {
    let stage = Stage::new("works", TWO);
    stage.repo.write("folder/file", "committed\n");
    stage.repo.write("file", "committed\n");
    stage.repo.write("linked/file", "committed\n");
    stage.repo.git(["add", "folder", "file", "linked"]);
    stage.repo.git(["commit", "-qm", "both"]);
    let act = "rm -r folder linked; echo file >folder; ln -s deep linked; rm file; mkdir file; echo in >file/in; \
               printf x >\"$(printf 'new\\nline')\"; printf x >\"$(printf 'b\\377d')\"; \
               printf x >':(top)x'; printf x >'*'; printf x >' '; ln -sf /no/such link; \
               printf x >run; chmod +x run a.txt; mkdir -p deep/er; printf x >deep/er/x; rm src/lib.rs";
    let act = format!("[ -f folder ] || {{ {act}; }}");
    stage.run(&["--agent", &agent(&act)]).ended(0).says("2 stories landed");
    stage.is_clean();
    assert_eq!((stage.read("folder").as_str(), stage.read("file/in").as_str()), ("file\n", "in\n"));
    assert!(!stage.exists("src"), "a folder that became empty is gone");
    let modes = stage.repo.git(["ls-files", "-s", "run", "a.txt", "link", "linked"]);
    let count = |mode: &str| modes.matches(mode).count();
    assert_eq!((count("100755"), count("120000")), (2, 2), "{modes}");
}

#[test]
fn a_shallow_clone_works() {
    let origin = TestRepo::new();
    origin.commit_all("second");
    let repo = origin.cloned();
    let (root, home) = (repo.root().to_owned(), repo.scratch().root().to_owned());
    fs_err::remove_dir_all(&root).unwrap();
    let url = format!("file://{}", origin.root());
    repo.git_in(home.as_std_path(), ["clone", "-q", "--depth", "1", &url, root.as_str()]);
    let stage = Stage::with(repo, "works", TWO);
    stage.run(&[]).ended(0).says("2 stories landed");
    assert_eq!(stage.subjects(), ["feat(US-002): Second", "feat(US-001): First", "second"]);
}

#[test]
fn other_repository_formats_work() {
    for option in ["--object-format=sha256", "--ref-format=reftable"] {
        let repo = TestRepo::empty();
        fs_err::remove_dir_all(repo.root().join(".git")).unwrap();
        let made = repo.try_git(repo.root().as_std_path(), ["init", "-q", "-b", "main", option]);
        if !made.status.success() {
            println!("passed over: this git does not know {option}");
            continue;
        }
        repo.write("a.txt", "a\n");
        repo.commit_all("first");
        let stage = Stage::with(repo, "works", TWO);
        stage.run(&[]).ended(0).says("2 stories landed");
        assert_eq!(stage.subjects().len(), 3, "{option}");
        stage.is_clean();
    }
}

#[test]
fn converted_files_are_written_as_git_checks_them_out() {
    let stage = Stage::new("works", TWO);
    stage.repo.git(["config", "core.autocrlf", "true"]);
    stage.repo.write(".gitattributes", "*.bat text eol=crlf\n*.id ident\n");
    stage.repo.write("w.bat", "one\r\n");
    stage.repo.git(["add", ".gitattributes", "w.bat"]);
    stage.repo.git(["commit", "-qm", "converted"]);
    let act = "printf 'two\\r\\n' >>w.bat; printf '$Id$\\n' >x.id";
    stage.run(&["--agent", &agent(act)]).ended(0);
    stage.is_clean();
    assert_eq!(stage.read("w.bat"), "one\r\ntwo\r\ntwo\r\n");
    assert_eq!(stage.repo.git(["cat-file", "blob", "HEAD:w.bat"]), "one\ntwo\ntwo\n");
}

#[test]
fn a_tracked_plan_is_ticked_on_its_branch_after_a_switch() {
    let stage = Stage::committed("works", TWO);
    let leave = "[ -e \"$AGENT_NOTES/left\" ] || { touch \"$AGENT_NOTES/left\"; \
                 git -C \"$RALPH_ROOT\" checkout -q -b other; }";
    stage.run(&["--agent", &agent(leave)]).ended(0).says("2 stories landed");
    assert_eq!(stage.plan(), TWO, "the file of another branch");
    let ticked = stage.repo.git(["show", &format!("main:{PLAN}")]);
    assert_eq!(ticked, TWO.replace("[ ]", "[x]"));
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}
