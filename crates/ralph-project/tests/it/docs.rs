//! Documents that are generated from code are up to date.
//!
//! `RALPH_INTERNAL__UPDATE_DOCS=1 cargo test -p ralph-loop-project --test it docs` updates them.

use std::fmt::Write;

use ralph_base::env::Env;
use ralph_project::config::{Config, Kind, keys, schema};
use test_support::fixtures;

#[test]
fn the_table_of_keys_matches_the_code() {
    let text = fs_err::read_to_string(fixtures().join("../docs/configuration.md")).unwrap();
    let (before, rest) = text.split_once("<!-- keys -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end of keys -->").unwrap();
    let expected = format!("{before}<!-- keys -->\n{}<!-- end of keys -->{after}", table());
    check("configuration.md", &expected);
}

#[test]
fn the_schema_matches_the_code() {
    let expected = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    check("config.schema.json", &expected);
}

fn check(name: &str, expected: &str) {
    let path = fixtures().join("../docs").join(name);
    if Env::process().get("RALPH_INTERNAL__UPDATE_DOCS").is_some() {
        fs_err::write(&path, expected).unwrap();
    }
    let text = fs_err::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "write it anew, as the head of this file tells");
}

fn table() -> String {
    let defaults = toml::Table::try_from(Config::default()).unwrap();
    let mut text = String::new();
    let mut last_table = "";
    for key in keys() {
        let (table, name) = key.name.split_once('.').unwrap();
        if table != last_table {
            let head =
                "| key | default | variable | flag | meaning |\n| --- | --- | --- | --- | --- |";
            writeln!(text, "\n### `[{table}]`\n\n{head}").unwrap();
            last_table = table;
        }
        let default = match key.kind {
            Kind::Table => "none".to_owned(),
            _ => format!("`{}`", defaults[table].as_table().unwrap()[name]),
        };
        let variable = key.env.map(|env| format!("`{env}`")).unwrap_or_default();
        let flag = key.flag.map(|flag| format!("`--{flag}`")).unwrap_or_default();
        writeln!(text, "| `{name}` | {default} | {variable} | {flag} | {} |", key.help).unwrap();
    }
    text.push('\n');
    text
}
