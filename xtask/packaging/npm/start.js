#!/usr/bin/env node
// Starts the program of this name from the package for this machine, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");
const path = require("node:path");

const name = path.basename(process.argv[1], ".js");
const machine = `ralph-loop-${process.platform}-${process.arch}`;
let program;
try {
  program = path.join(path.dirname(require.resolve(`${machine}/package.json`)), "bin", name);
} catch {
  console.error(`ralph-loop: there is no package ${machine}; build from source for this machine`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both; whoever sends it to us alone means the program.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (!process.stdin.isTTY || signal !== "SIGINT") child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`ralph-loop: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + require("node:os").constants.signals[signal] : code);
});
