//! Small changes that break code on purpose, to see whether a test notices: by tokens, without knowledge
//! of the language but for what is a comment.
//!
//! ```
//! use ralph_project::mutants::{Mutant, mutants};
//!
//! let found = mutants("sum.py", "def add(a, b):\n    return a + b\n", |_| true);
//! let Mutant { line, what, text } = &found[0];
//! assert_eq!((*line, what.as_str()), (2, "`+` to `-`"));
//! assert_eq!(text, "def add(a, b):\n    return a - b\n");
//! ```

use crate::leftovers::code_of;

/// Code that was broken on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The changed line, counted from one.
    pub line: usize,
    /// What was changed into what.
    pub what: String,
    /// The whole text with the change.
    pub text: String,
}

/// What is replaced by what, in code; the most telling first.
#[rustfmt::skip]
const SWAPS: &[(&str, &str)] = &[
    (" === ", " !== "), (" !== ", " === "), (" == ", " != "), (" != ", " == "),
    (" <= ", " > "), (" >= ", " < "), (" < ", " >= "), (" > ", " <= "),
    (" -eq ", " -ne "), (" -ne ", " -eq "), (" -lt ", " -ge "), (" -gt ", " -le "),
    (" -le ", " -gt "), (" -ge ", " -lt "), ("[ -z ", "[ -n "), ("[ -n ", "[ -z "),
    (" && ", " || "), (" || ", " && "), (" and ", " or "), (" or ", " and "),
    (" += ", " -= "), (" -= ", " += "), (" + ", " - "), (" - ", " + "),
    (" * ", " + "), (" / ", " * "), (" % ", " + "), (" not in ", " in "),
    ("true", "false"), ("false", "true"), ("True", "False"), ("False", "True"),
    (".min(", ".max("), (".max(", ".min("), (".upper(", ".lower("), (".lower(", ".upper("),
    (".to_uppercase(", ".to_lowercase("), (".to_lowercase(", ".to_uppercase("),
    (".toUpperCase(", ".toLowerCase("), (".toLowerCase(", ".toUpperCase("),
    (".upcase", ".downcase"), (".downcase", ".upcase"), ("ToUpper(", "ToLower("), ("ToLower(", "ToUpper("),
    (" not ", " "), ("(!", "("), (" !", " "),
];

/// How lines begin that bring in other code or only give names.
#[rustfmt::skip]
const NAMING: &[&str] = &[
    "import ", "from ", "use ", "package ", "require", "#", "@", "module ", "mod ", "extern ", "namespace ",
    "export {", "export * ", "module.exports", "include ", "source ", ". ", "const { ", "var { ",
];

/// What a value is returned as when it is left out.
const NOTHING: [(&str, &str); 5] = [
    (".py", "None"),
    (".rb", "nil"),
    (".js", "undefined"),
    (".mjs", "undefined"),
    (".cjs", "undefined"),
];

/// Returns broken versions of a text, the most telling first and first one for each line; only lines that
/// are wanted are changed.
pub fn mutants(path: &str, text: &str, is_wanted: impl Fn(usize) -> bool) -> Vec<Mutant> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut found: Vec<(usize, usize, Mutant)> = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(at, _)| is_wanted(at + 1)) {
        let body = line.trim();
        let Some(code) = code_of(path, line) else { continue };
        if NAMING.iter().any(|start| body.starts_with(start)) || body.contains("require(") {
            continue;
        }
        let chars: Vec<char> = line.chars().collect();
        let changes = [swaps(&code), returned(path, &code), numbers(&code), texts(&code)];
        let all = changes
            .into_iter()
            .enumerate()
            .flat_map(|(rank, all)| all.into_iter().map(move |one| (rank, one)));
        // What is returned tells the most.
        let weight = usize::from(!body.contains("return") && !body.contains("echo "));
        for (nth, (rank, (from, to, new))) in all.enumerate() {
            let kept = |range: &[char]| range.iter().collect::<String>();
            let old = chars.get(from..to).map(kept).unwrap_or_default();
            let [before, after] =
                [chars.get(..from), chars.get(to..)].map(|part| part.map(kept).unwrap_or_default());
            let new_line = format!("{before}{new}{after}");
            let mut all = lines.clone();
            if let Some(slot) = all.get_mut(at) {
                *slot = &new_line;
            }
            let what = format!("`{}` to `{}`", old.trim(), new.trim());
            found.push((
                nth,
                rank.max(1) + weight,
                Mutant { line: at + 1, what, text: all.concat() },
            ));
        }
    }
    found.sort_by_key(|(nth, rank, _)| (*nth, *rank));
    found.into_iter().map(|(.., mutant)| mutant).collect()
}

/// A change of a line: the range of characters, and what takes its place.
type Change = (usize, usize, String);

fn swaps(code: &[char]) -> Vec<Change> {
    let mut found = Vec::new();
    for at in 0..code.len() {
        let starts = |from: &str| {
            let is_word =
                |at: usize| code.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_');
            let len = from.chars().count();
            let ends_in_word = from.ends_with(char::is_alphabetic);
            let begins_in_word = from.starts_with(char::is_alphabetic);
            from.chars().enumerate().all(|(more, c)| code.get(at + more) == Some(&c))
                && !(ends_in_word && is_word(at + len))
                && !(begins_in_word && at > 0 && is_word(at - 1))
        };
        if let Some((from, to)) = SWAPS.iter().find(|(from, _)| starts(from)) {
            found.push((at, at + from.chars().count(), (*to).to_owned()));
        }
    }
    found
}

/// Leaves out what is returned, where a value needs no type.
fn returned(path: &str, code: &[char]) -> Vec<Change> {
    let text: String = code.iter().collect();
    let nothing = NOTHING.iter().find(|(extension, _)| path.ends_with(extension));
    // An arrow function may return without the word.
    let found = ["return ", "=> "].into_iter().find_map(|word| Some((text.find(word)?, word)));
    let (Some((_, nothing)), Some((at, word))) = (nothing, found) else { return Vec::new() };
    let start = text.get(..at).map_or(0, |head| head.chars().count()) + word.len();
    let end = text.trim_end().trim_end_matches([';', '}', ' ']).chars().count();
    let begins_block = code.get(start).is_none_or(|c| *c == '{');
    if start < end && !begins_block {
        vec![(start, end, (*nothing).to_owned())]
    } else {
        Vec::new()
    }
}

fn numbers(code: &[char]) -> Vec<Change> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = code.get(at) {
        let before = at.checked_sub(1).and_then(|at| code.get(at));
        let is_part = before.is_some_and(|c| c.is_alphanumeric() || "_.$#".contains(*c));
        let digits = code.iter().skip(at).take_while(|c| c.is_ascii_digit()).count();
        let after = code.get(at + digits).is_some_and(|c| c.is_alphabetic() || *c == '_');
        if c.is_ascii_digit() && !is_part && !after {
            let number: String = code.iter().skip(at).take(digits).collect();
            found.extend(
                number.parse::<u64>().ok().map(|it| (at, at + digits, (it + 1).to_string())),
            );
        }
        at += digits.max(1);
    }
    found
}

/// Adds a letter to the texts in quotes.
fn texts(code: &[char]) -> Vec<Change> {
    let is_quote = |at: &usize| matches!(code.get(*at), Some('"' | '\'' | '`'));
    let quotes: Vec<usize> = (0..code.len()).filter(is_quote).collect();
    let pairs = quotes.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
    pairs.filter(|(from, to)| from + 1 < *to).map(|(_, to)| (to, to, "x".to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        mutants(path, text, |_| true)
            .into_iter()
            .map(|one| format!("{}: {}", one.line, one.what))
            .collect()
    }

    #[test]
    fn tokens_are_changed_in_code_and_not_in_comments() {
        assert_eq!(found("a.py", "# 1 + 1\nx = 1  # 2\n"), ["2: `1` to `2`"]);
        assert_eq!(found("a.js", "if (a < 2) {\n"), ["1: `<` to `>=`", "1: `2` to `3`"]);
        assert_eq!(found("a.rs", "let truely = v2[0];\n"), ["1: `0` to `1`"]);
        assert_eq!(found("a.go", "import \"fmt\"\n"), Vec::<String>::new());
        assert_eq!(found("a.sh", "echo \"hello $1\"\n"), ["1: `` to `x`"]);
    }

    #[test]
    fn each_line_is_changed_once_before_any_is_changed_twice() {
        let text = "def f(a):\n    b = a + 1\n    return b * 2\n";
        let lines: Vec<usize> =
            mutants("a.py", text, |_| true).iter().map(|one| one.line).collect();
        assert_eq!(lines.get(..2), Some(&[3, 2][..]), "{lines:?}");
        assert_eq!(mutants("a.py", text, |line| line == 2).len(), 2);
    }
}
