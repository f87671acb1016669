//! What only Linux tells the tasks, beside what `ralph_base::linux` tells. Elsewhere nothing is known, and
//! the peak of memory is an error.

use std::time::Duration;

#[cfg(not(target_os = "linux"))]
pub(crate) use self::elsewhere::Watched;
#[cfg(target_os = "linux")]
pub(crate) use self::here::Watched;

/// The time that this thread had on a processor so far.
pub(crate) fn processor_time() -> Option<Duration> {
    let text = fs_err::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// How many processors there are, and what they are called.
pub(crate) fn processors() -> (usize, Option<String>) {
    let cpus = fs_err::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    (count, model.map(|(_, name)| name.trim().to_owned()))
}

/// The most memory that a process ever had: it is stopped just before it ends. What a parent learns
/// otherwise includes the parent's own memory.
#[cfg(target_os = "linux")]
mod here {
    use std::process::Child;

    use anyhow::{Context, Result, bail};
    use nix::sys::ptrace;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::Pid;

    /// A process that is stopped before it ends.
    pub(crate) struct Watched(Pid);

    impl Watched {
        pub(crate) fn new(child: &Child) -> Result<Self> {
            let pid = Pid::from_raw(i32::try_from(child.id())?);
            ptrace::seize(pid, ptrace::Options::PTRACE_O_TRACEEXIT)
                .context("could not watch it")?;
            Ok(Self(pid))
        }

        /// Waits for its end; in KiB.
        pub(crate) fn peak_at_end(&self) -> Result<u64> {
            let pid = self.0;
            loop {
                match waitpid(pid, None)? {
                    WaitStatus::PtraceEvent(_, _, event) if event == exit_event() => {
                        let peak = high_water_mark(pid)?;
                        ptrace::cont(pid, None)?;
                        waitpid(pid, None)?;
                        return Ok(peak);
                    }
                    WaitStatus::Stopped(_, signal) => ptrace::cont(pid, signal)?,
                    WaitStatus::PtraceEvent(..) => ptrace::cont(pid, None)?,
                    other => bail!("it ended before it could be looked at: {other:?}"),
                }
            }
        }
    }

    /// The number by which the kernel announces that a process is about to end.
    fn exit_event() -> i32 {
        ptrace::Event::PTRACE_EVENT_EXIT as i32
    }

    fn high_water_mark(pid: Pid) -> Result<u64> {
        let status = fs_err::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.context("the kernel does not tell a peak of memory")?.parse()?)
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::process::Child;

    use anyhow::{Result, bail};

    /// Nothing: it cannot be watched.
    pub(crate) struct Watched;

    impl Watched {
        pub(crate) fn new(_child: &Child) -> Result<Self> {
            bail!("only Linux tells the peak of memory of a process")
        }

        pub(crate) fn peak_at_end(&self) -> Result<u64> {
            bail!("only Linux tells the peak of memory of a process")
        }
    }
}
