//! Turns `src/wrappers.toml` into constants, sorted by name, so that nothing has to read it.
#![expect(clippy::disallowed_methods, reason = "a build script has files and variables only")]

use std::collections::BTreeMap;
use std::error::Error;

use toml::{Table, Value};

const WRAPPERS: &str = "src/wrappers.toml";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={WRAPPERS}");
    let file: Table = std::fs::read_to_string(WRAPPERS)?.parse()?;
    let rows = file.get("wrapper").and_then(Value::as_array).ok_or("no wrappers")?;
    let mut sorted = BTreeMap::new();
    for row in rows {
        let words = |key| -> Vec<&str> {
            row.get(key).and_then(Value::as_str).unwrap_or_default().split_whitespace().collect()
        };
        let operands = row.get("operands").and_then(Value::as_integer).unwrap_or_default();
        let code = format!(
            "Wrapper {{ subcommands: {:?}, values: {:?}, operands: {operands}, style: {:?} }}",
            words("subcommands").join(" "),
            words("values").join(" "),
            words("style").join(" "),
        );
        for name in words("names") {
            sorted.insert(name, code.clone());
        }
    }
    let rows: String = sorted.iter().map(|(name, code)| format!("({name:?}, {code}),\n")).collect();
    let options = file.get("text_options").and_then(Value::as_table).ok_or("no text options")?;
    let options: BTreeMap<&str, &Value> =
        options.iter().map(|(name, of)| (name.as_str(), of)).collect();
    let options: String = options.iter().map(|(name, of)| format!("({name:?}, {of}),\n")).collect();
    let code = format!(
        "const WRAPPERS: &[(&str, Wrapper)] = &[\n{rows}];\n\
         const TEXT_OPTIONS: &[(&str, &str)] = &[\n{options}];\n"
    );
    Ok(std::fs::write(format!("{}/wrappers.rs", std::env::var("OUT_DIR")?), code)?)
}
