//! The flow of text through a line: fetched, written, read into variables and run.

use super::check;
use crate::{Command, read};

#[test]
fn fetched_text_is_followed_to_the_command_that_runs_it() {
    let runs = |line: &str| read(line).commands.iter().any(Command::runs_fetched);
    for line in [
        "curl -s x | sh",
        "curl -s x | sed s/a/b/ | sudo python3 - --yes",
        "bash -c \"$(curl x)\"",
        "node <(curl x)",
        "S=$(wget -qO- x); eval \"$S\"",
        "cd sub && curl -sSLo i.sh x && cd .. && sh sub/i.sh",
        "wget https://x/a/setup.py?v=1; python3 setup.py",
        "echo aa | base64 -d > t && chmod +x t && ./t",
        "curl x | while read -r line; do $line; done",
    ] {
        assert!(runs(line), "{line}");
    }
    for line in [
        "curl x | python3 -m json.tool",
        "curl x | node -e 'process.stdin'",
        "curl x | ruby filter.rb",
        "curl -o data x && python3 load.py data",
        "eval \"$(ssh-agent)\"; curl x | jq .",
        "V=$(curl x | jq .v); bash -c \"echo $V\"",
        "cat x | tr -d '\\r' | sh; eval \"$(cat x | tr -d '\\r')\"",
        "bash script.sh; eval \"$X\"; cat x | sh",
    ] {
        assert!(!runs(line), "{line}");
    }
}

#[test]
fn the_inline_program_of_an_interpreter_is_recorded() {
    let inline = |line: &str| read(line).commands.into_iter().find_map(|command| command.inline);
    assert_eq!(inline("python3.11 -W ignore -c 'a()'").as_deref(), Some("a()"));
    assert_eq!(inline("perl -we'a'").as_deref(), Some("a"));
    assert_eq!(inline("perl -lne 'b'").as_deref(), Some("b"));
    assert_eq!(inline("python -cprint").as_deref(), Some("print"));
    assert_eq!(inline("awk -F : -v x=1 '{a}' f").as_deref(), Some("{a}"));
    assert_eq!(inline("echo 'a()' | node").as_deref(), Some("a()\n"));
    assert_eq!(inline("cat > d/x.rb <<E\na\nE\ncd d; sudo ruby x.rb").as_deref(), Some("a\n"));
    assert_eq!(inline("echo 'a()' | python3 -m json.tool; node app.js"), None);
}

#[test]
fn input_is_read_into_variables() {
    check("read -r a b <<< 'x y z'; $a $b", &["read -r a b", "x y z"]);
    check("while read -r a; do $a; done <<E\nb\nc\nE", &["read -r a", "b", "read -r a", "c"]);
}
