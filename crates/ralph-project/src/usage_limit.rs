//! Messages of the client's about a usage limit, or about a service that is out of order.
//!
//! Their wording changes with every release, so they are recognised by how they begin, and only as
//! the last line of what was said: test output and code speak of rate limits as well. When the limit
//! is reset is read by the loop, which waits for it.

/// How a message of a client's about a limit begins, in lower case.
const OPENINGS: &str = "\
    claude ai usage limit reached|claude usage limit reached|usage limit reached|you've hit your |\
    you have hit your |you've reached your |you have reached your |you're out of extra usage|\
    you are out of extra usage";

/// What may stand before `limit reached`: a length of time, or what is limited.
const PERIODS: &str = "claude opus sonnet haiku session hourly daily weekly 5-hour 7-day usage";

/// What an error of the service speaks of when it is a limit.
const CAUSES: &str = "429|rate limit|rate_limit|usage limit|quota";

/// What it speaks of when the service is out of order: that is nobody's fault either, and passes.
const OUTAGES: &str = "\
    overloaded|500|502|503|504|529|connection|fetch failed|timed out|server error";

/// Commands of the client's that it advises in a line below its message.
const HINTS: [&str; 2] = ["/upgrade", "/extra-usage"];

/// Longer than this no client's message is.
const LONGEST_MESSAGE: usize = 240;

/// The last line of a text, if it is such a message; in lower case.
pub fn message_at_the_end(text: &str) -> Option<String> {
    let line = plain(said(text).next_back()?);
    is_limit(&line).then_some(line)
}

/// The message, of a text that is one and nothing else: so an agent says that it was ended though its
/// client calls that an answer. An answer that is about such messages says more than one line, or
/// quotes them.
pub fn message_alone(text: &str) -> Option<String> {
    let mut lines = said(text);
    let line = lines.next()?;
    let is_alone = lines.next().is_none() && line.len() <= LONGEST_MESSAGE;
    let is_quoted =
        line.contains('`') || line.starts_with(['"', '\'', '>', '\u{201c}', '\u{2018}', '\u{ab}']);
    message_at_the_end(text).filter(|_| is_alone && !is_quoted)
}

/// The lines that say anything, their blanks cut off.
fn said(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_hint = |line: &str| HINTS.iter().any(|hint| line.starts_with(hint));
    text.lines().map(str::trim).filter(move |line| !line.is_empty() && !is_hint(line))
}

/// In lower case, with plain apostrophes and without a bullet or a warning sign before it.
fn plain(line: &str) -> String {
    let line = line.to_lowercase().replace('\u{2019}', "'");
    line.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

fn is_limit(line: &str) -> bool {
    if line.starts_with("api error") {
        return CAUSES.split('|').chain(OUTAGES.split('|')).any(|cause| line.contains(cause));
    }
    let spoken_to = OPENINGS.split('|').any(|opening| line.starts_with(opening));
    // `You've hit your stride` is none.
    (spoken_to && (line.contains("limit") || line.contains("usage"))) || names_a_period(line)
}

/// `5-hour limit reached ∙ resets 3pm`, `Opus weekly limit reached, resets at 12am`
fn names_a_period(line: &str) -> bool {
    let Some((before, after)) = line.split_once(" limit reached") else { return false };
    let mut words = before.split_whitespace();
    let is_period = |word: &str| PERIODS.split(' ').any(|period| period == word);
    !before.is_empty() && after.contains("reset") && words.all(is_period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_agent_that_ended_well_the_message_is_all_that_was_said() {
        for (text, is_limit) in [
            ("Claude AI usage limit reached|1794830400", true),
            ("Claude usage limit reached. Your limit will reset at 3pm (UTC).\n", true),
            ("\n\u{26a0} You've hit your limit \u{b7} resets 3pm (UTC)\n", true),
            ("You've hit your Opus limit. Try again in 5 minutes.", true),
            ("You've reached your usage limit for this week.", true),
            ("You're out of extra usage \u{b7} resets 3pm", true),
            ("5-hour limit reached \u{2219} resets 3pm", true),
            ("API Error: Request rejected (429) \u{b7} This would exceed your rate limit.", true),
            ("API Error: 429 {\"error\":{\"type\":\"rate_limit_error\"}}", true),
            ("5-hour limit reached \u{2219} resets 3pm\n  /upgrade to increase your limit", true),
            ("The banner is there.\nClaude AI usage limit reached|1794830400", false),
            ("Claude AI usage limit reached|1794830400\nis what the banner says now.", false),
            ("\"Claude AI usage limit reached\" is the new text", false),
            ("`usage limit reached` is shown now", false),
            ("Usage limit reached: the banner says so now.\n\nUsage limit reached", false),
            ("All done.", false),
        ] {
            assert_eq!(message_alone(text).is_some(), is_limit, "{text}");
        }
    }

    #[test]
    fn a_service_that_is_out_of_order_is_waited_for_as_well() {
        for text in [
            "API Error: Connection error.",
            "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
            "API Error: 500 Internal server error",
            "API Error: Request timed out.",
        ] {
            assert!(message_at_the_end(text).is_some(), "{text}");
        }
    }

    #[test]
    fn other_failures_are_none() {
        for text in [
            "",
            "error: limit must be positive",
            "tests failed",
            "no such file",
            "API Error: 400 the prompt is malformed",
            "You've hit your stride",
        ] {
            assert_eq!(message_at_the_end(text), None, "{text}");
        }
    }

    #[test]
    fn nor_is_test_output_that_speaks_of_limits() {
        for text in [
            "test_throttle - AssertionError: rate limit exceeded",
            "rate limit exceeded",
            "E   Exception: usage limit reached",
            "assert 'Claude AI usage limit reached' in banner",
            "expected: weekly limit reached, resets at 12am",
            "Claude AI usage limit reached|1794830400\nFAILED test_banner.py::test_text",
            "FAILED tests/test_api.py::test_429 - quota exceeded",
            "disk quota exceeded",
        ] {
            assert_eq!(message_at_the_end(text), None, "{text}");
        }
    }
}
