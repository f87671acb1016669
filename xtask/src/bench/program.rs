//! Starts programs the way a client starts a hook, in turn, and takes their time: whatever else the
//! machine does hits all of them alike.
//!
//! All programs are started alike: input in a pipe, output into pipes, a cleared environment, no
//! shell and no change of folder in between, so that what differs is the program alone.

use std::io::{PipeReader, Read, Write, pipe};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use camino::Utf8PathBuf;
use nix::sys::resource::{UsageWho, getrusage};

/// An empty program, which everything is measured by.
pub(crate) const EMPTY: &str = "/bin/true";

/// What a pipe takes without a reader.
const PIPE: usize = 64 * 1024;

/// A program to measure.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// Its path and its arguments.
    pub(crate) line: Vec<String>,
    /// Its environment, and nothing else.
    pub(crate) vars: Vec<(String, String)>,
    /// Where it starts; none where it does not matter, which is a little faster to start.
    pub(crate) folder: Option<Utf8PathBuf>,
    /// What it reads.
    pub(crate) input: Vec<u8>,
}

/// How one run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) time: Duration,
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Program {
    /// Runs it once, from before it is started until it was waited for.
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
        // Our own ends of the pipes go with the command.
        drop(command);
        Ok(Ended { time, status, output: text(output)?, errors: text(errors)? })
    }
}

fn text(mut pipe: PipeReader) -> Result<String> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A program under a name, and what it must answer.
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) program: Program,
    /// Done before each run, outside of the time that is taken.
    pub(crate) before: Box<dyn Fn() -> Result<()>>,
    /// What its answer holds; empty for no answer at all, none for any answer.
    pub(crate) answer: Option<&'static str>,
}

impl Contender {
    /// One that leaves nothing behind.
    pub(crate) fn new(name: &str, program: Program) -> Self {
        Self { name: name.to_owned(), program, before: Box::new(|| Ok(())), answer: None }
    }

    /// Runs it once, prepared.
    pub(crate) fn run(&self) -> Result<Ended> {
        (self.before)()?;
        self.program.run()
    }

    /// Makes sure that what is measured is what the name says.
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

/// The page faults of a run, the fewest of several: the kernel maps more or less at once, as it has memory.
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

/// What a series of times comes to, in microseconds.
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

/// What was measured of one program.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) time: Spread,
}

/// Runs all of them `rounds` times in turn.
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
    fn middle_and_quartiles() {
        let times = [50, 10, 40, 20, 30].map(Duration::from_micros);
        let Spread { lower_quartile, median, upper_quartile } = Spread::of(&times);
        assert_eq!([lower_quartile, median, upper_quartile].map(f64::round), [20.0, 30.0, 40.0]);
        assert_eq!(Spread::of(&[]), Spread::default());
    }
}
