//! What the client keeps by folder, for an agent that works in a copy of the project.

use anyhow::Result;
use scripted_model::{Answer, Script};
use serde_json::json;

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] =
    &[Scenario::new("mcp-server-of-the-project-answers-in-the-copy", &[], server_answers)
        .needing((2, 1, 0), "servers are keyed otherwise")];

/// A server that speaks MCP over its standard input and output, and says where it runs.
const SERVER: &str = r#"
const lines = require('readline').createInterface({ input: process.stdin });
const tools = [{ name: 'where', description: 'Says where it runs', inputSchema: { type: 'object' } }];
lines.on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'places', version: '1' },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': () => ({ content: [{ type: 'text', text: `I run in ${process.cwd()}` }] }),
  };
  const result = results[method] ? results[method]() : {};
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
"#;

fn server_answers(stage: &mut Stage<'_>) -> Result<()> {
    let scratch = stage.repo.scratch();
    let server = scratch.file("server.js", SERVER);
    let known = json!({"mcpServers": {"places": {"command": "node", "args": [server]}}});
    let projects = json!({"projects": {stage.root().as_str(): known}});
    scratch.file("home/.claude.json", projects.to_string());
    fs_err::create_dir_all(stage.state.prd(1))?;
    fs_err::write(stage.state.plan(1), "# Plan\n\n- [ ] US-001: Write one\n")?;
    stage.repo.commit_all("the plan");
    let script = Script::of([
        Answer::tool("mcp__places__where", json!({})),
        Answer::bash("echo right > one.story"),
        Answer::text("It is done."),
    ]);
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    let told = run.told(1)?;
    expect::contains(&told, "I run in ")?;
    let in_project = format!("I run in {}", stage.root());
    expect::that(!told.contains(&in_project), "the server runs in the copy")
}
