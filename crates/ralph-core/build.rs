//! Turns the rules of `src/guard/rules.toml` into constants, so that no hook has to read them.
#![expect(clippy::disallowed_methods, reason = "a build script has files and variables only")]

use std::error::Error;
use std::fmt::Write;

use toml::{Table, Value};

const RULES: &str = "src/guard/rules.toml";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={RULES}");
    let file: Table = std::fs::read_to_string(RULES)?.parse()?;
    let rules = file.get("guard").and_then(|guard| guard.get("rules")).and_then(Value::as_array);
    let mut code = String::from("&[\n");
    for rule in rules.into_iter().flatten() {
        let text = |key| rule.get(key).and_then(Value::as_str).unwrap_or_default();
        let list = |key| -> Vec<&str> {
            let items = rule.get(key).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).collect()
        };
        writeln!(
            code,
            "BuiltIn {{ name: {:?}, commands: &{:?}, regex: {:?}, unless: &{:?}, instead: {:?} }},",
            text("name"),
            list("commands"),
            text("regex"),
            list("unless"),
            text("instead"),
        )?;
    }
    code.push(']');
    std::fs::write(format!("{}/guard_rules.rs", std::env::var("OUT_DIR")?), code)?;
    Ok(())
}
