//! What was measured, as a table for people and as JSON for programs.

use serde_json::{Value, json};

use super::growth::Growth;
use super::hooks::Case;
use super::loop_time::{BAR, BAR_FILES, LoopTime};
use super::output::{Flood, LOOP_MEMORY};
use super::rivals::{EMPTY, FASTER, script_name};
use super::rounds::Measured;

/// The most memory that a hook may have resident, in KiB.
const HOOK_MEMORY: u64 = 16 * 1024;

/// Everything that one run of the benchmark found out; parts that were not asked for are empty.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) measured: Vec<Measured>,
    pub(crate) bars: Vec<(&'static str, Option<f64>)>,
    pub(crate) growth: Vec<Growth>,
    pub(crate) loops: Vec<LoopTime>,
    pub(crate) floods: Vec<Flood>,
    pub(crate) instructions: Vec<(String, u64)>,
}

impl Report {
    /// Keeps what the rows of hooks are held against.
    pub(crate) fn with_bars(cases: &[Case]) -> Self {
        let bars = cases.iter().map(|case| (case.name, case.bar)).collect();
        Self { bars, ..Self::default() }
    }

    fn find(&self, name: &str) -> Option<&Measured> {
        self.measured.iter().find(|measured| measured.name == name)
    }

    fn median(&self, name: &str) -> Option<f64> {
        self.find(name).map(|measured| measured.time.median)
    }

    fn bar(&self, name: &str) -> Option<Option<f64>> {
        self.bars.iter().find(|(case, _)| *case == name).map(|(_, bar)| *bar)
    }

    /// How long a row takes, in runs of an empty program.
    fn by_empty(&self, name: &str) -> Option<f64> {
        Some(self.median(name)? / self.median(EMPTY)?)
    }

    /// How many times faster a hook is than the script.
    fn faster(&self, name: &str) -> Option<f64> {
        Some(self.median(&script_name(name))? / self.median(name)?)
    }

    /// All of it as Markdown tables.
    pub(crate) fn markdown(&self) -> String {
        let parts = [
            self.rows(),
            self.growth_rows(),
            self.loop_rows(),
            self.flood_rows(),
            self.instruction_rows(),
        ];
        parts.concat()
    }

    fn rows(&self) -> String {
        if self.measured.is_empty() {
            return String::new();
        }
        let mut text = String::from(
            "### Start to end\n\n\
             | what | median µs | quartiles | least | × empty | at most | × faster than bash and jq | peak MiB |\n\
             | --- | --: | --: | --: | --: | --: | --: | --: |\n",
        );
        for Measured { name, time, peak } in &self.measured {
            let number = |value: Option<f64>, digits: usize| {
                value.map_or(String::new(), |value| format!("{value:.digits$}"))
            };
            text.push_str(&format!(
                "| {name} | {:.0} | {:.0}–{:.0} | {:.0} | {} | {} | {} | {} |\n",
                time.median,
                time.lower_quartile,
                time.upper_quartile,
                time.least,
                number(self.by_empty(name), 2),
                number(self.bar(name).flatten(), 2),
                number(self.faster(name), 0),
                number(peak.map(|kib| kib as f64 / 1024.0), 1),
            ));
        }
        text.push('\n');
        text
    }

    fn growth_rows(&self) -> String {
        let mut text = String::new();
        if !self.growth.is_empty() {
            text.push_str(
                "### Growth\n\n| what grows | median µs, by size | largest by smallest |\n| --- | --- | --: |\n",
            );
        }
        for growth in &self.growth {
            let sizes = growth.sizes.iter();
            let sizes = sizes.map(|(size, one)| format!("{size}: {:.0}", one.time.median));
            let sizes = sizes.collect::<Vec<_>>().join(", ");
            text.push_str(&format!("| {} | {sizes} | {:.2} |\n", growth.name, growth.ratio()));
        }
        text.push('\n');
        text
    }

    fn loop_rows(&self) -> String {
        let mut text = String::new();
        if !self.loops.is_empty() {
            text.push_str(
                "### The loop's own time\n\n\
                 | files | an iteration, ms | making the copy, ms |\n| --: | --: | --: |\n",
            );
        }
        for one in &self.loops {
            text.push_str(&format!(
                "| {} | {:.1} ({:.1}–{:.1}) | {:.0} ({:.0}–{:.0}) |\n",
                one.files,
                one.milliseconds(),
                one.iteration.lower_quartile / 1e3,
                one.iteration.upper_quartile / 1e3,
                one.copy.median / 1e3,
                one.copy.lower_quartile / 1e3,
                one.copy.upper_quartile / 1e3,
            ));
        }
        text.push('\n');
        text
    }

    fn flood_rows(&self) -> String {
        let mut text = String::new();
        if !self.floods.is_empty() {
            text.push_str(
                "### An agent that prints a great deal\n\n\
                 | MB printed | seconds | ms a MB | peak MiB of the loop |\n| --: | --: | --: | --: |\n",
            );
        }
        for flood in &self.floods {
            text.push_str(&format!(
                "| {} | {:.2} | {:.1} | {:.1} |\n",
                flood.megabytes,
                flood.seconds,
                flood.seconds * 1e3 / flood.megabytes as f64,
                flood.peak as f64 / 1024.0
            ));
        }
        text.push('\n');
        text
    }

    fn instruction_rows(&self) -> String {
        let mut text = String::new();
        if !self.instructions.is_empty() {
            text.push_str("### Instructions\n\n| what | instructions |\n| --- | --: |\n");
        }
        for (name, count) in &self.instructions {
            text.push_str(&format!("| {name} | {count} |\n"));
        }
        text
    }

    /// What misses its bar, each in one line.
    pub(crate) fn misses(&self) -> Vec<String> {
        let mut misses = Vec::new();
        let mut note = |what: String, found: f64, bar: f64, holds: bool| {
            if !holds {
                misses.push(format!("{what}: {found:.2}, wanted {bar}"));
            }
        };
        for (name, bar) in &self.bars {
            if let (Some(ratio), Some(bar)) = (self.by_empty(name), bar) {
                note(format!("{name} by {EMPTY}"), ratio, *bar, ratio <= *bar);
            }
            if let (Some(faster), Some(_)) = (self.faster(name), bar) {
                note(format!("bash and jq by {name}"), faster, FASTER, faster >= FASTER);
            }
            if let Some(peak) = self.find(name).and_then(|one| one.peak) {
                let limit = HOOK_MEMORY as f64;
                note(format!("{name}: peak KiB"), peak as f64, limit, peak <= HOOK_MEMORY);
            }
        }
        for growth in &self.growth {
            if let Some(bar) = growth.bar {
                note(growth.name.to_owned(), growth.ratio(), bar, growth.ratio() <= bar);
            }
        }
        for one in self.loops.iter().filter(|one| one.files == BAR_FILES) {
            let what = format!("ms of an iteration with {} files", one.files);
            note(what, one.milliseconds(), BAR, one.milliseconds() <= BAR);
        }
        for flood in &self.floods {
            let what = format!("the loop's peak KiB with {} MB", flood.megabytes);
            note(what, flood.peak as f64, LOOP_MEMORY as f64, flood.peak <= LOOP_MEMORY);
        }
        misses
    }

    /// All of it for programs; times in microseconds, memory in KiB.
    pub(crate) fn json(&self) -> Value {
        let rows = self.measured.iter().map(|one| {
            json!({
                "name": one.name, "median": one.time.median, "least": one.time.least,
                "lower_quartile": one.time.lower_quartile,
                "upper_quartile": one.time.upper_quartile, "runs": one.time.runs,
                "peak": one.peak, "by_empty": self.by_empty(&one.name),
                "bar": self.bar(&one.name).flatten(), "faster_than_script": self.faster(&one.name),
            })
        });
        let growth = self.growth.iter().map(|growth| {
            let sizes = growth.sizes.iter();
            let sizes = sizes.map(|(size, one)| json!({"size": size, "median": one.time.median}));
            json!({
                "name": growth.name, "sizes": sizes.collect::<Vec<_>>(),
                "ratio": growth.ratio(), "bar": growth.bar,
            })
        });
        let loops = self.loops.iter().map(|one| {
            json!({
                "files": one.files, "iteration": one.iteration.median, "copy": one.copy.median,
            })
        });
        let floods = self.floods.iter().map(|flood| {
            json!({"megabytes": flood.megabytes, "seconds": flood.seconds, "peak": flood.peak})
        });
        let counts = self.instructions.iter();
        json!({
            "rows": rows.collect::<Vec<_>>(),
            "growth": growth.collect::<Vec<_>>(),
            "loop": loops.collect::<Vec<_>>(),
            "output": floods.collect::<Vec<_>>(),
            "instructions": counts.map(|(name, count)| json!({"name": name, "count": count}))
                .collect::<Vec<_>>(),
            "misses": self.misses(),
        })
    }
}
