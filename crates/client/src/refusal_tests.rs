//! Messages of agents about limits, outages, keys and contexts.

use super::*;

const NOON: &str = "2026-11-15T12:00:00Z";

fn noon() -> Timestamp {
    NOON.parse().unwrap()
}

fn later(at: Option<&str>) -> Option<Refusal> {
    Some(Refusal::Later(at.map(|at| at.parse::<Timestamp>().unwrap().as_second())))
}

fn check(text: &str, expected: Option<&str>) {
    assert_eq!(Refusal::at_the_end(text, noon()), later(expected), "{text}");
}

fn is_down(text: &str) {
    assert_eq!(Refusal::at_the_end(text, noon()), Some(Refusal::Down), "{text}");
}

#[test]
fn known_wordings_of_usage_limits_and_outages_are_recognized() {
    check("Claude AI usage limit reached|1794830400", Some("2026-11-16T12:00:00Z"));
    check("You've hit your limit · resets 3pm (UTC)", Some("2026-11-15T15:00:00Z"));
    check("You have hit your limit, resets at 3 p.m. (UTC)", Some("2026-11-15T15:00:00Z"));
    check("You've hit your session limit · resets 10:30am (UTC)", Some("2026-11-16T10:30:00Z"));
    check("weekly limit reached, resets at 12am (UTC)", Some("2026-11-16T00:00:00Z"));
    check("5-hour limit reached \u{2219} resets 3pm (UTC)", Some("2026-11-15T15:00:00Z"));
    let soon = Some("2026-11-15T12:05:00Z");
    check("You\u{2019}ve hit your usage limit. Try again in 5 minutes.", soon);
    check("5-hour limit reached \u{2219} resets 11:55am (UTC)", Some("2026-11-15T11:55:00Z"));
    check("I ran the tests.\n\nClaude usage limit reached.\n\n", None);
    check("[API Error: You have exhausted your daily quota]", None);
    check(
        "API Error: Request rejected (429) · This request would exceed your account's rate limit.",
        None,
    );
    check("usage limit reached; resets soon", None);
    for outage in ["Connection error.", "500 Internal server error", "Request timed out."] {
        is_down(&format!("API Error: {outage}"));
    }
    is_down("API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}");
    let three = Some("2026-11-15T15:00:00Z");
    check("Claude usage limit reached. Your limit will reset at 3pm (UTC).", three);
}

#[test]
fn messages_of_other_agents_are_recognized() {
    let local = |text: &str| {
        let zoned = format!("{text}[{}]", TimeZone::system().iana_name().unwrap_or("UTC"));
        zoned.parse::<Zoned>().unwrap().timestamp().to_string()
    };
    let codex = "ERROR: You\u{2019}ve hit your usage limit. Upgrade to Pro \
                 (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to \
                 purchase more credits or try again at";
    check(&format!("{codex} 11:55 PM."), Some(&local("2026-11-15T23:55")));
    check(&format!("{codex} Nov 19th, 2026 2:53 PM."), Some(&local("2026-11-19T14:53")));
    check("ERROR: exceeded retry limit, last status: 429 Too Many Requests", None);
    check("Quota exceeded. Check your plan and billing details.", None);
    check("429 Rate limit reached. Please try again in 7s.", Some("2026-11-15T12:00:07Z"));
    check(
        "Ran into this error: Rate limit exceeded: Rate limit reached. Please try again in \
         7s..\n\nPlease retry if you think this is a transient or recoverable error.",
        Some("2026-11-15T12:00:07Z"),
    );
    for (text, expected) in [
        ("[API Error: 401 bad key]", Refusal::Key),
        ("exceeded retry limit, last status: 401 Unauthorized", Refusal::Key),
        ("401 bad key", Refusal::Key),
        ("Codex ran out of room in the model's context window. Start a new thread.", Refusal::Full),
        ("Prompt is too long", Refusal::Full),
        ("503 Service Unavailable", Refusal::Down),
        ("API Error: Unable to connect to API (ConnectionRefused)", Refusal::Unreachable),
        ("API Error: getaddrinfo ENOTFOUND api.example.com", Refusal::Unreachable),
        ("You have exceeded your premium request allowance", Refusal::Later(None)),
    ] {
        assert_eq!(Refusal::at_the_end(text, noon()), Some(expected), "{text}");
    }
}

#[test]
fn an_agent_error_that_names_a_service_problem_is_a_refusal() {
    for (message, status, expected) in [
        ("bad key", Some(401), Some(Refusal::Key)),
        ("[API Error: {\"error\":{\"code\":\"invalid_api_key\"}}]", None, Some(Refusal::Key)),
        ("retried 5 times. Last error: 429 Please try again later.", None, later(None)),
        ("anything", Some(503), Some(Refusal::Down)),
        ("You have exceeded your premium request allowance", Some(402), later(None)),
        ("the model's maximum context length is 8", Some(400), Some(Refusal::Full)),
        ("Reached max session turns for this session.", None, None),
        ("wrote 1500 lines, 4290 bytes", None, None),
    ] {
        assert_eq!(Refusal::in_error(message, status, noon()), expected, "{message}");
    }
}

#[test]
fn an_exit_code_may_encode_an_http_status() {
    assert_eq!(Refusal::of_exit_code(173), Some(Refusal::Later(None)));
    assert_eq!(Refusal::of_exit_code(145), Some(Refusal::Key));
    for code in [0, 1, 2, 53, 126, 127, 130, 143] {
        assert_eq!(Refusal::of_exit_code(code), None, "{code}");
    }
}

#[test]
fn after_success_a_refusal_must_be_the_whole_message() {
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
        assert_eq!(Refusal::alone(text, noon()).is_some(), is_limit, "{text}");
    }
}

#[test]
fn other_failures_are_not_refusals() {
    for text in [
        "",
        "error: limit must be positive",
        "tests failed",
        "no such file",
        "API Error: 400 the prompt is malformed",
        "You've hit your stride",
        "test_throttle - AssertionError: rate limit exceeded",
        "rate limit exceeded",
        "E   Exception: usage limit reached",
        "assert 'Claude AI usage limit reached' in banner",
        "expected: weekly limit reached, resets at 12am",
        "Claude AI usage limit reached|1794830400\nFAILED test_banner.py::test_text",
        "FAILED tests/test_api.py::test_429 - quota exceeded",
        "disk quota exceeded",
    ] {
        assert_eq!(Refusal::at_the_end(text, noon()), None, "{text}");
    }
}
