//! Test runs about which the agent's output says more than its hooks learn.

use client::{Ran, Stream};
use ralph_base::state::LastVerdict;
use ralph_core::verdict::{Kind, Run, Verdict, judge};

/// The verdict on a command in the agent's output; `None` if it runs no tests.
pub(crate) fn test_run(ran: &Ran, test_commands: &[String]) -> Option<Verdict> {
    let Ran { command, exit_code, output, .. } = ran;
    let run = Run { command, exit_code: *exit_code, output, test_commands, ..Run::default() };
    Some(judge(&run)).filter(|verdict| verdict.kind != Kind::NotATest)
}

/// The last test run by exit codes in the agent's output; where those are missing, the hooks' verdict.
pub(crate) fn last_test_run(
    seen: &Stream,
    test_commands: &[String],
    by_hooks: Option<LastVerdict>,
) -> Option<LastVerdict> {
    // A run that proves nothing does not clear a failure.
    let proven = |ran| test_run(ran, test_commands).filter(|found| found.kind != Kind::Unknown);
    let mut runs = seen.calls.ended.iter().rev();
    let Some((ran, verdict)) = runs.find_map(|ran| Some((ran, proven(ran)?))) else {
        return by_hooks;
    };
    if verdict.kind != Kind::Failed {
        return None;
    }
    let same = by_hooks.filter(|last| last.verdict == Kind::Failed.name());
    Some(same.unwrap_or_else(|| verdict.as_last(&ran.command, &ran.output, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(runs: &[(&str, i32, &str)]) -> Stream {
        let mut seen = Stream::default();
        for (at, (command, code, output)) in runs.iter().enumerate() {
            let item = |kind: &str, rest: serde_json::Value| {
                let mut item = serde_json::json!({"type": kind, "item": rest});
                item["item"]["id"] = at.to_string().into();
                item["item"]["type"] = "command_execution".into();
                item.to_string()
            };
            let begun = serde_json::json!({"command": format!("/bin/bash -lc '{command}'")});
            seen.line(item("item.started", begun).as_bytes());
            let ended = serde_json::json!({"aggregated_output": output, "exit_code": code});
            seen.line(item("item.completed", ended).as_bytes());
        }
        seen
    }

    #[test]
    fn a_failing_test_run_is_never_reported_as_passed() {
        let verdict = |runs: &[(&str, i32, &str)], by_hooks: Option<&str>| {
            let by_hooks = by_hooks.map(|verdict| LastVerdict {
                verdict: verdict.to_owned(),
                ..LastVerdict::default()
            });
            last_test_run(&seen(runs), &[], by_hooks).map(|last| last.verdict)
        };
        let (failed, passed) = (("pytest", 1, "1 failed, 2 passed"), ("pytest", 0, "3 passed"));
        // The output alone looks like a pass.
        let uncovered = ("pytest --cov-fail-under=90", 1, "3 passed");
        let failed_before = Some("failed");
        assert_eq!(verdict(&[passed, failed], None).as_deref(), Some("failed"));
        assert_eq!(verdict(&[uncovered], None).as_deref(), Some("failed"));
        assert_eq!(verdict(&[failed, passed, ("ls", 0, "")], failed_before), None);
        assert_eq!(verdict(&[("ls", 1, "")], failed_before).as_deref(), Some("failed"));
    }
}
