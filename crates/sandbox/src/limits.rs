//! How many processes and how much memory the program of a step and its descendants may use.

use std::fmt;
use std::str::FromStr;

use crate::linux::limit_processes;
use crate::{Descendants, system};

/// The most threads that a process has on average, where the kernel counts those too.
const THREADS: u64 = 8;

/// The limits of a step; 0 means none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// The number of processes.
    pub processes: u64,
    /// The part of the machine's memory.
    pub memory: f64,
}

impl Limits {
    /// Returns in which way a step is beyond its limits. The lists of processes are only read where
    /// the machine as a whole has that many, or uses that much.
    pub(crate) fn exceeded(&self, step: Descendants) -> Option<String> {
        let Self { processes, memory } = *self;
        if processes > 0 && system::threads() > processes {
            let count = step.living().len() as u64;
            if count > processes {
                return Some(format!(
                    "it had {count} processes (limit {processes}: [limits] processes)"
                ));
            }
        }
        let (total, available) = system::memory()?;
        let most = (total as f64 * memory) as u64;
        if memory > 0.0 && total.saturating_sub(available) > most {
            let used: u64 = step.living().iter().map(|one| system::memory_of(one.pid)).sum();
            if used > most {
                let [used, most] = [used, most].map(|kilobytes| kilobytes / 1024);
                return Some(format!(
                    "it used {used} MB of memory (limit {most} MB: [limits] memory)"
                ));
            }
        }
        None
    }

    /// Has the kernel refuse further processes of the user to whatever this process starts, so that
    /// they can be ended faster than they multiply. The superuser has no such limit.
    pub(crate) fn apply(&self) {
        if self.processes > 0 {
            limit_processes(system::threads() + self.processes * THREADS);
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.processes, self.memory)
    }
}

impl FromStr for Limits {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (processes, memory) = text.split_once(' ').ok_or(())?;
        let processes = processes.parse().map_err(drop)?;
        Ok(Self { processes, memory: memory.parse().map_err(drop)? })
    }
}
