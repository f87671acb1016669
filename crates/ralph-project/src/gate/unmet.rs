//! The result of a gate: nothing, or what is unmet and what to do next.

use std::fmt;

use ralph_base::listing::{first_few, one_line};

/// A condition that does not hold yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// The gate's name, for people and for the journal.
    pub gate: &'static str,
    /// What is unmet, with everything that is needed to act on it.
    pub what: String,
    /// The next step.
    pub next: String,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A quotation of several lines ends with its last line.
        let end = if self.what.ends_with('\n') { "" } else { ". " };
        write!(f, "{} gate failed: {}{end}Next: {}.", self.gate, self.what, self.next)
    }
}

/// Combines all unmet gates into one text that an agent can act on, followed by any `advice`.
pub fn reason(unmet: &[Unmet], advice: &[String]) -> String {
    let mut text = match unmet {
        [one] => one.to_string(),
        many => {
            let mut text = format!("{} gates keep this session from stopping:", many.len());
            for (number, one) in many.iter().enumerate() {
                text.push_str(&format!("\n{}. {one}", number + 1));
            }
            text
        }
    };
    for advice in advice {
        text.push_str(&format!("\nAlso: {advice}."));
    }
    text
}

/// The maximum length of a quotation in a reason.
const QUOTED: usize = 600;

/// Formats foreign text for a reason: in one line, truncated, without its final full stop.
pub(super) fn quoted(text: &str) -> String {
    let words = one_line(&ralph_base::secrets::mask(text));
    match words.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{} …", words.get(..end).unwrap_or_default()),
        None => words.trim_end_matches('.').to_owned(),
    }
}

/// Lists the first few names, and how many more there are.
pub(super) fn first_of(names: &[String], shown: usize) -> String {
    first_few(names.iter().map(|name| quoted(name)), shown)
}

/// Returns a phrase with the task of a gate; empty if it has none.
pub(super) fn on_task(task: &str) -> String {
    if task.trim().is_empty() { String::new() } else { format!(" on `{}`", quoted(task)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unmet(gate: &'static str) -> Unmet {
        Unmet { gate, what: "it is open".into(), next: "close it".into() }
    }

    #[test]
    fn several_gates_are_listed_with_the_advice_last() {
        assert_eq!(
            reason(&[unmet("STORY"), unmet("TESTS")], &["commit a.txt".into()]),
            "2 gates keep this session from stopping:\n\
             1. STORY gate failed: it is open. Next: close it.\n\
             2. TESTS gate failed: it is open. Next: close it.\n\
             Also: commit a.txt."
        );
    }

    #[test]
    fn quotations_are_short_and_on_one_line() {
        assert_eq!(quoted(" a\n\tb\u{1b}[0m. "), "a b [0m");
        assert!(quoted(&"x".repeat(5_000)).chars().count() < QUOTED + 10);
        assert!(quoted(&"ä ".repeat(5_000)).ends_with('…'));
    }
}
