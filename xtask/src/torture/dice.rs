//! Randomness that a seed repeats.

/// A small generator of its own: a run must not change with a dependency.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The same seed gives the same rolls.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number.
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() >> 33).unwrap_or_default() % limit.max(1)
    }

    /// One of several; none of none.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let at = self.below(from.len());
        from.get(at)
    }

    /// Puts things into another order.
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }
}
