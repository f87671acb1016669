//! Searches for short texts in short lines.
//!
//! The standard library prepares each search so that the worst case stays linear, which for a line
//! of an output costs more than the search itself; thousands of lines are searched for dozens of
//! texts. Here the first byte is looked for and the rest compared: the texts are our own and
//! short, so that stays linear as well.

/// Where `part` begins in `text`.
pub(super) fn find(text: &str, part: &str) -> Option<usize> {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let (Some(first), Some(last)) = (part.first(), text.len().checked_sub(part.len())) else {
        return part.is_empty().then_some(0);
    };
    let mut from = 0;
    while let Some(at) = text.get(from..=last)?.iter().position(|byte| byte == first) {
        let at = from + at;
        if text.get(at..)?.starts_with(part) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// Whether `part` stands anywhere in `text`.
pub(super) fn holds(text: &str, part: &str) -> bool {
    find(text, part).is_some()
}

/// What stands before and behind the first `part`.
pub(super) fn split_once<'a>(text: &'a str, part: &str) -> Option<(&'a str, &'a str)> {
    let at = find(text, part)?;
    Some((text.get(..at)?, text.get(at + part.len()..)?))
}

/// Many texts at once: tells of most lines, in one pass, that they hold none of them.
pub(super) struct Sieve {
    texts: &'static [&'static [&'static str]],
    ignores_case: bool,
    /// One bit for each way in which one of the texts may begin.
    beginnings: [u64; BITS / 64],
}

const BITS: usize = 1 << 14;

impl Sieve {
    /// Of these texts, each of three bytes or more.
    #[expect(
        clippy::indexing_slicing,
        reason = "runs when compiling, where an index out of bounds is an error of the compiler"
    )]
    pub(super) const fn new(texts: &'static [&'static [&'static str]], ignores_case: bool) -> Self {
        let mut beginnings = [0; BITS / 64];
        let mut list = 0;
        while list < texts.len() {
            let mut item = 0;
            while item < texts[list].len() {
                let text = texts[list][item].as_bytes();
                let bit = match ignores_case {
                    true => beginning(lower(text[0]), lower(text[1]), lower(text[2])),
                    false => beginning(text[0], text[1], text[2]),
                };
                beginnings[bit / 64] |= 1 << (bit % 64);
                item += 1;
            }
            list += 1;
        }
        Self { texts, ignores_case, beginnings }
    }

    /// Whether any of the texts stands in `line`.
    pub(super) fn catches(&self, line: &str) -> bool {
        let bytes = line.as_bytes();
        bytes.windows(3).enumerate().any(|(at, three)| {
            let [a, b, c] = three else { return false };
            let bit = match self.ignores_case {
                true => beginning(lower(*a), lower(*b), lower(*c)),
                false => beginning(*a, *b, *c),
            };
            let word = self.beginnings.get(bit / 64).copied().unwrap_or_default();
            word & (1 << (bit % 64)) != 0 && self.stands_at(bytes.get(at..).unwrap_or_default())
        })
    }

    fn stands_at(&self, rest: &[u8]) -> bool {
        self.texts.iter().flat_map(|list| list.iter()).any(|text| {
            rest.get(..text.len()).is_some_and(|start| match self.ignores_case {
                true => start.eq_ignore_ascii_case(text.as_bytes()),
                false => start == text.as_bytes(),
            })
        })
    }
}

const fn lower(byte: u8) -> u8 {
    byte.to_ascii_lowercase()
}

/// The number of the bit for a text that begins with these bytes.
const fn beginning(a: u8, b: u8, c: u8) -> usize {
    ((a as usize).wrapping_mul(0x9E5) ^ (b as usize).wrapping_mul(0x1F3) ^ c as usize) % BITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    static SOME: Sieve = Sieve::new(&[&["error: ", "no such"], &["abc"]], false);
    static ANY_CASE: Sieve = Sieve::new(&[&["error: ", "no such"], &["abc"]], true);

    proptest! {
        #[test]
        fn finds_what_the_standard_library_finds(text in "[ab é]{0,12}", part in "[ab é]{0,3}") {
            prop_assert_eq!(find(&text, &part), text.find(&part));
            prop_assert_eq!(split_once(&text, &part), text.split_once(&part));
        }

        #[test]
        fn a_sieve_catches_exactly_the_lines_with_one_of_its_texts(
            line in "(a|b|c|é|A|B|C|no |such|error|: |ERROR: ){0,12}",
        ) {
            let holds = |line: &str| ["error: ", "no such", "abc"].iter().any(|t| line.contains(t));
            prop_assert_eq!(SOME.catches(&line), holds(&line));
            prop_assert_eq!(ANY_CASE.catches(&line), holds(&line.to_ascii_lowercase()));
        }
    }
}
