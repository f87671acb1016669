//! Option values, parsed as getopt does, and words quoted for a shell.

use super::Word;
use super::script::names;

/// Returns the values of the options `wanted`: the next word, the text after `=`, or the rest of a
/// cluster such as `-sSLoFILE`. `takers` are other options that take a value.
pub fn values(args: &[Word], wanted: &str, takers: &str) -> Vec<Word> {
    let takes = |letter: char| {
        let mut options = wanted.split(' ').chain(takers.split(' '));
        options.any(|option| option.len() == 2 && option.ends_with(letter))
    };
    let mut found = Vec::new();
    let mut rest = args.iter();
    while let Some(text) = rest.next().map(Word::text) {
        if text == "--" {
            break;
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) if text.starts_with("--") => (name.to_owned(), value),
            _ if text.starts_with("--") => (text.to_owned(), ""),
            _ => {
                let cluster = text.strip_prefix('-').unwrap_or_default();
                let Some(at) = cluster.find(takes) else { continue };
                let (letter, value) = cluster.get(at..).unwrap_or_default().split_at(1);
                (format!("-{letter}"), value)
            }
        };
        let is_wanted = names(wanted, &name);
        if is_wanted && !value.is_empty() {
            found.push(Word::from(value));
        } else if value.is_empty() && (is_wanted || names(takers, &name)) {
            found.extend(rest.next().filter(|_| is_wanted).cloned());
        }
    }
    found
}

/// Quotes a word, so that a shell takes it literally.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
