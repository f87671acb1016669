//! Turns the rows of agents into constants, so that no hook has to read them.
#![expect(clippy::disallowed_methods, reason = "a build script has files and variables only")]

use std::error::Error;

use toml::{Table, Value};

const AGENTS: &str = "src/dialect/agents.toml";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={AGENTS}");
    let tables: Table = std::fs::read_to_string(AGENTS)?.parse()?;
    let agents = tables.get("agents").map(|rows| literal("Dialect", rows)).unwrap_or_default();
    let code =
        format!("/// All agents, Claude Code first.\npub const AGENTS: &[Dialect] = {agents};\n");
    Ok(std::fs::write(format!("{}/agents.rs", std::env::var("OUT_DIR")?), code)?)
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
