//! Turns tables that are data into constants, so that no hook has to read them.
#![expect(clippy::disallowed_methods, reason = "a build script has files and variables only")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;

use toml::{Table, Value};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    generate("src/guard/rules.toml", "guard_rules.rs", guard_rules)?;
    generate("src/guard/rules.toml", "rules.rs", rules)?;
    generate("src/verdict/runners.toml", "runners.rs", runners)?;
    generate("src/verdict/words.toml", "words.rs", words)?;
    lists("src/guard/lists.toml")?;
    lists("src/verdict/lists.toml")
}

/// Each table of lists becomes a file of constants.
fn lists(path: &str) -> Outcome<()> {
    for (name, table) in &read(path)? {
        let lists = table.as_table().into_iter().flatten();
        let code = lists.map(|(key, value)| match value.as_table() {
            Some(pairs) => {
                let pairs =
                    pairs.iter().filter_map(|(names, value)| Some((names, value.as_str()?)));
                let pairs =
                    pairs.flat_map(|(names, text)| names.split(' ').map(move |n| (n, text)));
                let pairs: Vec<_> = pairs.collect::<BTreeMap<_, _>>().into_iter().collect();
                format!("const {key}: &[(&str, &str)] = &{pairs:?};\n")
            }
            None => {
                let words = value.as_str().into_iter().flat_map(str::split_whitespace);
                let list: Vec<&str> = words.chain(list(table, key)).collect();
                format!("const {key}: &[&str] = &{list:?};\n")
            }
        });
        write(&format!("{name}.rs"), code.collect())?;
    }
    Ok(())
}

fn generate(from: &str, to: &str, code: fn(&Table) -> Outcome<String>) -> Outcome<()> {
    write(to, code(&read(from)?)?)
}

fn read(path: &str) -> Outcome<Table> {
    println!("cargo:rerun-if-changed={path}");
    Ok(std::fs::read_to_string(path)?.parse()?)
}

fn write(name: &str, code: String) -> Outcome<()> {
    Ok(std::fs::write(format!("{}/{name}", std::env::var("OUT_DIR")?), code)?)
}

fn rules(file: &Table) -> Outcome<String> {
    let rows = file.get("rule").and_then(Value::as_array).ok_or("no rules")?;
    let row = |rule: &Value| {
        let by_code = text(rule, "by_code").map(|path| format!("Some({path})"));
        format!(
            "Rule {{ name: {:?}, reason: {:?}, applies: Applies::{}, by_code: {}, is_local: {} }},\n",
            text(rule, "name").unwrap_or_default(),
            text(rule, "reason").unwrap_or_default(),
            text(rule, "applies").unwrap_or("Always"),
            by_code.as_deref().unwrap_or("None"),
            rule.get("local").is_some(),
        )
    };
    let rows: String = rows.iter().map(row).collect();
    let about = "/// The rules that come with the product.";
    Ok(format!("{about}\npub const RULES: &[Rule] = &[\n{rows}];\n"))
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
            let (first, rest) = first_word(words);
            let is_plain = !first.starts_with(['-', '!', '.', '$']) && !first.contains('*');
            let (first, words) = if is_plain { (first, rest) } else { ("", words) };
            for name in names.split('|') {
                let rows = programs.entry(name).or_default();
                rows.extend(first.split('|').map(|first| (first, at, words)));
            }
        }
    }
    Ok(code + "];\n" + &constant("PROGRAMS", "&[Row]", &programs))
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
    Ok(code + "];\n" + &constant("STARTS", "&[Start]", &starts))
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
