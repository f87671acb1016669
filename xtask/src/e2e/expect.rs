//! Expectations: what must be true when a session is over.

use std::fmt;

use anyhow::Result;

/// An expectation that was not met: the scenario is red.
#[derive(Debug)]
pub(super) struct Unmet(String);

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unmet {}

/// The client lacks what the scenario needs, which only showed while it ran: it proves nothing.
#[derive(Debug)]
pub(super) struct Lacking(pub(super) &'static str);

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Lacking {}

/// Something without which the scenario cannot be played with this client.
pub(super) fn possible(holds: bool, otherwise: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(Lacking(otherwise).into()) }
}

/// Something that must be true.
pub(super) fn that(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Unmet(format!("expected: {what}")).into()) }
}

/// A passage that must be in a text.
pub(super) fn contains(text: &str, passage: &str) -> Result<()> {
    let shown: String = text.chars().take(1500).collect();
    let found = text.contains(passage);
    if found { Ok(()) } else { Err(Unmet(format!("expected `{passage}` in: {shown}")).into()) }
}

/// A passage that must not be in a text.
pub(super) fn lacks(text: &str, passage: &str) -> Result<()> {
    let shown: String = text.chars().take(1500).collect();
    let found = text.contains(passage);
    if found {
        Err(Unmet(format!("did not expect `{passage}` in: {shown}")).into())
    } else {
        Ok(())
    }
}

/// Two things that must be the same.
pub(super) fn same<T: PartialEq + fmt::Debug>(what: &str, seen: &T, expected: &T) -> Result<()> {
    let alike = seen == expected;
    let words = || format!("{what}: expected {expected:?}, saw {seen:?}");
    if alike { Ok(()) } else { Err(Unmet(words()).into()) }
}
