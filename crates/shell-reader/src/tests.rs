//! Tables of command lines: words, effects on the exit status, reach and limits.

mod flow;

use proptest::prelude::*;

use super::RedirectKind::{Append, Duplicate, Read, Write};
use super::{Effect, Reach, Script, UNKNOWN, quoted, read, read_with};

/// Returns one line per command, with words separated by spaces and `?` for unknown parts.
fn words(script: &Script) -> Vec<String> {
    script
        .commands
        .iter()
        .map(|command| {
            let words = std::iter::once(&command.program).chain(&command.args);
            let words: Vec<_> = words.map(|word| word.text().replace(UNKNOWN, "?")).collect();
            words.join(" ")
        })
        .collect()
}

fn check(command: &str, expected: &[&str]) {
    let script = read(command);
    assert_eq!(words(&script), expected, "{command}");
    assert!(script.complete, "{command}");
}

fn check_broken(command: &str, expected: &[&str]) {
    let script = read(command);
    assert_eq!(words(&script), expected, "{command}");
    assert!(!script.complete, "{command}");
}

/// Expects `+` before a command whose exit status counts, and `-` before a masked one.
fn check_fates(command: &str, expected: &str) {
    let fates: Vec<_> = read(command)
        .commands
        .iter()
        .map(|command| {
            let sign = if command.effect == Effect::Passed { '+' } else { '-' };
            format!("{sign}{}", command.program.text())
        })
        .collect();
    assert_eq!(fates.join(" "), expected, "{command}");
}

#[test]
fn variables_and_braces_are_expanded_where_their_value_is_known() {
    check("G='git push'; \"$G\"", &["git push"]);
    check("a=(git push); ${a[@]}; echo ${a[1]}", &["git push", "echo push"]);
    check("X=old; X=new cmd $X", &["cmd old"]);
    check("a{b{c,d},e}\"$x\"{1,2} {1..2}", &["abc?1 abc?2 abd?1 abd?2 ae?1 ae?2 {1..2}"]);
    check("git show HEAD^{commit} *.o ~/x", &["git show HEAD^{commit} *.o ~/x"]);
    check("X=push bash -c 'git $X'", &["bash -c git $X", "git push"]);
    check("git $UNKNOWN \"a$UNKNOWN\"", &["git ? a?"]);
    check("read x; git $x", &["read x", "git ?"]);
    check("if t; then p=push; else p=pull; fi; git $p", &["t", "git ?"]);
    check("(X=a); echo $X", &["echo ?"]);
    assert_eq!(words(&read_with("rm ~/a $HOME/b", &[("HOME", "/h")])), ["rm /h/a /h/b"]);
}

#[test]
fn text_passed_to_shells_is_read() {
    let line = "bash -euxo pipefail -c 'a \"$1\" $0' x y";
    check(line, &["bash -euxo pipefail -c a \"$1\" $0 x y", "a y x"]);
    check("sh <<-E\n\tgit push\n\tE\nls", &["sh", "git push", "ls"]);
    check("cat <<'E' | sh\ngit $X\nE", &["cat", "sh", "git ?"]);
    check("bash <(printf 'git %s' push)", &["bash /dev/fd/63", "printf git %s push", "git push"]);
    check("bash script.sh git push", &["bash script.sh git push"]);
}

#[test]
fn text_that_only_mentions_a_command_is_not_read() {
    check("git commit -m \"$(cat <<'E'\nbody\nE)\" && ls", &["git commit -m body", "cat", "ls"]);
    check("[[ $a == 'git push' ]] || ls", &["ls"]);
    check("f() { git push; }", &[]);
}

#[test]
fn functions_and_aliases_are_followed() {
    check("alias g=git; g push", &["alias g=git", "g push", "git push"]);
    let line = "git() { command git -p \"$@\"; }; git push";
    check(line, &["git push", "command git -p push", "git -p push"]);
}

#[test]
fn wrappers_and_templates_yield_the_commands_they_run() {
    let timeout = "timeout -k 5 9 git push";
    let (env, sudo) = (format!("env A=1 {timeout}"), format!("sudo -u x env A=1 {timeout}"));
    check(&sudo, &[&sudo, &env, timeout, "git push"]);
    check("uv run --with x pytest", &["uv run --with x pytest", "pytest"]);
    check("command -v git", &["command -v git"]);
    check("su - bob -c 'git push'", &["su - bob -c git push", "git push"]);
    let find = "find a -exec rm {} + -exec ls {} ;";
    check(&find.replace(';', "\\;"), &[find, "rm a/?", "ls a/?"]);
    check("ls | xargs rm", &["ls", "xargs rm", "rm ?"]);
    check("tmux send-keys 'git push' Enter", &["tmux send-keys git push Enter", "git push Enter"]);
}

#[test]
fn how_a_command_is_reached_is_recorded() {
    let reached = |command: &str| read(command).commands.last().map(|last| last.reached.clone());
    assert_eq!(reached("a | b"), Some(vec![Reach::Pipe { last: true }]));
    assert_eq!(reached("if a; then (b); fi"), Some(vec![Reach::Conditional, Reach::Group]));
    assert_eq!(reached("sudo b &"), Some(vec![Reach::Background, Reach::Wrapper("sudo".into())]));
    assert_eq!(reached("bash <<E\nb\nE"), Some(vec![Reach::Text]));
}

#[test]
fn redirections_and_directories_are_recorded() {
    let script = read("cd a && { b 2>&1 >>x; } &>y; (cd ..; c <z); d");
    let all = script.commands.iter().flat_map(|command| &command.redirects);
    let kinds: Vec<_> = all.map(|redirect| (redirect.kind, redirect.target.text())).collect();
    assert_eq!(kinds, [(Duplicate, "1"), (Append, "x"), (Write, "y"), (Read, "z")]);
    let directory = |name: &str| {
        let command = script.commands.iter().find(|command| command.name() == Some(name))?;
        command.directory.as_ref().map(|word| word.text().to_owned())
    };
    assert_eq!(directory("b").as_deref(), Some("a"));
    assert_eq!(directory("c").as_deref(), Some("a/.."));
    assert_eq!(directory("d").as_deref(), Some("a"));
}

#[test]
fn spans_cover_the_text_of_each_command() {
    let text = "cd x && git push 2>&1 | tail; echo \"$(git fetch)\"";
    let script = read(text);
    let spans: Vec<_> = script.commands.iter().map(|command| &text[command.span.clone()]).collect();
    assert_eq!(spans, ["cd x", "git push 2>&1", "tail", "echo \"$(git fetch)\"", "git fetch"]);
}

#[test]
fn the_last_command_determines_the_exit_status() {
    check_fates("a; b", "-a +b");
    check_fates("a && b", "+a +b");
    check_fates("a || true", "-a +true");
    check_fates("a || exit 1; b", "+a -exit +b");
    check_fates("a || { echo no; exit 1; }; b", "+a -echo -exit +b");
    check_fates("a || exit 0", "-a +exit");
    check_fates("a && b || c", "-a -b +c");
    check_fates("! a", "-a");
    check_fates("a &", "-a");
    check_fates("a & wait", "-a +wait");
    check_fates("(a; b) && { c; }", "-a +b +c");
    check_fates("bash -c 'a; b'", "+bash -a +b");
    check_fates("timeout 5 a", "+timeout +a");
}

#[test]
fn pipes_and_shell_options_affect_the_exit_status() {
    check_fates("a | b", "-a +b");
    check_fates("set -o pipefail; a | b", "-set +a +b");
    check_fates("set -euo pipefail; a | b; c", "-set +a +b +c");
    check_fates("set -e; a && b; c", "-set -a +b +c");
    check_fates("set -e; a; set +e; b; c", "-set +a +set -b +c");
    check_fates("bash -o pipefail -c 'a | b'", "+bash +a +b");
    check_fates("set -o pipefail; bash -c 'a | b'", "-set +bash -a +b");
}

#[test]
fn a_saved_exit_status_that_is_passed_on_counts() {
    check_fates("a; exit $?", "+a +exit");
    check_fates("a; rc=$?; b; exit $rc", "+a -b +exit");
    check_fates("a; rc=$?; exit 0", "-a +exit");
    check_fates("a || rc=$?; b; exit $rc", "+a -b +exit");
    check_fates("a | tee x; exit ${PIPESTATUS[0]}", "+a -tee +exit");
    check_fates("a 2>&1 | tail; test ${PIPESTATUS[0]} -eq 0", "+a -tail +test");
    check_fates("a; s=$?; b; [ \"$s\" -eq 0 ]", "+a -b +[");
}

#[test]
fn conditions_loops_and_substitutions_may_mask_the_exit_status() {
    check_fates("if a; then b; fi", "-a +b");
    check_fates("if ! a; then exit 1; fi; b", "+a -exit +b");
    check_fates("f() { a || return 1; b; }; f; c", "-f -a -return -b +c");
    check_fates("f() { a || return 1; b; }; f", "+f +a -return +b");
    check_fates("f() { a || exit 1; b; }; f; c", "-f +a -exit -b +c");
    check_fates("(a || exit 1; b); c", "-a -exit -b +c");
    check_fates("if a; then b; else exit 1; fi; c", "+a -b -exit +c");
    check_fates("for i in 1 2; do a; done", "-a -a");
    check_fates("while a; do b; done", "-a -b");
    check_fates("x=$(a)", "+a");
    check_fates("echo $(a)", "+echo -a");
    check_fates("export x=$(a)", "+export -a");
    check_fates("case x in y) a;; esac", "+a");
}

#[test]
fn invalid_text_is_read_as_far_as_possible() {
    check_broken("git push '", &["git push "]);
    check_broken("git push \"a", &["git push a"]);
    check_broken("if git push", &["git push"]);
    check_broken("echo $(git push", &["echo ?", "git push"]);
    check_broken("git push )", &["git push"]);
    check_broken("done; git push; fi", &["git push"]);
    check_broken("ls (", &["ls"]);
    check_broken("a && && git push", &["a", "git push"]);
    check_broken("`git push", &["?", "git push"]);
    check_broken("echo ${x:-$(git push)", &["echo ?", "git push"]);
}

#[test]
fn reading_hostile_text_terminates() {
    let openers = ["(", "{ ", "$(", "`", "${x:-", "$((", "((", "if ", "a=(", "\"$(", "case x in ("];
    let others = ["bash -c '", "<(", "[[ ", "!", "f(){ ", "sudo ", "xargs ", "find . -exec ", "@("];
    for open in openers.iter().chain(&others) {
        let text = format!("{}git push", open.repeat(10_000));
        let _ = read(&text);
    }
    let nested = format!("{}git push{}", "(".repeat(10_000), ")".repeat(10_000));
    let script = read(&nested);
    assert!(!script.complete);
    assert_eq!(words(&script), ["git push"]);
    assert!(!read("f(){ f;f; }; g(){ f;g;f; }; g").commands.is_empty());
    let doubling: String = (0..60).map(|at| format!("a{}=$a{at}$a{at};", at + 1)).collect();
    assert!(!read(&format!("a0=xx;{doubling} echo $a60")).complete);
    let mut text = "git push".to_owned();
    for _ in 0..12 {
        text = format!("bash -c {}", quoted(&text));
    }
    let _ = read(&text);
    let _ = read(&"eval ".repeat(1000));
    let _ = read(&"{a,b}".repeat(60));
    let loops = "for i in 1 2 3 4 5 6 7 8 9; do ".repeat(9);
    assert!(!read(&format!("{loops} git push; {}", "done;".repeat(9))).complete);
}

#[test]
fn reading_a_megabyte_terminates() {
    let pieces = ["a;", "a|", "x=$x$x;", "cd x;", "if a;then x=1;fi;", "{a,", "'a' ", "$(a) "];
    for piece in pieces.iter().chain(&["((", "a<<E\n", "@(", "\u{fffc}"]) {
        let _ = read(&piece.repeat((1 << 20) / piece.len()));
    }
    let script = read(&format!("{}git push", "echo one two three;".repeat(2000)));
    assert_eq!(script.commands.len(), 2001);
    let quoted = format!("git commit -m '{}'", "x".repeat(1 << 19));
    assert!(read(&quoted).complete);
}

proptest! {
    #[test]
    fn reading_never_panics(text in "\\PC{0,80}") {
        let _ = read(&text);
    }

    #[test]
    fn random_tokens_never_panic(tokens in prop::collection::vec(prop::sample::select(vec![
        "git", "push", " ", "\n", ";", "&&", "||", "|", "(", ")", "{ ", "}", "$(", "`", "'", "\"",
        "\\", "$x", "${x", "}", "x=", "<<E", "E\n", "<", ">", "if ", "then ", "fi", "for i in ",
        "do ", "done", "case ", " in ", "esac", ";;", "[[ ", "]]", "((", "))", "bash -c ", "eval ",
        "xargs ", "find . -exec ", "sudo ", "f()", "#", "{a,b}", "!", "&", "é",
    ]), 0..40)) {
        let text = tokens.concat();
        let script = read(&text);
        for command in script.commands {
            prop_assert!(text.get(command.span).is_some());
        }
    }

    #[test]
    fn a_quoted_word_is_read_unchanged(word in "[^\\x00\u{fffc}]{0,40}") {
        let script = read(&format!("cmd {}", quoted(&word)));
        prop_assert_eq!(script.commands[0].arg(0), Some(word.as_str()));
    }
}
