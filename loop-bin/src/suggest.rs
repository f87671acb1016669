//! The subcommand that was probably meant.

use clap::Command;

/// How similar a subcommand must be to be suggested.
const ALIKE: f64 = 0.8;

/// Words of other programs.
const MEANT: [(&[&str], &str); 2] = [
    (&["run", "start", "loop"], "`ralph-loop` alone starts a run"),
    (&["history", "runs"], "did you mean `ralph-loop status --run all`?"),
];

/// What is said about a word that is neither a subcommand nor a file.
pub(crate) fn instead_of(word: &str, subcommands: impl Iterator<Item = Command>) -> String {
    let typed = word.to_ascii_lowercase();
    if word.parse::<u64>().is_ok() {
        return format!("not a plan file; did you mean `ralph-loop --max-iterations {word}`?");
    }
    if let Some((_, instead)) = MEANT.iter().find(|(words, _)| words.contains(&&*typed)) {
        return format!("not a subcommand; {instead}");
    }
    let names = subcommands.map(|row| row.get_name().to_owned());
    let likeness = |name: &String| strsim::jaro_winkler(&typed, name);
    let nearest = names.max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    match nearest.filter(|name| likeness(name) > ALIKE) {
        Some(name) => format!("not a subcommand; did you mean `ralph-loop {name}`?"),
        None => "neither a subcommand nor a plan file; `ralph-loop` alone starts a run, and \
                 `ralph-loop --help` lists the subcommands"
            .to_owned(),
    }
}
