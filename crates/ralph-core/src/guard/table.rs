//! Forbidden calls as tables, and the one way to look something up in them.

use super::act::Act;

/// A forbidden call: the programs (`git` stands for all ways to call it); the words that come first,
/// options left out, such as `stash drop|clear`, with `*` for any word; options of which one must be
/// given, if any are named; options with which it is harmless; the switch that must be on, if any;
/// what to do instead.
pub(super) type Row = [&'static str; 6];

/// What the first row that fits says.
pub(super) fn listed(rows: &[Row], act: &Act) -> Option<String> {
    let program = if act.git.is_some() { "git" } else { act.asked().0 };
    // As bytes, because every command comes by here.
    let is_one = |own: &[u8]| own == program.as_bytes() || own == act.name.as_bytes();
    let fits = |[own, ..]: &&Row| match *own {
        // Most rows are about nothing else.
        "git" => act.git.is_some(),
        own => own.as_bytes().split(|byte| *byte == b'|').any(is_one),
    };
    let mut rows = rows.iter().filter(fits).peekable();
    rows.peek()?;
    let words = act.leading_words();
    let has = |options: &str| match &act.git {
        Some(git) => git.has(options),
        None => act.has(options),
    };
    let row = rows.find(|[_, wanted, with, without, switch, _]| {
        let mut given = words.iter();
        let mut wanted = wanted.split_whitespace();
        wanted.all(|any| given.next().is_some_and(|word| fits_word(any, word)))
            && (with.is_empty() || has(with))
            && !has(without)
            && (switch.is_empty() || act.switch(switch))
    });
    let [.., instead] = row?;
    let asks_for_help = match &act.git {
        Some(git) => git.asks_for_help(),
        None => act.args().any(|arg| matches!(arg, "--help" | "-help" | "-h")),
    };
    (!asks_for_help).then(|| (*instead).to_owned())
}

/// Whether a word is one of those that a column names.
fn fits_word(any: &str, word: &str) -> bool {
    any == "*" || any.split('|').any(|one| one == word)
}
