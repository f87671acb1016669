//! The client's version, which determines the events that it knows.

use std::fmt;
use std::str::FromStr;

/// A version of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientVersion([u32; 3]);

/// The error for text that is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a client version; specify one such as 2.1.325")]
pub struct NotAVersion(String);

impl ClientVersion {
    /// Returns the version with these three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self([major, minor, patch])
    }
}

impl FromStr for ClientVersion {
    type Err = NotAVersion;

    /// Reads `2.1.325` as well as what `claude --version` prints: `2.1.325 (Claude Code)`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || NotAVersion(text.trim().to_owned());
        let first = text.split_whitespace().next().ok_or_else(refused)?;
        let numbers: Result<Vec<u32>, _> = first.split('.').map(str::parse).collect();
        numbers.ok().and_then(|numbers| numbers.try_into().ok()).map(Self).ok_or_else(refused)
    }
}

impl fmt::Display for ClientVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_the_client_prints_them() {
        for text in ["2.1.325", "2.1.325 (Claude Code)\n", "  2.1.325"] {
            assert_eq!(text.parse(), Ok(ClientVersion::new(2, 1, 325)), "{text:?}");
        }
        for text in ["", "claude", "2.1", "2.1.x", "2.1.3.4", "-2.1.3"] {
            assert!(text.parse::<ClientVersion>().is_err(), "{text:?}");
        }
    }
}
