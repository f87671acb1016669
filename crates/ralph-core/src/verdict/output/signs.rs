//! What single lines give away where no summary counts anything: that a file could not be loaded,
//! that there was nothing to run, that a threshold was missed.
//!
//! Words rank below counts and exit codes. The shorter a text here and the more common in logs,
//! the more it can mislead; adding one is adding it to a list.

use std::sync::LazyLock;

use super::search::{Sieve, holds};

/// Messages of compilers, loaders and package tools that stop a run before its tests.
const NOT_LOADED: &str = "error[e|: error: |) error: |could not compile|could not be compiled|failed to compile|compilation failed|\
     compilation failure|compilation error|compile error|aborted due to compilation|\
     compilation terminated|error while compiling|error while loading|error compiling|compileerror|\
     == compilation error|[build failed]|error: build failed|** build failed|[setup failed]|ninja: build stopped|ninja: error:|\
     undefined reference to|undefined symbols for|cannot find symbol|was not found in this scope|\
     syntaxerror|syntax error|parse error:|parse error at|error in parse(|parseerror|indentationerror|tokenmissingerror|\
     mismatcheddelimiter|unexpected end of file|===sorry!===|unbound value|unbound module|\
     nbound variable|unbound identifier|naming error|type mismatch|type error)|error ts|error cs|\
     error fs|importerror|modulenotfounderror|no module named|loaderror|load error|\
     cannot find module|cannot find package|module not found|err_module_not_found|can't resolve '|\
     could not resolve|failed to resolve import|failed to import|failed to load|unable to load|\
     could not load|cannot load such file|could not find or load|uninitialized constant|\
     error occurred while loading|occurred outside of examples|error collecting|\
     test suite failed to run|during collection|failed to parse|invalid js syntax|\
     php fatal error|no required module|no such package|no such target|no such command|\
     no such subcommand|no test target|no bin target|no example target|package id specification|\
     no rule to make target|missing script|couldn't find a script|script not found|\
     does not contain recipe|missing target|unrecognized argument|unrecognized option|\
     unexpected argument|unknown option|invalid option|usage error|error: usage|\
     file or directory not found|could not open input file|is not recognized as|internalerror|\
     fatal error: |rake aborted!|\
     failed to load command|could not find gem|no matching distribution|lua: cannot open";

/// Marks of a test in the report that stands for a file which could not be loaded.
const LOADER: &str = "_failedtest|moduleimportfailure|***not run|no plan found in tap output|\
     file failed to load|error collecting|test suite failed to run";

/// How a message of any other error begins, in lower case.
const ERROR_STARTS: &str =
    "error|fatal|exception|traceback|uncaught|unhandled|e: |[error]|execution error|panic";

/// What any other error may be told with.
const ERROR: &str = "error:|error [|error in |fatal:|not found|does not exist|could not |cannot |can't |\
     can not |unable to |no such |not running|no makefile found|not defined";

/// Lines of failed checks, and the exit codes that package managers report.
const NO_ERROR: &str = "assert|expect|exit code|exited with|exited (|failed with error|with error code|npm err|\
     lerna err|command failed|failed:|error: recipe|run failed";

/// Crashes and time limits: tests were running.
const CRASHED: &str = "sanitizer|runtime error|segmentation|core dumped|stack overflow|timed out|timeout|sigsegv|\
     sigabrt|panicked at";

/// How lines of single tests begin, whether they passed or not.
const BEGUN: &str =
    "✓|✔|√|✕|✗|✘|✖|×|ok |not ok |PASS|FAIL|[OK]|[FAIL|[PASS|--- |[ RUN|E  |=== FAILURES";

/// How lines begin that are printed for failed tests and never otherwise.
const FAILED: &str = "> There were failing tests|[ERROR] There are test failures|There are test failures|\
     error: test failed, to rerun|error: doctest failed, to rerun|The following tests FAILED:|\
     Failed examples:|npm error Test failed|npm ERR! Test failed";

/// How the end of a build begins that includes the tests and succeeded.
const SUCCESS: &str =
    "*** No errors detected|BUILD SUCCESSFUL|[INFO] BUILD SUCCESS|[success] Total time";

/// What is said where no test was found or ran.
const NOTHING: &str = "find any test|match any test|contains no test|result: notests|nothing to test|\
     test suite empty|no tasks were run|0 test files|collected 0 |running 0 test|ran 0 test|\
     ran 0 spec|ran 0 of 0|found 0 test|executed 0 test|executed 0 of 0|discovered 0 ";

/// The same, unless it goes on with good news or is the end of another word.
const NONE: &str =
    "no test|no spec|no example|no scenario|no feature|no matching test|no failed test";

/// Steps that had nothing to do; that says nothing of the others.
const IDLE: &str = "nothing to be done for|no-source";

const POLICY: &str = "coverage|thresholds on metrics|snapshot obsolete";

static LISTS: LazyLock<Sieve<9>> = LazyLock::new(|| {
    Sieve::new([NOT_LOADED, LOADER, ERROR, NO_ERROR, CRASHED, NOTHING, NONE, IDLE, POLICY])
});

/// The first line of each kind.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Signs<'a> {
    /// A compile, import or start-up error.
    pub(crate) not_loaded: Option<&'a str>,
    /// Files that could not be loaded, in the form of failed tests.
    pub(crate) loader: Option<&'a str>,
    pub(crate) loader_failures: u64,
    /// Some error is spoken of, and nothing that shows that tests had begun.
    pub(crate) error: Option<&'a str>,
    /// The runner says that it found or ran no test.
    pub(crate) nothing: Option<&'a str>,
    pub(crate) idle: Option<&'a str>,
    /// A threshold was missed although the tests passed.
    pub(crate) policy: Option<&'a str>,
    /// A build that includes the tests succeeded.
    pub(crate) success: Option<&'a str>,
    /// A line that is printed only when tests failed.
    pub(crate) failed: Option<&'a str>,
    /// A test task of gradle had something to do.
    pub(crate) tested: bool,
    begun: bool,
    lines: usize,
}

/// A message that stops a run before its first test is soon said.
const SHORT: usize = 40;

impl<'a> Signs<'a> {
    pub(crate) fn of(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut signs = Self::default();
        lines.for_each(|line| signs.push(line));
        if signs.begun || signs.lines > SHORT {
            signs.error = None;
        }
        signs
    }

    fn push(&mut self, line: &'a str) {
        let text = line.trim();
        // Longer lines are data, not messages.
        let text = text.get(..text.floor_char_boundary(400)).unwrap_or_default();
        if text.is_empty() {
            return;
        }
        self.lines += 1;
        let note = |sign: &mut Option<&'a str>, is: bool| {
            if is && sign.is_none() {
                *sign = Some(text);
            }
        };
        let [not_loaded, loader, error, no_error, crashed, nothing, none, idle, policy] =
            LISTS.catches(text);
        // Some say it twice, once while they run.
        let again = holds(text, "No plan found") || text.ends_with("... ERROR");
        self.loader_failures += u64::from(loader && !again);
        note(&mut self.loader, loader);
        note(&mut self.not_loaded, not_loaded);
        // XCTest says so as well where all tests are those of another framework.
        let nothing = nothing && !holds(text, ", with 0 failures");
        note(&mut self.nothing, nothing || (none && is_none(text)));
        note(&mut self.idle, idle);
        self.tested |= text.starts_with("> Task :") && text.ends_with("est");
        note(&mut self.policy, policy && is_policy(&text.to_ascii_lowercase()));
        note(&mut self.error, is_error(text, error, no_error));
        note(&mut self.success, begins(text, SUCCESS));
        note(&mut self.failed, begins(text, FAILED) || is_named(text));
        self.begun |= crashed || begins(text, BEGUN);
    }
}

fn begins(text: &str, starts: &str) -> bool {
    starts.split('|').any(|start| text.starts_with(start))
}

/// `FAILED tests/test_cart.py::test_discount - assert …`, `rspec ./spec/calc_spec.rb:9 # adds`,
/// `[junit] Test CalcTest FAILED`
fn is_named(text: &str) -> bool {
    text.strip_prefix("FAILED ").is_some_and(|rest| holds(rest, "::"))
        || (text.starts_with("rspec ./") && holds(text, " # "))
        || (text.starts_with("[junit] Test ") && text.ends_with(" FAILED"))
}

/// Any other message of an error; assertions are failures, not errors.
fn is_error(text: &str, error: bool, no_error: bool) -> bool {
    let lower = text.get(..text.floor_char_boundary(20)).unwrap_or_default().to_ascii_lowercase();
    let starts = begins(&lower, ERROR_STARTS);
    // So begins the message of a compiler, whatever it expected.
    let compiler = text.starts_with("error: ") && !holds(text, " failed");
    compiler || ((starts || error) && !no_error)
}

/// `No tests found`, `no test modules found`; but `no tests failed` is good news.
fn is_none(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    NONE.split('|').filter_map(|none| lower.split_once(none)).any(|(before, behind)| {
        let near = behind.get(..behind.floor_char_boundary(12)).unwrap_or_default();
        !before.ends_with(|c: char| c.is_alphanumeric())
            && !near.contains("fail")
            && !near.contains("error")
    })
}

fn is_policy(lower: &str) -> bool {
    let missed = ["does not meet", "fail-under", "not reached", "threshold", "below", "obsolete"];
    missed.iter().any(|word| holds(lower, word))
}
