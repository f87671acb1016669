//! The time as part of a ref's name.

/// This instant: sorts by time, and tells a person when it was.
pub(super) fn stamp() -> String {
    jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S-%3f").to_string()
}
