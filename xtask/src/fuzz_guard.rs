//! `cargo xtask fuzz-guard`: random command lines, none of which may panic or take long.
//!
//! Three kinds: tokens in random order, labelled commands with random damage, and deep nesting.
//! The same seed gives the same lines.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use anyhow::ensure;
use camino::Utf8Path;
use ralph_core::guard::{self, Facts, Settings};

use super::guard::{commands, facts};

/// A line that takes longer is a failure; a hook has no more time than that.
pub(crate) const SLOW: Duration = Duration::from_millis(50);

const TOKENS: &[&str] = &[
    "git",
    "push",
    "merge",
    "reset",
    "--hard",
    "rm",
    "-rf",
    "/",
    "~",
    "..",
    ".git",
    " ",
    " ",
    " ",
    "\n",
    "\t",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "(",
    ")",
    "{ ",
    " }",
    "{",
    "}",
    "[",
    "]",
    "[[ ",
    " ]]",
    "((",
    "))",
    "$(",
    "${",
    "$",
    "`",
    "'",
    "\"",
    "\\",
    "$'",
    "$\"",
    "#",
    "!",
    "*",
    "?",
    "=",
    "x=",
    "$x",
    "${x:-",
    "${x}",
    "$@",
    "$*",
    "$1",
    "<",
    ">",
    ">>",
    "<<",
    "<<-",
    "<<<",
    "<(",
    ">(",
    "2>&1",
    "&>",
    "EOF",
    "<<EOF\n",
    "\nEOF\n",
    "<<'E'\n",
    "if ",
    "then ",
    "else ",
    "elif ",
    "fi",
    "for i in ",
    "while ",
    "until ",
    "do ",
    "done",
    "case x in ",
    "a) ",
    ";;",
    "esac",
    "function f ",
    "f() ",
    "f",
    "select x in ",
    "coproc ",
    "time ",
    "eval ",
    "bash -c ",
    "sh ",
    "source ",
    "exec ",
    "sudo ",
    "env ",
    "timeout 5 ",
    "xargs ",
    "xargs -I{} ",
    "find . -exec ",
    "{} ",
    "\\;",
    "+",
    "parallel ",
    "::: ",
    "trap ",
    "alias g=git",
    "g",
    "set -e",
    "set -- ",
    "cd ",
    "export ",
    "{a,b}",
    "{1..9}",
    "-c ",
    "alias.p=push ",
    "python3 -c ",
    "os.system(",
    "awk ",
    "é",
    "\u{fffc}",
    "\r\n",
    "tee ",
    "echo ",
    "printf ",
    "%s",
    "cat ",
    "read ",
    "docker exec ",
    "ssh h ",
    "+=",
    "a=(",
    "@(",
];

const NESTS: &[(&str, &str)] = &[
    ("(", ")"),
    ("{ ", "; }"),
    ("$(", ")"),
    ("\"$(", ")\""),
    ("`", "`"),
    ("${x:-", "}"),
    ("$((", "))"),
    ("((", "))"),
    ("if ", "; then a; fi"),
    ("bash -c '", "'"),
    ("bash -c \"", "\""),
    ("eval ", ""),
    ("f() { ", "; }; f"),
    ("<(", ")"),
    ("for i in a b c d; do ", "; done"),
    ("case x in a) ", ";; esac"),
    ("sudo ", ""),
    ("xargs ", ""),
    ("[[ ", " ]]"),
    ("{a,", "}"),
    ("x=", ";"),
    ("@(", ")"),
    ("a | ", ""),
    ("cat <<E\n", "\nE\n"),
    ("bash <<E\n", "\nE\n"),
    ("echo '", "' | sh"),
    ("find . -exec ", " \\;"),
    ("a=$a$a;", ""),
    ("f() { f; f; ", "}; f"),
    ("while ", "; do a; done"),
    ("! ", ""),
    ("time ", ""),
];

/// A small generator of its own: the run must not change with a dependency.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        // Zero would stay zero.
        Self(seed | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() >> 33).unwrap_or_default() % limit.max(1)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let at = self.below(from.len());
        from.get(at)
    }
}

/// Runs `cases` random lines through the guard.
///
/// # Errors
/// When a line made the guard panic or took longer than it may, or a table cannot be read.
pub(crate) fn run(project: &Utf8Path, cases: u64, seed: u64) -> anyhow::Result<()> {
    let mut corpus = commands(&project.join("fixtures/commands.tsv"))?;
    corpus.extend(commands(&project.join("fixtures/commands-extra.tsv"))?);
    let (facts, settings) = (facts(), Settings::default());
    let mut dice = Dice::new(seed);
    let mut slowest = (Duration::ZERO, String::new());
    let (mut panics, mut slow, mut denied) = (Vec::new(), Vec::new(), 0_u64);
    let started = Instant::now();
    for case in 0..cases {
        let line = random_line(&mut dice, case, &corpus);
        let answer = catch_unwind(AssertUnwindSafe(|| timed(&line, &facts, &settings)));
        let Ok((mut taken, denial)) = answer else {
            panics.push(line);
            continue;
        };
        denied += u64::from(denial);
        if taken > slowest.0 {
            // Another program may have been in the way.
            taken = processor_time(|| timed(&line, &facts, &settings)).unwrap_or(taken);
        }
        if taken > SLOW {
            slow.push((taken, line.clone()));
        }
        if taken > slowest.0 {
            slowest = (taken, line);
        }
    }
    println!("{cases} lines, {denied} denied, {:.1?} in all", started.elapsed());
    println!("slowest {:.2?}: {}", slowest.0, shortened(&slowest.1));
    for line in panics.iter().take(10) {
        println!("panic: {line:?}");
    }
    for (taken, line) in slow.iter().take(10) {
        println!("slow, {taken:.2?}: {}", shortened(line));
    }
    ensure!(
        panics.is_empty() && slow.is_empty(),
        "{} panics, {} slow lines",
        panics.len(),
        slow.len()
    );
    Ok(())
}

/// A line of one of the three kinds, by the number of the case.
pub(crate) fn random_line(dice: &mut Dice, case: u64, corpus: &[String]) -> String {
    match case % 16 {
        0..8 => soup(dice),
        8..15 => damaged(dice, corpus),
        _ => nested(dice),
    }
}

/// How long the guard takes for a line, and whether it denies it.
fn timed(line: &str, facts: &Facts, settings: &Settings) -> (Duration, bool) {
    let begun = Instant::now();
    let denied = guard::check(line, facts, settings).is_some();
    (begun.elapsed(), denied)
}

/// The time on the processor, where the system tells it: another program may have been in the way.
pub(crate) fn processor_time<T>(act: impl FnOnce() -> T) -> Option<Duration> {
    let now = || {
        let text = fs_err::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    let before = now()?;
    act();
    now()?.checked_sub(before)
}

fn soup(dice: &mut Dice) -> String {
    let length = 1 + dice.below(40);
    (0..length).filter_map(|_| dice.pick(TOKENS)).copied().collect()
}

/// A labelled command with characters removed, doubled, replaced or tokens put in.
fn damaged(dice: &mut Dice, corpus: &[String]) -> String {
    let mut letters: Vec<char> =
        dice.pick(corpus).map(|line| line.chars().collect()).unwrap_or_default();
    for _ in 0..=dice.below(4) {
        let at = dice.below(letters.len() + 1);
        match dice.below(4) {
            0 if at < letters.len() => {
                letters.remove(at);
            }
            1 => {
                let from = dice.below(letters.len() + 1);
                let piece: Vec<char> =
                    letters.iter().skip(from).take(dice.below(20)).copied().collect();
                letters.splice(at..at, piece);
            }
            2 => {
                let token: Vec<char> =
                    dice.pick(TOKENS).map(|token| token.chars().collect()).unwrap_or_default();
                letters.splice(at..at, token);
            }
            _ => {
                if let Some(other) = dice.pick(corpus) {
                    letters.extend(other.chars());
                }
            }
        }
    }
    letters.into_iter().collect()
}

/// Constructs inside constructs, some of them thousands deep.
fn nested(dice: &mut Dice) -> String {
    let depth = if dice.below(50) == 0 { 3000 } else { 1 + dice.below(40) };
    let mixed = dice.below(2) == 0;
    let (mut before, mut behind) = (String::new(), Vec::new());
    let mut nest = dice.pick(NESTS);
    for _ in 0..depth {
        if mixed {
            nest = dice.pick(NESTS);
        }
        if let Some((open, close)) = nest {
            before.push_str(open);
            behind.push(*close);
        }
    }
    let closed = dice.below(3) > 0;
    let tail: String = if closed { behind.into_iter().rev().collect() } else { String::new() };
    format!("{before}git push{tail}")
}

fn shortened(line: &str) -> String {
    format!("{:?}", line.chars().take(300).collect::<String>())
}
