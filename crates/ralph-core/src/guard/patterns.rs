//! Rules as data: those in `rules.toml`, and the user's own rules and exceptions.

use regex_lite::Regex;

use super::act::Act;
use super::git_acts;
use super::settings::UserRule;
use shell_reader::sorted;

/// A rule in `rules.toml`, without its commands.
struct BuiltIn {
    name: &'static str,
    when: Option<fn(&Act) -> bool>,
    regex: Option<&'static str>,
    unless: &'static [&'static str],
    instead: &'static str,
}

// `BUILT_IN`, and `PROGRAMS`: the rows of each program, sorted by program name.
include!(concat!(env!("OUT_DIR"), "/guard_rules.rs"));

/// A line of `commands`: the first word that must follow the program (empty if it is not literal),
/// the index of its rule in `BUILT_IN`, and the other words.
pub(super) type Row = (&'static str, usize, &'static str);

/// Returns whether `rules.toml` has rules for this program.
pub(super) fn knows(program: &str) -> bool {
    sorted::find(PROGRAMS, program).is_some()
}

/// Returns the rows that match the beginning of a command.
pub(super) fn rows(act: &Act) -> Vec<&'static Row> {
    let programs = act.programs().into_iter().filter_map(|name| sorted::find(PROGRAMS, name));
    let fits = |(first, ..): &&Row| {
        first.is_empty() || act.leading_words().first().is_some_and(|word| word == first)
    };
    programs.copied().flatten().filter(fits).collect()
}

/// Returns what to do instead, if the built-in rules of this name forbid the command.
pub(super) fn instead_of(name: &str, act: &Act) -> Option<String> {
    let mut rules = act.rows.iter().filter_map(|(first, at, words)| {
        let known_words = usize::from(!first.is_empty());
        Some((BUILT_IN.get(*at)?, known_words, words))
    });
    let (rule, ..) = rules.find(|(rule, known_words, words)| {
        rule.name == name
            && fits(words, *known_words, act)
            && rule.when.is_none_or(|when| when(act))
            && rule.regex.is_none_or(|regex| sends(regex, act))
            && !is_harmless(rule.unless, act)
    })?;
    Some(rule.instead.to_owned())
}

/// Returns whether the user allows this command regardless of the rules.
pub(super) fn is_allowed(act: &Act) -> bool {
    act.settings.allow.iter().any(|pattern| wildcard(pattern, &act.text()))
}

/// Returns the first of the user's rules that forbids this command.
pub(super) fn forbidding<'a>(act: &Act<'a>) -> Option<&'a UserRule> {
    let rules = act.settings.rules.iter();
    rules.filter(|rule| act.settings.in_force(&rule.name)).find(|rule| {
        let is_one = match (&rule.regex, &rule.program) {
            (regex, _) if !rule.commands.is_empty() => {
                rule.commands.iter().any(|line| fits_line(line, act))
                    && regex.as_ref().is_none_or(|regex| sends(regex, act))
            }
            (Some(regex), _) => is_match(regex, &act.text()),
            (None, program) => {
                program.as_ref().is_some_and(|program| names(program, &rule.args, act))
            }
        };
        is_one && !is_harmless(&rule.unless, act)
    })
}

/// Returns whether the program is called with all of these words, in this order.
fn names(program: &str, wanted: &[String], act: &Act) -> bool {
    let mut args = act.args();
    wildcard(program, act.name) && wanted.iter().all(|wanted| args.any(|arg| wildcard(wanted, arg)))
}

/// Returns whether a command matches a line of `commands`: the programs, then words.
fn fits_line(line: &str, act: &Act) -> bool {
    let (programs, words) = line.split_once(' ').unwrap_or((line, ""));
    act.programs().iter().any(|program| is_one(programs, program)) && fits(words, 0, act)
}

/// Returns whether the words of a line of `commands` match. Words must come first, in order; of
/// options one must be given, or none after `!`; words after `...` may be anywhere; `$` means that
/// no word follows. The first `known_words` are known to match.
fn fits(wanted: &str, known_words: usize, act: &Act) -> bool {
    let (mut words, mut args) = (act.leading_words().iter().skip(known_words), act.args());
    let mut anywhere = false;
    wanted.split_whitespace().all(|token| match token {
        "..." => {
            anywhere = true;
            true
        }
        "$" => words.next().is_none(),
        options if options.starts_with('-') => act.has(options),
        options if options.starts_with('!') => !act.has(options.trim_start_matches('!')),
        _ if anywhere => args.any(|arg| is_one(token, arg)),
        _ => words.next().is_some_and(|word| is_one(token, word)),
    })
}

/// Returns whether an argument of the command matches the regex.
fn sends(regex: &str, act: &Act) -> bool {
    act.args().any(|text| is_match(regex, text))
}

/// Returns whether one of the exceptions applies: an option, a word, `option=value`,
/// `VARIABLE=value`, or the whole command.
fn is_harmless<S: AsRef<str>>(unless: &[S], act: &Act) -> bool {
    if unless.is_empty() {
        return false;
    }
    let args = || act.args_without_values();
    let with_values = args().zip(args().skip(1));
    let set =
        act.command.assignments.iter().map(|(name, value)| format!("{name}={}", value.text()));
    let words: Vec<String> = std::iter::once(act.text())
        .chain(args().map(str::to_owned))
        .chain(with_values.map(|(option, value)| format!("{option}={value}")))
        .chain(set)
        .collect();
    unless.iter().map(AsRef::as_ref).any(|pattern| {
        let is_option = pattern.starts_with("--") && !pattern.contains('=');
        // `git reset --h` is not taken for `--help`.
        is_option && pattern != "--help" && act.has(pattern)
            || words.iter().any(|word| wildcard(pattern, word))
    })
}

/// Matches a regex; an invalid one has been reported when the settings were loaded.
fn is_match(regex: &str, text: &str) -> bool {
    Regex::new(regex).is_ok_and(|regex| regex.is_match(text))
}

/// Returns whether a text matches one of the patterns between the bars.
fn is_one(any: &str, text: &str) -> bool {
    any.split('|').any(|one| wildcard(one, text))
}

/// Returns whether a text matches a pattern in which `*` stands for any text.
fn wildcard(pattern: &str, text: &str) -> bool {
    let Some((start, pieces)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(start) else { return false };
    let mut pieces = pieces.split('*');
    let last = pieces.next_back().unwrap_or_default();
    for piece in pieces {
        let Some((_, behind)) = rest.split_once(piece) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Facts, check};

    #[test]
    fn stars_match_any_text() {
        for (pattern, text, expected) in [
            ("git push", "git push x", false),
            ("git * --dry-run", "git push --dry-run", true),
            ("*a*b*", "xaxbx", true),
            ("*a*b*", "xbxax", false),
            ("aba*aba", "aba", false),
        ] {
            assert_eq!(wildcard(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn custom_rules_use_the_syntax_of_built_in_rules() {
        let facts = Facts::default();
        let rule = |command, own| {
            let denial = check(command, &facts, &toml::from_str(own).unwrap());
            denial.map(|denial| denial.rule).unwrap_or_default()
        };
        let own = "[[rules]]\nname = 'own'\ncommands = ['npm|pnpm add|install *', 'make ... up* -B|--all', \
                   'tool $']\nunless = ['--save-dev', 'REGION=eu-*', '*/localhost']\n";
        for (command, expected) in [
            ("pnpm --silent add x", "own"),
            ("npm install", ""),
            ("npm install -D x --save-dev", ""),
            ("npm install --registry http://localhost x", ""),
            ("REGION=eu-1 npm install x", ""),
            ("make -j 4 all upload -B", "own"),
            ("make upload", ""),
            ("tool -v", "own"),
            ("tool list", ""),
        ] {
            assert_eq!(rule(command, own), expected, "{command}");
        }
        let sent = "[[rules]]\nname = 'own'\ncommands = 'psql'\nregex = '^grant '\n";
        assert_eq!(rule("psql -c 'grant all'", sent), "own");
        assert_eq!(rule("psql -c 'select 1'", sent), "");
    }
}
