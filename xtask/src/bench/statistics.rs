//! Middle and spread of a series of times.

use std::time::Duration;

/// What a series of times comes to, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) lower_quartile: f64,
    pub(crate) median: f64,
    pub(crate) upper_quartile: f64,
    pub(crate) runs: usize,
}

impl Spread {
    /// Of these times; none of none.
    pub(crate) fn of(times: &[Duration]) -> Option<Self> {
        let mut sorted: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            least: *sorted.first()?,
            lower_quartile: at(&sorted, 0.25)?,
            median: at(&sorted, 0.5)?,
            upper_quartile: at(&sorted, 0.75)?,
            runs: sorted.len(),
        })
    }
}

/// The value at a part of the way through a sorted series, between two of them where need be.
fn at(sorted: &[f64], part: f64) -> Option<f64> {
    let place = part * (sorted.len().checked_sub(1)?) as f64;
    let (below, above) = (sorted.get(place.floor() as usize)?, sorted.get(place.ceil() as usize)?);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(micros: &[u64], expected: Option<(f64, f64, f64, f64)>) {
        let times: Vec<Duration> = micros.iter().map(|n| Duration::from_micros(*n)).collect();
        let spread = Spread::of(&times);
        let found = spread.map(|s| (s.least, s.lower_quartile, s.median, s.upper_quartile));
        let rounded = found.map(|(a, b, c, d)| (a.round(), b.round(), c.round(), d.round()));
        assert_eq!(rounded, expected);
    }

    #[test]
    fn middle_and_quartiles() {
        check(&[], None);
        check(&[7], Some((7.0, 7.0, 7.0, 7.0)));
        check(&[50, 10, 40, 20, 30], Some((10.0, 20.0, 30.0, 40.0)));
        check(&[10, 40], Some((10.0, 18.0, 25.0, 33.0)));
    }
}
