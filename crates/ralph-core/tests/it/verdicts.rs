//! Verdicts on the recorded and the written test runs must reach the required rates.

use camino::Utf8Path;
use ralph_core::verdict::{Kind, Run, Verdict, judge};
use test_support::test_runs::{self, Case, Score, cut_by_client, load};

fn recorded() -> Vec<Case> {
    load(&test_runs::recorded()).unwrap()
}

fn all() -> Vec<Case> {
    let folders = [test_runs::recorded(), test_runs::recorded_later(), test_runs::written()];
    folders.iter().flat_map(|folder| load(folder).unwrap()).collect()
}

fn run_of(case: &Case) -> Run<'_> {
    let (command, output) = (&case.command, &case.output);
    Run { command, exit_code: Some(case.exit_code), output, ..Run::default() }
}

fn verdict_on(case: &Case) -> Verdict {
    judge(&run_of(case))
}

#[track_caller]
fn reaches(folder: &Utf8Path, least: usize, recall: f64, precision: f64, others: f64) {
    let mut score = Score::default();
    for case in load(folder).unwrap() {
        score.add(&case, verdict_on(&case).kind.name());
    }
    assert!(score.total() >= least, "only {} cases found", score.total());
    assert!(score.recall("failed") >= recall, "{:?}", score.misses);
    assert!(score.precision("failed") >= precision, "{:?}", score.misses);
    for kind in ["passed", "errored", "no-tests", "not-a-test"] {
        assert!(score.recall(kind) >= others, "{kind}: {:?}", score.misses);
    }
}

#[test]
fn verdicts_on_recorded_and_written_runs_reach_the_required_rates() {
    reaches(&test_runs::recorded(), 518, 0.99, 0.995, 0.95);
    reaches(&test_runs::recorded_later(), 217, 0.98, 0.985, 0.93);
    reaches(&test_runs::written(), 200, 0.93, 0.97, 0.90);
}

#[test]
fn other_commands_never_count_as_failed_tests() {
    for case in all().into_iter().filter(|case| case.group == "nontest") {
        assert_ne!(verdict_on(&case).kind, Kind::Failed, "{}", case.name);
    }
}

#[test]
fn output_cut_by_the_client_gets_the_same_verdict() {
    for case in all() {
        let (output, end, cut) = cut_by_client(&case);
        let run = Run { output: &output, end: end.as_deref(), cut, ..run_of(&case) };
        assert_eq!(judge(&run).kind, verdict_on(&case).kind, "{}", case.name);
    }
}

/// Puts so much harmless output before a run that the client cuts off the summary.
fn behind_a_long_log(case: &Case) -> Case {
    let log = "2026-01-10 10:00:00 request served\n".repeat(1_000);
    Case { output: format!("{log}{}", case.output), ..case.clone() }
}

#[test]
fn a_long_run_with_exit_code_zero_is_judged_by_the_end_of_its_file() {
    for case in recorded().iter().filter(|case| case.exit_code == 0 && case.label == "failed") {
        let (output, end, cut) = cut_by_client(&behind_a_long_log(case));
        let run = Run { output: &output, end: end.as_deref(), cut, ..run_of(case) };
        assert_eq!(judge(&run).kind, verdict_on(case).kind, "{}", case.name);
    }
}

#[test]
fn a_long_failing_run_is_judged_by_its_exit_code() {
    let cases = recorded();
    let failing = cases.iter().filter(|case| case.exit_code != 0 && case.label == "failed");
    let (mut kept, mut all) = (0, 0);
    for case in failing {
        let (output, end, cut) = cut_by_client(&behind_a_long_log(case));
        assert!(cut && end.is_none(), "{}", case.name);
        let run = Run { output: &output, cut, ..run_of(case) };
        all += 1;
        kept += usize::from(judge(&run).kind == Kind::Failed);
    }
    // The exit code of a commit hook, or of a script without a test name, is not a verdict.
    assert!(kept * 100 >= all * 97, "{kept} of {all}");
}

#[test]
fn colours_do_not_change_the_verdict() {
    for case in recorded().iter().filter(|case| case.group != "nontest") {
        let coloured: String = case
            .output
            .split_inclusive('\n')
            .map(|line| format!("\u{1b}[1;31m{}\u{1b}[0m\n", line.trim_end_matches('\n')))
            .collect();
        let run = Run { output: &coloured, ..run_of(case) };
        assert_eq!(judge(&run).kind, verdict_on(case).kind, "{}", case.name);
    }
}

#[test]
fn configured_commands_are_test_runs() {
    let own = ["./verify --fast".to_owned()];
    let run = Run { command: "cd app && ./verify --fast -x", exit_code: Some(1), ..Run::default() };
    assert_eq!(judge(&run).kind, Kind::NotATest);
    assert_eq!(judge(&Run { test_commands: &own, ..run }).kind, Kind::Failed);
}
