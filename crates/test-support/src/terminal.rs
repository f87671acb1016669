//! Runs a program on a terminal, and returns its output including escape sequences.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};

use crate::signal;

/// Runs a program whose standard output is a terminal of 100 columns; returns its exit code and
/// everything that reached the terminal.
pub fn run_on_terminal(command: &mut Command) -> (Option<i32>, String) {
    run_on_columns(100, command)
}

/// Like `run_on_terminal`, on a terminal of this many columns.
pub fn run_on_columns(columns: u16, command: &mut Command) -> (Option<i32>, String) {
    run(columns, command, |_, _, _| ())
}

/// Like `run_on_columns`, with Ctrl-C pressed as soon as a text is shown.
pub fn interrupted_on_columns(
    columns: u16,
    command: &mut Command,
    text: &str,
) -> (Option<i32>, String) {
    let mut is_pressed = false;
    run(columns, command, |shown, terminal, program| {
        if !is_pressed && String::from_utf8_lossy(shown).contains(text) {
            is_pressed = true;
            // The terminal shows it as `^C`. It is not the controlling terminal of the program, so
            // we have to send the signal.
            terminal.write_all(&[3]).expect("a key is pressed");
            signal("INT", program);
        }
    })
}

/// Like `run_on_columns`, on the program's controlling terminal: for each pair in `keys` types the
/// second text once the first is shown. `None` on a machine without `setsid`, such as macOS.
pub fn typed_on_columns(
    columns: u16,
    command: &Command,
    keys: &[(&str, &str)],
) -> Option<(Option<i32>, String)> {
    Command::new("setsid").arg("--version").output().ok()?;
    let mut own = Command::new("setsid");
    own.env_clear().arg("--ctty").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        own.env(name, value.unwrap_or_default());
    }
    command.get_current_dir().map(|folder| own.current_dir(folder));
    let (mut keys, mut from) = (keys.iter(), 0);
    let mut next = keys.next();
    Some(run(columns, &mut own, |shown, terminal, _| {
        let Some((text, typed)) = next else { return };
        if String::from_utf8_lossy(&shown[from..]).contains(text) {
            from = shown.len();
            terminal.write_all(typed.as_bytes()).expect("keys are pressed");
            next = keys.next();
        }
    }))
}

fn run(
    columns: u16,
    command: &mut Command,
    mut look: impl FnMut(&[u8], &mut File, u32),
) -> (Option<i32>, String) {
    let size = Winsize { ws_row: 30, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).expect("a terminal");
    let mut child = command
        .env("TERM", "xterm-256color")
        .stdin(terminal.slave.try_clone().expect("a terminal"))
        .stdout(terminal.slave)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The command holds our copy of the other end; unless it is dropped, reading would never end.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut master = File::from(terminal.master);
    let (mut shown, mut part) = (Vec::new(), [0; 4096]);
    // If no process has the terminal open any more, reading returns an error, not the end.
    while let Ok(count @ 1..) = master.read(&mut part) {
        shown.extend_from_slice(&part[..count]);
        look(&shown, &mut master, child.id());
    }
    let status = child.wait().expect("the program ends");
    (status.code(), String::from_utf8_lossy(&shown).into_owned())
}
