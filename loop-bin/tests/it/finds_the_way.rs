//! Suggestions for mistyped commands, shell completions, logs, and `ralph-loop explain`.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use camino::Utf8Path;
use test_support::{Scratch, program, run_with_input};

use crate::ralph_loop;
use crate::stage::{LOOP, Stage, TWO};

#[test]
fn a_mistyped_subcommand_gets_a_suggestion() {
    let scratch = Scratch::new();
    for (word, command) in [
        ("run", "`ralph-loop` alone starts a run"),
        ("start", "`ralph-loop` alone starts a run"),
        ("log", "`ralph-loop logs`"),
        ("stat", "did you mean `ralph-loop status`?"),
        ("Stories", "did you mean `ralph-loop stories`?"),
        ("history", "did you mean `ralph-loop status --run all`?"),
        ("xyzzy", "`ralph-loop --help` lists the subcommands"),
    ] {
        let (code, out, err) = ralph_loop(scratch.root(), &[word]);
        assert_eq!((code, out.as_str()), (2, ""), "{word}: {err}");
        assert!(err.contains(command), "{word}: {err}");
        // Also if flags of a run or another word follow.
        for rest in [&["--max-iterations", "3"][..], &["US-001"]] {
            let (code, _, err) = ralph_loop(scratch.root(), &[&[word], rest].concat());
            assert_eq!((code, err.contains(command)), (2, true), "{word}: {err}");
        }
    }
}

#[test]
fn a_word_that_is_no_subcommand_and_no_plan_starts_the_users_program_of_that_name() {
    let scratch = Scratch::new();
    let says = |what: &str| format!("#!/bin/sh\necho \"{what}: $#: $*\"\ncat\nexit 7\n");
    for name in ["tally", "status", "stat", "plans.md", "help"] {
        scratch.script(&format!("bin/ralph-loop-{name}"), &says(name));
    }
    scratch.script("here/ralph-loop-xyzzy", &says("xyzzy"));
    scratch.script("bin/ralph-loop-ends", "#!/bin/sh\nkill -TERM $$\n");
    scratch.file("bin/ralph-loop-unmarked", "not a program");
    let path = format!("here:.::{}:/usr/bin:/bin", scratch.path("bin"));
    let run = |words: &[&str]| {
        let mut command = program(LOOP, &scratch.path("here"));
        command.args(words).env("PATH", &path).current_dir(scratch.path("here"));
        run_with_input(&mut command, b"given")
    };
    let out = run(&["tally", "-v", "--help", "a b"]);
    assert_eq!(out.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&out.stdout), "tally: 3: -v --help a b\ngiven");
    // One that resembles a subcommand is the user's all the same.
    assert_eq!(run(&["stat"]).status.code(), Some(7));
    assert_eq!(run(&["ends"]).status.signal(), Some(15));
    // Subcommands, plans, plain files and relative folders of PATH are no such programs.
    for words in [&["status", "--help"][..], &["plans.md", "--help"], &["help"]] {
        let out = run(words);
        assert_eq!(out.status.code(), Some(0), "{words:?}");
        assert!(!String::from_utf8_lossy(&out.stdout).starts_with(words[0]), "{words:?}");
    }
    for word in ["unmarked", "xyzzy"] {
        let out = run(&[word]);
        let err = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!((out.status.code(), err.contains("neither a subcommand")), (Some(2), true));
    }
}

/// Runs a script in a shell in the stage's project, with our program on the path; `None` if the
/// shell is not installed.
#[expect(clippy::print_stdout, reason = "a test that proves nothing here says so")]
fn in_shell(stage: &Stage, shell: &[&str], script: &str) -> Option<String> {
    let folder = Utf8Path::new(LOOP).parent().unwrap();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command: Command = program(shell[0], stage.repo.root());
    command.args(&shell[1..]).current_dir(stage.repo.root()).env("PATH", path);
    if Command::new(shell[0]).arg("--version").output().is_err() {
        println!("passed over: {} is not installed", shell[0]);
        return None;
    }
    let output = run_with_input(&mut command, script.as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn bash_completes_commands_and_flags() {
    let stage = Stage::new("works", TWO);
    for (words, offered, other) in [
        (&["sta"][..], "status", "stories"),
        (&["status", "--w"], "--watch", "--run"),
        (&["--max-it"], "--max-iterations", "--max-cost"),
    ] {
        let script = format!(
            "source <(ralph-loop completions bash)\n\
             complete -p ralph-loop >/dev/null || exit 1\n\
             COMP_WORDS=(ralph-loop {}) COMP_CWORD={}\n\
             _ralph__loop ralph-loop '{}' x 2>/dev/null\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            words.join(" "),
            words.len(),
            words.last().unwrap(),
        );
        let Some(out) = in_shell(&stage, &["bash", "--norc"], &script) else { return };
        let found: Vec<&str> = out.lines().map(str::trim).collect();
        assert!(found.contains(&offered), "{words:?}: {out}");
        assert!(!found.contains(&other), "{words:?}: {out}");
    }
}

#[test]
fn zsh_and_fish_load_the_completion_script() {
    let stage = Stage::new("works", TWO);
    let zsh = "autoload -U compinit && compinit -D\nsource <(ralph-loop completions zsh)\n\
               print ${_comps[ralph-loop]}\n";
    let out = in_shell(&stage, &["zsh", "-f"], zsh);
    assert!(out.is_none_or(|out| out.trim() == "_ralph-loop"));
    let fish = "ralph-loop completions fish | source\ncomplete -C 'ralph-loop sta' | cut -f 1\n";
    let out = in_shell(&stage, &["fish", "--no-config"], fish);
    assert!(out.is_none_or(|out| out.lines().any(|line| line == "status")));
}

#[test]
fn logs_show_what_the_agent_did() {
    let stage = Stage::new("reports", TWO);
    stage.run(&["logs"]).ended(1).says("no agent has run here");
    stage.run(&["--max-iterations", "2"]).ended(0);
    let last = stage.run(&["logs"]);
    last.ended(0).says("-US-002.log").says("> Bash: cargo test").says("= success ($0.25");
    last.says("US-002/1 landed as ");
    assert!(!last.out.contains('{'), "{}", last.out);
    stage.run(&["logs", "us-001"]).ended(0).says("-US-001.log").says("session s-1");
    stage.run(&["logs", "US-001/1"]).ended(0).says("-US-001.log");
    stage.run(&["logs", "US-001/2"]).ended(1).says("there is no log of US-001/2");
}

fn explain(scratch: &Scratch, args: &[&str]) -> String {
    let (code, out, err) = ralph_loop(scratch.root(), &[&["explain"], args].concat());
    assert_eq!(code, 0, "{err}");
    out
}

#[test]
fn a_command_is_explained() {
    let scratch = Scratch::new();
    let config = "[[guard.rules]]\nname = \"no-deploy\"\nprogram = \"make\"\nargs = [\"deploy\"]\n";
    scratch.file(".ralph/config.toml", config);
    for (command, expected) in [
        (
            "cd app && X=push; timeout 5 git $X 2>&1 | tail -1",
            "runs      git push|in a run: denied by rule git-push|instead|request-merge|test run  no|\
             in your own session: you are asked by rule git-push",
        ),
        (
            "npx jest --ci",
            "test run  yes|in a run: no rule applies|in your own session: no rule applies",
        ),
        ("make deploy", "in a run: denied by rule no-deploy|asked by rule no-deploy"),
        (
            "terraform destroy",
            "in a run: denied by rule deploy|in your own session: no rule applies",
        ),
        ("npm publish", "denied by rule publish"),
    ] {
        let out = explain(&scratch, &[command]);
        for words in expected.split('|') {
            assert!(out.contains(words), "no `{words}` in {out}");
        }
    }
}

#[test]
fn an_edit_is_explained() {
    let scratch = Scratch::new();
    scratch.file(".ralph/config.toml", "[scope]\npaths = [\"src/**\"]\n");
    for (file, in_run, in_own) in [
        (".git/config", "denied by rule protected-path", "you are asked by rule protected-path"),
        ("README.md", "denied by rule scope", "no rule applies"),
        ("src/a.rs", "no rule applies", "no rule applies"),
    ] {
        let out = explain(&scratch, &["--file", file]);
        assert!(out.contains(&format!("in a run: {in_run}")), "{out}");
        assert!(out.contains(&format!("in your own session: {in_own}")), "{out}");
    }
    for (own, expected) in [("deny", "denied by rule git-push"), ("off", "no rule applies")] {
        scratch.file(".ralph/config.toml", format!("[guard]\nown_sessions = \"{own}\"\n"));
        let out = explain(&scratch, &["git push"]);
        assert!(out.contains(&format!("in your own session: {expected}")), "{out}");
    }
    scratch.file(".ralph/config.toml", "[guard]\ndisabel = []\n");
    let (code, _, err) = ralph_loop(scratch.root(), &["explain", "ls"]);
    assert!(code == 2 && err.contains("config.toml:2") && err.contains("`disable`"), "{err}");
}
