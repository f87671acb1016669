//! `docs/performance.md`: the one place where figures are kept, and what a later run is held
//! against.

use anyhow::{Context, Result};

use super::report::Report;
use crate::{linux, run};

/// The part of the page that the benchmark writes stands between these lines.
const BEGIN: &str = "<!-- measured: begin -->";
const END: &str = "<!-- measured: end -->";

/// How many per cent more instructions than recorded are let pass.
const TOLERANCE: u64 = 10;

fn path() -> camino::Utf8PathBuf {
    run::root().join("docs/performance.md")
}

/// Writes what was measured into the page, under today's date and the commit.
pub(crate) fn record(report: &Report) -> Result<()> {
    let page = fs_err::read_to_string(path())?;
    let (before, rest) = page.split_once(BEGIN).context("the page lost its beginning mark")?;
    let (_, after) = rest.split_once(END).context("the page lost its ending mark")?;
    let date = run::output(run::command("date").args(["-u", "+%F"]))?;
    let commit = run::output(run::command("git").args(["rev-parse", "--short=10", "HEAD"]))?;
    let machine = machine();
    let head = format!("Measured on {}, commit `{}`, {machine}.\n\n", date.trim(), commit.trim());
    let text = format!("{before}{BEGIN}\n{head}{}\n{END}{after}", report.markdown().trim_end());
    Ok(fs_err::write(path(), text)?)
}

/// Where it was measured, in a few words.
fn machine() -> String {
    let (count, name) = linux::processors();
    format!("{count} × {}", name.as_deref().unwrap_or("an unknown processor"))
}

/// What grew beyond the tolerance, or was never recorded; each in one line.
pub(crate) fn regressions(counts: &[(String, u64)]) -> Result<Vec<String>> {
    Ok(grown(&fs_err::read_to_string(path())?, counts))
}

fn grown(page: &str, counts: &[(String, u64)]) -> Vec<String> {
    let recorded = recorded_counts(page);
    let mut found = Vec::new();
    for (name, count) in counts {
        match recorded.iter().find(|(old, _)| old == name) {
            None => found.push(format!("{name}: {count} instructions, none recorded")),
            Some((_, old)) if *count > old + old * TOLERANCE / 100 => {
                found.push(format!("{name}: {count} instructions, recorded {old}"));
            }
            Some(_) => {}
        }
    }
    found
}

/// The rows of the table of instructions.
fn recorded_counts(page: &str) -> Vec<(String, u64)> {
    let table = page.lines().skip_while(|line| !line.starts_with("### Instructions")).skip(1);
    let table = table.take_while(|line| !line.starts_with('#'));
    table
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            let (name, count) = (cells.next()?, cells.next()?.trim_end_matches(" |"));
            Some((name.to_owned(), count.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# P\n\n### Start\n\n| a | 9 |\n\n### Instructions\n\n\
        | what | instructions |\n| --- | --: |\n| a, b | 1000 |\n| c | 2000 |\n";

    fn check(counts: &[(&str, u64)], expected: &[&str]) {
        let counts: Vec<(String, u64)> = counts.iter().map(|(n, c)| ((*n).into(), *c)).collect();
        assert_eq!(grown(PAGE, &counts), expected);
    }

    #[test]
    fn a_tenth_more_is_let_pass_and_no_more_than_that() {
        check(&[("a, b", 1100), ("c", 10)], &[]);
        check(&[("a, b", 1101)], &["a, b: 1101 instructions, recorded 1000"]);
    }

    #[test]
    fn what_was_never_recorded_is_named() {
        check(&[("d", 5)], &["d: 5 instructions, none recorded"]);
    }
}
