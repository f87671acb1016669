//! Randomness that is reproducible from a seed.

use std::time::Duration;

/// A small generator of our own: a round must not change when a dependency does.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    /// Creates dice; the same seed gives the same rolls.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Returns a random number.
    pub(super) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a random number below a limit.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() >> 33).unwrap_or_default() % limit.max(1)
    }

    /// Picks one of several values; the default if there are none.
    pub(super) fn pick<T: Clone + Default>(&mut self, from: &[T]) -> T {
        let at = self.below(from.len());
        from.get(at).cloned().unwrap_or_default()
    }

    /// Returns a random part of a duration.
    pub(super) fn part_of(&mut self, whole: Duration) -> Duration {
        whole.mul_f64(self.below(1000) as f64 / 1000.0)
    }
}
