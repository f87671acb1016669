//! Tests of the core against the real thing: processes, files, other parsers.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start processes and touch files directly, to check the code that has doors for it"
)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its case should say so and end"
)]

mod guard;
mod shell;
mod shell_second_parser;
