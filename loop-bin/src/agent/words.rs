//! The words of an agent's command line, and where each of them ends.
//!
//! Only as much of the shell as is needed to find a program and its options: quotes, escapes and
//! the characters that end a word. What would have to be expanded is left as it is, and marked.

/// Characters that end a word and are none themselves.
const OPERATORS: &str = "|&;<>()";

/// Characters whose meaning only the shell knows.
const EXPANDED: &str = "$`*?[{~#!";

/// A word without its quotes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Word {
    pub(super) text: String,
    /// Where it ends in the line, its quotes included.
    pub(super) end: usize,
    /// Whether the shell takes it as it is.
    pub(super) is_plain: bool,
}

/// The words of a line, operators left out.
pub(super) fn words(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        let ends = quote.is_none() && (c.is_whitespace() || OPERATORS.contains(c));
        if ends {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert(Word { is_plain: true, ..Word::default() });
        word.end = at + c.len_utf8();
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('\\', None | Some('"')) => {
                if let Some((at, escaped)) = chars.next() {
                    word.end = at + escaped.len_utf8();
                    word.text.push(escaped);
                }
            }
            (c, _) => {
                let is_literal = match quote {
                    Some('\'') => true,
                    Some(_) => !"$`".contains(c),
                    None => !EXPANDED.contains(c),
                };
                word.is_plain &= is_literal;
                word.text.push(c);
            }
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_operators_are_seen_as_the_shell_does() {
        let found = |line| -> Vec<(String, usize, bool)> {
            words(line).into_iter().map(|word| (word.text, word.end, word.is_plain)).collect()
        };
        let word = |text: &str, end, is_plain| (text.to_owned(), end, is_plain);
        assert_eq!(found("a 'b c'd"), [word("a", 1, true), word("b cd", 8, true)]);
        assert_eq!(found("a|b>c"), [word("a", 1, true), word("b", 3, true), word("c", 5, true)]);
        assert_eq!(found(r#"a\ b "$c""#), [word("a b", 4, true), word("$c", 9, false)]);
        assert_eq!(found("'$c' ~/d"), [word("$c", 4, true), word("~/d", 8, false)]);
        assert_eq!(found(" \u{e4}''"), [word("\u{e4}", 5, true)]);
        assert_eq!(found("''"), [word("", 2, true)]);
        assert_eq!(found("\\"), [word("", 1, true)]);
    }
}
