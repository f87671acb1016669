//! How long to wait at a usage limit.

use std::time::Duration;

use super::judge::LONGEST_WAIT;

/// The first and the longest pause if the service gives no reset time.
const FIRST_PAUSE: u64 = 60;
const LONGEST_PAUSE: u64 = 1800;

/// How many stated reset times in a row are believed.
const BELIEVED: u32 = 3;

/// Waits until one second after the stated reset. If none is stated, or earlier ones had no effect,
/// the pause grows. A reset that is too far in the future means that a clock has just been
/// set back.
pub(crate) fn pause(reset: Option<i64>, now: i64, streak: u32) -> Duration {
    let stated = reset.map(|reset| reset.saturating_sub(now).max(0).unsigned_abs() + 1);
    let stated = stated.map(Duration::from_secs).filter(|stated| *stated <= LONGEST_WAIT);
    match stated {
        Some(stated) if streak <= 1 || streak <= BELIEVED && reset > Some(now) => stated,
        stated => {
            let grown = FIRST_PAUSE << streak.saturating_sub(1).min(5);
            stated.unwrap_or_default().max(Duration::from_secs(grown.min(LONGEST_PAUSE)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_lasts_until_the_reset_or_backs_off() {
        for (reset, streak, seconds) in [
            (Some(1_090), 1, 91),
            (Some(1_090), 2, 91),
            (Some(1_001), 3, 2),
            (Some(1_001), 4, 480),
            (Some(9_000), 5, 8_001),
            (Some(900), 1, 1),
            (Some(900), 2, 120),
            (None, 1, 60),
            (None, 3, 240),
            (None, 40, 1800),
            (Some(1_000 + 7 * 24 * 3600), 1, 7 * 24 * 3600 + 1),
            (Some(i64::MAX), 2, 120),
            (Some(i64::MIN), 1, 1),
        ] {
            let found = pause(reset, 1_000, streak).as_secs();
            assert_eq!(found, seconds, "{reset:?} {streak}");
        }
    }
}
