//! `progress.txt` beside a `feature_list.json`: three values that are read and changed in place.

use super::lines::{self, Line};
use std::ops::Range;

/// What `progress.txt` says; parts that cannot be read are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoopProgress {
    /// `- Iteration: n`
    pub iteration: Option<u64>,
    /// `- Max Iterations: n`
    pub max_iterations: Option<u64>,
    /// `- Status: …`
    pub status: Option<String>,
}

/// One of the values of `progress.txt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopField {
    /// `- Iteration: n`
    Iteration,
    /// `- Max Iterations: n`
    MaxIterations,
    /// `- Status: …`
    Status,
}

impl LoopField {
    fn name(self) -> &'static str {
        match self {
            Self::Iteration => "Iteration",
            Self::MaxIterations => "Max Iterations",
            Self::Status => "Status",
        }
    }

    /// Where the value stands; of a number such as `3/10` only the first part.
    fn find(self, bytes: &[u8]) -> Option<Range<usize>> {
        lines::lines(bytes).find_map(|line| self.in_line(line))
    }

    fn in_line(self, line: Line<'_>) -> Option<Range<usize>> {
        let colon = line.text.iter().position(|b| *b == b':')?;
        let (label, value) = line.text.split_at(colon + 1);
        let is_letter = |b: &u8| b.is_ascii_alphabetic();
        let first = label.iter().position(is_letter)?;
        let last = label.iter().rposition(is_letter)?;
        if !label.get(first..=last)?.eq_ignore_ascii_case(self.name().as_bytes()) {
            return None;
        }
        // Emphasis may end behind the colon: `**Status:** running`.
        let decoration = value.iter().take_while(|b| matches!(b, b'*' | b' ' | b'\t')).count();
        let text = value.get(decoration..)?.trim_ascii_end();
        let length = match self {
            Self::Status => text.len(),
            // What is no number is replaced as a whole.
            _ => match text.iter().take_while(|b| b.is_ascii_digit()).count() {
                0 => text.iter().take_while(|b| !b.is_ascii_whitespace()).count(),
                digits => digits,
            },
        };
        let start = line.start + colon + 1 + decoration;
        Some(start..start + length)
    }
}

impl LoopProgress {
    /// Reads the values; the first line that has one counts.
    pub fn parse(bytes: &[u8]) -> Self {
        let text = |field: LoopField| {
            let value = bytes.get(field.find(bytes)?)?;
            Some(String::from_utf8_lossy(value).into_owned()).filter(|value| !value.is_empty())
        };
        let number = |field| text(field).and_then(|value| value.parse().ok());
        Self {
            iteration: number(LoopField::Iteration),
            max_iterations: number(LoopField::MaxIterations),
            status: text(LoopField::Status),
        }
    }

    /// The bytes with one value changed, every other byte as it was; a missing line is added at the
    /// end.
    pub fn set(bytes: &[u8], field: LoopField, value: &str) -> Vec<u8> {
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        let mut result = bytes.to_vec();
        if let Some(range) = field.find(bytes) {
            let gap = if bytes.get(range.start.wrapping_sub(1)) == Some(&b':') { " " } else { "" };
            result.splice(range, format!("{gap}{value}").into_bytes());
            return result;
        }
        let ending = lines::ending(bytes);
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            result.extend_from_slice(ending.as_bytes());
        }
        result.extend_from_slice(format!("- {}: {value}{ending}", field.name()).as_bytes());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "# Loop\r\n- Max Iterations: 20\r\n- Iteration: 3/20  \r\n- **Status:** in progress\r\nend";

    #[test]
    fn the_three_values_are_read() {
        let found = LoopProgress::parse(FILE.as_bytes());
        let status = Some("in progress".to_owned());
        let expected = LoopProgress { iteration: Some(3), max_iterations: Some(20), status };
        assert_eq!(found, expected);
        assert_eq!(LoopProgress::parse(b"Iteration: soon\n\xff"), LoopProgress::default());
    }

    #[test]
    fn a_value_is_changed_where_it_stands() {
        let check = |before: &str, field, value, expected: &str| {
            let after = LoopProgress::set(before.as_bytes(), field, value);
            assert_eq!(String::from_utf8(after).unwrap(), expected);
        };
        check(FILE, LoopField::Iteration, "4", &FILE.replace("3/20", "4/20"));
        check("Iteration: three\n", LoopField::Iteration, "1", "Iteration: 1\n");
        check("Iteration: -3 of 5", LoopField::Iteration, "1", "Iteration: 1 of 5");
        check(FILE, LoopField::Status, "COMPLETE\n", &FILE.replace("in progress", "COMPLETE"));
        check("- Iteration:\n", LoopField::Iteration, "1", "- Iteration: 1\n");
        check("", LoopField::Iteration, "1", "- Iteration: 1\n");
        check("a\r\nb", LoopField::Status, "x", "a\r\nb\r\n- Status: x\r\n");
    }
}
