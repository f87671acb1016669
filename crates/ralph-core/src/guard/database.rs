//! `database`: what empties databases, through their clients or the tools of frameworks.

use super::act::Act;
use super::paths::{self, Place};
use super::table::{Row, listed};
use shell_reader::values;

const INSTEAD: &str = "work on a database of your own, in the project or in the temp folder, or \
                       leave it to the user: `ralph-loop request-merge --summary \"…\"`";

const fn row(programs: &'static str, words: &'static str) -> Row {
    [programs, words, "", "--dry-run", "", INSTEAD]
}

const RESETS: &[Row] = &[
    row("prisma", "migrate reset"),
    ["prisma", "db push", "--force-reset --accept-data-loss", "", "", INSTEAD],
    row("manage.py|django-admin", "flush|reset_db"),
    row("artisan", "migrate:fresh|migrate:reset|migrate:refresh|db:wipe"),
    row("mix", "ecto.drop|ecto.reset"),
    row("sequelize|sequelize-cli", "db:drop|db:migrate:undo:all"),
    row("typeorm", "schema:drop"),
    row("supabase", "db reset"),
    row("flyway", "clean"),
    row("liquibase", "drop-all|dropAll"),
];

/// Tasks of Rails that empty a database.
const TASKS: [&str; 7] = [
    "db:drop",
    "db:drop:all",
    "db:migrate:reset",
    "db:purge",
    "db:reset",
    "db:schema:load",
    "db:truncate_all",
];

/// What to do instead of deleting data.
pub(super) fn instead_of_deleting(act: &Act) -> Option<String> {
    let found = match act.name {
        "psql" => empties(&sent(act, "-c --command")),
        "mysql" | "mariadb" => empties(&sent(act, "-e --execute")),
        "dropdb" => true,
        "mysqladmin" | "mariadb-admin" => act.args().any(|arg| arg == "drop"),
        "rails" | "rake" => act.args().any(|arg| TASKS.contains(&arg)) && !is_of_tests(act),
        "sqlite3" => is_outside(act) && empties(&sent(act, "")),
        "redis-cli" | "valkey-cli" => sent(act, "").iter().any(|text| {
            text.split_whitespace().any(|word| {
                word.eq_ignore_ascii_case("flushall") || word.eq_ignore_ascii_case("flushdb")
            })
        }),
        "mongosh" | "mongo" => {
            let texts = sent(act, "--eval");
            ["dropDatabase(", ".drop(", "deleteMany({})"]
                .iter()
                .any(|call| texts.iter().any(|text| text.contains(call)))
        }
        _ => return listed(RESETS, act).filter(|_| !is_of_tests(act)),
    };
    (found && !act.args().any(|arg| arg == "--help")).then(|| INSTEAD.to_owned())
}

/// The texts that a client is given: on its standard input, by these options, or as words.
fn sent(act: &Act, options: &str) -> Vec<String> {
    let mut texts: Vec<String> = act.command.input.iter().cloned().collect();
    let given = values(&act.command.args, options, "");
    texts.extend(given.iter().map(|word| word.text().to_owned()));
    if options.is_empty() {
        texts.extend(act.leading_words().into_iter().map(str::to_owned));
    }
    texts
}

/// Whether one of the texts holds `drop`, `truncate`, or `delete` without `where`.
fn empties(texts: &[String]) -> bool {
    let mut lines = texts.iter().flat_map(|text| text.split([';', '\n']));
    let drops = lines.any(|line| {
        let mut words = line.split_whitespace().map(str::to_ascii_lowercase);
        let first = words.next();
        matches!(first.as_deref(), Some("drop" | "truncate")) && words.next().is_some()
    });
    drops || texts.iter().flat_map(|text| text.split(';')).any(deletes_all)
}

fn deletes_all(statement: &str) -> bool {
    let words = statement.split_whitespace().map(str::to_ascii_lowercase).collect::<Vec<_>>();
    let [first, second, ..] = words.as_slice() else { return false };
    first == "delete" && second == "from" && !words.iter().any(|word| word == "where")
}

/// Whether a file of `sqlite3` is neither the project's nor temporary.
fn is_outside(act: &Act) -> bool {
    let operands = act.operands();
    let file = operands.first().filter(|file| !matches!(file.text(), "" | ":memory:"));
    match file.map(|file| act.place(file)) {
        Some(Place::At(path)) => {
            act.facts.inside(&path).is_none() && !paths::is_temporary(&path, act.facts)
        }
        _ => false,
    }
}

/// `RAILS_ENV=test rails db:reset`: a database for tests is there to be emptied.
fn is_of_tests(act: &Act) -> bool {
    let given = act.command.assignments.iter();
    let mut given = given.map(|(name, value)| (name.as_str(), value.text()));
    let is_test = |(name, value): (&str, &str)| name.ends_with("_ENV") && value == "test";
    given.any(is_test) || act.args().filter_map(|arg| arg.split_once('=')).any(is_test)
}
