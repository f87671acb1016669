//! Measures many programs in turn: whatever else the machine does hits all of them alike.

use std::time::Duration;

use anyhow::{Result, bail};

use super::spawn::Program;
use super::statistics::Spread;

/// A program under a name, and what it must answer.
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) program: Program,
    /// Done before each run, outside of the time that is taken.
    pub(crate) before: Box<dyn Fn() -> Result<()>>,
    /// What its answer holds; empty for no answer at all, none for whatever it says.
    pub(crate) answer: Option<&'static str>,
    /// It takes part in every so-manieth round: slow programs need fewer.
    pub(crate) every: usize,
}

impl Contender {
    /// One that leaves nothing behind.
    pub(crate) fn new(name: &str, program: Program) -> Self {
        Self { name: name.to_owned(), program, before: Box::new(|| Ok(())), answer: None, every: 1 }
    }

    /// Makes sure that what is measured is what the name says.
    fn prove(&self) -> Result<()> {
        (self.before)()?;
        let ended = self.program.run()?;
        let fits = match self.answer {
            None => true,
            Some("") => ended.output.is_empty(),
            Some(part) => ended.output.contains(part),
        };
        if !fits || !ended.status.success() {
            bail!("{}: unexpected end: {ended:?}", self.name);
        }
        Ok(())
    }
}

/// What was measured of one program.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) time: Spread,
    /// The peak of resident memory in KiB, where it could be seen.
    pub(crate) peak: Option<u64>,
}

/// Runs all of them `rounds` times in turn.
pub(crate) fn measure(contenders: &[Contender], rounds: usize) -> Result<Vec<Measured>> {
    for contender in contenders {
        contender.prove()?;
    }
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); contenders.len()];
    for round in 0..rounds {
        for (contender, times) in contenders.iter().zip(&mut times) {
            if round % contender.every == 0 {
                (contender.before)()?;
                times.push(contender.program.run()?.time);
            }
        }
    }
    let mut all = Vec::new();
    for (contender, times) in contenders.iter().zip(&times) {
        (contender.before)()?;
        let Some(time) = Spread::of(times) else { continue };
        let peak = contender.program.peak_memory().ok();
        all.push(Measured { name: contender.name.clone(), time, peak });
    }
    Ok(all)
}
