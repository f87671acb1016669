//! Keys that a person presses while a run goes on, where that has the terminal for itself.

use std::io::{self, IsTerminal};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{getpgrp, tcgetpgrp};

/// What the last line of the view says about them.
pub(super) const HINT: &str = "s stop after this story  x stop now";

/// What a key asks for: whether the run stops now, or after the story.
pub(super) fn stops_now(key: u8) -> Option<bool> {
    [(b's', false), (b'x', true)].iter().find(|(one, _)| *one == key).map(|(_, now)| *now)
}

/// A terminal that passes each key on when it is pressed, until this is dropped.
#[derive(Debug)]
pub(super) struct KeyByKey(Termios);

impl KeyByKey {
    /// None where standard input is no terminal, or belongs to another process.
    pub(super) fn begin() -> Option<Self> {
        let stdin = io::stdin();
        if !stdin.is_terminal() || tcgetpgrp(&stdin).ok()? != getpgrp() {
            return None;
        }
        let before = tcgetattr(&stdin).ok()?;
        let mut now = before.clone();
        now.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
        tcsetattr(&stdin, SetArg::TCSANOW, &now).ok()?;
        Some(Self(before))
    }
}

impl Drop for KeyByKey {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ask_for_what_the_last_line_says() {
        assert_eq!([b's', b'x', b'q'].map(stops_now), [Some(false), Some(true), None]);
        for part in HINT.split("  ") {
            assert!(stops_now(part.as_bytes()[0]).is_some(), "{part}");
        }
    }
}
