//! A duration as people write it: `3600`, `"90m"`, `"8h"`.

use std::str::FromStr;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// A whole number of seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Seconds(pub u64);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number of seconds, or text such as \"90m\" or \"8h\"")]
enum Repr {
    Number(u64),
    Text(String),
}

impl Seconds {
    /// Returns it as a duration; zero means "no limit" in every key that has this type.
    pub fn limit(self) -> Option<Duration> {
        (self.0 > 0).then(|| Duration::from_secs(self.0))
    }
}

impl FromStr for Seconds {
    type Err = &'static str;

    /// A plain number is decimal, even with leading zeros: `08` is 8. Fractions of a second are
    /// rounded up, because a limit that is rounded down to zero would be no limit.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "expected a number of seconds, or text such as \"90m\" or \"8h\"";
        if let Ok(number) = text.trim().parse() {
            return Ok(Self(number));
        }
        let span: jiff::SignedDuration = text.trim().parse().map_err(|_| WANTED)?;
        let whole = u64::try_from(span.as_secs()).map_err(|_| WANTED)?;
        match span.subsec_nanos() {
            ..0 => Err(WANTED),
            0 => Ok(Self(whole)),
            _ => Ok(Self(whole.saturating_add(1))),
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Repr::deserialize(deserializer)? {
            Repr::Number(number) => Ok(Self(number)),
            Repr::Text(text) => text.parse().map_err(Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units_are_read() {
        for (text, seconds) in [
            ("0", 0),
            ("0s", 0),
            ("08", 8),
            ("45s", 45),
            ("90m", 5400),
            ("1h30m", 5400),
            ("900ms", 1),
            ("1ns", 1),
            ("1500ms", 2),
        ] {
            assert_eq!(text.parse(), Ok(Seconds(seconds)), "{text}");
        }
        for text in ["", "-5", "-5s", "-500ms", "soon", "8 parsecs"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
    }
}
