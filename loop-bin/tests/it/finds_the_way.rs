//! Suggestions for mistyped commands, shell completions, and logs.

use std::process::Command;

use camino::Utf8Path;
use test_support::{Scratch, program, run_with_input};

use crate::ralph_loop;
use crate::stage::{LOOP, Stage};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

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

/// The typed words, a completion that must be offered, and one that must not be.
const TYPED: [(&[&str], &str, &str); 3] = [
    (&["sta"], "status", "stories"),
    (&["status", "--w"], "--watch", "--run"),
    (&["--max-it"], "--max-iterations", "--max-cost"),
];

fn check_completions(shell: &[&str], script: impl Fn(&[&str]) -> String) {
    let stage = Stage::new("works", TWO);
    for (words, offered, other) in TYPED {
        let Some(out) = in_shell(&stage, shell, &script(words)) else { return };
        let found: Vec<&str> = out.lines().map(str::trim).collect();
        assert!(found.contains(&offered), "{words:?}: {out}");
        assert!(!found.contains(&other), "{words:?}: {out}");
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("'{word}' ")).collect()
}

#[test]
fn bash_completes_commands_and_flags() {
    check_completions(&["bash", "--norc"], |words| {
        format!(
            "source <(ralph-loop completions bash)\n\
             complete -p ralph-loop >/dev/null || exit 1\n\
             COMP_WORDS=(ralph-loop {}) COMP_CWORD={}\n\
             _ralph__loop ralph-loop '{}' x 2>/dev/null\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            quoted(words),
            words.len(),
            words.last().unwrap(),
        )
    });
}

#[test]
fn zsh_loads_the_completion_script() {
    let script = "autoload -U compinit && compinit -D\nsource <(ralph-loop completions zsh)\n\
                  print ${_comps[ralph-loop]}\n";
    let stage = Stage::new("works", TWO);
    let Some(out) = in_shell(&stage, &["zsh", "-f"], script) else { return };
    assert_eq!(out.trim(), "_ralph-loop");
}

#[test]
fn fish_completes_commands_and_flags() {
    check_completions(&["fish", "--no-config"], |words| {
        format!(
            "ralph-loop completions fish | source\n\
             complete -C 'ralph-loop {}' | cut -f 1\n",
            words.join(" ")
        )
    });
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
