//! Which shell commands the calls in a program amount to.

use std::collections::BTreeMap;

use super::tokens::{Token, arguments, tokens, variables};
use crate::sorted;
use shell_reader::quoted;

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/meaning.rs"));

/// Calls that are looked at in one program.
const MAX_CALLS: usize = 64;

/// The shell commands that an inline program amounts to.
pub(super) fn amounts_to(language: &str, text: &str) -> Vec<String> {
    let tokens = tokens(language, text);
    let (variables, aliases) = (variables(&tokens), aliases(&tokens));
    let mut lines = Vec::new();
    let mut looked_at = 0;
    for (at, token) in tokens.iter().enumerate() {
        let behind = tokens.get(at + 1..).unwrap_or_default();
        if let Token::Name(name) = token
            && looked_at < MAX_CALLS
            && (is_call(behind.first())
                || behind.first() == Some(&Token::Mark(',')) && is_run(name))
        {
            let name = aliases.get(name).unwrap_or(name);
            let before = lines.len();
            let given = || arguments(behind, &variables);
            lines.extend(call_amounts_to(name, given, text));
            looked_at += lines.len() - before;
        }
    }
    if runs_what_it_fetches(&tokens) {
        lines.push("curl | sh".to_owned());
    }
    // `print | "command"`, `"command" | getline` and `cmd = "command"; system(cmd)`.
    let awk_runs = || language.ends_with("awk") && (text.contains('|') || text.contains("system("));
    if language == "osascript" || awk_runs() {
        lines.extend(tokens.iter().filter_map(Token::text).map(str::to_owned));
    } else if matches!(language, "ruby" | "rake" | "perl" | "php") {
        lines.extend(tokens.iter().filter_map(|token| match token {
            Token::Quoted(command) => Some(command.clone()),
            _ => None,
        }));
    }
    if language.ends_with("awk") {
        // `print > "file"`.
        let pairs = tokens.windows(2).filter_map(|pair| match pair {
            [Token::Mark('>'), Token::Text(path)] => Some(format!(": > {}", quoted(path))),
            _ => None,
        });
        lines.extend(pairs);
    }
    lines
}

fn is_run(name: &str) -> bool {
    RUNS.contains(&name)
}

/// Other names of calls: `import rmtree as r`, `{ execSync: x }`.
fn aliases<'a>(tokens: &[Token<'a>]) -> BTreeMap<&'a str, &'a str> {
    let acts = |name: &str| sorted::find(ACTS, name).is_some();
    let pairs = tokens.windows(3).filter_map(|window| match window {
        [Token::Name(name), Token::Name("as") | Token::Mark(':'), Token::Name(alias)] => {
            (is_run(name) || acts(name)).then_some((*alias, *name))
        }
        _ => None,
    });
    pairs.collect()
}

/// `exec(urlopen(…).read())`, `fetch(…).then(eval)`: not `pattern.exec(…)`.
fn runs_what_it_fetches(tokens: &[Token]) -> bool {
    let fetches = "urlopen urlretrieve fetch requests httpx URI";
    let is_fetch = |token: &Token| matches!(token, Token::Name(name) if fetches.split(' ').any(|one| one == *name));
    let runs = |window: &[Token]| match window {
        [Token::Mark('.'), ..] => false,
        [_, Token::Name("exec" | "eval"), Token::Mark(')'), ..] => true,
        [_, Token::Name("exec" | "eval"), Token::Mark('('), Token::Name(_)] => true,
        _ => false,
    };
    tokens.iter().any(is_fetch)
        && (tokens.windows(4).any(runs) || tokens.windows(3).next_back().is_some_and(runs))
}

/// Whether a name is called: an opening parenthesis follows or, as in Ruby and Perl, a quote.
fn is_call(next: Option<&Token>) -> bool {
    matches!(next, Some(Token::Mark('(' | '[') | Token::Text(_) | Token::Quoted(_)))
}

/// What one call with these arguments comes to, in the program `text`.
fn call_amounts_to(name: &str, given: impl FnOnce() -> Vec<String>, text: &str) -> Option<String> {
    let on_path = |paths: &[String], command: &str| {
        let paths: Vec<String> = paths.iter().map(|path| quoted(path)).collect();
        (!paths.is_empty()).then(|| format!("{command} {}", paths.join(" ")))
    };
    match name {
        "push" | "merge" => {
            let talks = LIBRARIES.iter().any(|library| text.contains(library));
            talks.then(|| format!("git {name}"))
        }
        "git" => command_of(&given()).map(|words| format!("git {words}")),
        _ if is_run(name) => command_of(&given()),
        _ if WRITES.contains(&name) => {
            let given = given();
            let writes = match name {
                "open" => given.iter().skip(1).any(|mode| is_writing_mode(mode)),
                "Path" => text.contains("write_") || text.contains(".unlink("),
                "write" | "delete" => text.contains(&format!("File.{name}")),
                _ => true,
            };
            on_path(given.get(..1)?, ": >").filter(|_| writes)
        }
        _ => {
            let command = sorted::find(ACTS, name)?;
            // What is moved, copied or linked has a target as well.
            let given = given();
            let paths = given
                .get(..if command.contains("--") && !command.starts_with("rm") { 2 } else { 1 })?;
            on_path(paths, command)
        }
    }
}

/// A text with blanks is a command line, single words are its words.
fn command_of(literals: &[String]) -> Option<String> {
    // `execvp("git", ["git", "push"])` names the program twice.
    let literals = match literals {
        [program, name, ..] if program == name => literals.get(1..)?,
        _ => literals,
    };
    // `run("git", each)`: each of several lines comes behind the words.
    let (lines, words): (Vec<_>, Vec<_>) = literals.iter().partition(|word| word.starts_with(' '));
    if words.first().is_some_and(|first| first.contains(' ')) {
        // One of them is run, or each in its turn.
        return Some(literals.join("\n"));
    }
    let words = words.into_iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let run: Vec<String> = lines.iter().map(|line| format!("{words}{line}")).collect();
    Some(if run.is_empty() { words } else { run.join("\n") }).filter(|run| !run.is_empty())
}

fn is_writing_mode(mode: &str) -> bool {
    mode.len() <= 3 && mode.contains(['w', 'a', 'x', '+'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, text: &str, expected: &[&str]) {
        assert_eq!(amounts_to(language, text), expected, "{text}");
    }

    #[test]
    fn calls_amount_to_commands_and_mentions_do_not() {
        check(
            "python3",
            "import subprocess; subprocess.run(['git','push'], cwd='x')",
            &["'git' 'push'"],
        );
        check("python3", "import os; os.system(\"git push\")", &["git push"]);
        check("python3", "print('git push is blocked')", &[]);
        check("python3", "s = s.replace(\"os.system('git push')\", 'pass')", &[]);
        check("python3", "# don't\nos.system('git push')", &["git push"]);
        check("python3", "\"\"\"run('git push')\"\"\"", &[]);
        check("python3", "import shutil; shutil.rmtree('/x')", &["rm -r -- '/x'"]);
        check("python3", "open('a').read(); open('b', 'w')", &[": > 'b'"]);
        check("node", "require('child_process').spawnSync('git', ['push'])", &["'git' 'push'"]);
        check("ruby", "system 'git push'; `ls`", &["git push", "ls"]);
        check("perl", "exec(\"git\", \"push\")", &["'git' 'push'"]);
        check("awk", "BEGIN{ \"git push\" | getline }", &["git push"]);
        check("awk", "/git push/ { print \"git push\" }", &[]);
        check("python3", "shutil.copy('a b', '/x'); d.copy()", &["cp -r -- 'a b' '/x'"]);
        check("node", "fs.rm(require('os').homedir() + '/x')", &["rm -r -- '~/x'"]);
    }

    #[test]
    fn what_a_loop_goes_over_is_run() {
        for (language, text) in [
            ("python3", "for c in ['a b', 'c d']: os.system(c)"),
            ("python3", "for c in 'a b', 'c d':\n  os.system(c)"),
            ("node", "for (const c of ['a b', 'c d']) execSync(c)"),
            ("node", "const l = ['a b', 'c d']; l.forEach((c) => execSync(c))"),
            ("ruby", "['a b', 'c d'].each { |c| system(c) }"),
            ("perl", "foreach my $c ('a b', 'c d') { system($c) }"),
            ("php", "foreach (['a b', 'c d'] as $c) { system($c); }"),
        ] {
            check(language, text, &["a b\nc d"]);
        }
        check("python3", "for c in ['a b']: print(c)", &[]);
        for (language, text) in [
            ("node", "for (const a of [['status'], ['push', 'x']]) spawnSync('git', a)"),
            ("node", "[['status'], ['push', 'x']].forEach(a => spawnSync('git', a))"),
            ("python3", "for a in [['status'], ('push', 'x')]: run(['git', *a])"),
        ] {
            check(language, text, &["'git' status\n'git' push x"]);
        }
        for text in [
            "%w[push merge].each { |x| system(\"git #{x}\") }",
            "%i(push merge).each do |x| system \"git #{x}\" end",
            "for x in %w{push merge}; system('git ' + x); end",
        ] {
            check("ruby", text, &["git push\ngit merge"]);
        }
        let lists = "l = [['a', 'b'], ['c', 'd']]\nfor c in l: run(c)";
        check("python3", lists, &[" a b\n c d"]);
        check("perl", "system(qw(git push))", &["'git' 'push'"]);
    }
}
