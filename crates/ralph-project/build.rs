//! Turns the rows of agents and languages into constants, so that no hook has to read them.
#![expect(clippy::disallowed_methods, reason = "a build script has files and variables only")]

use std::error::Error;

use toml::{Table, Value};

fn main() -> Result<(), Box<dyn Error>> {
    let agents = "/// All agents, Claude Code first.\npub const AGENTS: &[Dialect]";
    generate("src/dialect", "agents", "Dialect", agents)?;
    let languages = "#[expect(clippy::needless_update, reason = \"a row may be full\")]\n\
                     const LANGUAGES: &[Language]";
    generate("src/leftovers", "languages", "Language", languages)
}

fn generate(folder: &str, name: &str, kind: &str, head: &str) -> Result<(), Box<dyn Error>> {
    let path = format!("{folder}/{name}.toml");
    println!("cargo:rerun-if-changed={path}");
    let tables: Table = std::fs::read_to_string(path)?.parse()?;
    let rows = tables.get(name).map(|rows| literal(kind, rows)).unwrap_or_default();
    let code = format!("{head} = {rows};\n");
    Ok(std::fs::write(format!("{}/{name}.rs", std::env::var("OUT_DIR")?), code)?)
}

fn literal(kind: &str, value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| literal(kind, item)).collect();
            format!("&[{}]", items.join(", "))
        }
        Value::Table(fields) => {
            let field =
                |(name, value): (&String, &Value)| format!("{name}: {}, ", literal("Line", value));
            format!("{kind} {{ {}..{kind}::EMPTY }}", fields.iter().map(field).collect::<String>())
        }
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}
