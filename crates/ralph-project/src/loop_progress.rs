//! `progress.txt` beside a `feature_list.json`: values that are read and changed in place.

use ralph_base::lines::{self, Line};
use std::ops::Range;

/// The values in `progress.txt`; those that cannot be read are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoopProgress {
    /// `- Iteration: n`
    pub iteration: Option<u64>,
    /// `- Max Iterations: n`
    pub max_iterations: Option<u64>,
    /// `- Status: …`, in capital letters.
    pub status: Option<String>,
}

impl LoopProgress {
    /// Reads the values; the first line that has one counts.
    pub fn parse(bytes: &[u8]) -> Self {
        let text = |name| std::str::from_utf8(bytes.get(find(bytes, name)?)?).ok();
        let number = |name| text(name)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
        Self {
            iteration: number("Iteration"),
            max_iterations: number("Max Iterations"),
            status: text("Status").map(|status| status.trim().to_ascii_uppercase()),
        }
    }

    /// Returns whether a person has paused the loop.
    pub fn is_paused(&self) -> bool {
        matches!(self.status.as_deref(), Some("PAUSED" | "STOPPED"))
    }

    /// Returns the bytes with the value of `name` replaced and every other byte unchanged; a
    /// missing line is added at the end.
    pub fn set(bytes: &[u8], name: &str, value: &str) -> Vec<u8> {
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        let mut result = bytes.to_vec();
        if let Some(range) = find(bytes, name) {
            let gap = if bytes.get(range.start.wrapping_sub(1)) == Some(&b':') { " " } else { "" };
            let old = bytes.get(range.clone()).unwrap_or_default();
            // In `3/10`, a new number replaces the first part only.
            let digits = old.iter().take_while(|b| b.is_ascii_digit()).count();
            let end = if digits > 0 { range.start + digits } else { range.end };
            result.splice(range.start..end, format!("{gap}{value}").into_bytes());
            return result;
        }
        let ending = lines::ending(bytes);
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            result.extend_from_slice(ending.as_bytes());
        }
        result.extend_from_slice(format!("- {name}: {value}{ending}").as_bytes());
        result
    }
}

/// Returns the range of the value of `name`.
fn find(bytes: &[u8], name: &str) -> Option<Range<usize>> {
    lines::lines(bytes).find_map(|line| in_line(line, name))
}

fn in_line(line: Line<'_>, name: &str) -> Option<Range<usize>> {
    let colon = line.text.iter().position(|b| *b == b':')?;
    let (label, value) = line.text.split_at(colon);
    let label = String::from_utf8_lossy(label);
    if !label.trim_matches(|c: char| !c.is_alphabetic()).eq_ignore_ascii_case(name) {
        return None;
    }
    // Emphasis may end after the colon: `**Status:** running`.
    let decoration = value.iter().skip(1).take_while(|b| matches!(b, b'*' | b' ' | b'\t')).count();
    let start = line.start + colon + 1 + decoration;
    Some(start..line.start + line.text.trim_ascii_end().len().max(colon + 1 + decoration))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "# Loop\r\n- Max Iterations: 20\r\n- Iteration: 3/20  \r\n- **Status:** in progress\r\nend";

    #[test]
    fn iterations_and_status_are_read() {
        let found = LoopProgress::parse(FILE.as_bytes());
        let status = Some("IN PROGRESS".to_owned());
        let expected = LoopProgress { iteration: Some(3), max_iterations: Some(20), status };
        assert_eq!(found, expected);
        assert!(!found.is_paused() && LoopProgress::parse(b"Status: paused \n").is_paused());
        assert_eq!(LoopProgress::parse(b"Iteration: soon\n\xff"), LoopProgress::default());
    }

    #[test]
    fn a_value_is_changed_in_place_or_appended() {
        let check = |before: &str, field, value, expected: &str| {
            let after = LoopProgress::set(before.as_bytes(), field, value);
            assert_eq!(String::from_utf8(after).unwrap(), expected);
        };
        check(FILE, "Iteration", "4", &FILE.replace("3/20", "4/20"));
        check("Iteration: three\n", "Iteration", "1", "Iteration: 1\n");
        check(FILE, "Status", "COMPLETE\n", &FILE.replace("in progress", "COMPLETE"));
        check("- Iteration:\n", "Iteration", "1", "- Iteration: 1\n");
        check("", "Iteration", "1", "- Iteration: 1\n");
        check("a\r\nb", "Status", "x", "a\r\nb\r\n- Status: x\r\n");
    }
}
