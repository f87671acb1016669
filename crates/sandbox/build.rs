//! Turns the rows of `src/tables.toml` into constants, so that no process has to parse them.
#![expect(clippy::disallowed_methods, reason = "a build script has files and variables only")]

use std::error::Error;

use toml::{Table, Value};

const TABLES: &str = "src/tables.toml";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={TABLES}");
    let tables: Table = std::fs::read_to_string(TABLES)?.parse()?;
    let constant = |(name, rows): (&String, &Value)| {
        let kind = if rows.get(0).is_some_and(Value::is_table) { "Row" } else { "&str" };
        let rows = literal(rows);
        format!("pub(crate) const {}: &[{kind}] = {rows};\n", name.to_uppercase())
    };
    let code: String = tables.iter().map(constant).collect();
    std::fs::write(format!("{}/tables.rs", std::env::var("OUT_DIR")?), code)?;
    Ok(())
}

fn literal(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("&[{}]", items.join(", "))
        }
        Value::Table(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name}: {}, ", literal(value));
            format!("Row {{ {}..EMPTY }}", fields.iter().map(field).collect::<String>())
        }
        other => other.to_string(),
    }
}
