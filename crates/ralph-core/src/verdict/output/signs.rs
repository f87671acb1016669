//! Signs that no test could run, that there was none, or that a rule other than a test was broken.
//! They are asked only where the summary and the exit code leave the question open.

/// What single lines give away.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Signs {
    /// A compile, import or start-up error.
    pub(crate) broken: bool,
    /// One of those that stop a whole file from being loaded.
    pub(crate) unloadable: bool,
    /// A loader reports tests that it could not import, in the form of failed tests.
    pub(crate) loader_failures: u64,
    /// Test scripts that ended before their plan, and scripts with points that failed.
    pub(crate) unplanned: u64,
    pub(crate) failed_points: u64,
    /// Some error is spoken of, and no assertion.
    pub(crate) error: bool,
    /// The runner says that it found or ran no test.
    pub(crate) no_tests: bool,
    /// A threshold was missed although the tests passed.
    pub(crate) policy: bool,
    /// A heading or closing line that some runners print only when tests failed.
    pub(crate) failing: bool,
}

impl Signs {
    /// Looks at the next line.
    pub(crate) fn push(&mut self, line: &str) {
        let text = line.trim();
        // Longer lines are data, not messages.
        let text = text.get(..text.floor_char_boundary(400)).unwrap_or_default();
        if text.is_empty() {
            return;
        }
        self.loader_failures += u64::from(is_loader_failure(text));
        self.unplanned += u64::from(text.contains("No plan found in TAP output"));
        self.failed_points += u64::from(text.starts_with("Failed test"));
        self.broken = self.broken || is_broken(text);
        self.unloadable = self.unloadable || UNLOADABLE.iter().any(|sign| text.contains(sign));
        self.failing = self.failing || FAILING.iter().any(|sign| text.starts_with(sign));
        if !self.no_tests || !self.policy {
            let lower = text.to_ascii_lowercase();
            self.no_tests = self.no_tests || is_no_tests(&lower);
            self.policy = self.policy || is_policy(&lower);
            self.error = self.error || is_error(&lower);
        }
    }
}

fn is_loader_failure(text: &str) -> bool {
    (text.starts_with("ERROR: ") || text.starts_with("Error in "))
        && (text.contains("_FailedTest") || text.contains("ModuleImportFailure"))
}

/// What is printed after failed tests and never otherwise.
const FAILING: &[&str] = &[
    "> There were failing tests",
    "[ERROR] There are test failures",
    "There are test failures",
    "error: test failed, to rerun",
    "error: doctest failed, to rerun",
    "error: test run failed",
    "[ELIFECYCLE] Test failed",
    "ELIFECYCLE  Test failed",
    "npm error Test failed",
    "npm ERR! Test failed",
    "The following tests FAILED:",
    "Failed examples:",
    "Failing scenarios:",
    "Errored scenarios:",
    "Test Summary Report",
    "# Looks like you failed ",
    "***Test Failed***",
    "ERROR: LoadError: Some tests did not pass",
    "ERROR: Some tests did not pass",
    "##teamcity[testFailed",
];

/// Messages that compilers, interpreters and package tools begin or end a line with.
const BROKEN_STARTS: &[&str] = &[
    "error[E",
    "error: could not compile",
    "error: no such command",
    "error: no such subcommand",
    "error: could not find",
    "error: failed to parse manifest",
    "error: unclosed",
    "error: could not",
    "Error: Cannot find module",
    "Error [ERR_MODULE_NOT_FOUND]",
    "Error: Failed to load",
    "Error: Could not find or load",
    "error: Cannot find module",
    "Cannot find module",
    "Could not find module",
    "Could not resolve",
    "Module not found",
    "SyntaxError",
    "IndentationError",
    "TabError",
    "ImportError",
    "ModuleNotFoundError",
    "E   ImportError",
    "E   ModuleNotFoundError",
    "E   SyntaxError",
    "LoadError",
    "NameError: uninitialized constant",
    "An error occurred while loading",
    "Exception during run:",
    "● Validation Error",
    "● Test suite failed to run",
    "Failed to import",
    "Error: Failed to import",
    "PHP Parse error",
    "PHP Fatal error",
    "Parse error:",
    "Fatal error: Uncaught",
    "** (CompileError)",
    "** (SyntaxError)",
    "** (TokenMissingError)",
    "** (MismatchedDelimiterError)",
    "** (UndefinedFunctionError)",
    "== Compilation error in file",
    "COMPILATION ERROR",
    "[ERROR] COMPILATION ERROR",
    "error: compilation failed",
    "Compilation failed",
    "compilation terminated",
    "error: Compilation failed",
    "error: build failed",
    "Build FAILED",
    "Build failed",
    "ninja: build stopped",
    "ninja: error:",
    "make: *** No rule to make target",
    "gmake: *** No rule to make target",
    "*** No rule to make target",
    "npm error Missing script",
    "npm ERR! Missing script",
    "npm error code E",
    "error Command \"",
    "ERR_PNPM_NO_SCRIPT",
    "Usage Error: Couldn't find a script",
    "error: Script not found",
    "ERROR: usage:",
    "Usage error:",
    "error: unrecognized",
    "error: unexpected argument",
    "error: Found argument",
    "error: Recipe",
    "error: Justfile does not contain recipe",
    "error: file or directory not found",
    "ERROR: file or directory not found",
    "ERROR: Could not find a version",
    "ERROR: No matching distribution",
    "ERROR: not found:",
    "INTERNALERROR",
    "Unable to find executable",
    "Could not find executable",
    "Parse errors: No plan found",
    "Error in parse(",
    "Error: Error in parse",
    "Parse error at",
    "lua: cannot open",
    "cannot open file",
    "cannot load such file",
    "rake aborted!",
    "bundler: failed to load command",
    "Could not find gem",
    "Error: could not find or load main class",
    "Error: Unable to access jarfile",
    "go: cannot find",
    "go: no required module",
    "go: errors parsing",
    "no required module provides",
    "can't load package",
    "package command-line-arguments",
    "Failed to compile",
    "error: package",
    "error: linking with",
    "undefined reference to",
    "collect2: error",
    "ld: ",
    "/usr/bin/ld:",
    "Error: Unable to compile",
    "Error while compiling",
    "Failed to parse",
    "Syntax error",
    "syntax error",
    "Parsing failed",
    "Compile error",
    "Compilation error",
    "Error: Compilation",
    "Error compiling",
    "HH600",
    "Compiler run failed",
    "could not load",
    "Fatal error: Can't",
    "ERROR collecting",
    "ERROR: LoadError",
    "ERROR: syntax",
    "fatal error: ",
    "fatal: ",
    "No module named",
    "Testing failed before",
];

/// What stops a test file before its first test.
const UNLOADABLE: &[&str] = &[
    "Cannot find module",
    "Cannot find package",
    "Can't resolve '",
    "Could not resolve",
    "SyntaxError",
    "ModuleNotFoundError",
    "ImportError",
    "Failed to resolve import",
    "Unhandled error between tests",
    "An uncaught error was detected outside of a test",
    "cannot load such file",
];

const BROKEN_PARTS: &[&str] = &[
    ": command not found",
    ": not found",
    ": fatal error: ",
    " aborted due to compilation errors",
    "[build failed]",
    "[setup failed]",
    ": error TS",
    " error CS",
    " error FS",
    " error VBC",
    ": No module named ",
    ": syntax error",
    ": Syntax error",
    ": SyntaxError",
    ": unexpected symbol",
    "unexpected end of file",
    "contains invalid JS syntax",
    "Failed to resolve import",
    "Cannot find package '",
    "error during collection",
    "errors during collection",
    "ERROR collecting ",
    "error occurred outside of examples",
    "errors occurred outside of examples",
    "cannot find symbol",
    "Compilation failure",
    ":compileTestJava FAILED",
    ":compileJava FAILED",
    ":compileTestKotlin FAILED",
    ":compileKotlin FAILED",
    ":compileTestGroovy FAILED",
    "Could not compile",
    "could not be compiled",
    "failed to compile",
    "Failed to compile",
    "Could not rebuild",
    "is not recognized as",
    "No such file or directory",
    "no such file or directory",
    "was not found in this scope",
    "Could not open input file",
    "Failed to load",
    "failed to load",
    "Unable to load",
    "cannot find package",
    "unrecognized arguments",
    "unknown option",
    "Unknown option",
    "unrecognized option",
    "invalid option",
    "Missing script:",
    "not found. Did you mean",
    "Undefined variable",
    "(Type error)",
    "Type checking failed",
    "TYPE MISMATCH",
    "NAMING ERROR",
    "Unbound value",
    "Unbound module",
    "Undefined symbols for architecture",
    "load error",
    "ParseError",
    "EOFError: ",
    "compilation failed",
    "Compilation error",
    "COMPILATION ERROR",
    "Missing target",
    "no such package",
    "no such target",
    "does not exist in the current directory",
    "Cannot find module '",
];

fn is_broken(text: &str) -> bool {
    BROKEN_STARTS.iter().any(|start| text.starts_with(start))
        || BROKEN_PARTS.iter().any(|part| text.contains(part))
        || is_compiler_message(text)
}

/// `file.c:6:27: error: …`, `Calc.java:5: error: …`, `calc.nim(3, 5) Error: …`
fn is_compiler_message(text: &str) -> bool {
    [": error: ", ": error[", ") Error: ", ": Error: ", ": error ", ": Error ", "- error: "]
        .iter()
        .any(|mark| {
            text.find(mark).is_some_and(|at| {
                let place = text.get(..at).unwrap_or_default();
                let numbered = place
                    .rsplit([':', ',', '(', '.', '-'])
                    .next()
                    .map(|number| number.trim_matches([' ', ')']))
                    .is_some_and(|number| {
                        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
                    });
                numbered && !place.contains(' ') || numbered && place.contains("(")
            })
        })
}

/// `No tests found`, `no test modules found`, `Ran 0 tests`; but `no tests failed` is good news.
fn is_no_tests(lower: &str) -> bool {
    let nouns = ["test", "spec", "example", "scenario", "feature", "matching test", "failed test"];
    let none = lower.match_indices("no ").any(|(at, _)| {
        let starts_word = lower.get(..at).is_none_or(|before| {
            before.is_empty() || !before.ends_with(|c: char| c.is_alphanumeric())
        });
        let rest = lower.get(at + 3..).unwrap_or_default();
        let behind = nouns.iter().find_map(|noun| rest.strip_prefix(noun));
        starts_word
            && behind.is_some_and(|behind| !behind.contains("fail") && !behind.contains("error"))
    });
    let zero =
        ["collected", "running", "ran", "found", "executed", "discovered"].iter().any(|verb| {
            lower.strip_prefix(verb).is_some_and(|rest| {
                let rest = rest.trim_start_matches([':', ' ']);
                ["0 test", "0 item", "0 spec", "0 of 0"].iter().any(|none| rest.starts_with(none))
            })
        });
    none || zero || NO_TESTS.iter().any(|phrase| lower.contains(phrase))
}

/// What is said in other words.
const NO_TESTS: &[&str] = &[
    "didn't find any test",
    "did not find any test",
    "could not find any test",
    "couldn't find any test",
    "not find any test",
    "contains no test",
    "result: notests",
    "nothing to test",
    "0 test files",
    "no-source",
    "test suite empty",
];

/// Any other message of an error; assertions are failures, not errors.
fn is_error(lower: &str) -> bool {
    const STARTS: &[&str] =
        &["error", "fatal", "exception", "traceback", "panic", "uncaught", "unhandled", "e: "];
    const PARTS: &[&str] = &[
        " error in ",
        "error:",
        "not found",
        "could not ",
        "cannot ",
        "can't ",
        "unable to ",
        "undefined ",
        "unresolved ",
        "no such ",
        "expected near",
        "unexpected ",
    ];
    !lower.contains("assert")
        && !lower.contains("expectation")
        && (STARTS.iter().any(|start| lower.starts_with(start))
            || PARTS.iter().any(|part| lower.contains(part)))
}

fn is_policy(lower: &str) -> bool {
    let threshold = ["does not meet", "fail-under", "not reached", "threshold", "below minimum"];
    (lower.contains("coverage") && threshold.iter().any(|word| lower.contains(word)))
        || lower.contains("thresholds on metrics")
        || lower.contains("snapshot obsolete")
}
