//! Keeps the machine awake while a run goes on, where the system offers that. Nothing here may hinder
//! a run: what does not work is left out.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use wait_timeout::ChildExt;

/// The programs that hold sleep off for as long as another program runs.
const KEEPERS: [&[&str]; 2] = [
    &["systemd-inhibit", "--what=idle:sleep", "--who=ralph-loop", "--why=a run is in progress"],
    &["caffeinate", "-i", "-s"],
];

/// The program that runs meanwhile: it says that it runs, and ends when we do, however we end.
const HELD: &str = "echo held; exec cat";

/// How long a keeper may take: one that asks for a password waits for ever.
const PATIENCE: Duration = Duration::from_millis(500);

/// Sleep is held off while this lives.
#[derive(Debug)]
pub(super) struct Awake {
    keeper: Child,
    /// The other end is read by the program that runs meanwhile.
    pipe: Option<ChildStdin>,
    /// Who does it.
    pub(super) by: &'static str,
}

impl Awake {
    /// By the first keeper that there is, and that can.
    pub(super) fn hold() -> Option<Self> {
        KEEPERS.iter().find_map(|keeper| hold_by(keeper))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the door for what keeps a machine awake")]
fn hold_by(keeper: &[&'static str]) -> Option<Awake> {
    let (by, args) = keeper.split_first()?;
    let mut command = Command::new(by);
    command.args(args).args(["sh", "-c", HELD]).current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut keeper = command.spawn().ok()?;
    let (pipe, said) = (keeper.stdin.take(), keeper.stdout.take()?);
    // From here on whatever goes wrong ends it.
    let awake = Awake { keeper, pipe, by };
    let (sender, heard) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(said).read_line(&mut line);
        let _ = sender.send(line.trim() == "held");
    });
    match heard.recv_timeout(PATIENCE) {
        Ok(true) => Some(awake),
        _ => None,
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        drop(self.pipe.take());
        if !matches!(self.keeper.wait_timeout(PATIENCE), Ok(Some(_))) {
            let _ = self.keeper.kill();
            let _ = self.keeper.wait();
        }
    }
}
