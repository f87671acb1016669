//! Programs of other languages on the command line: `python -c`, `node -e`, `awk 'BEGIN{…}'`.
//!
//! They are not parsed. Calls that start processes or remove and write files are found by name,
//! and the fixed texts in their parentheses are read as the command that they amount to.

use std::collections::BTreeMap;

use super::check::{self, Facts};
use super::settings::Settings;
use crate::shell::{Command, Reach, RedirectKind, Word};

/// Calls that run a command given as text or as a list of words.
const RUNS: &[&str] = &[
    "system",
    "popen",
    "Popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "execute",
    "cmd",
    "Command",
    "exec",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnSync",
    "shell_exec",
    "passthru",
    "proc_open",
    "execv",
    "execvp",
    "execlp",
    "execl",
    "spawnlp",
    "sh",
    "capture2",
    "capture3",
    "pipeline",
    "create_subprocess_exec",
    "create_subprocess_shell",
];
/// What a program mentions that talks to git without starting it.
const LIBRARIES: &[&str] =
    &["import git", "from git", "pygit2", "simple-git", "simpleGit", "isomorphic-git", "nodegit"];
/// Calls that mean something only together with one of these.
const OF_LIBRARIES: &[&str] = &["push", "merge", "git"];
/// Calls that delete a whole folder.
const DELETES: &[&str] =
    &["rmtree", "rmSync", "rm_rf", "rm_r", "remove_tree", "remove_dir_all", "rimraf", "removeSync"];
/// Calls that write a file.
const WRITES: &[&str] = &[
    "writeFileSync",
    "writeFile",
    "appendFileSync",
    "write_text",
    "write_bytes",
    "file_put_contents",
    "open",
    "truncate",
    "unlink",
    "unlinkSync",
    "remove",
    "Path",
    "write",
    "delete",
];
/// A call's arguments longer than this are not looked at.
const MAX_CALL: usize = 4096;
/// Calls that are looked at in one text.
const MAX_CALLS: usize = 64;

/// Adds the commands that inline programs would run.
pub(super) fn add_commands(commands: &mut Vec<Command>, facts: &Facts, settings: &Settings) {
    let mut added = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let Some(name) = command.name() else { continue };
        let before = commands.get(..at).unwrap_or_default();
        for text in programs(name, command, before) {
            for line in amounts_to(name, &text, settings) {
                added.extend(check::read(&line, facts).commands.into_iter().map(|inner| {
                    Command {
                        span: command.span.clone(),
                        directory: command.directory.clone().or(inner.directory.clone()),
                        reached: std::iter::once(Reach::ShellText(name.to_owned()))
                            .chain(inner.reached.clone())
                            .collect(),
                        ..inner
                    }
                }));
            }
        }
    }
    commands.extend(added);
}

/// The texts that an interpreter is told to run, also from a file written earlier on the line.
fn programs(name: &str, command: &Command, before: &[Command]) -> Vec<String> {
    let base = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    let options: &[&str] = match base {
        "python" | "pypy" => &["-c"],
        "node" | "bun" | "tsx" | "ts-node" => &["-e", "-p", "--eval", "--print"],
        "deno" => &["eval"],
        "perl" => &["-e", "-E"],
        "ruby" | "lua" | "luajit" | "osascript" | "Rscript" | "julia" | "elixir" => &["-e"],
        "php" => &["-r"],
        "awk" | "gawk" | "mawk" => {
            let script = command.args.iter().find(|arg| !arg.text().starts_with('-'));
            return script.map(|word| word.text().to_owned()).into_iter().collect();
        }
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    let mut args = command.args.iter();
    while let Some(arg) = args.next() {
        if options.iter().any(|option| gives_text(arg.text(), option)) {
            found.extend(args.next().map(|word| word.text().to_owned()));
        }
    }
    let script = command.args.iter().map(Word::text).find(|arg| !arg.starts_with('-'));
    if let Some(path) = script.filter(|_| found.is_empty()) {
        found.extend(before.iter().rev().find_map(|writer| written(writer, path)));
    }
    let from_input = found.is_empty() && command.args.iter().all(|arg| arg.text().starts_with('-'));
    if from_input {
        found.extend(document(command));
    }
    found
}

/// The text that a command reads from the line itself.
fn document(command: &Command) -> Option<String> {
    let text = command.redirects.iter().find(|redirect| {
        matches!(redirect.kind, RedirectKind::HereDocument | RedirectKind::HereString)
    });
    text.map(|redirect| redirect.target.text().to_owned())
}

/// What a command writes to this file, if that stands on the line itself.
fn written(command: &Command, path: &str) -> Option<String> {
    let same = |word: &Word| word.text().trim_start_matches("./") == path.trim_start_matches("./");
    let redirected = command.redirects.iter().any(|redirect| {
        matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append)
            && same(&redirect.target)
    });
    match command.name()? {
        "cat" if redirected => document(command),
        "tee" if command.args.iter().any(same) => document(command),
        "echo" | "printf" if redirected => {
            Some(command.args.iter().map(Word::text).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// Whether an option is this one, also at the end of a cluster such as `-we`.
fn gives_text(arg: &str, option: &str) -> bool {
    let cluster = option.len() == 2 && arg.starts_with('-') && !arg.starts_with("--");
    arg == option || (cluster && arg.ends_with(option.trim_start_matches('-')))
}

/// The shell commands that an inline program amounts to.
fn amounts_to(language: &str, text: &str, settings: &Settings) -> Vec<String> {
    let mut lines = Vec::new();
    let variables = variables(text);
    for (name, arguments) in calls(text) {
        let literals = resolved(arguments, &variables);
        if RUNS.contains(&name) {
            lines.extend(command_of(&literals));
        }
        if matches!(name, "push" | "merge")
            && LIBRARIES.iter().any(|library| text.contains(library))
        {
            lines.push(format!("git {name}"));
        }
        if name == "git" {
            lines.extend(command_of(&literals).map(|words| format!("git {words}")));
        }
        if !settings.switch("inline-writes") {
            continue;
        }
        if DELETES.contains(&name) {
            lines.extend(literals.first().map(|path| format!("rm -r -- {}", quoted(path))));
        }
        let writes = WRITES.contains(&name)
            && match name {
                "open" => literals.iter().skip(1).any(|mode| is_writing_mode(mode)),
                "Path" => text.contains("write_") || text.contains(".unlink("),
                "write" | "delete" => text.contains(&format!("File.{name}")),
                _ => true,
            };
        if writes {
            lines.extend(literals.first().map(|path| format!(": > {}", quoted(path))));
        }
    }
    if matches!(language, "ruby" | "perl" | "php") {
        lines.extend(text.split('`').skip(1).step_by(2).map(str::to_owned));
        for opening in ["%x(", "%x{", "%x[", "qx(", "qx{", "qx/", "system qw(", "exec qw("] {
            let inner = text
                .split(opening)
                .skip(1)
                .filter_map(|rest| rest.split([')', '}', ']', '/']).next());
            lines.extend(inner.map(str::to_owned));
        }
    }
    if language == "osascript" {
        lines.extend(literals(text));
    }
    if language.ends_with("awk") {
        // `print | "command"`, `"command" | getline` and `cmd = "command"; system(cmd)`.
        let runs = text.contains('|') || text.contains("system(");
        lines.extend(literals(text).into_iter().filter(|_| runs));
        // `print > "file"`.
        let targets = text.split('>').skip(1).filter(|rest| rest.trim_start().starts_with('"'));
        let targets = targets.filter_map(|rest| literals(rest).into_iter().next());
        lines.extend(targets.map(|path| format!(": > {}", quoted(&path))));
    }
    lines
}

/// Names followed by an opening parenthesis or, as in Ruby and Perl, by a quote; what stands in
/// quotes itself is text, not program.
fn calls(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
        if length == 0 {
            at += literal_length(rest)
                .unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
            continue;
        }
        let (name, behind) = rest.split_at(length);
        at += length;
        let opens = if OF_LIBRARIES.contains(&name) {
            behind.starts_with('(')
        } else {
            behind.trim_start().starts_with(['(', '"', '\'', '[', '`'])
        };
        let known = [RUNS, DELETES, WRITES, OF_LIBRARIES].iter().any(|calls| calls.contains(&name));
        if known && opens {
            found.push((name, arguments(behind)));
            if found.len() >= MAX_CALLS {
                break;
            }
        }
    }
    found
}

/// The length of the text in quotes that begins here; a quote without a partner on its line is an
/// apostrophe.
fn literal_length(rest: &str) -> Option<usize> {
    for triple in ["\"\"\"", "'''"] {
        if let Some(behind) = rest.strip_prefix(triple) {
            return behind.find(triple).map(|length| length + 2 * triple.len());
        }
    }
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1).take(MAX_CALL) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote != '`' => return None,
            _ if letter == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The text up to the parenthesis that closes the call, or to the end of the statement.
fn arguments(rest: &str) -> &str {
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, character) in rest.char_indices() {
        if at > MAX_CALL {
            return rest.get(..at).unwrap_or(rest);
        }
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth > 1 => depth -= 1,
            (None, ')' | ']' | '}') => return rest.get(..at).unwrap_or(rest),
            (None, ';' | '\n') if depth == 0 => return rest.get(..at).unwrap_or(rest),
            _ => {}
        }
    }
    rest
}

/// The fixed texts that a program gives names to: `op = 'push'`, `cmd = ['git', 'push']`.
fn variables(text: &str) -> BTreeMap<&str, Vec<String>> {
    let mut found = BTreeMap::new();
    for (at, _) in text.match_indices('=').take(MAX_CALLS) {
        let (before, behind) = text.split_at(at);
        let before = before.trim_end();
        let start = before.rfind(|letter: char| !is_of_name(letter)).map_or(0, |at| at + 1);
        let value = behind.get(1..).unwrap_or_default().trim_start();
        let values = match literal_length(value).and_then(|length| value.get(..length)) {
            Some(literal) => literals(literal),
            None if value.starts_with(['[', '(']) => literals(arguments(value)),
            None => continue,
        };
        if let Some(name) = before.get(start..).filter(|name| !name.is_empty()) {
            found.insert(name, values);
        }
    }
    found
}

/// The fixed texts in a piece of program, names replaced by what they stand for.
fn resolved(text: &str, variables: &BTreeMap<&str, Vec<String>>) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let name = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
        let length = if name > 0 {
            let word = rest.get(..name).unwrap_or_default();
            let is_key =
                rest.get(name..).is_some_and(|behind| behind.trim_start().starts_with('='));
            found.extend(variables.get(word).filter(|_| !is_key).into_iter().flatten().cloned());
            name
        } else if let Some(length) = literal_length(rest) {
            found.extend(literals(rest.get(..length).unwrap_or_default()).iter().map(|literal| {
                variables.iter().fold(literal.clone(), |filled, (name, values)| match &**values {
                    [value] if filled.contains('{') => filled
                        .replace(&format!("${{{name}}}"), value)
                        .replace(&format!("{{{name}}}"), value),
                    _ => filled,
                })
            }));
            length
        } else {
            first.len_utf8()
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The fixed texts in a piece of program.
fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut characters = text.chars();
    while let Some(quote) = characters.find(|character| matches!(character, '"' | '\'' | '`')) {
        let mut literal = String::new();
        while let Some(character) = characters.next() {
            match character {
                '\\' => literal.extend(characters.next()),
                _ if character == quote => break,
                _ => literal.push(character),
            }
        }
        if !literal.is_empty() {
            found.push(literal);
        }
    }
    found
}

/// A text with blanks is a command line, single words are its words.
fn command_of(literals: &[String]) -> Option<String> {
    // `execvp("git", ["git", "push"])` names the program twice.
    let literals = match literals {
        [program, name, ..] if program == name => literals.get(1..)?,
        _ => literals,
    };
    let first = literals.first()?;
    if first.contains(' ') {
        return Some(first.clone());
    }
    Some(literals.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

fn is_writing_mode(mode: &str) -> bool {
    mode.len() <= 3 && mode.contains(['w', 'a', 'x', '+'])
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, text: &str, expected: &[&str]) {
        assert_eq!(amounts_to(language, text, &Settings::default()), expected, "{text}");
    }

    #[test]
    fn calls_amount_to_commands_and_mentions_do_not() {
        check(
            "python3",
            "import subprocess; subprocess.run(['git','push'], cwd='x')",
            &["'git' 'push' 'x'"],
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
    }
}
