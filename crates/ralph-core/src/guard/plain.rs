//! A look at a line that could not be read to its end: the commands that are plainly written in it.
//!
//! A line may be longer than is worth reading, or broken. Quotes are not heeded here, so this is
//! asked only when the reading proper has stopped early.

use std::collections::BTreeSet;

use super::patterns;

/// Programs that are worth a second look besides those in `rules.toml`.
const PROGRAMS: &str = "rm find mv dd sudo env bash sh eval xargs";
/// Words of the shell that may stand before a command.
const KEYWORDS: [&str; 8] = ["then", "do", "else", "if", "while", "until", "!", "elif"];
/// More different pieces than this are not looked at.
const MAX_PIECES: usize = 200;
/// A longer piece is no command that somebody wrote plainly.
const MAX_PIECE: usize = 2000;

/// The pieces of a text, between separators, that begin with a program of interest; each once.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut seen = BTreeSet::new();
    text.split(['\n', ';', '&', '|', '(', ')', '`', '{', '}'])
        .filter(|piece| piece.len() <= MAX_PIECE)
        .map(without_keywords)
        .filter(|piece| {
            let program = piece.split_whitespace().next().unwrap_or_default();
            let name = program.rsplit('/').next().unwrap_or_default();
            patterns::knows(name) || PROGRAMS.split(' ').any(|one| one == name)
        })
        .filter(move |piece| seen.insert(*piece))
        .take(MAX_PIECES)
}

fn without_keywords(piece: &str) -> &str {
    let mut rest = piece.trim();
    while let Some((first, behind)) = rest.split_once(char::is_whitespace)
        && KEYWORDS.contains(&first)
    {
        rest = behind.trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_of_interest_are_looked_at() {
        let check = |text, expected: &[&str]| {
            assert_eq!(pieces(text).collect::<Vec<_>>(), expected, "{text}");
        };
        check("echo a; git push", &["git push"]);
        check("echo git push && /usr/bin/git status", &["/usr/bin/git status"]);
        check("if x; then git push; fi", &["git push"]);
        check("ls\nrm -rf /\n", &["rm -rf /"]);
    }
}
