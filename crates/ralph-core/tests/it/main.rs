//! Tests of the core against the real thing: processes, files, other parsers.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start processes and touch files directly, to check the code that has doors for it"
)]

mod shell;
mod shell_second_parser;
mod verdicts;
