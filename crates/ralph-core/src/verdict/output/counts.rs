//! Parses one line as a summary with counts, in any order and wording that runners use:
//! `1 failed, 3 passed`, `Tests run: 4, Failures: 1`, `3 examples, 1 failure`, `# fail 1`.
//!
//! A line counts only if every word in it is in the vocabulary; that distinguishes a summary from a
//! log line about failures. `summary.rs` combines several lines into blocks.

#[cfg(test)]
mod tests;

use super::tally::{Meaning, Outcome, Tally, Unit};
use super::tokens::{Token, tokens};

/// The longest summary line.
const LONGEST_LINE: usize = 240;

/// How lines begin that may be summaries beyond doubt, in lower case.
const FRAMES: [&str; 7] = ["failed (", "ok (", "===", "---", "tests: ", "ran ", "tests run: "];

/// Parses `line` as a summary; `None` if it has an unknown word or no content.
pub(crate) fn read(line: &str) -> Option<Tally> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    let is_framed = is_framed(line);
    if !is_framed && holds_an_identifier(line) {
        return None;
    }
    // `Test run had 1 failure:`
    let lower = line.trim_end_matches(':').to_lowercase();
    let tokens = tokens(&lower, is_framed)?;
    let announced =
        |token: &Token<'_>| matches!(token, Token::Word { meaning: Meaning::Announcement, .. });
    let first = tokens.iter().find(|token| is_word(token));
    let announces =
        matches!(first, Some(Token::Word { text: "found" | "collected" | "discovered", .. }));
    if announces || tokens.iter().any(announced) {
        return None;
    }
    let words = tokens.iter().filter(|token| is_word(token)).count();
    let numbers = tokens.iter().filter(|token| is_number(token)).count();
    // `TOTAL    13    1    92%` is the end of a coverage table.
    if words == 1 && numbers > 1 {
        return None;
    }
    let tally = bind(&tokens);
    // A bare word is an outcome only in capitals: `FAILED`, `OK`, but not `broken`.
    let banner = tally.named || !line.contains(char::is_lowercase);
    (tally.has_numbers() || (tally.word.is_some() && banner)).then_some(tally)
}

/// Returns whether a line has the unmistakable form of a summary, so that unknown words in it, and
/// their numbers, are ignored: `FAILED (SKIP=4, errors=1)`, `=== 1 failed, 2 pets in 0.28s ===`,
/// `Tests: 3, Assertions: 4, Pets: 1`, `Ran 4 tests in 0.1 seconds, 3 successes, 10 non-selected`.
fn is_framed(line: &str) -> bool {
    let line = line.trim_end_matches(':');
    let begins = |start: &&&str| {
        line.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
    };
    let Some(start) = FRAMES.iter().find(begins) else { return false };
    let lower = line.to_lowercase();
    match *start {
        "failed (" | "ok (" => lower.ends_with(')') && lower.contains('='),
        "===" | "---" => lower.ends_with('=') && lower.contains(" in "),
        "tests: " => lower.contains(", assertions: "),
        _ => lower.contains("tests") && lower.contains(", "),
    }
}

/// Returns whether an unquoted identifier such as `parser::accepts_a_line` occurs, which no summary
/// has. Most lines of a long output are excluded by this check alone.
fn holds_an_identifier(line: &str) -> bool {
    let bytes = line.as_bytes();
    let joined = |pair: &[u8]| matches!(pair, [letter, b'_'] if letter.is_ascii_alphabetic());
    bytes.windows(2).any(joined) && !bytes.contains(&b'"')
}

fn is_word(token: &Token<'_>) -> bool {
    matches!(token, Token::Word { .. })
}

fn is_number(token: &Token<'_>) -> bool {
    matches!(token, Token::Number { .. })
}

/// The relevant words of the phrase on one side of a number.
#[derive(Debug, Clone, Copy, Default)]
struct Phrase {
    outcome: Option<Outcome>,
    unit: Option<Unit>,
}

impl Phrase {
    fn of<'a>(words: impl Iterator<Item = &'a Token<'a>>) -> Self {
        let (mut outcome, mut unit, mut expected, mut negated) = (None, None, false, false);
        let mut as_expected = false;
        for token in words {
            let Token::Word { meaning, text, .. } = token else { break };
            // `Total time: 2 s` counts seconds, and `Error code 1` counts nothing.
            if matches!(*text, "time" | "duration" | "elapsed" | "took" | "code") {
                return Self::default();
            }
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
                Meaning::Filler if *text == "not" => negated = true,
                Meaning::Filler if *text == "as" => as_expected = true,
                _ => {}
            }
        }
        let outcome = match outcome {
            Some(Outcome::Failed | Outcome::Errored) if expected => Some(Outcome::Neutral),
            Some(Outcome::Passed | Outcome::Failed) if negated => Some(Outcome::Failed),
            // `3 results as expected`
            None if expected && as_expected => Some(Outcome::Passed),
            // `expected: 4` belongs to an assertion.
            None if expected => None,
            None if unit.is_some() => Some(Outcome::Total),
            other => other,
        };
        Self { outcome, unit }
    }
}

/// Assigns to every number the outcome and the unit next to it.
fn bind(tokens: &[Token<'_>]) -> Tally {
    let mut tally = Tally::default();
    let label = label(tokens);
    let mut inherited = label;
    for (at, token) in tokens.iter().enumerate() {
        let (value, of) = match token {
            Token::Number { value, of } => (*value, *of),
            Token::Word { meaning: Meaning::Zero, .. } => (0, None),
            // The number after `with` has another unit.
            Token::Word { text: "with", .. } => {
                inherited = label;
                continue;
            }
            _ => continue,
        };
        if is_second_of(tokens, at) {
            let numbers = tally.numbers_mut(inherited.unwrap_or(Unit::Test));
            // `Ran 0 of 3 specs`: the total.
            if numbers.total.is_none() {
                numbers.add(Outcome::Total, value);
            }
            continue;
        }
        let ahead = ahead(tokens, at);
        let behind = behind(tokens, at);
        let phrase = match (ahead.outcome, behind.outcome) {
            (None, None) => continue,
            (None, _) => behind,
            (Some(_), Some(_)) if keys_first(tokens, at) => behind,
            // `Failed 1 tests`
            (Some(Outcome::Total), Some(outcome)) if follows_outcome(tokens, at) => {
                Phrase { outcome: Some(outcome), ..ahead }
            }
            _ => ahead,
        };
        let Some(outcome) = phrase.outcome else { continue };
        let unit = phrase.unit.or(inherited).unwrap_or(Unit::Test);
        tally.numbers_mut(unit).add(outcome, value);
        if let Some(of) = of {
            tally.numbers_mut(unit).add(Outcome::Total, of);
        }
        tally.named |= phrase.unit.is_some() || label.is_some();
        if phrase.unit.is_some() && outcome != Outcome::Total {
            inherited = phrase.unit;
        }
    }
    // `error: no test modules found` reports that there are no tests, not an outcome.
    let none = [tally.tests, tally.suites]
        .iter()
        .any(|numbers| numbers.good() == Some(0) && numbers.bad() == 0);
    tally.word = lone_outcome(tokens).filter(|word| !none || *word == Outcome::Passed);
    if tally.word.is_none() && is_complete(tokens) && tally.tests.good() > Some(0) {
        tally.word = Some(Outcome::Passed);
    }
    tally.named |= leads(tokens)
        || tokens.iter().any(|token| {
            matches!(token, Token::Word { meaning: Meaning::Unit(_), .. })
                || matches!(
                    token,
                    Token::Word { text: "result" | "status" | "summary" | "all", .. }
                )
        });
    tally
}

/// Returns whether a count comes first and says what it counts: `3 passed`, `no errors`, but not
/// `PASS #3` and `error 1`; or a failure is counted behind a colon: `Failures: 1`.
fn leads(tokens: &[Token<'_>]) -> bool {
    match tokens {
        [Token::Number { .. } | Token::Word { meaning: Meaning::Zero, .. }, rest @ ..] => {
            matches!(rest, [Token::Word { text: "passed" | "passing", .. }, ..])
                || matches!(rest, [Token::Word { meaning: Meaning::Outcome(bad), .. }, ..]
                    if matches!(bad, Outcome::Failed | Outcome::Errored))
        }
        // In a dump of settings, `timeout: 1000` counts nothing.
        [Token::Word { text, colon: true, .. }, Token::Number { .. }, ..] => {
            text.starts_with("fail")
        }
        // `# of expected passes 1`
        [Token::Word { text: "of", .. }, Token::Word { meaning: Meaning::Expected, .. }, ..] => {
            true
        }
        _ => false,
    }
}

/// Recognises `DONE 3 tests`, which counts failures only if there are any.
fn is_complete(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, [Token::Word { text: "done", .. }, Token::Number { .. }, unit, ..] if is_word(unit))
}

/// Returns the unit named before the first number: `Test Suites: 1 failed`.
fn label(tokens: &[Token<'_>]) -> Option<Unit> {
    let end = tokens.iter().position(is_number)?;
    Phrase::of(tokens.get(..end)?.iter().filter(|token| is_word(token))).unit
}

/// Returns whether the number at `at` is the total in `2 of 3`.
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

/// Returns the phrase after the number: `3 passed`, `1 of 3 tests failed`.
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
    // One gap is allowed if nothing precedes the number: `3    passed`.
    let gap = usize::from(matches!(next(whole), Some(Token::Gap)) && whole == 1 && at == 0);
    let mut words = words_from(tokens, at + whole + gap).peekable();
    if whole == 1 && words.peek().is_none() {
        return Phrase::default();
    }
    let phrase = Phrase::of(words);
    if whole > 1 && phrase.outcome.is_none() { Phrase::default() } else { phrase }
}

/// Returns the phrase before the number: `Failures: 1`, `# of unexpected failures 1`.
fn behind<'a>(tokens: &'a [Token<'a>], at: usize) -> Phrase {
    let before = tokens.get(..at).unwrap_or_default();
    let mut start = before.len();
    for (index, token) in before.iter().enumerate().rev() {
        match token {
            Token::Gap if is_gap_only(before, start) => start = index,
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
    Phrase::of(words.iter().filter(|token| is_word(token)))
}

fn is_gap_only(tokens: &[Token<'_>], from: usize) -> bool {
    tokens.get(from..).unwrap_or_default().iter().all(|token| matches!(token, Token::Gap))
}

/// Returns whether this number belongs to the word before it although a matching word follows:
/// `Errors: 0 Failures: 1`, `PASS 2 FAIL 1`, `Failed 1 and skipped 0`.
fn keys_first(tokens: &[Token<'_>], at: usize) -> bool {
    let is_outcome = |token: Option<&Token<'_>>| {
        matches!(token, Some(Token::Word { meaning: Meaning::Outcome(_), .. }))
    };
    let before = at.checked_sub(1).and_then(|index| tokens.get(index));
    let words = words_from(tokens, at + 1).count();
    !tokens.first().is_some_and(is_number)
        && is_outcome(before)
        && words > 0
        && (words == 1 || is_outcome(tokens.get(at + words)))
        && tokens.get(at + words + 1).is_some_and(is_number)
}

/// Returns whether an outcome directly precedes the number.
fn follows_outcome(tokens: &[Token<'_>], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|index| tokens.get(index));
    matches!(
        before,
        Some(Token::Word {
            meaning: Meaning::Outcome(Outcome::Passed | Outcome::Failed | Outcome::Skipped),
            colon: false,
            ..
        })
    )
}

/// Returns an outcome without a number: `FAILED`, `All tests passed`, `Result: FAIL`.
fn lone_outcome(tokens: &[Token<'_>]) -> Option<Outcome> {
    // `test failed as expected`
    let is_expected =
        tokens.iter().any(|token| matches!(token, Token::Word { meaning: Meaning::Expected, .. }));
    let mut lone = None;
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word { meaning: Meaning::Outcome(outcome), .. } = token else { continue };
        let outcome = match outcome {
            Outcome::Failed | Outcome::Errored if is_expected => continue,
            Outcome::Failed | Outcome::Errored => Outcome::Failed,
            Outcome::Passed if follows_not(tokens, at) => Outcome::Failed,
            Outcome::Passed => Outcome::Passed,
            _ => continue,
        };
        if !phrase_has_number(tokens, at) && lone != Some(Outcome::Failed) {
            lone = Some(outcome);
        }
    }
    lone
}

/// Returns whether the word at `at` is negated: `Test was not successful`.
fn follows_not(tokens: &[Token<'_>], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|index| tokens.get(index));
    matches!(before, Some(Token::Word { text: "not", .. }))
}

/// Returns whether a number directly precedes or follows the run of words around `at`.
fn phrase_has_number(tokens: &[Token<'_>], at: usize) -> bool {
    let word = |token: &&Token<'_>| matches!(token, Token::Word { .. } | Token::Gap);
    let zero = |token: &Token<'_>| matches!(token, Token::Word { meaning: Meaning::Zero, .. });
    let number = |token: Option<&Token<'_>>| token.is_some_and(is_number);
    let before = tokens.get(..at).unwrap_or_default();
    let after = tokens.get(at + 1..).unwrap_or_default();
    let words_before = before.iter().rev().take_while(word).count();
    let words_after = after.iter().take_while(word).count();
    before.iter().rev().take(words_before).any(zero)
        || number(before.len().checked_sub(words_before + 1).and_then(|index| before.get(index)))
        || number(after.get(words_after))
}
