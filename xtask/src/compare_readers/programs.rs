//! Two small programs that read one line and end: what does a reader cost a process that is
//! started for every tool call?

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};

use super::{median, print_row};
use crate::{dist, run};

const PROGRAMS: [&str; 2] = ["read_line_ours", "read_line_shuck"];
const LINE: &str =
    "cd app && RUST_LOG=info cargo test -p core 2>&1 | tee /tmp/out.log | tail -20; git status -sb";
const STARTS: usize = 400;

/// Builds both, starts them in turn and prints what they cost.
pub(super) fn run() -> Result<()> {
    let folder = dist::build_examples("xtask", &PROGRAMS)?;
    let [ours, shuck] = PROGRAMS.map(|name| folder.join(name));
    let empty = Utf8PathBuf::from("/bin/true");
    println!("a program that reads one line of {} bytes and ends", LINE.len());
    let sizes = [size(&ours)?, size(&shuck)?];
    print_row("  size, stripped, kB", sizes, 0);
    let mut taken: [Vec<f64>; 3] = Default::default();
    for _ in 0..STARTS {
        for (program, times) in [&ours, &shuck, &empty].into_iter().zip(&mut taken) {
            times.push(start(program)?);
        }
    }
    let [ours_ms, shuck_ms, empty_ms] = taken.map(median);
    print_row("  start to end, ms", [ours_ms, shuck_ms], 3);
    println!("{:<34}{empty_ms:>12.3}", "  the same for /bin/true");
    match [instructions(&ours), instructions(&shuck)] {
        [Some(ours), Some(shuck)] => print_row("  instructions, thousands", [ours, shuck], 0),
        _ => println!("  instructions: not counted, valgrind is not installed"),
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
fn size(program: &Utf8Path) -> Result<f64> {
    Ok(fs_err::metadata(program)?.len() as f64 / 1000.0)
}

/// Milliseconds from the start of a program to its end.
fn start(program: &Utf8Path) -> Result<f64> {
    let begun = Instant::now();
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("starting {program}"))?;
    if let Some(mut input) = child.stdin.take() {
        // `/bin/true` may be gone before it was given anything.
        let _ = input.write_all(LINE.as_bytes());
    }
    let status = child.wait()?;
    ensure!(status.success(), "{program} ended with {status}");
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

/// Thousands of instructions in user space, the start of the program included.
fn instructions(program: &Utf8Path) -> Option<f64> {
    let mut counted = run::command("valgrind");
    counted.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", program.as_str()]);
    let mut child =
        counted.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().ok()?;
    child.stdin.take()?.write_all(LINE.as_bytes()).ok()?;
    let report = child.wait_with_output().ok()?.stderr;
    let report = String::from_utf8_lossy(&report).into_owned();
    let (_, count) = report.lines().find_map(|line| line.split_once("refs:"))?;
    let digits: String = count.chars().filter(char::is_ascii_digit).collect();
    Some(digits.parse::<f64>().ok()? / 1e3)
}
