//! `shell_reader::read` must find the same commands that real bash runs.
//!
//! Programs that record their arguments replace `git` and others. Bash runs each line of a table in
//! a scratch folder, with only these programs and the usual tools on its path.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs that only record their arguments.
const RECORDED: [&str; 6] = ["git", "pytest", "npm", "rm", "make", "ship"];

const RECORDER: &str = r#"#!/bin/sh
printf '%s\037' "${0##*/}" "$@" '\036' >> "$RECORD"
case "$1" in fail) exit 1;; esac
"#;

/// Lines whose calls of recorded programs are compared; bash takes every branch in them.
const LINES: &[&str] = &[
    "git push",
    "git  'push' \"origin\" ma\\in",
    "g\"it\" pu'sh' $'a\\tb\\x41\\u00e9' $\"x\"",
    "\\git push '' \"\" ''x''",
    "gi\\\nt pu\\\nsh \\\n  origin",
    "git a\\ b \"c\\d\\\"\\$e\\`\" 'f\\g'",
    "git push # not this; git pull",
    "git a#b '#c' # d",
    "true && git push || :",
    "false || git push; git fetch & wait",
    "git push | git pull | cat",
    "{ git a; git b; } > /dev/null; (git c)",
    "(cd / && git push)",
    "if true; then git a; else :; fi",
    "if false; then :; elif true; then git a; fi",
    "for x in a 'b c' d; do git \"$x\" $x; done",
    "for x in {x,y}z; do git $x; done",
    "case abc in x) :;; a*) git yes;; esac",
    "case a in (a|b) git p;; esac",
    "while true; do git a; break; done",
    "for ((i=0;i<1;i++)); do git a; done",
    "until false; do git a; break; done",
    "f() { git \"$@\"; }; f push 'a b'",
    "function f { git $1 $2; }\nf x 'y z'",
    "f() (git sub); f; f() { git again; }; f",
    "x=push; git $x ${x} \"$x\" '$x' \\$x",
    "x='a  b'; git $x \"$x\"; y=$x; git $y",
    "c='git push'; $c now; eval \"$c later\"",
    "a=(push 'x y'); git ${a[@]} ; git \"${a[@]}\"; git ${a[1]} $a",
    "a=(1); a+=(2 3); git ${a[2]}; b=x; b+=y; git $b",
    "git ${u:-push} \"${u:-a b}\" ${u:-c d}",
    "git ${u-x} ; : ${v:=w}; git $v ${v:+yes}",
    "set -- push 'a b'; git \"$@\"; git $@; git $# $2; shift; git \"$*\"",
    "git${IFS}push; git a$IFS",
    "{git,push}; git p{us,}h a{1,2}{x,y} {a,b}\"{c,d}\" '{e,f}' {g} {} x{,}",
    "x=$(git sub); git \"`git tick`\" \"$(git a; git b)\"",
    "git \"$(git in \"$(git deep)\")\" x",
    "git $(echo a b) \"$(echo a b)\" $(printf '%s ' c d)",
    "git `echo \\`echo n\\`` \"`echo \"q r\"`\"",
    "git $((1+1))$(git no >/dev/null) | cat",
    "cat <(git p) >/dev/null; git x < /dev/null",
    "cat <<EOF >/dev/null\n$(git doc) git no `git tick` \\$(git no)\nEOF\ngit after",
    "cat <<'EOF' >/dev/null\n$(git no)\nEOF\ngit after",
    "cat <<-EOF >/dev/null\n\tgit no\n\tEOF\ngit after",
    "cat <<A <<B >/dev/null\na $(git a)\nA\nb\nB\ngit after",
    "git commit -m \"$(cat <<'EOF'\nit's (a) \"test\" $(git no)\n\nbody `git no`\nEOF\n)\"",
    "git commit -F - <<'EOF'\ngit no; it's\nEOF",
    "bash -c 'git push'; sh -c \"git 'a b'\"; bash -c 'git \"$@\"' _ x 'y z'",
    "bash -c \"bash -c 'bash -c \\\"git deep\\\"'\"",
    "bash -ec 'git $0 $1' a b",
    "bash <<'EOF'\ngit a\ngit b\nEOF",
    "bash <<EOF\nx=1; git \\$x\nEOF",
    "echo 'git a; git b' | sh; printf 'git %s\\n' c d | bash; cat <<< 'git e' | bash -s",
    "bash <<< 'git push'; . /dev/stdin <<< 'git dot'",
    "source <(echo 'git src'); bash <(echo 'git b')",
    "echo 'git a \"$1\"' > p.sh; bash p.sh x; sh ./p.sh y; chmod +x p.sh; . ./p.sh z",
    "printf '#!/bin/sh\\ngit run\\n' > q.sh && chmod +x q.sh && ./q.sh",
    "eval git a; eval 'git b;' 'git c'; eval \"$(echo git d)\"",
    "trap 'git bye' EXIT",
    "env git a; env -i PATH=\"$PATH\" RECORD=\"$RECORD\" git b; env A=1 -u B git c; env -S 'git d e'",
    "env A=1 B=2 git c; timeout 5 git a; timeout -k 1 --signal=KILL 5s git b; nice -n 1 git c; nohup git d",
    "command git a; command -p echo; exec git b",
    "time git a; time -p git b; ! git c",
    "stdbuf -oL git a; setsid -w git b; nice git c; env -- git d",
    "echo a b | xargs git push; echo 'x\ny' | xargs -I{} git push {} end; echo z | xargs -n1 -- git",
    "printf 'a\\nb\\n' | xargs -I% sh -c 'git \"%\"'",
    "mkdir -p d && find d -maxdepth 0 -exec git -C . {} ';' >/dev/null; find d -maxdepth 0 -exec sh -c 'git found' _ {} +",
    "cd d 2>/dev/null; git x>/dev/null 2>&1; >o git y; 2>e git z a>f b",
    "git a &>/dev/null; git b &>>o; git c >&2; git d 3>&1; git 2 >o; git e2>o",
    "[[ -z $(git t) ]] && git u; [ -z \"$(git v)\" ] && git w; (( $(git n >/dev/null; echo 1) )) && git o",
    "[[ a == a && ( b < c ) ]] && git re; [[ ab =~ ^(a|b)+$ ]] && git ma",
    "x=1 git a; X=2 Y=$(git b) git c",
    "export P=push; git $P; declare Q=pull; git $Q; readonly R=r; git $R",
    "unset x; git \"$x\" ${x}; x=; git $x end",
    "git ~nobodyatall '~' \"~\" a~b; git *.none '*' \"?\" [x].none",
    "alias_like=git; \"$alias_like\" push; ${alias_like} push",
    "coproc git co; wait",
    "f() { g \"$@\"; }; g() { git \"$1\"; }; f 'a b' c",
    "git a;git b&&git c||:\ngit e;",
    "if git c1; then git t; fi; while ! git c2; do :; done",
    "{ git a; } | { git b; git c; }",
    "echo \"$(echo \"$(git a)\")\" '$(git no)' \"\\$(git no)\" > /dev/null",
    "git $'it\\'s' \"it's\" 'say \"x\"' \\\"q\\\"",
    "select x in a; do git $x; break; done <<< 1 2>/dev/null",
    "x=a; case $x in a) git one ;;& *) git two ;; esac",
    "git \"a\nb\" 'c\nd'",
    "git é 'ü ö' \"日本\"",
    "function g1() { git k; }; g1",
    "x=\"git q\"; sh -c \"$x\"; y=pu; git \"${y}sh\"",
    "git -c a.b='x y' push --m=\"n o\"=p",
    "npm test && make -j2 all; pytest -q tests/a.py::t[x-1] | cat; rm -rf build; ship it",
    "sudo() { \"$@\"; }; sudo git s",
    "cat > s2.sh <<'X'\ngit $1 in-script\nX\nbash s2.sh arg",
];

/// Returns the recorded calls, sorted because processes run in parallel.
fn run_by_bash(line: &str) -> Vec<Vec<String>> {
    let scratch = tempfile::tempdir().unwrap();
    let programs = scratch.path().join("bin");
    std::fs::create_dir(&programs).unwrap();
    for name in RECORDED {
        write_program(&programs.join(name));
    }
    let home = scratch.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let record = scratch.path().join("record");
    let status = Command::new("bash")
        .args(["--noprofile", "--norc", "-c", line])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env("HOME", &home)
        .env("RECORD", &record)
        .env("LC_ALL", "C.UTF-8")
        .current_dir(&home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.unwrap();
    let text = std::fs::read_to_string(record).unwrap_or_default();
    let mut calls: Vec<Vec<String>> = text
        .split("\\036\u{1f}")
        .filter(|call| !call.is_empty())
        .map(|call| {
            call.strip_suffix('\u{1f}').unwrap().split('\u{1f}').map(str::to_owned).collect()
        })
        .collect();
    calls.sort();
    calls
}

fn write_program(path: &Path) {
    std::fs::write(path, RECORDER).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the calls of recorded programs that the reader finds.
fn read_by_us(line: &str) -> Vec<Vec<String>> {
    let script = shell_reader::read(line);
    assert!(script.complete, "{line}");
    let mut calls: Vec<Vec<String>> = script
        .commands
        .iter()
        .filter(|command| command.name().is_some_and(|name| RECORDED.contains(&name)))
        .map(|command| {
            let args = command.args.iter().map(|arg| arg.text().to_owned());
            std::iter::once(command.name().unwrap().to_owned()).chain(args).collect()
        })
        .collect();
    calls.sort();
    calls
}

/// Returns whether a call matches one that was read, in which some parts may be unknown.
fn fits(ran: &[String], read: &[String]) -> bool {
    ran.len() == read.len()
        && ran
            .iter()
            .zip(read)
            .all(|(ran, read)| ran == read || read.contains(shell_reader::UNKNOWN))
}

#[test]
fn reading_agrees_with_what_bash_runs() {
    let mut differences = Vec::new();
    for line in LINES {
        let ran = run_by_bash(line);
        let read = read_by_us(line);
        let agree = ran.len() == read.len()
            && ran.iter().all(|call| read.iter().any(|other| fits(call, other)));
        if !agree {
            differences.push(format!("{line}\n  bash ran {ran:?}\n  we read  {read:?}"));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}
