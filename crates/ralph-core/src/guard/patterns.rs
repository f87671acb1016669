//! Rules as data: those of `rules.toml`, and the user's own rules and exceptions.

use regex::Regex;

use super::act::Act;
use super::settings::UserRule;

/// A rule of `rules.toml`.
struct BuiltIn {
    name: &'static str,
    commands: &'static [&'static str],
    regex: &'static str,
    unless: &'static [&'static str],
    instead: &'static str,
}

const BUILT_IN: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/guard_rules.rs"));

/// What to do instead of a command that the built-in rules of this name forbid.
pub(super) fn instead_of(name: &str, act: &Act) -> Option<String> {
    let programs = programs_of(act);
    let mut rules = BUILT_IN.iter().filter(|rule| rule.name == name);
    let rule = rules.find(|rule| {
        rule.commands.iter().any(|line| fits(line, programs, act))
            && (rule.regex.is_empty() || sends(rule.regex, act))
            && !is_harmless(rule.unless, act)
    })?;
    Some(rule.instead.to_owned())
}

/// Whether the user allows this command whatever the rules say.
pub(super) fn is_allowed(act: &Act) -> bool {
    act.settings.allow.iter().any(|pattern| wildcard(pattern, &act.text()))
}

/// The first of the user's rules that forbids this command.
pub(super) fn forbidding<'a>(act: &Act<'a>) -> Option<&'a UserRule> {
    let programs = programs_of(act);
    let rules = act.settings.rules.iter();
    rules.filter(|rule| act.settings.in_force(&rule.name)).find(|rule| {
        let is_one = match (&rule.regex, &rule.program) {
            (regex, _) if !rule.commands.is_empty() => {
                rule.commands.iter().any(|line| fits(line, programs, act))
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

/// Whether the program is called with all of these words, in this order.
fn names(program: &str, wanted: &[String], act: &Act) -> bool {
    let mut args = act.args();
    wildcard(program, act.name) && wanted.iter().all(|wanted| args.any(|arg| wildcard(wanted, arg)))
}

/// The program, and the one that it is asked to run, if that is another one.
fn programs_of<'a>(act: &Act<'a>) -> (&'a str, Option<&'a str>) {
    let asked = act.asked().0;
    (act.name, if asked == act.name { None } else { Some(asked) })
}

/// Whether a command fits a line of `commands`: the programs, the words that come first, options of
/// which one must be given; `...` before words that may stand anywhere, `$` where no word may follow.
fn fits(line: &str, (name, asked): (&str, Option<&str>), act: &Act) -> bool {
    let (wanted, rest) = line.split_once(' ').unwrap_or((line, ""));
    if !is_one(wanted, name) && !asked.is_some_and(|asked| is_one(wanted, asked)) {
        return false;
    }
    let mut tokens = rest.split_whitespace();
    let (words, mut args) = (act.leading_words(), act.args());
    let (mut words, mut anywhere) = (words.into_iter(), false);
    tokens.all(|token| match token {
        "..." => {
            anywhere = true;
            true
        }
        "$" => words.next().is_none(),
        options if options.starts_with('-') => act.has(&options.replace('|', " ")),
        _ if anywhere => args.any(|arg| is_one(token, arg)),
        _ => words.next().is_some_and(|word| is_one(token, word)),
    })
}

/// Whether an argument or the standard input of the command holds the pattern.
fn sends(regex: &str, act: &Act) -> bool {
    act.args().chain(act.command.input.as_deref()).any(|text| is_match(regex, text))
}

/// Whether one of the exceptions is given: an option, a word, `option=value` or `VARIABLE=value`, or
/// the whole command.
fn is_harmless<S: AsRef<str>>(unless: &[S], act: &Act) -> bool {
    if unless.is_empty() {
        return false;
    }
    let with_values = act.args().zip(act.args().skip(1));
    let set =
        act.command.assignments.iter().map(|(name, value)| format!("{name}={}", value.text()));
    let words: Vec<String> = std::iter::once(act.text())
        .chain(act.args().map(str::to_owned))
        .chain(with_values.map(|(option, value)| format!("{option}={value}")))
        .chain(set)
        .collect();
    unless.iter().map(AsRef::as_ref).any(|pattern| {
        let is_option = pattern.starts_with("--") && !pattern.contains('=');
        is_option && act.has(pattern) || words.iter().any(|word| wildcard(pattern, word))
    })
}

/// A pattern that cannot be compiled is reported when the settings are loaded.
fn is_match(regex: &str, text: &str) -> bool {
    Regex::new(regex).is_ok_and(|regex| regex.is_match(text))
}

/// Whether a text is one of those that stand between bars.
fn is_one(any: &str, text: &str) -> bool {
    // Most are plain words, and every command is compared with all of them.
    any.split('|').any(|one| one == text || one.contains('*') && wildcard(one, text))
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn wildcard(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
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
    fn stars_stand_for_anything() {
        let check = |pattern, text, expected| {
            assert_eq!(wildcard(pattern, text), expected, "{pattern} {text}")
        };
        check("git push", "git push", true);
        check("git push", "git push x", false);
        check("git push*", "git push x", true);
        check("git * --dry-run", "git push --dry-run", true);
        check("*a*b*", "xaxbx", true);
        check("*a*b*", "xbxax", false);
        check("aba*aba", "aba", false);
    }

    #[test]
    fn own_rules_have_the_form_of_the_built_in_ones() {
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
        assert_eq!(rule("psql <<< 'grant all'", sent), "own");
        assert_eq!(rule("psql -c 'grant all'", sent), "own");
        assert_eq!(rule("psql -c 'select 1'", sent), "");
    }
}
