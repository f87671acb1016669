//! The last test run, where the agent's output says more about it than its hooks are told.

use client::Seen;
use ralph_base::state::LastVerdict;
use ralph_core::verdict::{Kind, Run, judge};

/// The last test run by the exit codes in the agent's output; what the hooks saw counts where it has none.
pub(crate) fn last_test_run(
    seen: &Seen,
    test_commands: &[String],
    by_hooks: Option<LastVerdict>,
) -> Option<LastVerdict> {
    let mut judged = seen.calls.ran.iter().rev().filter(|ran| ran.exit_code.is_some()).map(|ran| {
        let (command, exit_code, output) =
            (ran.command.as_str(), ran.exit_code, ran.output.as_str());
        (ran, judge(&Run { command, exit_code, output, test_commands, ..Run::default() }))
    });
    let Some((ran, verdict)) = judged.find(|(_, verdict)| verdict.kind != Kind::NotATest) else {
        return by_hooks;
    };
    if verdict.kind != Kind::Failed {
        return None;
    }
    let same = by_hooks.filter(|last| last.verdict == Kind::Failed.name());
    Some(same.unwrap_or_else(|| LastVerdict {
        verdict: Kind::Failed.name().to_owned(),
        command: ran.command.clone(),
        runner: verdict.runner.map(str::to_owned),
        what: verdict.what_failed(&ran.output).unwrap_or_default(),
        tests: verdict.failing,
        ..LastVerdict::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(runs: &[(&str, i32, &str)]) -> Seen {
        let mut seen = Seen::default();
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
    fn a_failing_run_is_never_called_passed() {
        let verdict = |runs: &[(&str, i32, &str)], by_hooks: Option<&str>| {
            let by_hooks = by_hooks.map(|verdict| LastVerdict {
                verdict: verdict.to_owned(),
                ..LastVerdict::default()
            });
            last_test_run(&seen(runs), &[], by_hooks).map(|last| last.verdict)
        };
        let (failed, passed) = (("pytest", 1, "1 failed, 2 passed"), ("pytest", 0, "3 passed"));
        // By the output alone it would have passed.
        let uncovered = ("pytest --cov-fail-under=90", 1, "3 passed");
        let failed_before = Some("failed");
        assert_eq!(verdict(&[passed, failed], None).as_deref(), Some("failed"));
        assert_eq!(verdict(&[uncovered], None).as_deref(), Some("failed"));
        assert_eq!(verdict(&[failed, passed, ("ls", 0, "")], failed_before), None);
        assert_eq!(verdict(&[("ls", 1, "")], failed_before).as_deref(), Some("failed"));
    }
}
