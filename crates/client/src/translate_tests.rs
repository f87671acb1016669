//! Recorded output of other agents, read like that of Claude Code.

use test_support::fixtures;

use crate::count::{SessionSoFar, Totals};
use crate::{Readable, Stream};

fn lines(name: &str) -> Vec<String> {
    let path = fixtures().join(format!("other-agents/streams/{name}.jsonl"));
    let text = fs_err::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn seen(name: &str, earlier: Totals) -> Stream {
    let mut seen = Stream::of_agent_in("/home/dev/proj", earlier);
    lines(name).iter().for_each(|line| seen.line(line.as_bytes()));
    seen
}

const GEMINI: &str = "run_shell_command: echo hi; exit 3|write_file: b.txt|replace: a.txt";
const COPILOT: &str = "bash: echo hi; exit 3|create: b.txt|edit: a.txt";
const OPENCODE: &str = "bash: echo hi; exit 3|write|edit";

#[test]
fn every_stream_yields_session_calls_tokens_and_final_message() {
    for (name, session, calls, exits, tokens, cost) in [
        ("codex-success", "01a1e9a7", "Bash: echo hi; pwd; exit 3|Edit: a.txt", "3", 4080, None),
        ("gemini-success", "f87a886e", GEMINI, "", 9180, None),
        ("qwen-success", "edaac319", "run_shell_command: echo hi; exit 3", "", 2040, None),
        ("copilot-success", "10fd2d7c", COPILOT, "3", 0, None),
        ("opencode-success", "ses_e165", OPENCODE, "3", 4080, Some(0.00416)),
        ("droid-success", "d7337451", "Execute: echo ran > ran.txt; exit 3", "3", 2040, None),
        ("kimi-success", "session_", "Bash: echo ran > ran.txt; exit 3", "3", 0, None),
    ] {
        let seen = seen(name, Totals::default());
        let found = seen.session.clone().unwrap_or_default();
        assert!(found.starts_with(session), "{name}: {found}");
        assert_eq!(seen.calls.since(0).collect::<Vec<_>>().join("|"), calls, "{name}");
        let ended = seen.calls.ended.iter().filter_map(|ran| ran.exit_code);
        let ended: Vec<String> = ended.map(|code| code.to_string()).collect();
        assert_eq!(ended.join(" "), exits, "{name}");
        assert_eq!(seen.tokens, tokens, "{name}");
        let cents = |cost: f64| (cost * 100_000.0).round();
        assert_eq!(seen.cost_usd.map(cents), cost.map(cents), "{name}");
        let verdict = seen.verdict.map(|verdict| (verdict.is_error, verdict.text));
        let said = verdict.unwrap_or((false, seen.said.text.trim().to_owned()));
        assert_eq!(said, (false, "done".to_owned()), "{name}");
    }
}

#[test]
fn tokens_of_a_resumed_session_are_counted_once() {
    let earlier = "s 1020 0".parse::<SessionSoFar>().unwrap().totals;
    let resumed = seen("codex-resume", earlier);
    assert_eq!((resumed.tokens, resumed.totals().tokens), (1020, 2040));
    assert_eq!(seen("codex-resume", Totals::default()).tokens, 2040);
}

#[test]
fn logs_of_other_agents_are_readable() {
    let mut readable = Readable::default();
    let shown: Vec<String> =
        lines("codex-success").iter().flat_map(|line| readable.lines(line.as_bytes())).collect();
    let expected = [
        "session 01a1e9a7-b1a2-7a10-b0fb-161ae83e85c3 (unknown model)",
        "> Bash: echo hi; pwd; exit 3",
        "  ! hi",
        "  ! /home/dev/proj",
        "> Edit: /home/dev/proj/a.txt",
        "done",
        "= success",
    ];
    assert_eq!(shown, expected);
}
