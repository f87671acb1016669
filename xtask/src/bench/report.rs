//! The measurements as tables for docs/dev/performance.md.

use anyhow::{Context, Result};

use super::growth::Growth;
use super::loop_time::{BAR, LoopTime};
use super::program::{EMPTY, Measured, Spread};
use crate::run;

/// The lines around the part of the page that the benchmark writes.
const BEGIN: &str = "<!-- measured: begin -->";
const END: &str = "<!-- measured: end -->";

/// All measurements of one run of the benchmark; parts that were not requested are empty.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) hooks: Vec<Measured>,
    pub(crate) bars: Vec<(&'static str, Option<f64>)>,
    pub(crate) growth: Vec<Growth>,
    pub(crate) loops: Vec<LoopTime>,
    pub(crate) instructions: Vec<(String, u64)>,
}

impl Report {
    /// Returns the time of a hook as a multiple of an empty program's.
    fn by_empty(&self, name: &str) -> f64 {
        let median = |name: &str| {
            self.hooks.iter().find(|one| one.name == name).map_or(f64::NAN, |one| one.time.median)
        };
        median(name) / median(EMPTY)
    }

    fn bar(&self, name: &str) -> Option<f64> {
        self.bars.iter().find(|(case, _)| *case == name).and_then(|(_, bar)| *bar)
    }

    /// Formats the report as Markdown tables.
    pub(crate) fn markdown(&self) -> String {
        let hooks = self.hooks.iter().map(|Measured { name, time }| {
            let bar = self.bar(name).map_or(String::new(), |bar| format!("{bar:.2}"));
            format!(
                "{name} | {:.0} | {:.0}–{:.0} | {:.2} | {bar}",
                time.median,
                time.lower_quartile,
                time.upper_quartile,
                self.by_empty(name),
            )
        });
        let growth = self.growth.iter().map(|growth| {
            let sizes = growth.sizes.iter();
            let sizes = sizes.map(|one| format!("{}: {:.0}", one.name, one.time.median));
            let sizes = sizes.collect::<Vec<_>>().join(", ");
            format!("{} | {sizes} | {:.2}", growth.name, growth.ratio())
        });
        let loops = self.loops.iter().map(|one| {
            let [iteration, copy] = [one.iteration, one.copy].map(|time| {
                let Spread { lower_quartile: lower, median, upper_quartile: upper } = time;
                format!("{:.0} ({:.0}–{:.0})", median / 1e3, lower / 1e3, upper / 1e3)
            });
            format!("{} | {iteration} | {copy}", one.files)
        });
        let counts = self.instructions.iter().map(|(name, count)| format!("{name} | {count}"));
        [
            table(
                "Start to end",
                "what | median µs | quartiles | × empty | at most",
                hooks.collect(),
            ),
            table("Growth", "what grows | median µs, by size | ratio", growth.collect()),
            table(
                "The loop's own time",
                "files | an iteration, ms | making the copy, ms",
                loops.collect(),
            ),
            table("Instructions", "what | instructions", counts.collect()),
        ]
        .concat()
    }

    /// Returns the measurements that miss their limit, one per line.
    pub(crate) fn misses(&self) -> Vec<String> {
        let hooks = self.bars.iter().filter_map(|(name, bar)| {
            Some((format!("{name} by {EMPTY}"), self.by_empty(name), (*bar)?))
        });
        let growth = self
            .growth
            .iter()
            .filter_map(|growth| Some((growth.name.to_owned(), growth.ratio(), growth.bar?)));
        let ends = self.loops.first().zip(self.loops.last());
        let loops = ends.map(|(small, large)| {
            let name = format!("an iteration with {} files by {}", large.files, small.files);
            (name, large.iteration.median / small.iteration.median, BAR)
        });
        let missed = hooks.chain(growth).chain(loops).filter(|(_, found, bar)| found > bar);
        missed.map(|(name, found, bar)| format!("{name}: {found:.2}, at most {bar}")).collect()
    }
}

fn table(title: &str, head: &str, rows: Vec<String>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = "--- | ".repeat(head.split(" | ").count());
    let rows: String = rows.iter().map(|row| format!("| {row} |\n")).collect();
    format!("### {title}\n\n| {head} |\n| {}\n{rows}\n", line.trim_end())
}

fn page() -> camino::Utf8PathBuf {
    run::root().join("docs/dev/performance.md")
}

/// Writes the report to the page, with today's date and the commit.
pub(crate) fn record(report: &Report) -> Result<()> {
    let text = fs_err::read_to_string(page())?;
    let (before, rest) = text.split_once(BEGIN).context("the page lost its beginning mark")?;
    let (_, after) = rest.split_once(END).context("the page lost its ending mark")?;
    let date = run::output(run::command("date").args(["-u", "+%F"]))?;
    let commit = run::output(run::command("git").args(["rev-parse", "--short=10", "HEAD"]))?;
    let cores = std::thread::available_parallelism()?;
    let head = format!("Measured on {}, commit `{}`, {cores} cores.", date.trim(), commit.trim());
    let tables = report.markdown();
    let text = format!("{before}{BEGIN}\n{head}\n\n{}\n{END}{after}", tables.trim_end());
    Ok(fs_err::write(page(), text)?)
}
