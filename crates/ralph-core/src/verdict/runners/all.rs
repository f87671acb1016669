//! All rows of the table.

use super::row::Runner;
use super::{compiled, functional, javascript, jvm, python, ruby_php, scripts, tools};

/// All rows; the first that matches an invocation is taken.
pub(crate) fn all() -> impl Iterator<Item = &'static Runner> {
    [
        python::ROWS,
        javascript::ROWS,
        compiled::ROWS,
        jvm::ROWS,
        ruby_php::ROWS,
        functional::ROWS,
        scripts::ROWS,
        tools::ROWS,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = all().map(|row| row.name).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
    }
}
