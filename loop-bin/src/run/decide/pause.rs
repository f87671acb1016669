//! Why the agent's service did not answer, and how long to wait for it.

use std::time::Duration;

/// The longest wait for a usage limit: one day more than the longest known limit.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(8 * 24 * 3600);

/// The first and the longest pause if the service gives no reset time.
const FIRST_PAUSE: u64 = 60;
const LONGEST_PAUSE: u64 = 1800;

/// More waits than any patience has.
const MOST_STEPS: u32 = 10_000;

/// How many stated reset times in a row are believed.
const BELIEVED: u32 = 3;

/// Why the service did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A usage limit; with the time of its reset in Unix seconds, if given.
    Limit(Option<i64>),
    /// It has an outage.
    Down,
    /// The agent does not reach it, in the agent's words.
    Unreachable(String),
    /// The machine has no room for the agent's process, in the system's words.
    NoRoom(String),
}

impl Trouble {
    /// The time of the reset, if it is known.
    pub(crate) fn reset(&self) -> Option<i64> {
        if let Self::Limit(reset) = self { *reset } else { None }
    }

    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Limit(_) => "usage limit reached".to_owned(),
            Self::Down => "the agent's service is down".to_owned(),
            Self::Unreachable(why) => format!("the agent does not reach its service ({why})"),
            Self::NoRoom(why) => format!("this machine cannot start the agent now ({why})"),
        }
    }
}

/// How long to wait at this trouble, the `streak`th in a row; `None` if all of `patience` with a service
/// that cannot be reached is used up.
pub(crate) fn pause_of(
    trouble: &Trouble,
    now: i64,
    streak: u32,
    patience: Duration,
) -> Option<Duration> {
    if !matches!(trouble, Trouble::Unreachable(_) | Trouble::NoRoom(_)) {
        return Some(pause(trouble.reset(), now, streak));
    }
    let waited: Duration = (1..streak.min(MOST_STEPS)).map(|step| pause(None, now, step)).sum();
    let left = patience.checked_sub(waited).filter(|left| !left.is_zero())?;
    Some(pause(None, now, streak).min(left))
}

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
    fn an_unreachable_service_is_waited_for_as_long_as_patience_lasts() {
        let trouble = Trouble::Unreachable("ECONNREFUSED".into());
        let pause = |streak| pause_of(&trouble, 0, streak, Duration::from_secs(1800));
        let seconds = (1..=6).map(|streak| pause(streak).map(|pause| pause.as_secs()));
        let steps = [Some(60), Some(120), Some(240), Some(480), Some(900), None];
        assert_eq!(seconds.collect::<Vec<_>>(), steps);
        let patience = Duration::ZERO;
        assert_eq!(pause_of(&Trouble::Down, 0, 9, patience).map(|it| it.as_secs()), Some(1800));
    }

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
