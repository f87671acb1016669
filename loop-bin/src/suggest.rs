//! What people type who know other tools, and the command that does it here.

use clap::Command;

/// Words, and what to type instead.
const USUAL: &[(&str, &str)] = &[
    ("run start go loop build", "`ralph-loop` alone starts a run"),
    ("resume continue restart", "`ralph-loop` alone goes on where the last run ended"),
    (
        "watch monitor dashboard ui tail top",
        "`ralph-loop status --watch` shows a run as it goes on",
    ),
    ("log output stream", "`ralph-loop logs` shows what the agent did"),
    ("history runs", "`ralph-loop status --run all` lists the runs"),
    ("list ls plan todo tasks", "`ralph-loop stories` lists the plan"),
    ("planning", "`ralph-loop --mode planning` writes the plan"),
    (
        "kill cancel abort quit pause",
        "`ralph-loop stop` ends a run after its story, `stop --now` at once",
    ),
    ("new create setup", "`ralph-loop init` sets up a project"),
    ("check verify validate health", "`ralph-loop doctor` checks the project, and runs the checks"),
    ("settings get set", "`ralph-loop config` shows the settings; `.ralph/config.toml` holds them"),
    ("guard why test", "`ralph-loop explain 'COMMAND'` shows which rule would speak"),
    (
        "diff show take apply",
        "`ralph-loop attempts` shows attempts, `attempts take ID` brings one back",
    ),
    ("revert rollback restore", "`ralph-loop undo` restores what a rollback discarded"),
    ("unblock reopen redo", "`ralph-loop retry STORY` reopens a story"),
    ("say message hint ask", "`ralph-loop tell 'TEXT'` says something to the agent"),
    ("done finish", "`ralph-loop complete STORY` is the agent's word that it is done"),
    ("prune gc cleanup reset", "`ralph-loop clean` removes the copy"),
    ("merge push pr", "`ralph-loop request-merge` leaves a request for the user"),
    ("version", "`ralph-loop --version` shows it"),
    ("completion autocomplete", "`ralph-loop completions SHELL` prints a script for your shell"),
    ("manual", "`ralph-loop man DIR` writes the manual pages"),
    ("hooks", "`ralph-loop install` registers the hooks"),
    ("remove", "`ralph-loop uninstall` removes the hooks"),
];

/// How alike a subcommand must be to be meant.
const ALIKE: f64 = 0.8;

/// What is said about a word that is neither a subcommand nor a file.
pub(crate) fn instead_of(word: &str, command: &Command) -> String {
    let typed = word.to_ascii_lowercase();
    let usual = USUAL.iter().find(|(words, _)| words.split(' ').any(|one| one == typed));
    if let Some((_, instead)) = usual {
        return format!("not a subcommand; {instead}");
    }
    let names = command.get_subcommands().map(Command::get_name);
    let likeness = |name: &str| strsim::jaro_winkler(&typed, name);
    let nearest = names.max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    match nearest.filter(|name| likeness(name) > ALIKE) {
        Some(name) => format!("not a subcommand; did you mean `ralph-loop {name}`?"),
        None => "neither a subcommand nor a plan file; `ralph-loop --help` lists the subcommands"
            .to_owned(),
    }
}
