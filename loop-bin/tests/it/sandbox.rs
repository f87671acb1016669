//! The sandbox around an attempt. Its own crate tests what it refuses to a single process; here the
//! same acts are done by an agent, a check, a setup command and a git hook of a run.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use camino::Utf8Path;
use test_support::run_on_terminal;

use crate::stage::{LOOP, ONE, Ran, Stage, executable, signal, until};

/// Whether this kernel lacks sandbox support; tests that need it then pass without running.
pub(crate) fn is_missing() -> bool {
    !::sandbox::support().is_enough()
}

/// A project with one story; `None` if this kernel lacks sandbox support.
fn in_sandbox() -> Option<Stage> {
    (!is_missing()).then(|| Stage::new("works", ONE))
}

/// The acts that change what an attempt must not touch: names and scripts.
fn acts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let acts = include_str!("../../../crates/sandbox/tests/it/acts.txt").lines();
    let acts = acts.filter(|line| !line.starts_with('#'));
    acts.map(|line| line.split_once(" | ").expect("a name and a script"))
}

/// A project and a home folder in which each act could do harm, and a script that does them all.
fn prepared() -> (Stage, String) {
    let stage = Stage::new("works", ONE);
    stage.repo.write("src/main.c", "the user's\n");
    stage.repo.commit_all("more");
    fs_err::create_dir(stage.repo.root().join("empty")).unwrap();
    let scratch = stage.repo.scratch();
    for name in [".bashrc", ".gitconfig", ".config/git/config", ".cargo/config.toml", ".netrc"] {
        let old = fs_err::read_to_string(scratch.path("home").join(name)).unwrap_or_default();
        scratch.file(&format!("home/{name}"), old);
    }
    let files = ".claude/settings.json .claude.json .codex/config.toml .aws/x .ssh/id \
                 .gradle/gradle.properties .m2/settings.xml";
    for name in files.split_whitespace() {
        scratch.file(&format!("home/{name}"), "{}");
    }
    let mut script = format!(
        "export PROJECT={} OTHER={} OUTSIDER={}\n",
        stage.repo.root(),
        scratch.dir("other"),
        std::process::id()
    );
    for (name, act) in acts() {
        let quoted = act.replace('\'', r"'\''");
        script.push_str(&format!(
            "rm -rf \"$TMPDIR/act\"; mkdir \"$TMPDIR/act\"; cp \"$PWD/a.txt\" \"$TMPDIR/act/main.c\"\n\
             (cd \"$TMPDIR/act\" && COPY=$PWD sh -c '{quoted}') >/dev/null 2>&1 </dev/null && \
             echo '{name}' >>\"$AGENT_NOTES/escaped\"\n"
        ));
    }
    script.push_str("echo done >>\"$AGENT_NOTES/tried\"\n");
    (stage, script)
}

/// The content of everything below a folder, except for the files that the loop writes.
fn files(folder: &Utf8Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = [".cache", ".git", ".ralph"];
        if ours.iter().any(|name| path.file_name() == Some(name)) {
            continue;
        }
        let kind = path.symlink_metadata().unwrap();
        if kind.is_dir() {
            files(path, found);
        } else {
            let content = if kind.is_file() { fs_err::read(path).unwrap() } else { Vec::new() };
            found.insert(path.to_string(), content);
        }
    }
}

fn protected(stage: &Stage) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in ["repo/src", "home", "other"] {
        files(&stage.repo.scratch().path(folder), &mut found);
    }
    let git = |args: &[&str]| stage.repo.git(args).into_bytes();
    found.insert("config".to_owned(), git(&["config", "--local", "--list"]));
    found
}

/// Runs the loop with only the notes additionally writable.
fn run(stage: &Stage, args: &[&str]) -> Ran {
    run_where(stage, args, stage.note_path("").as_str())
}

/// Runs the loop with only these paths additionally writable.
fn run_where(stage: &Stage, args: &[&str], writable: &str) -> Ran {
    let mut command = stage.command(args);
    // The CARGO_HOME of the test process is not in the stage's home folder.
    command.env("RALPH_SANDBOX_WRITE", writable).env_remove("CARGO_HOME");
    command.output().expect("the loop runs").into()
}

#[test]
fn no_act_of_an_agent_check_setup_or_git_hook_escapes() {
    if is_missing() {
        return;
    }
    assert!(acts().count() > 40);
    for actor in ["agent", "check", "setup", "git hook"] {
        let (stage, script) = prepared();
        let file = stage.repo.scratch().file("acts/all.sh", &script);
        let all = format!("sh {file}");
        let agent = format!("cat >/dev/null; echo x >x.txt; {all}; true");
        let check = format!("{all}; test -e x.txt");
        let mut args = vec!["--verify", "test -e x.txt", "--prove", "off"];
        match actor {
            "agent" => args.extend(["--agent", &agent]),
            "check" => {
                args.extend(["--verify", &check, "--agent", "cat >/dev/null; echo x >x.txt"])
            }
            "setup" => args.extend(["--setup", &all, "--agent", "cat >/dev/null; echo x >x.txt"]),
            _ => {
                stage.install_hook("pre-commit", &all);
                args.extend(["--agent", "cat >/dev/null; echo x >x.txt"]);
            }
        }
        let before = protected(&stage);
        run(&stage, &args).ended(0).says("US-001 done").says("sandbox on (Landlock");
        for look in [&["status"][..], &["report", "--markdown"]] {
            stage.run(look).ended(0).says("andbox").says("on (Landlock");
        }
        assert!(stage.note("tried").contains("done"), "{actor}");
        assert_eq!(stage.note("escaped"), "", "{actor}");
        assert_eq!(protected(&stage), before, "{actor}");
        stage.is_clean();
    }
}

#[test]
fn without_a_sandbox_the_same_acts_reach_their_targets() {
    let (stage, script) = prepared();
    // Acts that destroy the project are tested in the sandbox crate.
    let kept = |line: &&str| !line.contains("remove a tree") && !line.contains("as root");
    let script: String = script.lines().filter(kept).map(|line| format!("{line}\n")).collect();
    let script = format!("TMPDIR={}\nexport TMPDIR\n{script}", stage.repo.scratch().dir("tmp"));
    let file = stage.repo.scratch().file("acts/all.sh", &script);
    let agent = format!("cat >/dev/null; echo x >x.txt; sh {file}; true");
    let before = protected(&stage);
    let ran = run(&stage, &["--agent", &agent, "--sandbox", "off", "--max-iterations", "1"]);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.matches("sandbox off").count() > 1, "at the start and at the end: {said}");
    // Some acts undo what others need; in the sandbox crate each one starts from scratch.
    assert!(stage.note("escaped").lines().count() > 20, "{}", stage.note("escaped"));
    assert_ne!(protected(&stage), before);
}

#[test]
fn git_filters_run_on_the_agents_files_stay_inside() {
    let Some(stage) = in_sandbox() else { return };
    executable(&stage.repo.root().join("clean.sh"), "#!/bin/sh\ncat\n");
    stage.repo.write(".gitattributes", "*.txt filter=own\n");
    stage.repo.git(["config", "filter.own.clean", "./clean.sh %f"]);
    stage.repo.commit_all("a filter");
    let out = stage.repo.scratch().path("out");
    let act = format!("echo out >>{out}; cat");
    let agent = format!(
        "cat >/dev/null; printf '#!/bin/sh\\n{act}\\n' >clean.sh; git config filter.new.clean '{act}'; \
         echo '*.c filter=new' >.git/info/attributes; echo 1 >>a.txt; echo 2 >'b c.txt'; \
         echo 3 >d.c; exit 1"
    );
    run(&stage, &["--agent", &agent, "--attempts", "1"]).says("attempt saved");
    let kept = stage.repo.git(["ls-tree", "--name-only", "refs/ralph/attempts/PRD-1/US-001/1"]);
    for name in ["a.txt", "b c.txt", "d.c"] {
        assert!(kept.lines().any(|line| line == name), "{kept}");
    }
    assert!(!out.exists(), "{}", fs_err::read_to_string(&out).unwrap_or_default());
    // Without a sandbox the filters escape.
    let off = ["--agent", &agent, "--attempts", "1", "--sandbox", "off"];
    stage.run(&["retry", "US-001"]).ended(0);
    run(&stage, &off).says("attempt saved");
    assert!(out.exists());
    fs_err::remove_file(&out).unwrap();
    // Landed filters do not escape either when the user's checkout is updated.
    stage.repo.git(["config", "filter.own.smudge", "./clean.sh %f"]);
    let landing = agent.replace("exit 1", "chmod +x clean.sh");
    stage.run(&["retry", "US-001"]).ended(0);
    run(&stage, &["--agent", &landing]).says("US-001 done");
    assert_eq!(stage.read("a.txt"), "a\n1\n");
    assert!(!out.exists(), "{}", fs_err::read_to_string(&out).unwrap_or_default());
}

#[test]
fn credentials_and_their_variables_are_out_of_reach() {
    let Some(stage) = in_sandbox() else { return };
    for name in [".ssh/id", ".netrc", ".aws/credentials", ".npmrc"] {
        stage.repo.scratch().file(&format!("home/{name}"), "hunter2");
    }
    let agent = "cat >/dev/null; echo x >x.txt; cat ~/.ssh/id ~/.netrc ~/.aws/credentials ~/.npmrc; \
                 echo \"token: $GITHUB_TOKEN, tool: $MY_TOOL\"; true";
    let vars = [("GITHUB_TOKEN", "hunter3"), ("MY_TOOL", "hunter4")];
    let ran = stage.run_env(&vars, &["--agent", agent, "--setup", "cat ~/.npmrc >npm.log"]);
    ran.ended(0).says("US-001 done");
    let log = stage.repo.root().join(".ralph/logs");
    let mut logs = log.read_dir_utf8().unwrap().flatten();
    let log = logs.find(|log| log.file_name().ends_with(".log")).unwrap();
    let log = fs_err::read_to_string(log.path()).unwrap();
    assert!(!log.contains("hunter2") && log.contains("token: , tool: hunter4"), "{log}");
    let setup = stage.copy().unwrap().join("npm.log");
    assert_eq!(fs_err::read_to_string(setup).unwrap(), "hunter2", "a registry's, for the setup");
}

/// Has the project sign its commits with a new key of this passphrase; false without `ssh-keygen`.
fn signs_with_a_new_key(stage: &Stage, passphrase: &str) -> bool {
    let key = stage.repo.scratch().path("home/.ssh/id");
    fs_err::create_dir_all(key.parent().unwrap()).unwrap();
    let mut keygen = Command::new("ssh-keygen");
    let made = keygen.args(["-q", "-t", "ed25519", "-N", passphrase, "-f"]).arg(&key).status();
    if !made.is_ok_and(|status| status.success()) {
        return false;
    }
    for (name, value) in
        [("gpg.format", "ssh"), ("commit.gpgsign", "true"), ("user.signingkey", key.as_str())]
    {
        stage.repo.git(["config", name, value]);
    }
    true
}

#[test]
fn commits_are_signed_outside_with_a_key_that_is_hidden_inside() {
    let Some(stage) = in_sandbox() else { return };
    if !signs_with_a_new_key(&stage, "") {
        println!("passed over: there is no ssh-keygen");
        return;
    }
    stage.install_hook("commit-msg", "cat ~/.ssh/id && exit 1; echo 'Seen-By: hook' >>\"$1\"");
    run(&stage, &["--verify", "true"]).ended(0).says("US-001 done");
    let text = stage.repo.git(["cat-file", "commit", "HEAD"]);
    assert!(text.contains("-----BEGIN SSH SIGNATURE-----"), "{text}");
    assert!(text.contains("Seen-By: hook"), "{text}");
}

/// A run on a terminal that cannot sign ends before its first story, and asks nobody.
#[track_caller]
fn cannot_sign(stage: &Stage, vars: &[(&str, &str)]) {
    let mut command = stage.command(&["--verify", "true"]);
    let (code, text) = run_on_terminal(command.envs(vars.iter().copied()));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("commits cannot be signed without a terminal"), "{text}");
    assert!(!text.contains("iteration 1"), "{text}");
}

#[test]
fn a_key_that_needs_a_passphrase_or_is_not_there_is_found_before_the_first_story() {
    let stage = Stage::new("works", ONE);
    if !signs_with_a_new_key(&stage, "secret") {
        println!("passed over: there is no ssh-keygen");
        return;
    }
    cannot_sign(&stage, &[]);
    stage
        .run(&["doctor", "--deep", "--verify", "true"])
        .ended(1)
        .says("PROBLEM  commits cannot be signed");
    stage.repo.git(["config", "user.signingkey", "/nowhere/id"]);
    cannot_sign(&stage, &[]);
    stage.repo.git(["config", "commit.gpgsign", "false"]);
    let deep = || stage.run(&["doctor", "--deep", "--verify", "true"]);
    stage.install_hook("commit-msg", "exit 0");
    deep().ended(0).says("git hooks and signature, tried on a commit in the copy");
    stage.install_hook("commit-msg", "echo 'no ticket'; exit 1");
    deep().ended(0).says("note     a commit without changes").says("no ticket");
    stage.run(&[]).ended(8);
}

#[test]
fn a_gpg_key_without_a_pinentry_is_found_before_the_first_story() {
    let stage = Stage::new("works", ONE);
    let home = stage.repo.scratch().path("home");
    let keys = stage.repo.scratch().dir("keys");
    fs_err::set_permissions(&keys, std::fs::Permissions::from_mode(0o700)).unwrap();
    fs_err::write(keys.join("gpg-agent.conf"), "pinentry-program /nowhere/pinentry\n").unwrap();
    let gpg = |program: &str, args: &[&str]| {
        test_support::program(program, &home).env("GNUPGHOME", &keys).args(args).output()
    };
    let key = ["--quick-generate-key", "test@localhost", "ed25519", "sign", "never"];
    let how = ["--batch", "--pinentry-mode", "loopback", "--passphrase", "secret"];
    if !gpg("gpg", &[&how[..], &key].concat()).is_ok_and(|made| made.status.success()) {
        println!("passed over: there is no gpg");
        return;
    }
    gpg("gpgconf", &["--kill", "gpg-agent"]).unwrap();
    stage.repo.git(["config", "commit.gpgsign", "true"]);
    stage.repo.git(["config", "user.signingkey", "test@localhost"]);
    cannot_sign(&stage, &[("GNUPGHOME", keys.as_str())]);
    stage.repo.git(["config", "user.signingkey", "nobody@localhost"]);
    cannot_sign(&stage, &[("GNUPGHOME", keys.as_str())]);
    gpg("gpgconf", &["--kill", "gpg-agent"]).unwrap();
}

#[test]
fn commits_are_signed_with_gpg_outside() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", ONE);
    let home = stage.repo.scratch().path("home");
    let keys = stage.repo.scratch().dir("keys");
    fs_err::set_permissions(&keys, std::fs::Permissions::from_mode(0o700)).unwrap();
    let gpg = |program: &str, args: &[&str]| {
        test_support::program(program, &home).env("GNUPGHOME", &keys).args(args).output()
    };
    let key = ["--quick-generate-key", "test@localhost", "ed25519", "sign", "never"];
    let made = gpg("gpg", &[&["--batch", "--passphrase", ""], &key[..]].concat());
    if !made.is_ok_and(|made| made.status.success()) {
        println!("passed over: there is no gpg");
        return;
    }
    stage.repo.git(["config", "commit.gpgsign", "true"]);
    stage.repo.git(["config", "user.signingkey", "test@localhost"]);
    let hook = stage.repo.root().join(".git/hooks/pre-commit");
    executable(&hook, &format!("#!/bin/sh\ncat {keys}/private-keys-v1.d/* && exit 1; exit 0\n"));
    let mut command = stage.command(&["--verify", "true"]);
    command.env("GNUPGHOME", &keys).env("RALPH_SANDBOX_WRITE", stage.note_path(""));
    let ran: Ran = command.output().unwrap().into();
    ran.ended(0).says("US-001 done");
    let text = stage.repo.git(["cat-file", "commit", "HEAD"]);
    assert!(text.contains("-----BEGIN PGP SIGNATURE-----"), "{text}");
    assert!(gpg("gpgconf", &["--kill", "gpg-agent"]).unwrap().status.success());
}

#[test]
fn the_sandbox_command_uses_the_same_sandbox_and_works_in_the_copy() {
    let Some(stage) = in_sandbox() else { return };
    let try_it = |script: &str| run(&stage, &["sandbox", "--", "sh", "-c", script]);
    try_it("echo x >\"$TMPDIR/x\" && cat \"$TMPDIR/x\"").ended(0).says("x");
    try_it("echo x >evil").ended(2).says("Permission denied");
    try_it("exit 7").ended(7);
    assert!(!stage.exists("evil"));
    run(&stage, &["sandbox", "--", "no-such-program"]).ended(126).says("no-such-program");
    stage.repo.scratch().file("home/.ssh/id", "x");
    stage.repo.scratch().file("home/.cargo/config.toml", "");
    let ran = run(&stage, &["doctor"]);
    ran.says("sandbox tested: it refused every attempt to get out");
    let lines: Vec<&str> = ran.out.lines().filter(|line| line.contains("[sandbox] ")).collect();
    let [hides, shows] = lines[..] else { panic!("{lines:?}") };
    assert!(hides.contains("hides") && hides.contains("~/.ssh"), "{hides}");
    assert!(shows.contains("shows") && shows.contains("~/.cargo"), "{shows}");
    stage.run(&[]).ended(0);
    let copy = stage.copy().unwrap();
    stage.run_in(&copy, &["sandbox", "--", "touch", "tried"]).ended(0);
    assert!(copy.join("tried").exists());
}

#[test]
fn a_command_in_the_sandbox_leaves_the_terminal_and_hears_its_signals() {
    let Some(stage) = in_sandbox() else { return };
    let at_terminal = |script: &str| {
        let mut command = Command::new("script");
        let line = format!("{LOOP} sandbox -- sh -c '{script}'");
        command.args(["-qec", &line, "/dev/null"]).current_dir(stage.repo.root());
        let known = stage.command(&[]);
        command.envs(known.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ran::from(command.output().unwrap())
    };
    at_terminal("test -t 1 && echo text").ended(0).says("text");
    // Who has it as its own can type into it.
    assert_ne!(at_terminal("echo x >/dev/tty").code, Some(0));
    let note = stage.note_path("ready");
    let wait = format!("trap 'exit 9' INT; echo >{note}; while :; do sleep 0.1; done");
    let mut command = stage.command(&["sandbox", "--", "sh", "-c", &wait]);
    let mut child = command.env("RALPH_SANDBOX_WRITE", stage.note_path("")).spawn().unwrap();
    until("the trap", || note.exists());
    signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

/// In place, the git folder is writable, so the record of the run is kept outside of it.
#[test]
fn in_place_the_agent_cannot_write_the_run_record() {
    let Some(stage) = in_sandbox() else { return };
    let agent = "cat >/dev/null; echo x >x.txt; echo y >.git/by-agent; \
                 echo '{}' >.git/ralph/run.json || touch \"$AGENT_NOTES/refused\"";
    let args = ["--in-place", "--agent", agent, "--verify", "test -e x.txt", "--prove", "off"];
    run(&stage, &args).ended(0).says("US-001 done");
    assert!(stage.note_path("refused").exists(), "the agent reached the record");
    assert!(stage.repo.root().join(".git/by-agent").exists());
    let kept = stage.repo.root().join(".git/ralph").read_link_utf8().unwrap();
    assert!(kept.starts_with(stage.repo.scratch().path("home/.local/state/ralph")), "{kept}");
    stage.run(&["status"]).ended(0).says("complete: 1 done");
    stage.is_clean();
}

/// The next start ignores settings that an agent wrote before its loop was killed.
#[test]
fn in_place_settings_of_a_killed_run_are_restored_before_they_are_read() {
    let Some(stage) = in_sandbox() else { return };
    stage.repo.write(".ralph/guardrails.md", "- mine, uncommitted\n");
    let agent = "cat >/dev/null; echo x >x.txt; rm .ralph/guardrails.md; mkdir -p .ralph/hooks; \
                 printf '[sandbox]\\nmode = \"off\"\\nbroken' >.ralph/config.toml; \
                 printf '#!/bin/sh\\ntouch \"$AGENT_NOTES/ran\"\\n' >.ralph/hooks/started; \
                 chmod +x .ralph/hooks/started; git config filter.e.clean 'touch /tmp/never; cat'; \
                 echo x >\"$AGENT_NOTES/begun\"; sleep 600";
    let before = fs_err::read(stage.repo.root().join(".git/config")).unwrap();
    let args = ["--in-place", "--agent", agent, "--prove", "off"];
    stage.killed_when(&args, "the agent has begun", || !stage.note("begun").is_empty());
    run(&stage, &["--in-place", "--prove", "off"]).ended(0).says("sandbox on (Landlock");
    assert!(!stage.note_path("ran").exists(), "a script of the agent's was run");
    assert!(!stage.exists(".ralph/config.toml"));
    assert_eq!(stage.read(".ralph/guardrails.md").lines().next(), Some("- mine, uncommitted"));
    assert_eq!(fs_err::read(stage.repo.root().join(".git/config")).unwrap(), before);
}

#[test]
fn in_place_works_in_a_linked_work_tree() {
    let Some(stage) = in_sandbox() else { return };
    stage.repo.commit_all("plan");
    let linked = stage.repo.scratch().path("linked");
    stage.repo.git(["worktree", "add", "--quiet", "-b", "side", linked.as_str()]);
    let mut command = stage.command(&["--in-place", "--prove", "off"]);
    command.current_dir(&linked).env("RALPH_SANDBOX_WRITE", stage.note_path("").as_str());
    Ran::from(command.output().expect("the loop runs")).ended(0).says("US-001 done");
}

#[test]
fn a_check_that_the_sandbox_blocks_stops_the_start_with_a_remedy() {
    let Some(stage) = in_sandbox() else { return };
    let other = stage.repo.scratch().dir("other");
    let run = |check: &str, writable: &str| {
        run_where(&stage, &["--verify", check, "--baseline", "check"], writable)
    };
    let check = format!("echo x >{other}/file");
    let ran = run(&check, "");
    ran.ended(9).says(&format!("fails in the sandbox, which refused {other}/file"));
    ran.says(&format!("under [sandbox], add `write = [\"{other}\"]`, or start with --sandbox off"));
    let secret = stage.repo.scratch().file("home/.netrc", "x");
    run("cat ~/.netrc", "").ended(9).says(&format!("add `show = [\"{secret}\"]`"));
    // No access is offered to home, other copies, settings of agents or system folders.
    stage.repo.scratch().file("home/.claude/settings.json", "{}");
    for path in ["~/new", "~/.claude/settings.json", "~/.cache/new", "/usr/bin/new"] {
        let ran = run(&format!("echo x >>{path}"), "");
        ran.ended(9).says("fails in the sandbox").says("list paths it writes in `write`");
    }
    // The check never runs outside the sandbox for comparison: the refused act would succeed.
    let precious = stage.repo.scratch().file("home/Documents/old", "x");
    let ran = run("rm ~/Documents/old; test -n \"$SSH_AUTH_SOCK\"", "");
    ran.ended(9).says("fails in the sandbox");
    let needs_a_key = "test -n \"$SSH_AUTH_SOCK\" || { echo SSH_AUTH_SOCK is not set; false; }";
    let ran = stage.run_env(
        &[("SSH_AUTH_SOCK", "/run/agent")],
        &["--verify", needs_a_key, "--baseline", "check"],
    );
    ran.ended(9).says("under [sandbox], add `env = [\"SSH_AUTH_SOCK\"]`");
    run("rm -f ~/Documents/old 2>/dev/null; false", "").ended(9).says("if it passes without the");
    // The sandbox denies no start of a program: this one is just not executable.
    let spawn = run(&format!("echo \"Error: spawn {secret} EACCES\"; false"), "");
    let said = format!("{}{}", spawn.ended(9).out, spawn.err);
    assert!(said.contains("EACCES") && !said.contains("which refused"), "{said}");
    assert!(precious.exists());
    let missing = format!("{other}/missing");
    let ran = run(&check, &format!("{other}\n{missing}\n{}", stage.note_path("")));
    ran.ended(0).says("US-001 done");
    ran.says(&format!("{missing} in [sandbox] write does not exist"));
}

#[test]
fn sandbox_refusals_of_an_agent_are_in_the_report() {
    let Some(stage) = in_sandbox() else { return };
    let other = stage.repo.scratch().dir("other");
    let agent = format!("cat >/dev/null; echo x >x.txt; echo x >{other}/file; true");
    run_where(&stage, &["--agent", &agent], "").ended(0);
    let report = stage.run(&["report", "--json"]);
    report.ended(0).says("sandbox").says(&format!("{other}/file"));
}
