//! Runs programs the way a client runs a hook, in turn, and measures their time: other load on the
//! machine then affects all of them equally.
//!
//! All programs start in the same way: input from a pipe, output into pipes, a cleared environment,
//! no shell and no change of folder in between, so that only the programs differ.

use std::io::{PipeReader, Read, Write, pipe};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use camino::Utf8PathBuf;
use nix::sys::resource::{UsageWho, getrusage};

/// An empty program, to which all others are compared.
pub(crate) const EMPTY: &str = "/bin/true";

/// How many bytes a pipe holds without a reader.
const PIPE: usize = 64 * 1024;

/// A program to measure.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// Its path and its arguments.
    pub(crate) line: Vec<String>,
    /// Its complete environment.
    pub(crate) vars: Vec<(String, String)>,
    /// Its working directory; `None` if that does not matter, which starts a little faster.
    pub(crate) folder: Option<Utf8PathBuf>,
    /// Its standard input.
    pub(crate) input: Vec<u8>,
}

/// The result of one run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) time: Duration,
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Program {
    /// Runs it once, timed from before it starts until it has been waited for.
    pub(crate) fn run(&self) -> Result<Ended> {
        let (program, arguments) = self.line.split_first().context("an empty command line")?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(self.vars.iter().cloned());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let (input, mut writer) = pipe()?;
        ensure!(self.input.len() <= PIPE, "{} bytes do not fit into a pipe", self.input.len());
        writer.write_all(&self.input)?;
        drop(writer);
        let (output, output_end) = pipe()?;
        let (errors, errors_end) = pipe()?;
        command.stdin(input).stdout(output_end).stderr(errors_end);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("could not start {command:?}"))?;
        let status = child.wait()?;
        let time = started.elapsed();
        // Dropping the command closes our own ends of the pipes.
        drop(command);
        Ok(Ended { time, status, output: text(output)?, errors: text(errors)? })
    }
}

fn text(mut pipe: PipeReader) -> Result<String> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A named program, and its expected answer.
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) program: Program,
    /// A preparation before each run, which is not timed.
    pub(crate) before: Box<dyn Fn() -> Result<()>>,
    /// A part of its answer; an empty one means no answer, and `None` any answer.
    pub(crate) answer: Option<&'static str>,
}

impl Contender {
    /// Creates a contender that needs no preparation.
    pub(crate) fn new(name: &str, program: Program) -> Self {
        Self { name: name.to_owned(), program, before: Box::new(|| Ok(())), answer: None }
    }

    /// Prepares and runs it once.
    pub(crate) fn run(&self) -> Result<Ended> {
        (self.before)()?;
        self.program.run()
    }

    /// Checks that the program gives the expected answer.
    fn prove(&self) -> Result<()> {
        let ended = self.run()?;
        let fits = self.answer.is_none_or(|part| match part {
            "" => ended.output.is_empty(),
            part => ended.output.contains(part),
        });
        ensure!(fits && ended.status.success(), "{}: unexpected end: {ended:?}", self.name);
        Ok(())
    }
}

/// Counts the page faults of a run, the fewest of several: mapping depends on free memory.
pub(crate) fn faults(contender: &Contender) -> Result<u64> {
    let count = || {
        let usage = || getrusage(UsageWho::RUSAGE_CHILDREN);
        let before = usage()?.minor_page_faults();
        contender.run()?;
        Ok(u64::try_from(usage()?.minor_page_faults() - before)?)
    };
    let counts: Vec<u64> = (0..10).map(|_| count()).collect::<Result<_>>()?;
    counts.into_iter().min().context("nothing was run")
}

/// The quartiles of a series of times, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) lower_quartile: f64,
    pub(crate) median: f64,
    pub(crate) upper_quartile: f64,
}

impl Spread {
    pub(crate) fn of(times: &[Duration]) -> Self {
        let mut sorted: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part: usize| {
            let place = sorted.len().saturating_sub(1) * part / 4;
            sorted.get(place).copied().unwrap_or_default()
        };
        Self { lower_quartile: at(1), median: at(2), upper_quartile: at(3) }
    }
}

/// The measured times of one program.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) time: Spread,
}

/// Runs all programs `rounds` times in turn.
pub(crate) fn measure(contenders: &[Contender], rounds: usize) -> Result<Vec<Measured>> {
    contenders.iter().try_for_each(Contender::prove)?;
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        for (contender, times) in contenders.iter().zip(&mut times) {
            times.push(contender.run()?.time);
        }
    }
    let all = contenders.iter().zip(&times);
    Ok(all
        .map(|(one, times)| Measured { name: one.name.clone(), time: Spread::of(times) })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_quartiles_are_calculated() {
        let times = [50, 10, 40, 20, 30].map(Duration::from_micros);
        let Spread { lower_quartile, median, upper_quartile } = Spread::of(&times);
        assert_eq!([lower_quartile, median, upper_quartile].map(f64::round), [20.0, 30.0, 40.0]);
        assert_eq!(Spread::of(&[]), Spread::default());
    }
}
