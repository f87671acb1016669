//! The time as part of a ref's name.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// This instant: sorts by time, and tells a person when it was.
pub(super) fn stamp() -> String {
    Timestamp::now().strftime("%Y%m%d-%H%M%S-%3f").to_string()
}

/// The instant at the beginning of a part of a name: its second, and the thousandths where there
/// are three digits for them.
pub(super) fn instant_of(part: &str) -> Option<Timestamp> {
    let second = DateTime::strptime("%Y%m%d-%H%M%S", part.get(..15)?).ok()?;
    let second = second.to_zoned(TimeZone::UTC).ok()?.timestamp();
    let rest = part.get(15..)?.strip_prefix('-').and_then(|rest| rest.split('-').next());
    let thousandths = rest.filter(|digits| digits.len() == 3).and_then(|text| text.parse().ok());
    second.checked_add(thousandths.unwrap_or(0_i64).milliseconds()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(part: &str, expected: Option<&str>) {
        let found = instant_of(part).map(|instant| instant.to_string());
        assert_eq!(found.as_deref(), expected, "{part}");
    }

    #[test]
    fn a_name_tells_when_it_was_made() {
        check("20260102-030405-678", Some("2026-01-02T03:04:05.678Z"));
        check("20260102-030405-678-US-001", Some("2026-01-02T03:04:05.678Z"));
        check("20260102-030405-41234", Some("2026-01-02T03:04:05Z"));
        check("20260102-030405", Some("2026-01-02T03:04:05Z"));
        check("20261302-030405-678", None);
        check("discarded", None);
        check("größer-als-fünfzehn", None);
    }
}
