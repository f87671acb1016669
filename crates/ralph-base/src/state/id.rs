//! Ids that come from outside and become part of a path.

use std::fmt;

/// A session or story id that is safe as one part of a path: ASCII letters, digits, `.`, `_` and
/// `-`, no leading dot, at most 128 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

/// A string that is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid id; use up to 128 letters, digits, `.`, `_` and `-`, and do not start \
     with a dot"
)]
pub struct BadId(String);

const LONGEST: usize = 128;

impl Id {
    /// Validates a string. Nothing is corrected, because two strings must never become one id.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let is_fine = !text.is_empty()
            && text.len() <= LONGEST
            && !text.starts_with('.')
            && text.chars().all(allowed);
        if is_fine {
            return Ok(Self(text.to_owned()));
        }
        // Escaped and truncated: the string may hold control characters or be very long.
        Err(BadId(text.chars().take(40).flat_map(char::escape_debug).collect()))
    }

    /// Returns the id as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_ids_pass_unchanged() {
        for id in ["US-001", "2f34ec4b-e866-4eb9-9c21-1d11a42caab5", "a", "v1.2_x", "-x"] {
            assert_eq!(Id::parse(id).unwrap().as_str(), id);
        }
    }

    #[test]
    fn ids_that_are_unsafe_as_file_names_are_refused() {
        let long = "x".repeat(10_000);
        for id in ["", ".", "..", ".git", "../x", "a/b", "a\\b", "a\0b", "a\nb", "ä", "a b", &long]
        {
            assert!(Id::parse(id).is_err(), "{id:?}");
        }
        let message = Id::parse(&"\n".repeat(5_000)).unwrap_err().to_string();
        assert!(message.len() < 250 && !message.contains('\n'), "{message}");
    }
}
