//! Attempts and the user's home folder: credentials for the processes that need them, and files
//! that the user changes at the same time.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use camino::Utf8Path;

use crate::sandbox::is_missing;
use crate::stage::{ONE, PLAN, Ran, Stage, TWO, executable};

/// A project whose agent has the name of the client and runs this script.
fn stage_of_client(plan: &str, script: &str) -> Stage {
    let stage = Stage::new("works", plan);
    let version = "[ \"$1\" = --version ] && echo '2.1.325 (Claude Code)' && exit";
    let work = "echo done >\"$(cat \"$RALPH_STORY_FILE\").txt\"";
    let script = format!("#!/bin/sh\n{version}\ncat >/dev/null\n{script}\n{work}\n");
    stage.repo.scratch().script("bin/claude", &script);
    stage
}

/// The loop with that agent, and only the notes additionally writable.
fn client(stage: &Stage, agent: &str, args: &[&str]) -> Command {
    let mut command = stage.command(&[&["--agent", agent, "--unguarded"], args].concat());
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", stage.repo.scratch().path("bin")));
    command.env("RALPH_SANDBOX_WRITE", stage.note_path(""));
    command
}

#[test]
fn an_agent_has_the_credentials_of_its_provider_and_its_checks_do_not() {
    if is_missing() {
        return;
    }
    for agent in ["claude -p", "timeout 60 claude -p", "/usr/bin/env A=1 claude -p"] {
        for is_bedrock in [true, false] {
            let stage = stage_of_client(
                ONE,
                "cat ~/.aws/credentials >\"$AGENT_NOTES/file\"\n\
                 echo \"$AWS_SESSION_TOKEN\" >\"$AGENT_NOTES/token\"\n\
                 cat ~/.claude/.credentials.json >\"$AGENT_NOTES/login\"",
            );
            stage.repo.scratch().file("home/.aws/credentials", "of Bedrock");
            stage.repo.scratch().file("home/.claude/.credentials.json", "of the client");
            let check = "! cat ~/.aws/credentials && ! cat ~/.claude/.credentials.json && \
                         test -z \"$AWS_SESSION_TOKEN\"";
            let mut command = client(&stage, agent, &["--verify", check]);
            command.env("AWS_SESSION_TOKEN", "token");
            if is_bedrock {
                command.env("CLAUDE_CODE_USE_BEDROCK", "1");
            }
            Ran::from(command.output().unwrap()).ended(0).says("US-001 done");
            let expected = if is_bedrock { ("of Bedrock", "token\n") } else { ("", "\n") };
            let (file, token) = (stage.note("file"), stage.note("token"));
            assert_eq!((file.as_str(), token.as_str()), expected, "{agent}");
            assert_eq!(stage.note("login"), "of the client", "{agent}");
        }
    }
}

#[test]
fn a_reviewer_has_its_own_login_and_not_that_of_the_agent() {
    if is_missing() {
        return;
    }
    let stage = stage_of_client(ONE, "cat ~/.codex/auth.json && exit 1");
    let scratch = stage.repo.scratch();
    scratch.file("home/.claude/.credentials.json", "of the agent");
    scratch.file("home/.codex/auth.json", "of the reviewer");
    scratch.script(
        "bin/codex",
        "#!/bin/sh\ncat >/dev/null\ncat ~/.claude/.credentials.json && exit 1\n\
         cat ~/.codex/auth.json >\"$AGENT_NOTES/login\"\necho '{\"approve\": true}'\n",
    );
    let review = ["--review", "--review-agent", "codex exec -", "--prove", "off"];
    let ran = Ran::from(client(&stage, "claude -p", &review).output().unwrap());
    ran.ended(0).says("US-001 reviewed: approved").says("US-001 done");
    assert_eq!(stage.note("login"), "of the reviewer");
}

#[test]
fn the_setup_has_credentials_only_in_an_unused_copy() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", TWO);
    stage.repo.scratch().file("home/.npmrc", "secret");
    stage.repo.write(".gitignore", "/packages\n");
    stage.repo.git(["add", "--force", PLAN]);
    stage.repo.commit_all("ignored");
    // The first agent adds a package, so the second one needs another setup.
    let agent = "cat >/dev/null; echo done >\"$(cat \"$RALPH_STORY_FILE\").txt\"; echo 1 >npm.lock";
    let setup = "mkdir -p packages; cat ~/.npmrc >>\"$AGENT_NOTES/setup\" || \
                 echo none >>\"$AGENT_NOTES/setup\"; echo >>\"$AGENT_NOTES/setup\"";
    let run_trusting = |setup: &str, is_trusted: &str| {
        let args = ["--agent", agent, "--setup", setup, "--verify", "true"];
        let mut command = stage.command(&args);
        command
            .env("RALPH_SANDBOX_WRITE", stage.note_path(""))
            .env("RALPH_TRUST_SETUP", is_trusted);
        Ran::from(command.output().unwrap())
    };
    let run = |setup: &str| run_trusting(setup, "false");
    let ran = run(setup);
    ran.ended(0).says("US-002 done");
    assert!(!ran.out.contains("changes tracked files"), "{}", ran.out);
    assert_eq!(stage.note("setup"), "secret\nnone\n\n");
    // A setup that needs the credentials gets a new copy.
    assert!(stage.in_copy("packages"));
    stage.repo.write(PLAN, "- [ ] US-003: Third\n");
    stage.repo.git(["commit", "-qm", "mine", PLAN]);
    let ran = run_trusting("cat ~/.npmrc", "true");
    ran.ended(0).says("the setup failed in a used copy; creating a new one").says("US-003 done");
    assert!(!stage.in_copy("packages"));
    // Nor has a new one that would run what an agent wrote, whatever the user committed since.
    stage.run(&["clean"]).ended(0);
    stage.repo.write(PLAN, "- [ ] US-004: Fourth\n");
    stage.repo.git(["commit", "-qm", "mine too", PLAN]);
    let ran = run(setup);
    ran.ended(0).says("(without credentials: ").says("US-004 done");
    assert!(stage.note("setup").ends_with("none\n\n"), "{}", stage.note("setup"));
}

/// Replaces a file by renaming, as the client and git do.
fn replace(path: &Utf8Path, text: &str) {
    let fresh = path.with_extension("fresh");
    fs_err::write(&fresh, text).unwrap();
    fs_err::rename(&fresh, path).unwrap();
}

#[test]
fn attempts_and_the_user_share_files_in_the_home_folder() {
    if is_missing() {
        return;
    }
    let plan: String = (1..=4).map(|n| format!("- [ ] US-{n:03}: Story\n")).collect();
    // The client saves its settings by renaming a file, or else by writing it directly.
    let stage = stage_of_client(
        &plan,
        "until [ -e \"$AGENT_NOTES/replaced\" ]; do sleep 0.05; done\n\
         for n in 1 2 3 4 5; do\n\
         mkdir ~/.claude.json.lock\n\
         echo '{}' >~/.claude.json.tmp.$$ && mv ~/.claude.json.tmp.$$ ~/.claude.json\n\
         echo '{}' >~/.claude.json\n\
         done 2>/dev/null\n\
         git config --global user.nickname >>\"$AGENT_NOTES/nickname\" || exit 1\n\
         cat ~/.claude.json >>\"$AGENT_NOTES/read\"; true",
    );
    let home = stage.repo.scratch().path("home");
    let (settings, git) = (home.join(".claude.json"), home.join(".gitconfig"));
    replace(&settings, "{\"saved\": 0}");
    replace(&git, "[user]\n\tnickname = before\n");
    let is_over = AtomicBool::new(false);
    let mut command = client(&stage, "claude -p", &["--workers", "4", "--verify", "git status"]);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut saved, mut is_first) = (0, true);
            while !is_over.load(Ordering::Relaxed) {
                let text = fs_err::read_to_string(&settings).unwrap();
                assert_eq!(text, format!("{{\"saved\": {saved}}}"), "somebody else wrote it");
                saved += 1;
                replace(&settings, &format!("{{\"saved\": {saved}}}"));
                if is_first && stage.repo.scratch().path("home/.cache/ralph").exists() {
                    std::thread::sleep(Duration::from_secs(2));
                    replace(&git, "[user]\n\tnickname = after\n");
                    fs_err::write(stage.note_path("replaced"), "").unwrap();
                    is_first = false;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(saved > 10 && !is_first);
        });
        let ran = Ran::from(command.output().unwrap());
        is_over.store(true, Ordering::Relaxed);
        ran
    });
    ran.ended(0).says("finished (complete): 4 stories landed");
    let left = home.read_dir_utf8().unwrap().flatten();
    let left = left.filter(|entry| entry.file_name().starts_with(".claude.json"));
    assert_eq!(left.count(), 1, "a lock or a part of a file is left");
    // A running program reads the version of the file that existed when it started.
    assert_eq!(stage.note("nickname").lines().count(), 4);
    assert!(!stage.note("read").contains("{}"), "{}", stage.note("read"));
}

#[test]
fn a_git_hook_reaches_the_network() {
    let stage = Stage::new("works", ONE);
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let hook = stage.repo.root().join(".git/hooks/commit-msg");
    let script = format!(
        "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port} || exit 1\n\
         head -n 1 \"$1\" >&3\nread -r answer <&3\necho \"Change-Id: $answer\" >>\"$1\"\n"
    );
    executable(&hook, &script);
    let served = std::thread::spawn(move || {
        let mut client = server.accept().unwrap().0;
        let mut said = [0; 19];
        client.read_exact(&mut said).unwrap();
        client.write_all(b"I123\n").unwrap();
        String::from_utf8_lossy(&said).into_owned()
    });
    stage.run(&["--verify", "true"]).ended(0).says("US-001 done");
    assert_eq!(served.join().unwrap(), "feat(US-001): First");
    let message = stage.repo.git(["log", "-1", "--format=%B"]);
    assert!(message.contains("Change-Id: I123"), "{message}");
}
