//! Reads one line as a summary with counts, in whatever order and wording a runner prints them:
//! `1 failed, 3 passed`, `Tests run: 4, Failures: 1`, `3 examples, 1 failure`, `# fail 1`.
//!
//! A line counts only if every word in it belongs to the vocabulary; that is what tells a summary
//! from a log line that speaks of failures. Blocks of several lines are put together elsewhere.

#[cfg(test)]
mod tests;

use super::words::{Meaning, Outcome, Unit, meaning};

/// A summary line is never longer than this.
const LONGEST_LINE: usize = 240;

/// The numbers for one unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) passed: Option<u64>,
    pub(crate) failed: Option<u64>,
    pub(crate) errored: Option<u64>,
    pub(crate) skipped: Option<u64>,
    pub(crate) neutral: Option<u64>,
    pub(crate) total: Option<u64>,
}

impl Numbers {
    pub(crate) fn add(&mut self, outcome: Outcome, number: u64) {
        let slot = match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Errored => &mut self.errored,
            Outcome::Skipped => &mut self.skipped,
            Outcome::Neutral => &mut self.neutral,
            // A total may be told twice ("Ran 3 tests", "3 total"); the larger one is the whole.
            Outcome::Total => {
                self.total = Some(self.total.unwrap_or_default().max(number));
                return;
            }
        };
        *slot = Some(slot.unwrap_or_default().saturating_add(number));
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let pairs = [
            (Outcome::Passed, other.passed),
            (Outcome::Failed, other.failed),
            (Outcome::Errored, other.errored),
            (Outcome::Skipped, other.skipped),
            (Outcome::Neutral, other.neutral),
            (Outcome::Total, other.total),
        ];
        for (outcome, number) in pairs {
            if let Some(number) = number {
                self.add(outcome, number);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Failed or ended with an error.
    pub(crate) fn bad(&self) -> u64 {
        self.failed.unwrap_or_default().saturating_add(self.errored.unwrap_or_default())
    }

    /// Passed as printed, else what the total leaves when the others are taken away.
    pub(crate) fn good(&self) -> Option<u64> {
        self.passed.or_else(|| {
            let total = self.total?;
            Some(total.saturating_sub(self.bad()).saturating_sub(self.skipped.unwrap_or_default()))
        })
    }
}

/// What one line says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) tests: Numbers,
    pub(crate) suites: Numbers,
    pub(crate) assertions: Numbers,
    /// An outcome without a number: `FAILED`, `All tests passed`.
    pub(crate) word: Option<Outcome>,
    /// Whether something is named that is counted or judged (`tests`, `result`), rather than a bare
    /// outcome word on a line of its own.
    pub(crate) named: bool,
}

impl Tally {
    pub(crate) fn numbers_mut(&mut self, unit: Unit) -> &mut Numbers {
        match unit {
            Unit::Test => &mut self.tests,
            Unit::Suite => &mut self.suites,
            Unit::Assertion => &mut self.assertions,
        }
    }

    pub(crate) fn has_numbers(&self) -> bool {
        !(self.tests.is_empty() && self.suites.is_empty() && self.assertions.is_empty())
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.tests.merge(&other.tests);
        self.suites.merge(&other.suites);
        self.assertions.merge(&other.assertions);
        self.named |= other.named;
        // One bad word outweighs good ones in the same summary.
        if self.word != Some(Outcome::Failed) {
            self.word = other.word.or(self.word);
        }
    }

    /// Whether any number or word in it is bad.
    pub(crate) fn is_bad(&self) -> bool {
        self.tests.bad() > 0
            || self.suites.bad() > 0
            || self.assertions.bad() > 0
            || (self.word == Some(Outcome::Failed) && !self.has_bad_zero())
    }

    /// `FAILED` above `0 failed` is a heading, not an outcome.
    fn has_bad_zero(&self) -> bool {
        self.tests.failed == Some(0) && self.tests.bad() == 0 && self.tests.good() > Some(0)
    }

    /// Whether it says that something passed.
    pub(crate) fn is_good(&self) -> bool {
        !self.is_bad()
            && (self.tests.good() > Some(0)
                || (self.tests.is_empty()
                    && (self.suites.good() > Some(0) || self.assertions.good() > Some(0)))
                || (self.word == Some(Outcome::Passed) && !self.is_none()))
    }

    /// Whether it says that nothing ran: zero passed, or all of them skipped.
    pub(crate) fn is_none(&self) -> bool {
        let all_skipped = self.tests.good().is_none() && self.tests.skipped > Some(0);
        self.tests.bad() == 0 && (self.tests.good() == Some(0) || all_skipped)
    }

    /// Whether it says that nothing failed, without saying that anything ran.
    pub(crate) fn is_clean(&self) -> bool {
        !self.is_bad()
            && self.tests.good().is_none()
            && self.tests.failed.or(self.tests.errored).is_some()
    }
}

#[derive(Debug, Clone, Copy)]
enum Token<'a> {
    /// A whole number; `of` is the second one in `3/4`.
    Number {
        value: u64,
        of: Option<u64>,
    },
    Word {
        text: &'a str,
        meaning: Meaning,
        colon: bool,
    },
    /// Punctuation that ends a phrase.
    Break,
    /// A bracket, which ends a phrase as well.
    Open,
    /// A tab or several blanks: ends a phrase where keys come first.
    Gap,
}

/// Reads `line` as a summary; `None` if it has a word too many or says nothing.
pub(crate) fn read(line: &str) -> Option<Tally> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    let lower = line.to_lowercase();
    let tokens = tokens(&lower)?;
    if tokens
        .iter()
        .any(|token| matches!(token, Token::Word { meaning: Meaning::Announcement, .. }))
    {
        return None;
    }
    let tally = bind(&tokens);
    (tally.has_numbers() || tally.word.is_some()).then_some(tally)
}

/// Splits a line; `None` if a word is not in the vocabulary.
fn tokens(line: &str) -> Option<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() {
            let (token, length) = number(rest);
            found.extend(token);
            length
        } else if first.is_alphabetic() {
            let end = rest.find(|c: char| !(c.is_alphabetic() || c == '\'')).unwrap_or(rest.len());
            let (text, behind) = rest.split_at(end);
            // `test(s)`, `success(es)`
            let plural = ["(s)", "(es)"].iter().find(|plural| behind.starts_with(**plural));
            let behind = behind.get(plural.map_or(0, |plural| plural.len())..).unwrap_or_default();
            if behind.starts_with(|c: char| c == '_' || c.is_ascii_digit()) {
                return None;
            }
            let colon = behind.starts_with([':', '=']) || is_spaced_colon(behind);
            found.push(Token::Word { text, meaning: meaning(text)?, colon });
            rest.len() - behind.len()
        } else if first == '"' {
            // A quoted name may hold anything.
            rest.get(1..).and_then(|inner| inner.find('"')).map_or(1, |end| end + 2)
        } else if first == ' ' || first == '\t' {
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            found.extend((blanks > 1 || first == '\t').then_some(Token::Gap));
            blanks
        } else {
            let token = match first {
                '(' | '[' => Some(Token::Open),
                ',' | ';' | '|' | ')' | ']' | '.' | '/' | '│' | '!' | '-' => Some(Token::Break),
                _ => None,
            };
            found.extend(token);
            first.len_utf8()
        };
        rest = rest.get(length..)?;
    }
    Some(found)
}

/// `PASSED : 3`, but not `0 pending : 0.01 seconds`.
fn is_spaced_colon(behind: &str) -> bool {
    let Some(value) = behind.trim_start_matches(' ').strip_prefix([':', '=']) else { return false };
    let value = value.trim_start_matches(' ');
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    digits > 0 && !value.get(digits..).is_some_and(|rest| rest.starts_with('.'))
}

/// A number at the start of `text`: whole ones count, durations, percentages, decimals and dates
/// do not. Returns the token and how much of the text it takes.
fn number(text: &str) -> (Option<Token<'static>>, usize) {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (figure, behind) = text.split_at(digits);
    let value = figure.parse().unwrap_or(u64::MAX);
    if let Some(other) = behind.strip_prefix('/') {
        let length = other.find(|c: char| !c.is_ascii_digit()).unwrap_or(other.len());
        if let Some(of) = other.get(..length).and_then(|of| of.parse().ok()) {
            return (Some(Token::Number { value, of: Some(of) }), digits + 1 + length);
        }
    }
    let decimal = |c: char| c.is_ascii_digit() || c == '.' || c == ':';
    let continues = behind
        .strip_prefix(['.', ':'])
        .is_some_and(|fraction| fraction.starts_with(|c: char| c.is_ascii_digit()));
    if continues {
        let length = behind.find(|c: char| !decimal(c)).unwrap_or(behind.len());
        let unit = behind.get(length..).unwrap_or_default();
        let letters = unit.find(|c: char| !(c.is_alphanumeric() || c == '%')).unwrap_or(unit.len());
        return (None, digits + length + letters);
    }
    if behind.starts_with(|c: char| c.is_alphabetic() || c == '%' || c == 'µ') {
        let length =
            behind.find(|c: char| !(c.is_alphanumeric() || c == '%')).unwrap_or(behind.len());
        return (None, digits + length);
    }
    (Some(Token::Number { value, of: None }), digits)
}

/// The phrase on one side of a number, boiled down.
#[derive(Debug, Clone, Copy, Default)]
struct Phrase {
    outcome: Option<Outcome>,
    unit: Option<Unit>,
}

impl Phrase {
    fn of<'a>(words: impl Iterator<Item = &'a Token<'a>>) -> Self {
        let (mut outcome, mut unit, mut expected, mut unexpected) = (None, None, false, false);
        let mut negated = false;
        for token in words {
            let Token::Word { meaning, text, .. } = token else { break };
            match meaning {
                Meaning::Outcome(found) => {
                    let found =
                        if negated && *found == Outcome::Total { Outcome::Skipped } else { *found };
                    if outcome.is_none() || outcome == Some(Outcome::Total) {
                        outcome = Some(found);
                    }
                }
                // `test suites` are suites, `test cases` are tests.
                Meaning::Unit(found) if unit.is_none() || *found != Unit::Test => {
                    unit = Some(*found)
                }
                Meaning::Expected => expected = true,
                Meaning::Unexpected => unexpected = true,
                Meaning::Filler if *text == "not" => negated = true,
                _ => {}
            }
        }
        let outcome = match outcome {
            Some(Outcome::Failed | Outcome::Errored) if expected => Some(Outcome::Neutral),
            Some(Outcome::Passed) if unexpected => Some(Outcome::Neutral),
            Some(Outcome::Passed | Outcome::Failed) if negated => Some(Outcome::Failed),
            None if unexpected => Some(Outcome::Failed),
            None if expected => Some(Outcome::Passed),
            None if unit.is_some() => Some(Outcome::Total),
            other => other,
        };
        Self { outcome, unit }
    }
}

/// Gives every number the outcome and the unit that stand beside it.
fn bind(tokens: &[Token<'_>]) -> Tally {
    let mut tally = Tally::default();
    let label = label(tokens);
    let mut inherited = label;
    for (at, token) in tokens.iter().enumerate() {
        let (value, of) = match token {
            Token::Number { value, of } => (*value, *of),
            Token::Word { meaning: Meaning::Zero, .. } => (0, None),
            // What comes with something else is not counted in its unit.
            Token::Word { text: "with", .. } => {
                inherited = label;
                continue;
            }
            _ => continue,
        };
        if is_second_of(tokens, at) {
            continue;
        }
        let ahead = ahead(tokens, at);
        let behind = behind(tokens, at);
        let phrase = match (ahead.outcome, behind.outcome) {
            (None, None) => continue,
            (None, _) => behind,
            (Some(_), Some(_)) if keys_first(tokens, at) => behind,
            _ => ahead,
        };
        let Some(outcome) = phrase.outcome else { continue };
        let unit = phrase.unit.or(inherited).unwrap_or(Unit::Test);
        tally.numbers_mut(unit).add(outcome, value);
        if let Some(of) = of {
            tally.numbers_mut(unit).add(Outcome::Total, of);
        }
        tally.named |= phrase.unit.is_some() || label.is_some();
        if phrase.unit.is_some() && (outcome != Outcome::Total || opens_bracket(tokens, at)) {
            inherited = phrase.unit;
        }
    }
    // `error: no test modules found` tells of no tests, not of an outcome.
    let none = [tally.tests, tally.suites]
        .iter()
        .any(|numbers| numbers.good() == Some(0) && numbers.bad() == 0);
    tally.word = lone_outcome(tokens).filter(|word| !none || *word == Outcome::Passed);
    tally.named |= tokens.iter().any(|token| {
        matches!(token, Token::Word { meaning: Meaning::Unit(_), .. })
            || matches!(token, Token::Word { text: "result" | "status" | "summary" | "all", .. })
    });
    tally
}

/// The unit named before the first number: `Test Suites: 1 failed`.
fn label(tokens: &[Token<'_>]) -> Option<Unit> {
    let end = tokens.iter().position(|token| matches!(token, Token::Number { .. }))?;
    let words = tokens.get(..end)?;
    words.iter().any(|token| matches!(token, Token::Word { .. })).then_some(())?;
    Phrase::of(words.iter().filter(|token| matches!(token, Token::Word { .. }))).unit
}

/// Whether the number at `at` is the whole in `2 of 3`.
fn is_second_of(tokens: &[Token<'_>], at: usize) -> bool {
    let word = |back: usize| at.checked_sub(back).and_then(|index| tokens.get(index));
    matches!(word(1), Some(Token::Word { text: "of", .. }))
        && matches!(word(2), Some(Token::Number { .. } | Token::Word { text: "out", .. }))
}

fn words_from<'a>(tokens: &'a [Token<'a>], from: usize) -> impl Iterator<Item = &'a Token<'a>> {
    tokens.get(from..).unwrap_or_default().iter().take_while(
        |token| matches!(token, Token::Word { meaning, .. } if *meaning != Meaning::Zero),
    )
}

/// What stands behind the number: `3 passed`, `1 of 3 tests failed`.
fn ahead<'a>(tokens: &'a [Token<'a>], at: usize) -> Phrase {
    let next = |ahead: usize| tokens.get(at + ahead);
    if matches!(next(1), Some(Token::Word { colon: true, .. })) {
        return Phrase::default();
    }
    let whole = match (next(1), next(2), next(3)) {
        (Some(Token::Word { text: "of", .. }), Some(Token::Number { .. }), _) => 3,
        (
            Some(Token::Word { text: "out", .. }),
            Some(Token::Word { text: "of", .. }),
            Some(Token::Number { .. }),
        ) => 4,
        _ => 1,
    };
    // One gap is tolerated where nothing stands before the number: `3    passed`.
    let gap = usize::from(matches!(next(whole), Some(Token::Gap)) && whole == 1 && at == 0);
    let mut words = words_from(tokens, at + whole + gap).peekable();
    if whole == 1 && words.peek().is_none() {
        return Phrase::default();
    }
    let phrase = Phrase::of(words);
    if whole > 1 && phrase.outcome.is_none() {
        Phrase { outcome: None, unit: None }
    } else {
        phrase
    }
}

/// What stands before the number: `Failures: 1`, `# of unexpected failures 1`.
fn behind<'a>(tokens: &'a [Token<'a>], at: usize) -> Phrase {
    let before = tokens.get(..at).unwrap_or_default();
    let mut start = before.len();
    for (index, token) in before.iter().enumerate().rev() {
        match token {
            Token::Gap if start == before.len() => start = index,
            Token::Word { colon: true, .. }
                if start < before.len() && !is_gap_only(before, start) =>
            {
                break;
            }
            Token::Word { .. } => start = index,
            _ => break,
        }
    }
    let words = before.get(start..).unwrap_or_default();
    Phrase::of(words.iter().filter(|token| matches!(token, Token::Word { .. })))
}

fn is_gap_only(tokens: &[Token<'_>], from: usize) -> bool {
    tokens.get(from..).unwrap_or_default().iter().all(|token| matches!(token, Token::Gap))
}

/// Whether this number belongs to the word before it although a fitting word follows:
/// `Errors: 0 Failures: 1`, `PASS 2 FAIL 1`.
fn keys_first(tokens: &[Token<'_>], at: usize) -> bool {
    let follows_key = at
        .checked_sub(1)
        .and_then(|index| tokens.get(index))
        .is_some_and(|token| matches!(token, Token::Word { meaning: Meaning::Outcome(_), .. }));
    follows_key
        && matches!(tokens.get(at + 1), Some(Token::Word { .. }))
        && matches!(tokens.get(at + 2), Some(Token::Number { .. }))
}

/// `3 scenarios (1 failed, 2 passed)`: what is in the bracket are scenarios.
fn opens_bracket(tokens: &[Token<'_>], at: usize) -> bool {
    matches!(
        (tokens.get(at + 1), tokens.get(at + 2)),
        (Some(Token::Word { .. }), Some(Token::Open))
    )
}

/// An outcome that no number stands beside: `FAILED`, `All tests passed`, `Result: FAIL`.
fn lone_outcome(tokens: &[Token<'_>]) -> Option<Outcome> {
    let mut lone = None;
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word { meaning: Meaning::Outcome(outcome), .. } = token else { continue };
        let outcome = match outcome {
            Outcome::Failed | Outcome::Errored => Outcome::Failed,
            Outcome::Passed => Outcome::Passed,
            _ => continue,
        };
        let beside_number = at
            .checked_sub(1)
            .and_then(|index| tokens.get(index))
            .into_iter()
            .chain(tokens.get(at + 1))
            .any(|token| matches!(token, Token::Number { .. }));
        let in_numbered_phrase = phrase_has_number(tokens, at);
        if !beside_number && !in_numbered_phrase && lone != Some(Outcome::Failed) {
            lone = Some(outcome);
        }
    }
    lone
}

/// Whether a number opens or closes the run of words that holds `at`.
fn phrase_has_number(tokens: &[Token<'_>], at: usize) -> bool {
    let word = |token: &&Token<'_>| matches!(token, Token::Word { .. } | Token::Gap);
    let zero = |token: &Token<'_>| matches!(token, Token::Word { meaning: Meaning::Zero, .. });
    let number = |token: Option<&Token<'_>>| matches!(token, Some(Token::Number { .. }));
    let before = tokens.get(..at).unwrap_or_default();
    let after = tokens.get(at + 1..).unwrap_or_default();
    let words_before = before.iter().rev().take_while(word).count();
    let words_after = after.iter().take_while(word).count();
    before.iter().rev().take(words_before).any(zero)
        || number(before.len().checked_sub(words_before + 1).and_then(|index| before.get(index)))
        || number(after.get(words_after))
}
