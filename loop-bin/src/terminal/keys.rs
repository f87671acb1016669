//! Keys of the live view, if the run has the terminal for itself.

use std::io::{self, IsTerminal};

use camino::Utf8PathBuf;
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{getpgrp, tcgetpgrp};

use super::width::columns_of;

/// The key help in the view's last line, for wide and for narrow terminals.
const HINTS: [&str; 2] = [
    "s stop after this story  x stop now  t tell agent  l show log  q quit view",
    "s stop  x now  t tell  l log  q quit",
];

/// What the user asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Stop the run, now or after the story.
    Stop { now: bool },
    /// Send the agent a message.
    Tell(String),
    /// Show the last lines of a log.
    Log(Utf8PathBuf),
    /// Close the live view; the run continues.
    Quit,
}

/// The keys pressed so far.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The message that is being typed.
    message: Option<Vec<u8>>,
    /// How many logs have been shown.
    logs: usize,
}

impl Keys {
    /// The request that a key makes. With several workers, each press shows the next one's log.
    pub(super) fn press(&mut self, key: u8, logs: &[Utf8PathBuf]) -> Option<Asked> {
        let Some(message) = &mut self.message else { return self.command(key, logs) };
        match key {
            b'\n' | b'\r' => {
                let text = String::from_utf8_lossy(message).trim().to_owned();
                self.message = None;
                return (!text.is_empty()).then_some(Asked::Tell(text));
            }
            b'\x1b' => self.message = None,
            // Backspace removes a whole character.
            b'\x08' | b'\x7f' => while message.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
            _ if key >= b' ' => message.push(key),
            _ => {}
        }
        None
    }

    fn command(&mut self, key: u8, logs: &[Utf8PathBuf]) -> Option<Asked> {
        match key {
            b's' | b'x' => Some(Asked::Stop { now: key == b'x' }),
            b'q' => Some(Asked::Quit),
            b'l' => {
                self.logs += 1;
                logs.get(self.logs.checked_rem(logs.len())?).cloned().map(Asked::Log)
            }
            b't' => {
                self.message = Some(Vec::new());
                None
            }
            _ => None,
        }
    }

    /// The view's last line: the key help, or the end of the message being typed.
    pub(super) fn line(&self, columns: usize) -> String {
        let [long, short] = HINTS;
        let Some(message) = &self.message else {
            return if columns_of(long) <= columns { long } else { short }.to_owned();
        };
        let label = "tell the agent (Enter sends, Esc cancels): ";
        let text = format!("{}▏", String::from_utf8_lossy(message));
        let mut ends = text.char_indices().map(|(at, _)| text.get(at..).unwrap_or_default());
        let end = ends.find(|end| columns_of(label) + columns_of(end) <= columns);
        format!("{label}{}", end.unwrap_or_default())
    }
}

/// Switches the terminal to single keys until dropped.
#[derive(Debug)]
pub(super) struct KeyByKey(Termios);

impl KeyByKey {
    /// `None` if standard input is not a terminal, or belongs to another process.
    pub(super) fn begin() -> Option<Self> {
        let stdin = io::stdin();
        if !stdin.is_terminal() || !is_in_foreground() {
            return None;
        }
        let key_by_key = Self(tcgetattr(&stdin).ok()?);
        key_by_key.hold();
        Some(key_by_key)
    }

    /// Switches again: after a suspension the shell has restored its own settings.
    pub(super) fn hold(&self) {
        let Ok(mut now) = tcgetattr(io::stdin()) else { return };
        if is_in_foreground() && now.local_flags.contains(LocalFlags::ICANON) {
            now.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
            let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &now);
        }
    }
}

impl Drop for KeyByKey {
    fn drop(&mut self) {
        // In the background this would suspend the run, and the settings are the shell's.
        if is_in_foreground() {
            let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &self.0);
        }
    }
}

fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &mut Keys, text: &str) -> Vec<Asked> {
        let logs = ["one", "two"].map(Utf8PathBuf::from);
        text.bytes().filter_map(|key| keys.press(key, &logs)).collect()
    }

    #[test]
    fn keys_match_the_hints_in_the_last_line() {
        let mut keys = Keys::default();
        let log = |name: &str| Asked::Log(name.into());
        let stop = |now| Asked::Stop { now };
        let asked = [stop(false), stop(true), log("two"), log("one"), log("two"), Asked::Quit];
        assert_eq!(typed(&mut keys, "sxlllq?"), asked);
        for hint in HINTS {
            let named: Vec<&str> = hint.split("  ").map(|part| &part[..1]).collect();
            assert_eq!(named, ["s", "x", "t", "l", "q"]);
        }
        assert_eq!(keys.press(b'l', &[]), None);
    }

    #[test]
    fn a_message_is_written_in_the_last_line() {
        let mut keys = Keys::default();
        assert_eq!(typed(&mut keys, "tquité\x7fe\x7f\x7f\x7f\x7f it"), []);
        assert!(keys.line(80).ends_with("cancels): q it▏"), "{}", keys.line(80));
        assert_eq!(columns_of(&keys.line(45)), 45);
        assert_eq!(typed(&mut keys, "\nq"), [Asked::Tell("q it".to_owned()), Asked::Quit]);
        assert_eq!(typed(&mut keys, "tno\x1bt \nx"), [Asked::Stop { now: true }]);
        assert_eq!([keys.line(80), keys.line(60)], HINTS);
    }
}
