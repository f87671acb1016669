//! The Test Anything Protocol (TAP): a plan, and one `ok` or `not ok` line for each test.

/// The content of the TAP lines of an output.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    plans: usize,
    empty_plans: usize,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// Whether the run ended early.
    pub(crate) gave_up: bool,
    /// Whether the version was announced, so that points need neither number nor dash.
    announced: bool,
}

/// A result line, called a test point.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Point<'a> {
    pub(crate) ok: bool,
    /// Marked as skipped or to do, so that it counts neither as passed nor as failed.
    pub(crate) excused: bool,
    pub(crate) name: &'a str,
}

impl Tap {
    /// Reads the next line; returns whether it is a test point.
    pub(crate) fn push(&mut self, line: &str) -> bool {
        let text = line.trim_start();
        if !text.starts_with(['1', 'T', 'B', 'o', 'n']) {
            return false;
        }
        if let Some(last) = plan(text) {
            self.plans += 1;
            self.empty_plans += usize::from(last == 0);
        } else if text.starts_with("Bail out!") {
            self.gave_up = true;
        } else if text.starts_with("TAP version ") {
            self.announced = true;
        } else if let Some(point) = point(text).or_else(|| bare_point(text, self.announced)) {
            // The outer point sums up its nested points.
            let count = u64::from(text.len() == line.len());
            match point {
                Point { excused: true, .. } => self.skipped += count,
                Point { ok: true, .. } => self.passed += count,
                Point { ok: false, .. } => self.failed += count.max(1),
            }
            return true;
        }
        false
    }

    /// Returns whether the output is TAP, rather than a log with a line that looks like it.
    pub(crate) fn is_tap(&self) -> bool {
        let has_form = self.plans > 0 || self.announced;
        has_form && (self.points() > 0 || self.empty_plans > 0)
    }

    pub(crate) fn failed(&self) -> bool {
        self.is_tap() && (self.failed > 0 || self.gave_up)
    }

    pub(crate) fn passed(&self) -> bool {
        self.is_tap() && !self.failed() && self.passed > 0
    }

    pub(crate) fn is_none(&self) -> bool {
        self.is_tap() && !self.failed() && self.passed == 0
    }

    fn points(&self) -> u64 {
        self.passed + self.failed + self.skipped
    }
}

/// Parses a plan: `1..4`.
fn plan(text: &str) -> Option<u64> {
    let last = text.strip_prefix("1..")?;
    last.split(' ').next()?.parse().ok()
}

/// Parses a test point: `not ok 3 - name # TODO later`.
pub(crate) fn point(text: &str) -> Option<Point<'_>> {
    let (ok, rest) = match text.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok")?),
    };
    let rest = rest.strip_prefix(' ')?.trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    if digits == 0 && !rest.starts_with("- ") {
        return None;
    }
    let rest = rest.get(digits..)?;
    let rest = if digits == 0 { rest.get(1..)? } else { rest };
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let name = rest.trim_start().trim_start_matches("- ");
    let (name, directive) = match name.find(" # ").or_else(|| name.starts_with("# ").then_some(0)) {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    let directive = directive.trim_start_matches([' ', '#']).to_ascii_lowercase();
    let excused = directive.starts_with("todo") || directive.starts_with("skip");
    Some(Point { ok, excused, name: name.trim_end_matches('{').trim() })
}

/// Parses a test point without number and dash, which is TAP only below its version line.
fn bare_point(text: &str, announced: bool) -> Option<Point<'_>> {
    let (first, name) = text.trim_start_matches("not ").split_once(' ')?;
    let is_point = announced && first == "ok";
    is_point.then(|| Point { ok: !text.starts_with("not "), excused: false, name: name.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_points_are_read_with_their_directives() {
        let read = |text| point(text).map(|point| (point.ok, point.excused, point.name));
        assert_eq!(read("ok 1 - adds"), Some((true, false, "adds")));
        assert_eq!(read("not ok 2 adds # time=3ms {"), Some((false, false, "adds")));
        assert_eq!(read("not ok 4 - later # TODO known"), Some((false, true, "later")));
        assert_eq!(read("ok 1 # skip no db"), Some((true, true, "")));
        assert_eq!(read("not ok - adds"), Some((false, false, "adds")));
        assert_eq!(read("ok"), None);
        assert_eq!(read("okay 1"), None);
    }
}
