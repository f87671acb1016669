//! Brace expansion: `{a,b}` and `{1..3}`.

use super::tree::{Part, RawWord};

/// Words with more alternatives than this keep their braces.
const MAX_WORDS: usize = 256;
/// Longer words are not looked at; nobody writes them by hand.
const MAX_LENGTH: usize = 512;

/// A character that may be a brace, or a part that is kept as it is.
#[derive(Clone)]
enum Atom<'w> {
    Char(char),
    Part(&'w Part),
}

/// What looking for braces costs: nested ones are looked at again and again.
pub(super) fn cost(word: &RawWord) -> usize {
    let braces =
        word.parts.iter().filter(|part| matches!(part, Part::Plain(text) if text.contains('{')));
    let length: usize = braces.map(|part| part.literal().len()).sum();
    if length > MAX_LENGTH { 0 } else { length * length / 128 }
}

/// The words that `word` stands for; `None` if it has no braces to expand.
pub(super) fn expand(word: &RawWord) -> Option<Vec<RawWord>> {
    let plain = |part: &&Part| matches!(part, Part::Plain(_));
    let braces = word.parts.iter().filter(plain).any(|part| part.literal().contains('{'));
    let length: usize = word.parts.iter().filter(plain).map(|part| part.literal().len()).sum();
    if !braces || length + word.parts.len() > MAX_LENGTH {
        return None;
    }
    let mut atoms = Vec::new();
    for part in &*word.parts {
        match part {
            Part::Plain(text) => atoms.extend(text.chars().map(Atom::Char)),
            other => atoms.push(Atom::Part(other)),
        }
    }
    let mut words = vec![atoms];
    let mut done = Vec::new();
    while let Some(atoms) = words.pop() {
        match expand_first(&atoms) {
            Some(mut alternatives) => {
                if words.len() + alternatives.len() + done.len() > MAX_WORDS {
                    return None;
                }
                alternatives.reverse();
                words.append(&mut alternatives);
            }
            None => done.push(to_word(&atoms)),
        }
    }
    (done.len() > 1 || done.first().is_some_and(|only| only.parts.len() != word.parts.len()))
        .then_some(done)
}

/// Replaces the first brace group by each of its alternatives.
fn expand_first<'w>(atoms: &[Atom<'w>]) -> Option<Vec<Vec<Atom<'w>>>> {
    for (open, atom) in atoms.iter().enumerate() {
        if !matches!(atom, Atom::Char('{')) {
            continue;
        }
        let Some((close, commas)) = group(atoms, open) else { continue };
        let inside = atoms.get(open + 1..close)?;
        let alternatives = if commas.is_empty() {
            match sequence(inside) {
                Some(alternatives) => alternatives,
                None => continue,
            }
        } else {
            let mut cuts = vec![open];
            cuts.extend(commas);
            cuts.push(close);
            cuts.windows(2)
                .filter_map(|pair| match pair {
                    [from, to] => atoms.get(from + 1..*to).map(<[Atom]>::to_vec),
                    _ => None,
                })
                .collect()
        };
        let before = atoms.get(..open)?;
        let behind = atoms.get(close + 1..)?;
        return Some(
            alternatives.into_iter().map(|middle| [before, &middle, behind].concat()).collect(),
        );
    }
    None
}

/// Where the group that opens at `open` closes, and the commas on its own level.
fn group(atoms: &[Atom], open: usize) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0_usize;
    let mut commas = Vec::new();
    for (place, atom) in atoms.iter().enumerate().skip(open) {
        match atom {
            Atom::Char('{') => depth += 1,
            Atom::Char('}') if depth == 1 => return Some((place, commas)),
            Atom::Char('}') => depth -= 1,
            Atom::Char(',') if depth == 1 => commas.push(place),
            _ => {}
        }
    }
    None
}

/// The members of `1..3`.
fn sequence<'w>(inside: &[Atom]) -> Option<Vec<Vec<Atom<'w>>>> {
    let text: String = inside
        .iter()
        .map(|atom| match atom {
            Atom::Char(character) => *character,
            Atom::Part(_) => '?',
        })
        .collect();
    let (first, last) = text.split_once("..")?;
    let (first, last) = (first.parse::<i64>().ok()?, last.parse::<i64>().ok()?);
    let (low, high) = (first.min(last), first.max(last));
    if high.checked_sub(low)? >= i64::try_from(MAX_WORDS).ok()? {
        return None;
    }
    let mut members: Vec<String> = (low..=high).map(|number| number.to_string()).collect();
    if first > last {
        members.reverse();
    }
    Some(members.iter().map(|member| member.chars().map(Atom::Char).collect()).collect())
}

fn to_word(atoms: &[Atom]) -> RawWord {
    let mut word = RawWord::default();
    for atom in atoms {
        match atom {
            Atom::Char(character) => word.plain_text(character.encode_utf8(&mut [0; 4])),
            Atom::Part(part) => word.push((*part).clone()),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: Option<&[&str]>) {
        let mut word = RawWord::default();
        word.push(Part::Plain(input.into()));
        let words = expand(&word).map(|words| {
            words
                .iter()
                .map(|word| word.parts.iter().map(Part::literal).collect::<String>())
                .collect::<Vec<_>>()
        });
        assert_eq!(
            words.as_deref(),
            expected
                .map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
                .as_deref(),
            "{input}"
        );
    }

    #[test]
    fn lists_and_sequences_are_expanded_and_other_braces_kept() {
        check("{git,push}", Some(&["git", "push"]));
        check("pus{h,}", Some(&["push", "pus"]));
        check("a{b,c{d,e}}f", Some(&["abf", "acdf", "acef"]));
        check("{1..3}", Some(&["1", "2", "3"]));
        check("{c..a}", None);
        check("x{3..1}", Some(&["x3", "x2", "x1"]));
        check("{}", None);
        check("HEAD^{commit}", None);
        check("{1..100000}", None);
        check("{{{{", None);
    }
}
