//! A program on a terminal: what it prints there, sequences and all.

use std::io::Read;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};

/// Runs a program whose standard output is a terminal of 100 columns; returns its exit code and
/// everything that reached the terminal.
pub fn run_on_terminal(command: &mut Command) -> (Option<i32>, String) {
    run_on_columns(100, command)
}

/// The same on a terminal of so many columns.
pub fn run_on_columns(columns: u16, command: &mut Command) -> (Option<i32>, String) {
    let size = Winsize { ws_row: 30, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).expect("a terminal");
    let mut child = command
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .stdout(terminal.slave)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Our own copy of the other end goes with the command, or reading would never end.
    command.stdout(Stdio::null());
    let mut master = std::fs::File::from(terminal.master);
    let (mut shown, mut part) = (Vec::new(), [0; 4096]);
    // A terminal that nobody has open any more is an error, not an end.
    while let Ok(count @ 1..) = master.read(&mut part) {
        shown.extend_from_slice(&part[..count]);
    }
    let status = child.wait().expect("the program ends");
    (status.code(), String::from_utf8_lossy(&shown).into_owned())
}
