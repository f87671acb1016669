//! Made-up keys of every known shape, generated so that no file contains real-looking ones.

use crate::fixtures;

/// A text that contains made-up keys.
#[derive(Debug, Clone)]
pub struct KeyShape {
    /// The name of the shape, such as `openai project`.
    pub name: String,
    /// The text, including the keys.
    pub text: String,
    /// The parts of it that must not be stored.
    pub secrets: Vec<String>,
}

/// Returns all shapes of `fixtures/key-shapes.tsv`.
pub fn key_shapes() -> Vec<KeyShape> {
    let table = fs_err::read_to_string(fixtures().join("key-shapes.tsv")).expect("the table");
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let (name, pattern) = row.split_once('\t').expect("two columns");
        filled(name, &pattern.replace("\\n", "\n"))
    })
    .collect()
}

fn filled(name: &str, pattern: &str) -> KeyShape {
    let mut shape = KeyShape { name: name.to_owned(), text: String::new(), secrets: Vec::new() };
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('<') {
        let (count, after) = after.split_once('>').expect("a closing bracket");
        let hexadecimal = count.ends_with('x');
        let count: usize = count.trim_end_matches('x').parse().expect("a length");
        let seed = shape.text.len() + before.len();
        let secret = letters(seed, count, hexadecimal);
        shape.text.push_str(before);
        shape.text.push_str(&secret);
        // Short parts are names rather than secrets.
        shape.secrets.extend(Some(secret).filter(|_| count >= 16));
        rest = after;
    }
    shape.text.push_str(rest);
    shape
}

/// Returns pseudorandom letters and digits, always the same for a seed.
fn letters(seed: usize, count: usize, hexadecimal: bool) -> String {
    let mixed: &[u8] = b"0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT";
    let all = if hexadecimal { b"0123456789abcdef" } else { mixed };
    let mut state = seed as u64 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(all[(state >> 33) as usize % all.len()])
    };
    (0..count).map(|_| next()).collect()
}
