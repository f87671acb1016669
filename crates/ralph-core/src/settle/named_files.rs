//! Files in a message: the first few by name.

use std::path::PathBuf;

/// How many files a message names.
const NAMED: usize = 5;

/// The first few of many files, and how many more there are.
pub fn named_files<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> String {
    let mut files = files.into_iter();
    let names: Vec<String> =
        files.by_ref().take(NAMED).map(|path| path.display().to_string()).collect();
    match files.count() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
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
    fn many_are_counted() {
        check(0, "");
        check(2, "1, 2");
        check(5, "1, 2, 3, 4, 5");
        check(7, "1, 2, 3, 4, 5 and 2 more");
    }
}
