//! The gates on the work itself: uncommitted changes, the last test run, the current story, and the
//! user's own checks.

use std::path::PathBuf;

use ralph_base::listing::counted;
use ralph_base::state::LastVerdict;
use ralph_core::guard::Glob;
use ralph_core::plan::{State, Story};

use super::unmet::{Unmet, first_of, quoted};
use crate::checks::Check;

/// How many names a reason shows.
const NAMED: usize = 5;

/// The gate on uncommitted changes: blocks an orchestrated session. Files are relative to the top
/// of the work tree, without our own.
pub fn uncommitted(changed: &[PathBuf]) -> Option<Unmet> {
    if changed.is_empty() {
        return None;
    }
    let names: Vec<String> =
        changed.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let count = counted(changed.len(), "file is", "files are");
    Some(Unmet {
        gate: "CHANGES",
        what: format!("{count} uncommitted: {}", first_of(&names, NAMED)),
        next: "commit what belongs to the task, and delete what does not".to_owned(),
    })
}

/// Returns the same as advice, for a session that may stop anyway.
pub fn uncommitted_advice(changed: &[PathBuf]) -> Option<String> {
    uncommitted(changed).map(|unmet| unmet.what)
}

/// The gate on the last test run: blocks while it failed.
pub fn last_verdict(last: &LastVerdict) -> Option<Unmet> {
    if last.verdict != "failed" || last.failed_before {
        return None;
    }
    let command = quoted(&last.command);
    let mut what = "the last test run failed".to_owned();
    if !command.is_empty() {
        what.push_str(&format!(" (`{command}`)"));
    }
    if !last.tests.is_empty() {
        what.push_str(&format!(": {}", first_of(&last.tests, NAMED)));
    }
    let again = if command.is_empty() { "the tests" } else { "it" };
    Some(Unmet { gate: "TESTS", what, next: format!("fix the cause and run {again} again") })
}

/// The gate on the current story: blocks while it is open and the agent did not report on it.
pub fn current_story(story: &Story, reported: bool) -> Option<Unmet> {
    if story.state != State::Open || reported {
        return None;
    }
    let id = quoted(&story.id);
    Some(Unmet {
        gate: "STORY",
        what: format!("story {id} ({}) is not done", quoted(&story.title)),
        next: format!(
            "finish it and run `ralph-loop complete {id} --status success --summary \"…\"`; if you \
             cannot finish it, explain why with `--status blocked`"
        ),
    })
}

/// How many lines of a check's output a reason shows.
const OUTPUT_LINES: usize = 30;

/// The name of the gate on the user's own checks.
pub const VERIFY: &str = "VERIFY";

/// The gate on the user's own checks: blocks while the last one that ran did not pass.
pub fn verify(checks: &[Check]) -> Option<Unmet> {
    let failed = checks.last().filter(|check| !check.passed())?;
    Some(Unmet {
        gate: VERIFY,
        what: format!(
            "`{}` {}; output:\n{}\n",
            quoted(&failed.name()),
            failed.verdict(),
            last_lines(&failed.output)
        ),
        next: "fix what it reports and run it again".to_owned(),
    })
}

/// Returns the end of an output, where runners summarise; very long lines are truncated.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let kept = lines.iter().skip(lines.len().saturating_sub(OUTPUT_LINES));
    kept.map(|line| line.chars().take(300).collect::<String>()).collect::<Vec<_>>().join("\n")
}

/// Returns whether an agent type matches one of the globs; an invalid glob matches nothing.
pub fn is_gated(agent_type: &str, globs: &[String]) -> bool {
    globs.iter().any(|glob| Glob::fits(glob, agent_type))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::checks::CheckEnd;
    use ralph_core::plan::{Options, Plan};

    fn in_words(unmet: Option<Unmet>) -> Option<String> {
        unmet.map(|unmet| unmet.to_string())
    }

    #[test]
    fn only_a_failed_test_run_blocks() {
        for verdict in ["passed", "errored", "no-tests", "not-a-test", ""] {
            let last = LastVerdict { verdict: verdict.into(), ..LastVerdict::default() };
            assert_eq!(last_verdict(&last), None, "{verdict}");
        }
        let bare = LastVerdict { verdict: "failed".into(), ..LastVerdict::default() };
        assert_eq!(
            in_words(last_verdict(&bare)).unwrap(),
            "TESTS gate failed: the last test run failed. Next: fix the cause and run the tests again."
        );
    }

    #[test]
    fn only_an_open_story_without_a_report_blocks() {
        let text = "- [ ] US-001: Log in\n- [x] US-002: Log out\n- [!] US-003: Reset\n";
        let plan = Plan::parse("plan.md".into(), text.into(), &Options::default()).unwrap();
        let story = |id| plan.story(id).unwrap();
        assert_eq!(current_story(story("US-001"), true), None);
        assert_eq!(current_story(story("US-002"), false), None);
        assert_eq!(current_story(story("US-003"), false), None);
        assert_eq!(
            in_words(current_story(story("US-001"), false)).unwrap(),
            "STORY gate failed: story US-001 (Log in) is not done. Next: finish it and run \
             `ralph-loop complete US-001 --status success --summary \"…\"`; if you cannot finish \
             it, explain why with `--status blocked`."
        );
    }

    #[test]
    fn a_failed_check_is_shown_with_the_end_of_its_output() {
        assert_eq!(verify(&[]), None);
        let output: String = (0..100).map(|n| format!("line {n}\n\n")).collect();
        let failed = Check::new("cargo test", CheckEnd::Exited(Some(101)), output, Duration::ZERO);
        let text = in_words(verify(&[failed])).unwrap();
        assert!(text.starts_with(
            "VERIFY gate failed: `cargo test` failed with exit code 101; output:\nline 70\n"
        ));
        assert!(text.ends_with("line 99\nNext: fix what it reports and run it again."), "{text}");
    }
}

#[cfg(test)]
mod subagents_tests {
    use super::*;

    #[test]
    fn agent_types_are_matched_as_a_whole() {
        let globs = ["ralph-*".to_owned(), "[".to_owned()];
        assert!(is_gated("ralph-coder", &globs));
        for other in ["general-purpose", "my-ralph-coder", "ralph", ""] {
            assert!(!is_gated(other, &globs), "{other}");
        }
    }
}
