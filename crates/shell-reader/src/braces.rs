//! Brace expansion: `{a,b}`.

use super::state::Session;
use super::tree::{Part, RawWord};

/// The maximum number of alternatives; words with more keep their braces.
const MAX_WORDS: usize = 256;
/// The longest word to expand; nobody writes longer ones by hand.
const MAX_LENGTH: usize = 512;
/// The first of the characters that represent the unchanged parts of a word.
const FIRST_PART: u32 = 0xf_0000;

/// Returns the words to which `word` expands; `None` if it has no braces to expand.
pub(super) fn expand(word: &RawWord, session: &Session) -> Option<Vec<RawWord>> {
    let has_brace = |part: &Part| matches!(part, Part::Plain(text) if text.contains('{'));
    if !word.parts.iter().any(has_brace) {
        return None;
    }
    let mut text = String::new();
    for (part, mark) in word.parts.iter().zip(FIRST_PART..) {
        match part {
            Part::Plain(plain) => text.push_str(plain),
            _ => text.extend(char::from_u32(mark)),
        }
    }
    if text.len() > MAX_LENGTH {
        return None;
    }
    let (mut waiting, mut done) = (vec![text], Vec::new());
    while let Some(text) = waiting.pop() {
        match alternatives(&text) {
            Some(found) => waiting.extend(found.into_iter().rev()),
            None => done.push(text),
        }
        if waiting.len() + done.len() > MAX_WORDS || !session.spend(1) {
            return None;
        }
    }
    (done.len() > 1).then(|| done.iter().map(|text| to_word(text, word)).collect())
}

/// Returns the text with the first group replaced by each of its alternatives.
fn alternatives(text: &str) -> Option<Vec<String>> {
    let group = first_group(text)?;
    let (before, behind) = (text.get(..*group.first()?)?, text.get(group.last()? + 1..)?);
    let pieces = group.windows(2).filter_map(|pair| match pair {
        [from, to] => text.get(from + 1..*to),
        _ => None,
    });
    Some(pieces.map(|piece| format!("{before}{piece}{behind}")).collect())
}

/// Returns the offsets of the first group with alternatives: its brace, commas, closing brace.
fn first_group(text: &str) -> Option<Vec<usize>> {
    let (mut open, mut found): (Vec<Vec<usize>>, Option<Vec<usize>>) = (Vec::new(), None);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push(vec![at]),
            b',' => open.last_mut().into_iter().for_each(|group| group.push(at)),
            b'}' => {
                let Some(mut group) = open.pop() else { continue };
                group.push(at);
                if group.len() > 2 && found.as_ref().is_none_or(|other| group < *other) {
                    found = Some(group);
                }
            }
            _ => {}
        }
    }
    found
}

fn to_word(text: &str, word: &RawWord) -> RawWord {
    let mut expanded = RawWord::default();
    for character in text.chars() {
        let place = u32::from(character).checked_sub(FIRST_PART).map(|place| place as usize);
        match place.and_then(|place| word.parts.get(place)) {
            Some(part) => expanded.push(part.clone()),
            None => expanded.plain_text(character.encode_utf8(&mut [0; 4])),
        }
    }
    expanded
}
