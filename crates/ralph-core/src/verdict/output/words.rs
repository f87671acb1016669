//! The vocabulary of test summaries: which words name an outcome, which name what is counted, and
//! which may stand between them. Lines with any other word are not read as summaries.

/// What became of the tests that a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    Errored,
    Skipped,
    /// Failures that were announced as such, and warnings: neither good nor bad.
    Neutral,
    /// How many there are or ran, whatever became of them.
    Total,
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Test,
    /// Files, suites, features: several tests each.
    Suite,
    /// Assertions and steps: several to a test.
    Assertion,
}

/// One word of a summary, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Outcome(Outcome),
    Unit(Unit),
    /// Turns a failure into an expected one.
    Expected,
    /// `no tests`, `no errors`: a zero.
    Zero,
    /// Announces what is about to run; such a line tells no outcome.
    Announcement,
    Filler,
}

/// Words that say nothing and may stand in any summary.
#[rustfmt::skip]
const FILLERS: &[&str] = &[
    "unexpected", "unexpectedly",
    "in", "of", "and", "with", "out", "time", "seconds", "second", "secs", "sec", "s", "ms", "m",
    "us", "ns", "min", "mins", "minutes", "minute", "took", "finished", "duration", "elapsed",
    "result", "results", "summary", "status", "all", "some", "the", "were", "was", "been", "have",
    "has", "had", "there", "by", "from", "to", "at", "for", "listed", "below", "filtered", "real",
    "estimated", "done", "wallclock", "usr", "sys", "cusr", "csys", "cpu", "including", "only",
    "as", "is", "are", "a", "after", "overall", "synthesis", "containing", "occurred", "outside",
    "detected", "number", "locally", "remotely", "cached", "public", "private", "but", "testing",
    "final", "finally", "seed", "randomized", "across", "n", "not", "matched", "wall", "clock",
    "hours", "hour", "h", "d", "them", "which", "calls", "per", "rate", "these", "following", "on",
    "average", "avg", "code", "exit", "it", "you", "report", "end", "yet", "be", "entire", "full",
    "slow", "slowest", "type", "spent", "unit", "integration", "e", "outcome",
];

/// Looks a lower-case word up; `None` means that it has no place in a summary.
pub(crate) fn meaning(word: &str) -> Option<Meaning> {
    use Meaning as M;
    use Outcome as O;
    Some(match word {
        "passed" | "pass" | "passes" | "passing" | "ok" | "succeeded" | "succeeds" | "success"
        | "successes" | "successful" | "successfully" | "succeed" | "oks" | "fine" | "passings" => {
            M::Outcome(O::Passed)
        }
        "failed" | "fail" | "fails" | "failing" | "failure" | "failures" | "broken" | "crashed"
        | "crashes" | "crashing" | "crash" | "timeout" | "timeouts" | "timedout" | "nok"
        | "unsuccessful" | "issue" | "issues" | "interrupted" | "mismatched" | "oops"
        | "killed" | "failings" | "defects" | "undefined" => M::Outcome(O::Failed),
        "error" | "errors" | "errored" | "exception" | "exceptions" | "erroneous" => {
            M::Outcome(O::Errored)
        }
        "skipped" | "skip" | "skips" | "pending" | "pendings" | "ignored" | "ignore" | "todo"
        | "todos" | "disabled" | "deselected" | "inconclusive" | "notrun" | "cancelled"
        | "canceled" | "cancel" | "omitted" | "omissions" | "omission" | "unimplemented"
        | "inactive" | "incomplete" | "blacklisted" | "aborted" | "unsupported" | "untested"
        | "unresolved" | "excluded" | "assumption" | "interrupt" | "suspended" => {
            M::Outcome(O::Skipped)
        }
        "xfail" | "xfailed" | "xfails" | "xpass" | "xpassed" | "xpasses" | "warn" | "warning"
        | "warnings" | "deprecations" | "deprecation" | "notices" | "notice" | "notifications"
        | "notification" | "risky" | "flaky" | "rerun" | "reruns" | "retries" | "obsolete"
        | "written" | "updated" | "measured" | "snapshots" | "snapshot" | "missed" | "inserted" => {
            M::Outcome(O::Neutral)
        }
        "total" | "totals" | "ran" | "run" | "executed" | "completed" | "complete" | "tested"
        | "tried" | "started" | "count" | "counts" | "encountered" | "found" | "selected"
        | "collected" | "discovered" | "did" => M::Outcome(O::Total),
        "tests" | "test" | "examples" | "example" | "specs" | "spec" | "scenarios" | "scenario"
        | "cases" | "case" | "testcases" | "testcase" | "items" | "item" | "checks" | "check"
        | "subtests" | "subtest" | "runs" | "tcs" | "doctests" | "doctest" | "unittests"
        | "properties" | "property" | "specifications" | "specification" | "facts" | "its"
        | "methods" => M::Unit(Unit::Test),
        "suites" | "suite" | "files" | "file" | "features" | "feature" | "containers"
        | "container" | "classes" | "class" | "modules" | "module" | "fixtures" | "fixture"
        | "charts" | "chart" | "testsuites" | "testsuite" | "packages" | "package" | "targets"
        | "target" | "binaries" | "binary" | "contracts" | "groups" | "group" | "platforms"
        | "platform" | "rules" | "rule" | "specfiles" | "sessions" | "session" | "jobs" | "job" => {
            M::Unit(Unit::Suite)
        }
        "assertions" | "assertion" | "steps" | "step" | "expectations" | "expectation"
        | "asserts" | "assert" | "expects" | "expect" | "conditions" | "requirements"
        | "requirement" | "requests" | "request" => M::Unit(Unit::Assertion),
        "expected" | "expectedly" | "known" => M::Expected,
        "no" | "none" => M::Zero,
        "running" | "starting" | "collecting" | "executing" | "discovering" | "rerunning"
        | "loading" | "planned" | "plan" | "scheduled" => M::Announcement,
        word if FILLERS.contains(&word) => M::Filler,
        _ => return None,
    })
}
