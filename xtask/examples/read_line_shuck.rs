//! Reads one command line from standard input with shuck-parser, and nothing else: for the
//! comparison of readers.

use std::io::Read;

use shuck_parser::parser::Parser;

fn main() -> std::io::Result<()> {
    let mut line = String::new();
    std::io::stdin().read_to_string(&mut line)?;
    std::hint::black_box(Parser::new(&line).parse());
    Ok(())
}
