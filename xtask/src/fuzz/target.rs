//! What is fuzzed, and the inputs that are made for it.

use crate::torture::dice::Dice;

/// Reads an input, and tells whether it found something in it.
pub(super) type Act = Box<dyn Fn(&[u8]) -> bool>;

/// A reader of what others write.
pub(super) struct Target {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// Sound inputs to begin from.
    pub(super) corpus: Vec<Vec<u8>>,
    /// Words and signs that mean something to it.
    pub(super) tokens: &'static [&'static str],
    /// What can stand around other inputs.
    pub(super) nests: &'static [(&'static str, &'static str)],
    /// The reader itself.
    pub(super) act: Act,
}

impl Target {
    /// The next input: tokens in random order, a sound input with random damage, or deep nesting.
    pub(super) fn input(&self, case: u64, dice: &mut Dice) -> Vec<u8> {
        match case % 16 {
            0..6 => self.soup(dice),
            6..15 => self.damaged(dice),
            _ => self.nested(dice),
        }
    }

    fn soup(&self, dice: &mut Dice) -> Vec<u8> {
        let length = 1 + dice.below(40);
        let tokens = (0..length).filter_map(|_| dice.pick(self.tokens));
        tokens.flat_map(|token| token.bytes()).collect()
    }

    /// Bytes removed, doubled or changed, tokens put in, another input behind.
    fn damaged(&self, dice: &mut Dice) -> Vec<u8> {
        let mut input = dice.pick(&self.corpus).cloned().unwrap_or_default();
        for _ in 0..=dice.below(4) {
            let at = dice.below(input.len() + 1);
            match dice.below(6) {
                0 if at < input.len() => {
                    let end = (at + 1 + dice.below(8)).min(input.len());
                    input.drain(at..end);
                }
                1 => {
                    let from = dice.below(input.len() + 1);
                    let piece: Vec<u8> =
                        input.iter().skip(from).take(dice.below(20)).copied().collect();
                    input.splice(at..at, piece);
                }
                2 => {
                    let token = dice.pick(self.tokens).copied().unwrap_or_default();
                    input.splice(at..at, token.bytes());
                }
                3 => input.truncate(at),
                4 => {
                    if let Some(byte) = input.get_mut(at) {
                        *byte = dice.roll().to_le_bytes()[0];
                    }
                }
                _ => input.extend(dice.pick(&self.corpus).into_iter().flatten()),
            }
        }
        input
    }

    /// Constructs inside constructs, some of them thousands deep.
    fn nested(&self, dice: &mut Dice) -> Vec<u8> {
        let depth = if dice.below(50) == 0 { 3000 } else { 1 + dice.below(40) };
        let mixed = dice.below(2) == 0;
        let (mut before, mut behind) = (String::new(), Vec::new());
        let mut nest = dice.pick(self.nests);
        for _ in 0..depth {
            if mixed {
                nest = dice.pick(self.nests);
            }
            if let Some((open, close)) = nest {
                before.push_str(open);
                behind.push(*close);
            }
        }
        let closed = dice.below(3) > 0;
        let tail: String = if closed { behind.into_iter().rev().collect() } else { String::new() };
        let inside = dice.pick(self.tokens).copied().unwrap_or_default();
        format!("{before}{inside}{tail}").into_bytes()
    }
}
