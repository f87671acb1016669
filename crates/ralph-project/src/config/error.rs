//! Errors in a configuration: what is wrong, where, and what was probably meant.

use std::io;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there but cannot be read.
    #[error("could not read the configuration: {0}")]
    Io(#[from] io::Error),
    /// A line of the file, a variable or a flag has an invalid value.
    #[error("{origin}: {message}")]
    Value {
        /// The line, the variable or the flag.
        origin: String,
        /// What is wrong, and what was probably meant.
        message: String,
    },
}

impl ConfigError {
    /// Converts an error of the TOML parser, and adds the line and the nearest known key.
    pub(super) fn in_file(path: &str, text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
        let message = one_line(error.message());
        // The parser's own message about a wrong type or value does not name the key.
        let key = text.lines().nth(line - 1).and_then(|line| line.split_once('='));
        let is_about_value = ["invalid ", "expected a "].iter().any(|so| message.starts_with(so));
        let message = match key {
            Some((key, _)) if is_about_value => format!("`{}`: {message}", key.trim()),
            _ => message,
        };
        let unknown = message.split(", expected").next().unwrap_or_default();
        let message = match nearest(&message) {
            Some(meant) => format!("{unknown}; did you mean `{meant}`?"),
            None => message
                .replace("expected f64", "expected a number")
                .replace("u64", "a whole number"),
        };
        Self::Value { origin: format!("{path}:{line}"), message }
    }

    /// Returns the error for a file that is not UTF-8, with the first invalid line.
    pub(super) fn not_text(path: &str, error: &std::string::FromUtf8Error) -> Self {
        let read = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        let line = read.filter(|byte| **byte == b'\n').count() + 1;
        let message = "this line is not UTF-8; save the file as UTF-8".to_owned();
        Self::Value { origin: format!("{path}:{line}"), message }
    }

    /// Returns the error for a value in the file, with the line that contains it, or else its key.
    pub(super) fn about(
        path: &str,
        text: &str,
        (keys, value): (&[&str], &str),
        message: &str,
    ) -> Self {
        let holds_value = |line: &str| !value.is_empty() && line.contains(value);
        let holds_key = |line: &str| {
            let mut names = keys.iter().filter_map(|key| key.split('.').nth(1));
            names.any(|name| line.trim_start().starts_with(name))
        };
        let line = text.lines().position(holds_value);
        let line = line.or_else(|| text.lines().position(holds_key)).unwrap_or(0) + 1;
        Self::of_value(&format!("{path}:{line}"), message)
    }

    /// Returns the error for the value of a variable or a flag.
    pub(super) fn of_value(origin: &str, message: &str) -> Self {
        Self::Value { origin: origin.to_owned(), message: one_line(message) }
    }
}

fn one_line(message: &str) -> String {
    let parts = message.lines().map(str::trim).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("; ")
}

/// In "unknown field `x`, expected one of `a`, `b`", finds the one that resembles `x`.
fn nearest(message: &str) -> Option<&str> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    let likeness = |known: &&str| (strsim::jaro_winkler(unknown, known) * 1000.0) as u32;
    quoted.max_by_key(likeness).filter(|known| likeness(known) > 750)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_similar_key_is_suggested() {
        let near = "unknown field `atempts`, expected one of `attempts_per_story`, `stalled_after`";
        assert_eq!(nearest(near), Some("attempts_per_story"));
        assert_eq!(nearest("unknown field `mode`, expected one of `folder`, `setup`"), None);
        assert_eq!(nearest("invalid type: string `x`, expected `y`"), None);
    }
}
