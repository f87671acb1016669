//! What each story of a session cost: the client tells the sum when the session ends, and a story's
//! part of it is its part of the time.

use jiff::Timestamp;

use crate::step::Spent;

/// A session in which several stories were worked on.
pub(super) struct Course<'a> {
    /// When the first of them began, as RFC 3339.
    pub(super) began: &'a str,
    /// Those that were settled in it, and when; oldest first.
    pub(super) settled: &'a [(String, String)],
    /// The one that it was sent on to after them.
    pub(super) next: Option<&'a str>,
    pub(super) ended: Timestamp,
}

impl Course<'_> {
    /// What each of them cost, of all that was spent.
    pub(super) fn shares(&self, spent: Spent) -> Vec<(String, Spent)> {
        let parts = self.lengths();
        let all: i64 = parts.iter().map(|(_, length)| length).sum();
        let count = parts.len() as f64;
        let (mut used, mut tokens) = (0, 0);
        let mut shares = Vec::new();
        for (index, (story, length)) in parts.into_iter().enumerate() {
            used += length;
            // Where no clock tells them apart, they are alike.
            let (part, until) = match all {
                0 => (1.0 / count, (index + 1) as f64 / count),
                all => (length as f64 / all as f64, used as f64 / all as f64),
            };
            let upto = (spent.tokens as f64 * until).round() as u64;
            let own = Spent {
                cost_usd: spent.cost_usd * part,
                seconds: spent.seconds * part,
                tokens: upto.saturating_sub(tokens),
            };
            tokens = upto;
            shares.push((story, own));
        }
        shares
    }

    /// How long each was worked on, in milliseconds. What came after the last of them is its own.
    fn lengths(&self) -> Vec<(String, i64)> {
        let parse = |at: &str| at.parse::<Timestamp>().ok();
        let mut ends: Vec<(String, Option<Timestamp>)> =
            self.settled.iter().map(|(story, at)| (story.clone(), parse(at))).collect();
        ends.extend(self.next.map(|next| (next.to_owned(), None)));
        if let Some((_, last)) = ends.last_mut() {
            *last = Some(self.ended);
        }
        let mut from = parse(self.began);
        let mut lengths = Vec::new();
        for (story, end) in ends {
            let length =
                from.zip(end).map_or(0, |(from, end)| end.duration_since(from).as_millis());
            // A clock that was set back takes no time away from others.
            lengths.push((story, i64::try_from(length).unwrap_or(0).max(0)));
            from = end.or(from);
        }
        lengths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(settled: &[(&str, &str)], next: Option<&str>, expected: &[(&str, f64, u64)]) {
        let owned = |(story, at): &(&str, &str)| ((*story).to_owned(), format!("2026-01-01T{at}Z"));
        let settled: Vec<(String, String)> = settled.iter().map(owned).collect();
        let ended = "2026-01-01T00:00:10Z".parse().unwrap();
        let course = Course { began: "2026-01-01T00:00:00Z", settled: &settled, next, ended };
        let spent = Spent { cost_usd: 1.0, seconds: 10.0, tokens: 101 };
        let found = course.shares(spent);
        let found: Vec<(&str, f64, u64)> = found
            .iter()
            .map(|(story, spent)| (story.as_str(), spent.seconds, spent.tokens))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(found.iter().map(|(_, _, tokens)| tokens).sum::<u64>(), 101);
    }

    #[test]
    fn time_decides_and_nothing_is_lost() {
        let one = ("US-001", "00:00:02");
        let two = ("US-002", "00:00:07");
        check(&[one], None, &[("US-001", 10.0, 101)]);
        check(&[one, two], None, &[("US-001", 2.0, 20), ("US-002", 8.0, 81)]);
        check(
            &[one, two],
            Some("US-003"),
            &[("US-001", 2.0, 20), ("US-002", 5.0, 51), ("US-003", 3.0, 30)],
        );
    }

    #[test]
    fn clocks_that_tell_nothing_make_no_difference() {
        let ended = "2026-01-01T00:00:00Z".parse().unwrap();
        let settled = [("US-001".to_owned(), "x".to_owned()), ("US-002".to_owned(), String::new())];
        let course = Course { began: "", settled: &settled, next: None, ended };
        let shares = course.shares(Spent { cost_usd: 1.0, seconds: 4.0, tokens: 3 });
        let seconds: Vec<f64> = shares.iter().map(|(_, spent)| spent.seconds).collect();
        assert_eq!(seconds, [2.0, 2.0]);
        // A clock that was set back in between.
        let back = [("US-001", "00:00:20"), ("US-002", "00:00:05")];
        check(&back, None, &[("US-001", 10.0, 101), ("US-002", 0.0, 0)]);
    }
}
