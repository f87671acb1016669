//! What the copy has and a fresh clone lacks: the user's git settings, submodules, listed ignored
//! files, local settings of the client, and the results of the setup commands.

use crate::stage::{ONE, Ran, Stage, TWO};

/// An agent that records the output of this script and then does its story.
fn looks(with: &str) -> String {
    format!(
        "cat >/dev/null; {{ {with}; }} >>\"$AGENT_NOTES/seen\" 2>&1; \
         echo done >$(cat \"$RALPH_ROOT/.ralph/current-story\").txt"
    )
}

#[test]
fn a_conditionally_included_identity_is_used_for_commits() {
    let stage = Stage::new("works", ONE);
    stage.repo.git(["config", "--unset", "user.name"]);
    stage.repo.git(["config", "--unset", "user.email"]);
    let root = stage.repo.root();
    let include = format!("[includeIf \"gitdir:{root}/\"]\n\tpath = work.inc\n");
    stage.repo.scratch().file("home/.gitconfig", &include);
    stage.repo.scratch().file("home/work.inc", "[user]\n\tname = At Work\n\temail = me@work\n");
    stage.run(&["--agent", &looks("git config user.email")]).ended(0);
    assert_eq!(stage.repo.git(["log", "-1", "--format=%an <%ae>"]), "At Work <me@work>\n");
    assert_eq!(stage.note("seen"), "me@work\n");
}

#[test]
fn hooks_in_a_tracked_folder_are_found() {
    let stage = Stage::new("works", ONE);
    let hook = "#!/bin/sh\ntouch \"$AGENT_NOTES/called\"\n";
    stage.repo.scratch().script("repo/.husky/pre-commit", hook);
    stage.repo.git(["config", "core.hooksPath", ".husky"]);
    stage.repo.git(["add", ".husky"]);
    stage.repo.git(["commit", "-q", "--no-verify", "-m", "hooks"]);
    stage.run(&[]).ended(0);
    assert!(stage.note_path("called").exists());
}

/// `pre-commit install`, `lefthook install` and the like write into the folder that git names.
#[test]
fn hooks_that_are_installed_in_the_copy_stay_there() {
    for (path, value) in [
        ("repo/.git/hooks/pre-commit", ""),
        ("repo/.git/hooks/pre-commit", ".git/hooks"),
        ("repo/.git/hooks/pre-commit", "{root}/.git/hooks"),
        ("repo/.husky/_/pre-commit", ".husky/_"),
        ("repo/.husky/_/pre-commit", "{root}/.husky/_"),
        ("home/hooks/pre-commit", "~/hooks"),
    ] {
        let stage = Stage::new("works", ONE);
        let hook = stage.repo.scratch().script(path, "#!/bin/sh\ntouch \"$AGENT_NOTES/called\"\n");
        if path.contains("husky") {
            stage.repo.write(".husky/_/.gitignore", "*\n");
        }
        if !value.is_empty() {
            let value = value.replace("{root}", stage.repo.root().as_str());
            stage.repo.git(["config", "core.hooksPath", &value]);
        }
        let before = fs_err::read_dir(hook.parent().unwrap()).unwrap().count();
        // Hooks in the tree are files that an agent may change.
        let own = if path.contains("husky") { "post-merge" } else { "pre-commit" };
        let install = format!(
            "hooks=$(git rev-parse --git-path hooks); echo >$hooks/post-checkout; \
             echo >$hooks/{own}; git config core.hooksPath elsewhere"
        );
        stage.run(&["--agent", &looks(&install)]).ended(0).says("US-001 done");
        assert!(stage.note_path("called").exists(), "{path} {value}");
        assert!(fs_err::read_to_string(&hook).unwrap().contains("touch"), "{path} {value}");
        assert_eq!(fs_err::read_dir(hook.parent().unwrap()).unwrap().count(), before, "{path}");
        assert_eq!(stage.repo.git(["show", "--format=", "--name-only", "HEAD"]), "US-001.txt\n");
    }
}

#[test]
fn nothing_is_pushed_to_the_project_or_to_its_server() {
    let stage = Stage::new("works", ONE);
    let server = stage.repo.scratch().path("server.git");
    stage.repo.git(["clone", "--quiet", "--bare", ".", server.as_str()]);
    let _library = stage.submodule("lib");
    stage.repo.git(["branch", "precious"]);
    let refs = || {
        let of = |folder: &str| stage.repo.git(["-C", folder, "for-each-ref", "refs/heads"]);
        let modules = ".git/modules/lib";
        [of("."), of(server.as_str()), of(modules)].concat()
    };
    let before = refs();
    let root = stage.repo.root();
    let pushes = format!(
        "git checkout -qb wild; git commit -q --allow-empty -m wild; git push origin HEAD:precious; \
         git push --delete origin precious; git push --all; git push --mirror origin; \
         git push {root} HEAD:wild; git push file://{root} HEAD:wild; cd lib; \
         git -c user.name=x -c user.email=x commit -q --allow-empty -m wild; \
         git push origin HEAD:wild; cd ..; \
         git -C lib reset -q --hard HEAD~; git checkout -q main"
    );
    // Once without a remote, and once with a remote relative to the project's folder.
    for has_remote in [false, true] {
        if has_remote {
            stage.repo.git(["remote", "add", "origin", "../server.git"]);
        }
        stage.repo.write(crate::stage::PLAN, ONE);
        let check = format!("{pushes}; git fetch origin && git remote get-url origin");
        stage.run(&["--agent", &looks(&check), "--max-iterations", "1"]).ended(0);
        assert!(!stage.note("seen").contains("wild -> "), "{}", stage.note("seen"));
        let left = refs();
        let is_other = |line: &&str| !line.ends_with("refs/heads/main");
        assert!(left.lines().filter(is_other).eq(before.lines().filter(is_other)), "{left}");
        assert_eq!(left.lines().count(), before.lines().count(), "{left}");
    }
    assert!(stage.note("seen").ends_with("/server.git\n"), "{}", stage.note("seen"));
}

#[test]
fn submodules_are_populated_from_the_project() {
    let stage = Stage::new("works", TWO);
    let library = stage.submodule("libs/one");
    fs_err::remove_dir_all(library.root()).unwrap();
    stage.run(&["--agent", &looks("cat libs/one/a.txt; git -C libs/one status --short")]).ended(0);
    assert_eq!(stage.note("seen"), "a\na\n");
    let files = stage.repo.git(["log", "-2", "--format=", "--name-only"]);
    assert!(!files.contains("libs"), "{files}");
    stage.is_clean();
}

#[test]
fn listed_ignored_files_are_copied_and_never_committed() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".gitignore", "*.log\n/build/\n.env\n.env.*\n");
    stage.repo.write(".worktreeinclude", ".env\nconf/*.key\n*.txt\n");
    stage.repo.write("conf/.gitignore", "*.key\n");
    stage.repo.commit_all("rules");
    stage.repo.write(".env", "KEY=1\n");
    stage.repo.write(".env.local", "not named\n");
    stage.repo.write("conf/a.key", "key\n");
    stage.repo.write("mine.txt", "named, but not ignored\n");
    let agent = looks("cat .env conf/a.key; ls .env.local mine.txt; rm -f .gitignore");
    stage.run(&["--agent", &agent, "--max-iterations", "1"]).ended(0).says("US-001 done");
    let seen = stage.note("seen");
    assert!(seen.starts_with("KEY=1\nkey\n"), "{seen}");
    assert_eq!(seen.matches("No such file").count(), 2, "{seen}");
    let files = stage.repo.git(["show", "--format=", "--name-status", "HEAD~1"]);
    assert_eq!(files, "D\t.gitignore\nM\t.ralph/PRD-1/plan.md\nA\tUS-001.txt\n");
    assert_eq!(stage.read(".env"), "KEY=1\n");
}

#[test]
fn copied_files_above_the_size_limit_are_refused() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".worktreeinclude", "*.log\n");
    stage.repo.commit_all("rules");
    for name in ["one.log", "two.log"] {
        stage.repo.write(name, "");
        let file = fs_err::OpenOptions::new().write(true).open(stage.repo.root().join(name));
        // A sparse file: no blocks are allocated.
        file.unwrap().set_len(700_000_000).unwrap();
    }
    let ran = stage.run(&[]);
    ran.ended(1)
        .says(".worktreeinclude matches 1400 MB in 2 files, more than the limit of 1000 MB");
    assert_eq!(stage.note("seen"), "");
}

/// A project whose copy is set up by this command.
fn with_setup(command: &str, more: &str) -> Stage {
    let stage = Stage::new("works", TWO);
    let config = format!("[workspace]\nsetup = ['''{command}''']\n{more}");
    stage.repo.write(".ralph/config.toml", config);
    stage.repo.write("package-lock.json", "{}\n");
    stage.repo.write(".gitignore", "node_modules/\n");
    stage.repo.commit_all("setup");
    stage
}

#[test]
fn setup_runs_in_a_new_copy_and_after_a_lock_file_changed() {
    let command =
        "echo ran >>\"$AGENT_NOTES/setup\"; mkdir -p node_modules; echo x >node_modules/x";
    let stage = with_setup(command, "");
    let ran = stage.run(&["--agent", &looks("cat node_modules/x")]);
    ran.ended(0).says("setting up the copy: ").says("the copy is set up");
    assert_eq!((stage.note("setup").as_str(), stage.note("seen").as_str()), ("ran\n", "x\nx\n"));
    stage.repo.write(crate::stage::PLAN, "- [ ] US-003: Third\n");
    stage.run(&[]).ended(0);
    assert_eq!(stage.note("setup"), "ran\n", "nothing changed");
    stage.repo.write("package-lock.json", "{\"a\":1}\n");
    stage.repo.commit_all("another lock file");
    stage.repo.write(crate::stage::PLAN, "- [ ] US-004: Fourth\n");
    stage.run(&[]).ended(0);
    assert_eq!(stage.note("setup"), "ran\nran\n");
    stage.run(&["clean"]).ended(0);
    stage.repo.write(crate::stage::PLAN, "- [ ] US-005: Fifth\n");
    stage.run(&[]).ended(0);
    assert_eq!(stage.note("setup"), "ran\nran\nran\n");
}

#[test]
fn a_setup_command_that_fails_or_hangs_ends_the_run_with_its_output() {
    let stage = with_setup("echo no such registry; exit 3", "");
    let ran = stage.run(&[]);
    ran.ended(1).says("the setup command `echo no such registry; exit 3` failed with exit code 3");
    ran.says("no such registry").says("[workspace] setup");
    assert_eq!(stage.plan(), TWO);
    let stage = with_setup(
        "echo begun; echo $$ >\"$AGENT_NOTES/pid\"; exec sleep 600",
        "[verify]\ntimeout = 1\n",
    );
    stage.run(&[]).ended(1).says("raise [verify] timeout").says("begun");
    assert!(!crate::stage::is_alive(&stage.note("pid")));
}

#[test]
fn uncommitted_specifications_are_in_the_copy() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("specs/one.md", "old\n");
    stage.repo.commit_all("specs");
    stage.repo.write("specs/one.md", "new\n");
    stage.repo.write("specs/two.md", "two\n");
    let ran: Ran = stage.run(&["--agent", &looks("cat specs/one.md specs/two.md")]);
    ran.ended(0);
    assert_eq!(stage.note("seen"), "new\ntwo\n");
    stage.has(&[("specs/one.md", "new\n")]);
    assert_eq!(stage.repo.git(["show", "HEAD:specs/one.md"]), "old\n");
}
