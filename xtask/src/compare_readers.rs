//! `cargo xtask compare-readers`: our reader of command lines beside shuck-parser.
//!
//! Ours parses and expands to the list of simple commands; the other one only parses, because that
//! is all it does. Both are measured in turn in one run, so that ratios mean something on a busy
//! machine.

mod damage;
mod programs;
mod timing;

use std::hint::black_box;

use anyhow::Result;
use clap::{Args, ValueEnum};
use shell_reader::Script;
use shuck_parser::parser::{ParseResult, Parser};
use test_support::all_labelled_commands;

use super::dist;
use crate::fuzz::CommandLines;

/// What `cargo xtask compare-readers` is told.
#[derive(Debug, Args)]
pub(crate) struct CompareReaders {
    /// How many random lines each reader is given.
    #[arg(long, default_value_t = 200_000)]
    lines: u64,
    /// Only read the random lines, with this reader, and report on each: for its own child.
    #[arg(long, hide = true)]
    read_with: Option<Reader>,
    /// The first line of these.
    #[arg(long, hide = true, default_value_t = 0)]
    from: u64,
}

/// One of the two readers.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Reader {
    Ours,
    Shuck,
}

const READERS: [Reader; 2] = [Reader::Ours, Reader::Shuck];

impl Reader {
    /// As it is given to `--read-with`.
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Shuck => "shuck",
        }
    }

    /// Reads a line and says whether all of it was understood.
    fn reads(self, line: &str) -> bool {
        match self {
            Self::Ours => black_box(ours(line)).complete,
            Self::Shuck => !black_box(shuck(line)).is_err(),
        }
    }
}

/// What the guard asks of our reader, with the variables that it knows.
fn ours(line: &str) -> Script {
    const KNOWN: [(&str, &str); 4] = [
        ("HOME", "/home/dev"),
        ("PWD", "/home/dev/project"),
        ("TMPDIR", "/tmp"),
        ("CLAUDE_PROJECT_DIR", "/home/dev/project"),
    ];
    shell_reader::read_with(line, &KNOWN)
}

fn shuck(line: &str) -> ParseResult {
    Parser::new(line).parse()
}

/// Prints the comparison. Without optimisation it would compare compilers' debug code, so then it
/// starts itself anew as the released binaries are built.
///
/// # Errors
/// When a table cannot be read or the small programs cannot be built or started.
pub(crate) fn run(arguments: &CompareReaders) -> Result<()> {
    if cfg!(debug_assertions) {
        return dist::run_task(&["compare-readers", "--lines", &arguments.lines.to_string()]);
    }
    let corpus = all_labelled_commands();
    let lines = CommandLines::new();
    if let Some(reader) = arguments.read_with {
        return damage::read_lines(reader, &lines, arguments.from, arguments.lines);
    }
    println!("ours: parsed and expanded; shuck-parser: parsed");
    println!("{:<34}{:>12}{:>12}{:>8}", "", "ours", "shuck", "ratio");
    timing::corpus(&corpus);
    timing::sized_lines();
    damage::run(&lines, arguments.lines)?;
    programs::run()
}

/// One row of the table; the ratio is ours by theirs.
fn print_row(what: &str, [ours, shuck]: [f64; 2], decimals: usize) {
    println!("{what:<34}{ours:>12.decimals$}{shuck:>12.decimals$}{:>8.2}", ours / shuck);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
