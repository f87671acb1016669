//! Turns tables that are data into constants, so that no hook has to read them.
#![expect(clippy::disallowed_methods, reason = "a build script has files and variables only")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;

use toml::{Table, Value};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    generate("src/guard/rules.toml", "guard_rules.rs", guard_rules)?;
    generate("src/verdict/runners.toml", "runners.rs", runners)?;
    generate("src/verdict/words.toml", "words.rs", words)
}

fn generate(from: &str, to: &str, code: fn(&Table) -> Outcome<String>) -> Outcome<()> {
    println!("cargo:rerun-if-changed={from}");
    let table: Table = std::fs::read_to_string(from)?.parse()?;
    Ok(std::fs::write(format!("{}/{to}", std::env::var("OUT_DIR")?), code(&table)?)?)
}

fn guard_rules(file: &Table) -> Outcome<String> {
    let rules = file.get("guard").and_then(|guard| guard.get("rules")).and_then(Value::as_array);
    let mut code = String::from("const BUILT_IN: &[BuiltIn] = &[\n");
    let mut programs = Sorted::default();
    for (at, rule) in rules.into_iter().flatten().enumerate() {
        code += &format!(
            "BuiltIn {{ name: {:?}, when: {}, regex: {:?}, unless: &{:?}, instead: {:?} }},\n",
            text(rule, "name").ok_or("a rule needs a name")?,
            text(rule, "when").map_or("None".to_owned(), |name| format!("Some(git_acts::{name})")),
            text(rule, "regex"),
            list(rule, "unless"),
            text(rule, "instead").ok_or("a rule needs an `instead`")?,
        );
        for line in list(rule, "commands") {
            let (names, words) = first_word(line);
            names.split('|').for_each(|name| programs.entry(name).or_default().push((at, words)));
        }
    }
    Ok(code + "];\n" + &constant("PROGRAMS", "&[(usize, &str)]", &programs))
}

fn runners(file: &Table) -> Outcome<String> {
    let rows = file.get("runner").and_then(Value::as_array).ok_or("no runners")?;
    let mut code = String::from("const ROWS: &[Row] = &[\n");
    let mut starts = Sorted::default();
    for (at, row) in rows.iter().enumerate() {
        let is = |key| row.get(key).and_then(Value::as_bool).unwrap_or_default();
        let exits = row.get("exits").and_then(Value::as_table).into_iter().flatten();
        let exits: String = exits
            .filter_map(|(code, kind)| Some(format!("({code}, Kind::{}), ", kind.as_str()?)))
            .collect();
        code += &format!(
            "Row {{ exits: &[{exits}], ends_with_zero: {}, one_summary_per_part: {}, says: {:?} }},\n",
            is("ends_with_zero"),
            is("one_summary_per_part"),
            text(row, "says").unwrap_or_default(),
        );
        for start in list(row, "started") {
            let (program, words) = first_word(start);
            // `mamba ~spec` is called mamba.
            let plain = start.split(['~', '*', '=']).next().unwrap_or(start).trim_end();
            let name = text(row, "name").unwrap_or(plain);
            starts.entry(program).or_default().push((words, name, at));
        }
    }
    let places = file.get("places").and_then(Value::as_table).into_iter().flatten();
    let places =
        places.flat_map(|(names, options)| names.split(' ').map(move |name| (name, options)));
    let places: BTreeMap<&str, &str> =
        places.filter_map(|(name, options)| Some((name, options.as_str()?))).collect();
    let starts = constant("STARTS", "&[(&str, &str, usize)]", &starts);
    let places: Vec<(&str, &str)> = places.into_iter().collect();
    Ok(code + "];\n" + &starts + &format!("const PLACES: &[(&str, &str)] = &{places:?};\n"))
}

fn words(file: &Table) -> Outcome<String> {
    let mut code = String::from(
        "/// Looks a lower-case word up; `None` means that it has no place in a summary.\n\
         pub(crate) fn meaning(word: &str) -> Option<Meaning> {\nSome(match word {\n",
    );
    for (meaning, words) in file {
        let words = words.as_str().unwrap_or_default().split_whitespace();
        let words: Vec<String> = words.map(|word| format!("{word:?}")).collect();
        code += &format!("{} => Meaning::{meaning},\n", words.join(" | "));
    }
    Ok(code + "_ => return None,\n})\n}\n")
}

type Sorted<'a, T> = BTreeMap<&'a str, Vec<T>>;

fn constant<T: Debug>(name: &str, values: &str, sorted: &Sorted<T>) -> String {
    let rows = sorted.iter().map(|(key, values)| format!("({key:?}, &{values:?}),\n"));
    format!("const {name}: &[(&str, {values})] = &[\n{}];\n", rows.collect::<String>())
}

fn first_word(line: &str) -> (&str, &str) {
    line.split_once(' ').unwrap_or((line, ""))
}

fn text<'v>(table: &'v Value, key: &str) -> Option<&'v str> {
    table.get(key).and_then(Value::as_str)
}

fn list<'v>(table: &'v Value, key: &str) -> Vec<&'v str> {
    let items = table.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}
