//! Formats lists for messages: in one line, with only the first few items named.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// How many files a message names.
const NAMED: usize = 5;

/// Lists the first few files, and how many more there are.
pub fn named_files<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> String {
    first_few(files.into_iter().map(PathBuf::as_path).map(Path::display), NAMED)
}

/// Lists the first few items, and how many more there are.
pub fn first_few(things: impl IntoIterator<Item: Display>, most: usize) -> String {
    let mut things = things.into_iter();
    let names: Vec<String> = things.by_ref().take(most).map(|thing| thing.to_string()).collect();
    match things.count() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Collapses text into one line, its words separated by single spaces.
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Formats a count with its noun: `1 task`, `2 tasks`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(count: usize, expected: &str) {
        let files: Vec<PathBuf> =
            (1..=count).map(|number| PathBuf::from(number.to_string())).collect();
        assert_eq!(named_files(&files), expected);
    }

    #[test]
    fn long_lists_end_with_a_count_of_the_rest() {
        check(0, "");
        check(2, "1, 2");
        check(5, "1, 2, 3, 4, 5");
        check(7, "1, 2, 3, 4, 5 and 2 more");
    }
}
