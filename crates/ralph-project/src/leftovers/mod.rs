//! Leftovers: markers, placeholders and debugging code in added lines.
//!
//! Only added lines count, never old ones, and only code and comments in them: a string that
//! mentions a marker is not one. A line that contains `ralph: allow` is intended.
//!
//! ```
//! use ralph_project::leftovers::{Added, LeftoverKind, find};
//!
//! let added = Added {
//!     path: "src/lib.rs".into(),
//!     lines: vec![
//!         (3, "let name = \"TODO\";".into()),
//!         (4, "    todo!()".into()),
//!         (5, "dbg!(name); // ralph: allow".into()),
//!     ],
//! };
//! let found = find(&[added], &LeftoverKind::ALL);
//! assert_eq!(found.len(), 1);
//! assert_eq!(found[0].to_string(), "src/lib.rs:4: `todo!(` (placeholder)");
//! ```
//!
//! | file | what it knows |
//! | --- | --- |
//! | `languages.toml` | languages, and what counts as a leftover in each: one row each |
//! | `line.rs` | which part of a line is code and which is a comment |
//! | `find.rs` | the rows that apply to a line |
//! | `added.rs` | which lines were added, by git |

mod added;
mod find;
mod language;
mod line;

pub use added::{Added, added_lines, lines_added};
pub use find::{Leftover, LeftoverKind, find, in_words};

/// Returns a line's code, with the contents of texts in quotes blanked out; `None` for prose and data.
pub fn code_of(path: &str, line: &str) -> Option<Vec<char>> {
    Some(line::parts(line, language::Language::of(path)?).code.chars().collect())
}

/// Returns the lines of a text without comments and blanks; `None` for prose and data.
pub fn without_comments(path: &str, text: &str) -> Option<Vec<String>> {
    let language = language::Language::of(path)?;
    let code = |line: &str| {
        let length = line::parts(line, language).code.chars().count();
        line.chars().take(length).collect::<String>().trim().to_owned()
    };
    Some(text.lines().map(code).filter(|line| !line.is_empty()).collect())
}
