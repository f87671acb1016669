//! Signals that ask us to terminate: counted, so that every waiting thread can check.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ralph_base::supervised::INTERRUPTS;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXFSZ,
};
use signal_hook::iterator::Signals;

use crate::linux;

/// Signals that mean nothing to us, but would kill us without a handler. They are not set to be
/// ignored, because the agent would inherit that. With a handler, a file that exceeds `ulimit -f`
/// is a write error, as on a full disk.
const MEANINGLESS: [i32; 7] = [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXFSZ];

/// How often a waiting thread checks whether a signal came.
const PULSE: Duration = Duration::from_millis(50);

/// A signal that asks us to terminate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// TERM, HUP or QUIT.
    Terminate,
}

/// The signals received so far.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    first: Arc<AtomicI32>,
    count: Arc<AtomicU32>,
}

impl Interrupts {
    /// Installs the signal handlers.
    pub fn listen() -> io::Result<Self> {
        let interrupts = Self::default();
        let mut wanted = vec![SIGINT, SIGTERM, SIGQUIT];
        wanted.extend(MEANINGLESS);
        if !linux::is_ignored(SIGHUP) {
            wanted.push(SIGHUP);
        }
        let mut signals = Signals::new(wanted)?;
        let heard = interrupts.clone();
        std::thread::Builder::new().spawn(move || {
            for signal in signals.forever().filter(|signal| !MEANINGLESS.contains(signal)) {
                let none = 0;
                let _ =
                    heard.first.compare_exchange(none, signal, Ordering::SeqCst, Ordering::SeqCst);
                heard.count.fetch_add(1, Ordering::SeqCst);
                INTERRUPTS.fetch_add(1, Ordering::SeqCst);
            }
        })?;
        Ok(interrupts)
    }

    /// Returns the first signal, if one came.
    pub fn signal(&self) -> Option<Signal> {
        match self.first.load(Ordering::SeqCst) {
            0 => None,
            SIGINT => Some(Signal::Interrupt),
            _ => Some(Signal::Terminate),
        }
    }

    /// Waits for `pause`, or until a signal comes.
    pub fn wait(&self, pause: Duration) -> Option<Signal> {
        let until = Instant::now() + pause;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.signal().is_some() {
                return self.signal();
            }
            std::thread::sleep(left.min(PULSE));
        }
    }

    /// Returns how many signals came.
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::SeqCst)
    }
}
