//! The most memory that a process ever had. Linux stops it for us just before it ends; what a parent
//! learns otherwise includes the parent's own memory. Elsewhere nobody tells, and that is an error.

#[cfg(target_os = "linux")]
pub(super) use self::linux::Watched;
#[cfg(not(target_os = "linux"))]
pub(super) use self::other::Watched;

#[cfg(target_os = "linux")]
mod linux {
    use std::process::Child;

    use anyhow::{Context, Result, bail};
    use nix::sys::ptrace;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::Pid;

    /// A process that is stopped before it ends.
    pub(in super::super) struct Watched(Pid);

    impl Watched {
        pub(in super::super) fn new(child: &Child) -> Result<Self> {
            let pid = Pid::from_raw(i32::try_from(child.id())?);
            ptrace::seize(pid, ptrace::Options::PTRACE_O_TRACEEXIT)
                .context("could not watch it")?;
            Ok(Self(pid))
        }

        /// Waits for its end; in KiB.
        pub(in super::super) fn peak_at_end(&self) -> Result<u64> {
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
mod other {
    use std::process::Child;

    use anyhow::{Result, bail};

    /// Nothing: it cannot be watched.
    pub(in super::super) struct Watched;

    impl Watched {
        pub(in super::super) fn new(_child: &Child) -> Result<Self> {
            bail!("only Linux tells the peak of memory of a process")
        }

        pub(in super::super) fn peak_at_end(&self) -> Result<u64> {
            bail!("only Linux tells the peak of memory of a process")
        }
    }
}
