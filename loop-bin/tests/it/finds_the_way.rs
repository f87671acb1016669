//! Help, completions, manual pages, logs: how people find out what there is.

use std::process::Command;

use camino::Utf8Path;
use test_support::{Scratch, program, run_with_input};

use crate::ralph_loop;
use crate::stage::{LOOP, Stage};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

#[test]
fn a_word_that_is_no_subcommand_is_answered_with_the_one_that_is_meant() {
    let scratch = Scratch::new();
    for (word, command) in [
        ("run", "`ralph-loop` alone starts a run"),
        ("log", "`ralph-loop logs`"),
        ("stat", "did you mean `ralph-loop status`?"),
        ("Stories", "did you mean `ralph-loop stories`?"),
        ("xyzzy", "`ralph-loop --help` lists the subcommands"),
    ] {
        let (code, out, err) = ralph_loop(scratch.root(), &[word]);
        assert_eq!((code, out.as_str()), (2, ""), "{word}: {err}");
        assert!(err.contains(command), "{word}: {err}");
        // With flags of a run behind it as well.
        let (code, _, err) = ralph_loop(scratch.root(), &[word, "--max-iterations", "3"]);
        assert_eq!((code, err.contains(command)), (2, true), "{word}: {err}");
    }
}

#[test]
fn the_short_help_is_a_screen_and_the_long_one_has_everything() {
    let scratch = Scratch::new();
    let (code, short, _) = ralph_loop(scratch.root(), &["-h"]);
    assert_eq!(code, 0);
    let (code, long, _) = ralph_loop(scratch.root(), &["--help"]);
    assert_eq!(code, 0);
    for part in ["Commands:", "--max-iterations", "--verify", "ralph-loop --help"] {
        assert!(short.contains(part), "{part}: {short}");
    }
    assert!(!short.contains("--hook-timeout") && !short.contains("Exit codes"), "{short}");
    assert!(long.contains("--hook-timeout") && long.contains("Exit codes"), "{long}");
    assert!(short.lines().count() < 60, "{short}");
}

/// Runs a script in a shell in the stage's project, with our program on the path; none where this
/// machine does not have the shell.
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

/// What is typed, and a word that must and one that must not be offered.
const TYPED: [(&[&str], &str, &str); 6] = [
    (&["sta"], "status", "stories"),
    (&["retry", "US"], "US-002", "status"),
    (&["retry", "US-001", "--from", ""], "US-001/1", "US-002"),
    (&["--mode", "p"], "planning", "building"),
    (&["config", "verify."], "verify.commands", "loop.mode"),
    (&["completions", ""], "fish", "powershell"),
];

fn check_completions(shell: &[&str], script: impl Fn(&[&str]) -> String) {
    let stage = Stage::new("fails", TWO);
    stage.run(&["--attempts", "1", "--max-iterations", "1"]);
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
fn bash_completes_commands_flags_stories_attempts_and_keys() {
    check_completions(&["bash", "--norc"], |words| {
        format!(
            "source <(ralph-loop completions bash)\n\
             complete -p ralph-loop >/dev/null || exit 1\n\
             COMP_WORDS=(ralph-loop {}) COMP_CWORD={} COMP_TYPE=9\n\
             _clap_complete_ralph_loop ralph-loop '{}' x 2>/dev/null\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            quoted(words),
            words.len(),
            words.last().unwrap(),
        )
    });
}

#[test]
fn zsh_completes_them_too() {
    // Menus need a terminal; what would be in them does not.
    check_completions(&["zsh", "-f"], |words| {
        format!(
            "compdef() {{ }}\n_describe() {{ print -rl -- ${{${{(P)3}}%%:*}} }}\n\
             source <(ralph-loop completions zsh)\n\
             words=(ralph-loop {}) CURRENT={}\n_clap_dynamic_completer_ralph_loop\n",
            quoted(words),
            words.len() + 1,
        )
    });
}

#[test]
fn zsh_completes_with_the_script_as_a_file_of_its_own() {
    check_completions(&["zsh", "-f"], |words| {
        format!(
            "compdef() {{ }}\n_describe() {{ print -rl -- ${{${{(P)3}}%%:*}} }}\n\
             ralph-loop completions zsh >_ralph-loop\nfpath=($PWD) autoload -U _ralph-loop\n\
             words=(ralph-loop {}) CURRENT={}\nfpath=($PWD) _ralph-loop\n",
            quoted(words),
            words.len() + 1,
        )
    });
}

#[test]
fn fish_completes_them_too() {
    check_completions(&["fish", "--no-config"], |words| {
        format!(
            "ralph-loop completions fish | source\n\
             complete -C 'ralph-loop {}' | cut -f 1\n",
            words.join(" ")
        )
    });
}

#[test]
fn every_command_has_a_manual_page() {
    let scratch = Scratch::new();
    let (code, _, err) = ralph_loop(scratch.root(), &["man", "pages/man1"]);
    assert_eq!(code, 0, "{err}");
    let page = scratch.read("pages/man1/ralph-loop.1");
    for part in [".TH ralph-loop 1", "max\\-iterations", "Exit codes"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(scratch.read("pages/man1/ralph-loop-status.1").contains(".TH ralph-loop-status 1"));
}

#[test]
fn logs_show_what_the_agent_did() {
    let stage = Stage::new("reports", TWO);
    stage.run(&["logs"]).ended(1).says("no agent has run here");
    stage.run(&["--max-iterations", "2"]).ended(0);
    let last = stage.run(&["logs"]);
    last.ended(0).says("-US-002.log").says("> Bash: cargo test").says("= success ($0.25");
    assert!(!last.out.contains('{'), "{}", last.out);
    stage.run(&["logs", "us-001"]).ended(0).says("-US-001.log").says("session s-1");
    stage.run(&["logs", "US-009"]).ended(1).says("no log of an attempt at US-009");
}

#[test]
fn single_keys_of_the_settings_are_shown() {
    let scratch = Scratch::new();
    scratch.file(".ralph/config.toml", "[verify]\ncommands = \"npm test\"\n");
    let (code, out, err) = ralph_loop(scratch.root(), &["config", "verify.commands"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, "[verify]\ncommands = [\"npm test\"]  # .ralph/config.toml\n");
    let (code, _, err) = ralph_loop(scratch.root(), &["config", "verify.comands"]);
    assert!(code == 2 && err.contains("there is no key `verify.comands`"), "{err}");
}

/// What the build script says in this folder, compiled as cargo would.
fn built_version(script: &Utf8Path, folder: &Utf8Path, profile: &str) -> String {
    let mut command = program(script, folder);
    let command = command.current_dir(folder).env("CARGO_PKG_VERSION", "9.9.9");
    let output = command.env("PROFILE", profile).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let set =
        text.lines().find_map(|line| line.strip_prefix("cargo:rustc-env=RALPH_LOOP_VERSION="));
    set.unwrap().to_owned()
}

#[test]
fn a_release_knows_its_commit_wherever_it_is_built() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/build.rs");
    let repo = test_support::TestRepo::new();
    let script = repo.scratch().path("build-script");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let mut compiler = Command::new(rustc);
    let compiler = compiler.args(["--edition=2024", "-Aunknown-lints", source, "-o"]).arg(&script);
    assert!(compiler.status().unwrap().success());

    repo.write("build.rs", "");
    assert_eq!(built_version(&script, repo.root(), "release"), "9.9.9", "not part of git");
    repo.commit_all("with it");
    let commit = repo.git(["rev-parse", "HEAD"]);
    let expected = format!("9.9.9 ({})", &commit[..10]);
    assert_eq!(built_version(&script, repo.root(), "release"), expected);
    assert_eq!(built_version(&script, repo.root(), "debug"), "9.9.9");
    // A package that is unpacked inside of another repository.
    let package = repo.root().join("target/package");
    fs_err::create_dir_all(&package).unwrap();
    fs_err::write(package.join("build.rs"), "").unwrap();
    assert_eq!(built_version(&script, &package, "release"), "9.9.9");
    let info = format!("{{\"git\": {{\"sha1\": \"{}\"}}}}", "ab".repeat(20));
    fs_err::write(package.join(".cargo_vcs_info.json"), info).unwrap();
    assert_eq!(built_version(&script, &package, "release"), "9.9.9 (ababababab)");

    let (_, out, _) = ralph_loop(repo.root(), &["--version"]);
    assert!(out.starts_with(&format!("ralph-loop {}", env!("CARGO_PKG_VERSION"))), "{out}");
}
