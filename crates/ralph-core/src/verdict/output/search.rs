//! Searches for short texts in short lines.
//!
//! The standard library prepares each search to stay linear in the worst case, which for a short
//! line costs more than the search itself; thousands of lines are searched for dozens of texts.
//! Here the first byte is searched and the rest compared: our texts are short, so that is linear,
//! too.

/// Returns the position of `part` in `text`.
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

/// Returns whether `part` occurs in `text`.
pub(super) fn holds(text: &str, part: &str) -> bool {
    find(text, part).is_some()
}

/// Searches for several lists of texts at once, ignoring ASCII case; excludes most lines in a
/// single pass.
pub(super) struct Sieve<const LISTS: usize> {
    /// The texts in lower case, each with its list's index, sorted by the bit of their first bytes.
    texts: Vec<(usize, usize, &'static str)>,
    /// A bit for each hash of three bytes with which a text begins.
    beginnings: [u64; BITS / 64],
}

const BITS: usize = 1 << 14;

impl<const LISTS: usize> Sieve<LISTS> {
    /// Creates a sieve for these lower-case texts, which must have at least three bytes.
    pub(super) fn new(lists: [&[&'static str]; LISTS]) -> Self {
        let (mut texts, mut beginnings) = (Vec::new(), [0; BITS / 64]);
        let numbered = lists.iter().enumerate();
        for (list, text) in
            numbered.flat_map(|(list, texts)| texts.iter().map(move |text| (list, *text)))
        {
            if let [a, b, c, ..] = text.as_bytes() {
                let bit = beginning(*a, *b, *c);
                texts.push((bit, list, text));
                if let Some(word) = beginnings.get_mut(bit / 64) {
                    *word |= 1 << (bit % 64);
                }
            }
        }
        texts.sort_unstable();
        Self { texts, beginnings }
    }

    /// Returns which lists have a text that occurs in `line`.
    pub(super) fn catches(&self, line: &str) -> [bool; LISTS] {
        let mut caught = [false; LISTS];
        let bytes = line.as_bytes();
        for (at, three) in bytes.windows(3).enumerate() {
            let [a, b, c] = three else { continue };
            let lower = u8::to_ascii_lowercase;
            let bit = beginning(lower(a), lower(b), lower(c));
            let word = self.beginnings.get(bit / 64).copied().unwrap_or_default();
            if word & (1 << (bit % 64)) != 0 {
                let rest = bytes.get(at..).unwrap_or_default();
                self.note_at(rest, bit, &mut caught);
            }
        }
        caught
    }

    fn note_at(&self, rest: &[u8], bit: usize, caught: &mut [bool; LISTS]) {
        let first = self.texts.partition_point(|(other, ..)| *other < bit);
        let texts = self.texts.iter().skip(first).take_while(|(other, ..)| *other == bit);
        for (_, list, text) in texts {
            let start = rest.get(..text.len());
            let stands = start.is_some_and(|start| start.eq_ignore_ascii_case(text.as_bytes()));
            if let Some(caught) = caught.get_mut(*list) {
                *caught |= stands;
            }
        }
    }
}

/// Returns the bit for a text that begins with these bytes.
fn beginning(a: u8, b: u8, c: u8) -> usize {
    (usize::from(a).wrapping_mul(0x9E5) ^ usize::from(b).wrapping_mul(0x1F3) ^ usize::from(c))
        % BITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn find_agrees_with_the_standard_library(text in "[ab é]{0,12}", part in "[ab é]{0,3}") {
            prop_assert_eq!(find(&text, &part), text.find(&part));
        }

        #[test]
        fn a_sieve_catches_exactly_the_lines_that_contain_its_texts(
            line in "(a|b|c|é|A|B|C|no |such|error|: |ERROR: ){0,12}",
        ) {
            let lower = line.to_ascii_lowercase();
            let first = lower.contains("error: ") || lower.contains("no such");
            let sieve = Sieve::new([&["error: ", "no such"], &["abc"]]);
            prop_assert_eq!(sieve.catches(&line), [first, lower.contains("abc")]);
        }
    }
}
