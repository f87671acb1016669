//! Starts a program the way a client starts a hook, and takes its time and its peak of memory.
//!
//! All programs are started alike: input in a pipe, output into pipes, a cleared environment, no
//! shell and no change of folder in between, so that what differs is the program alone.

use std::io::{self, PipeReader, Read, Write, pipe};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use camino::Utf8PathBuf;

use crate::linux;

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

/// What became of one run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) time: Duration,
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Program {
    fn command(&self) -> Result<Command> {
        let (program, arguments) = self.line.split_first().context("an empty command line")?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(self.vars.iter().cloned());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        Ok(command)
    }

    /// Runs it once, from before it is started until it was waited for.
    pub(crate) fn run(&self) -> Result<Ended> {
        let mut command = self.command()?;
        let input = self.filled_pipe()?;
        let (mut output, output_end) = pipe()?;
        let (mut errors, errors_end) = pipe()?;
        command.stdin(input).stdout(output_end).stderr(errors_end);
        let begun = Instant::now();
        let mut child = command.spawn().with_context(|| format!("could not start {command:?}"))?;
        let status = child.wait()?;
        let time = begun.elapsed();
        // Our own ends of the pipes go with the command.
        drop(command);
        Ok(Ended { time, status, output: text(&mut output)?, errors: text(&mut errors)? })
    }

    /// A pipe that holds the whole input already, so that nobody has to feed it.
    fn filled_pipe(&self) -> Result<PipeReader> {
        let (reader, mut writer) = pipe()?;
        if self.input.len() > PIPE {
            bail!("an input of {} bytes does not fit into a pipe", self.input.len());
        }
        writer.write_all(&self.input)?;
        Ok(reader)
    }

    /// The most memory that it ever had resident, in KiB.
    pub(crate) fn peak_memory(&self) -> Result<u64> {
        let mut command = self.command()?;
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let watched = linux::Watched::new(&child)?;
        feed(&mut child, &self.input);
        watched.peak_at_end()
    }
}

/// A program that does not read all of its input is no error.
fn feed(child: &mut Child, input: &[u8]) {
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input);
    }
}

fn text(pipe: &mut PipeReader) -> io::Result<String> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
