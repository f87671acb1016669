//! Verdicts on the recorded and the written test runs must reach the required rates.

use std::io;

use ralph_core::verdict::{Kind, Run, Verdict, judge};
use test_support::test_runs::{self, Case, Score, cut_by_client};

fn recorded() -> io::Result<Vec<Case>> {
    test_runs::load(&test_runs::recorded())
}

fn recorded_later() -> io::Result<Vec<Case>> {
    test_runs::load(&test_runs::recorded_later())
}

fn written() -> io::Result<Vec<Case>> {
    test_runs::load(&test_runs::written())
}

fn all() -> io::Result<Vec<Case>> {
    Ok([recorded()?, recorded_later()?, written()?].concat())
}

fn run_of<'a>(case: &'a Case, command: &'a str) -> Run<'a> {
    Run { command, exit_code: Some(case.exit_code), output: &case.output, ..Run::default() }
}

fn verdict_on(case: &Case) -> Verdict {
    judge(&run_of(case, &case.command))
}

fn score(cases: &[Case]) -> Score {
    let mut score = Score::default();
    for case in cases {
        score.add(case, verdict_on(case).kind.name());
    }
    score
}

#[track_caller]
fn reaches(cases: &[Case], least: usize, recall: f64, precision: f64, others: f64) {
    let score = score(cases);
    assert!(score.total() >= least, "only {} cases found", score.total());
    assert!(score.recall("failed") >= recall, "{:?}", score.misses);
    assert!(score.precision("failed") >= precision, "{:?}", score.misses);
    for kind in ["passed", "errored", "no-tests", "not-a-test"] {
        assert!(score.recall(kind) >= others, "{kind}: {:?}", score.misses);
    }
}

#[test]
fn verdicts_on_recorded_runs_reach_the_required_rates() -> io::Result<()> {
    reaches(&recorded()?, 518, 0.99, 0.995, 0.95);
    reaches(&recorded_later()?, 217, 0.98, 0.985, 0.93);
    Ok(())
}

#[test]
fn verdicts_on_written_runs_reach_the_required_rates() -> io::Result<()> {
    reaches(&written()?, 200, 0.93, 0.97, 0.90);
    Ok(())
}

#[test]
fn each_rule_of_the_policy_is_applied() {
    let check = |command, exit_code, output, kind| {
        let run = Run { command, exit_code: Some(exit_code), output, ..Run::default() };
        assert_eq!(judge(&run).kind, kind, "{command}");
    };
    check("ls", 0, "", Kind::NotATest);
    check("pytest", 5, "", Kind::NoTests);
    check("pytest", 0, "2 passed in 0.1s\n", Kind::Passed);
    check("npm test", 1, "x\n  1 failing\n", Kind::Failed);
    check("npm test", 1, "", Kind::Failed);
    check("go test", 1, "FAIL\tx [build failed]\n", Kind::Errored);
    check("npx jest", 1, "No tests found\n", Kind::NoTests);
    check("pytest | tail -1", 0, "1 failed in 0.1s\n", Kind::Failed);
    check("mvn test | tail", 0, "[INFO] BUILD SUCCESS\n", Kind::Passed);
    check("pytest | tail -1", 0, "", Kind::NotATest);
}

#[test]
fn other_commands_never_count_as_failed_tests() -> io::Result<()> {
    for case in all()?.into_iter().filter(|case| case.group == "nontest") {
        assert_ne!(verdict_on(&case).kind, Kind::Failed, "{}", case.name);
    }
    Ok(())
}

#[test]
fn output_cut_by_the_client_gets_the_same_verdict() -> io::Result<()> {
    for case in all()?.into_iter() {
        let (output, end, cut) = cut_by_client(&case);
        let run = Run { output: &output, end: end.as_deref(), cut, ..run_of(&case, &case.command) };
        assert_eq!(judge(&run).kind, verdict_on(&case).kind, "{}", case.name);
    }
    Ok(())
}

/// Puts so much harmless output before a run that the client cuts off the summary.
fn behind_a_long_log(case: &Case) -> Case {
    let log = "2026-01-10 10:00:00 request served\n".repeat(1_000);
    Case { output: format!("{log}{}", case.output), ..case.clone() }
}

#[test]
fn a_long_run_with_exit_code_zero_is_judged_by_the_end_of_its_file() -> io::Result<()> {
    for case in recorded()?.iter().filter(|case| case.exit_code == 0 && case.label == "failed") {
        let long = behind_a_long_log(case);
        let (output, end, cut) = cut_by_client(&long);
        let run = Run { output: &output, end: end.as_deref(), cut, ..run_of(case, &case.command) };
        assert_eq!(judge(&run).kind, verdict_on(case).kind, "{}", case.name);
    }
    Ok(())
}

#[test]
fn a_long_failing_run_is_judged_by_its_exit_code() -> io::Result<()> {
    let cases = recorded()?;
    let failing = cases.iter().filter(|case| case.exit_code != 0 && case.label == "failed");
    let (mut kept, mut all) = (0, 0);
    for case in failing {
        let long = behind_a_long_log(case);
        let (output, end, cut) = cut_by_client(&long);
        assert!(cut && end.is_none(), "{}", case.name);
        let run = Run { output: &output, cut, ..run_of(case, &case.command) };
        all += 1;
        kept += usize::from(judge(&run).kind == Kind::Failed);
    }
    // The exit code of a commit hook, or of a script without a test name, is not a verdict.
    assert!(kept * 100 >= all * 97, "{kept} of {all}");
    Ok(())
}

#[test]
fn colours_do_not_change_the_verdict() -> io::Result<()> {
    for case in recorded()?.iter().filter(|case| case.group != "nontest") {
        let coloured: String = case
            .output
            .split_inclusive('\n')
            .map(|line| format!("\u{1b}[1;31m{}\u{1b}[0m\n", line.trim_end_matches('\n')))
            .collect();
        let run = Run { output: &coloured, ..run_of(case, &case.command) };
        assert_eq!(judge(&run).kind, verdict_on(case).kind, "{}", case.name);
    }
    Ok(())
}

#[test]
fn configured_commands_are_test_runs() {
    let own = ["./verify --fast".to_owned()];
    let run = Run { command: "cd app && ./verify --fast -x", exit_code: Some(1), ..Run::default() };
    assert_eq!(judge(&run).kind, Kind::NotATest);
    assert_eq!(judge(&Run { test_commands: &own, ..run }).kind, Kind::Failed);
}
