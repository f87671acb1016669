//! Translates the calls in a program to equivalent shell commands.

use super::tokens::{Token, Variables, arguments, tokens, variables};
use shell_reader::{quoted, sorted};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/meaning.rs"));

/// The limit of calls examined in one program.
const MAX_CALLS: usize = 64;

/// Returns the shell commands that are equivalent to an inline program.
pub(super) fn equivalent_commands(language: &str, text: &str) -> Vec<String> {
    let tokens = tokens(language, text);
    let variables = variables(&tokens);
    let mut lines = Vec::new();
    // `print | "command"`, `"command" | getline` and `cmd = "command"; system(cmd)`.
    let mut runs_any =
        language.ends_with("awk") && (text.contains('|') || text.contains("system("));
    for (at, token) in tokens.iter().enumerate() {
        let behind = tokens.get(at + 1..).unwrap_or_default();
        if *token == Token::Mark('>') && language.ends_with("awk") {
            lines.extend(printed_to(behind, &variables));
        }
        if let Token::Name(name) = token
            && lines.len() < MAX_CALLS
            && (is_call(behind.first())
                || behind.first() == Some(&Token::Mark(',')) && is_run(name)
                || language == "perl" && matches!(*name, "open" | "sysopen"))
        {
            let given = || arguments(behind, &variables);
            let amounts = equivalent_of_call(name, given, text);
            runs_any |= amounts.is_none() && is_run(name) && is_given_a_name(behind);
            lines.extend(amounts);
        }
    }
    if matches!(language, "ruby" | "rake" | "perl" | "php") {
        lines.extend(tokens.iter().filter_map(|token| match token {
            Token::Quoted(command) => Some(command.clone()),
            _ => None,
        }));
    }
    if runs_any {
        let texts = tokens.iter().filter_map(Token::text).filter(|text| text.contains(' '));
        lines.extend(texts.map(str::to_owned));
    }
    lines
}

/// Returns the command equivalent to `print > "path"` of awk, given what follows the last `>`.
fn printed_to(behind: &[Token], variables: &Variables) -> Option<String> {
    let path = match behind {
        [Token::Text(path), ..] => path,
        [Token::Name(name), ..] => variables.get(name)?.first()?,
        _ => return None,
    };
    Some(format!(": > {}", quoted(path)))
}

/// Returns whether a variable is run, as in `each { |c| system(c) }`: it may hold any string.
fn is_given_a_name(arguments: &[Token]) -> bool {
    let [Token::Mark('('), given @ ..] = arguments else { return false };
    let given = given.strip_prefix(&[Token::Mark('$')]).unwrap_or(given);
    matches!(given, [Token::Name(_), Token::Mark(')' | ','), ..])
}

fn is_run(name: &str) -> bool {
    RUNS.contains(&name)
}

/// Returns whether a name is called: followed by a parenthesis or, as in Ruby and Perl, a quote.
fn is_call(next: Option<&Token>) -> bool {
    matches!(next, Some(Token::Mark('(' | '[') | Token::Text(_) | Token::Quoted(_)))
}

/// Returns the command equivalent to one call in the program `text`.
fn equivalent_of_call(
    name: &str,
    given: impl FnOnce() -> Vec<String>,
    text: &str,
) -> Option<String> {
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
            // Perl has the mode before the path, or in front of it: `open(F, ">path")`.
            if let ("open", [mode, rest @ ..]) = (name, given.as_slice())
                && let Some((_, path)) = mode
                    .split_at_checked(mode.len().min(1))
                    .filter(|(first, _)| matches!(*first, ">" | "+"))
            {
                let path = path.trim_start_matches(['>', '<', '+']).split(':').next();
                let path = path.unwrap_or_default().trim();
                let path = if path.is_empty() { rest.first().cloned()? } else { path.to_owned() };
                return on_path(&[path], ": >");
            }
            let given = match name {
                "urlretrieve" | "copy_stream" => given.last().cloned().into_iter().collect(),
                _ => given,
            };
            let writes = match name {
                "open" | "openSync" | "fopen" => {
                    given.iter().skip(1).any(|mode| is_writing_mode(mode))
                }
                "sysopen" => text.contains("O_WR") || text.contains("O_RDWR"),
                "Path" => text.contains("write_") || text.contains(".unlink("),
                "write" | "delete" | "binwrite" => {
                    ["File", "IO"].iter().any(|class| text.contains(&format!("{class}.{name}")))
                }
                _ => true,
            };
            on_path(given.get(..1)?, ": >").filter(|_| writes)
        }
        _ => {
            let command = sorted::find(ACTS, name)?;
            // Moves, copies and links also have a target.
            let given = given();
            let paths = given
                .get(..if command.contains("--") && !command.starts_with("rm") { 2 } else { 1 })?;
            on_path(paths, command)
        }
    }
}

/// Joins literals to a command: one with a blank is a whole line, others are single words.
fn command_of(literals: &[String]) -> Option<String> {
    // `execvp("git", ["git", "push"])` names the program twice.
    let literals = match literals {
        [program, name, ..] if program == name => literals.get(1..)?,
        _ => literals,
    };
    if literals.first().is_some_and(|first| first.contains(' ')) {
        // One of them is run, or all in turn.
        return Some(literals.join("\n"));
    }
    let words = literals.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    Some(words).filter(|words| !words.is_empty())
}

fn is_writing_mode(mode: &str) -> bool {
    mode.len() <= 3 && mode.contains(['w', 'a', 'x', '+'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forms that the labelled commands do not have.
    #[test]
    fn calls_yield_commands_and_mentions_do_not() {
        for (language, text, expected) in [
            ("python3", "# don't\nos.system('git push')", &["git push"][..]),
            ("python3", "\"\"\"run('git push')\"\"\"", &[]),
            ("python3", "open('a').read(); open('b', 'w')", &[": > 'b'"]),
            (
                "perl",
                "open(F, '>a'); open my $f, '<', 'b'; open(my $g, '>>', 'c')",
                &[": > 'a'", ": > 'c'"],
            ),
            ("perl", "open F, \">a\"; open(F, \"+<:utf8\", \"b\")", &[": > 'a'", ": > 'b'"]),
            ("gawk", "$1 > 3 { print > \"a\"; print >> \"b\" }", &[": > 'a'", ": > 'b'"]),
            ("awk", "BEGIN { f = \"a\"; printf \"x\" > f }", &[": > 'a'"]),
            ("node", "fs.createWriteStream('a')", &[": > 'a'"]),
            ("python3", "request.urlretrieve(url, 'a'); fopen('b', 'r')", &[": > 'a'"]),
            ("ruby", "IO.copy_stream(URI.open('https://x'), 'a')", &[": > 'a'"]),
            ("python3", "shutil.copy('a b', '/x'); d.copy()", &["cp -r -- 'a b' '/x'"]),
            ("node", "fs.rm(require('os').homedir() + '/x')", &["rm -r -- '~/x'"]),
            ("awk", "/git push/ { print \"git push\" }", &[]),
            ("python3", "for c in 'a b', 'c d':\n  os.system(c)", &["a b\nc d"]),
            ("python3", "l = [['a', 'b'], ['c', 'd']]\nfor c in l: run(c)", &["a b\nc d"]),
            ("perl", "foreach my $c ('a b', 'c d') { system($c) }", &["a b", "c d"]),
            ("php", "foreach (['a b', 'c d'] as $c) { system($c); }", &["a b", "c d"]),
            ("ruby", "for x in %w{a b}; system('git ' + x); end", &["git a\ngit b"]),
        ] {
            assert_eq!(equivalent_commands(language, text), expected, "{text}");
        }
    }
}
