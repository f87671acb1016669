//! Reads one command line from standard input with our own reader, and nothing else: for the
//! comparison of readers.

use std::io::Read;

fn main() -> std::io::Result<()> {
    let mut line = String::new();
    std::io::stdin().read_to_string(&mut line)?;
    std::hint::black_box(shell_reader::read(&line));
    Ok(())
}
