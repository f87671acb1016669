# What the scripts of scenarios may call. They run with `set -eux` in the project.

# Commits everything.
commit() { git add -A && git commit -q --allow-empty -m "${1:-more}"; }

# Puts a shell script in place of an installed hook. The binary goes first: it may be running.
stand_in() {
    rm ".claude/hooks/$1"
    printf '#!/bin/sh\n%s\n' "$2" >".claude/hooks/$1"
    chmod +x ".claude/hooks/$1"
}

# Prints something of each event of this name in the journal: an expression of `e`.
journal() {
    node -e 'const [name, of] = process.argv.slice(1), fs = require("fs"), path = ".ralph/events.jsonl";
const lines = fs.existsSync(path) ? fs.readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
const events = lines.map((line) => JSON.parse(line)).filter((e) => e.event === name);
events.forEach((e) => console.log(eval(of)));' "$1" "${2:-name}"
}

# How often an event is in the journal.
count() { journal "$1" | wc -l | tr -d " "; }

# How each iteration ended, and the commits of the loop, oldest first.
outcomes() { journal iteration_finished 'e.story + " " + e.outcome' | paste -sd, -; }
commits() { git log --reverse --format=%s | grep ^feat | paste -sd, -; }

# Two texts must be the same; the second one is expected.
is() { [ "$1" = "$2" ]; }

# A file must hold a text, or must not.
has() { grep -qF -- "$2" "$1"; }
lacks() { [ -f "$1" ] && ! grep -qF -- "$2" "$1"; }

# A failing test, after so many lines of output.
failing_test() {
    cat >sum.test.js <<END
const test = require('node:test');
for (let i = 0; i < $1; i++) console.log('line ' + i + ' ' + 'x'.repeat(60));
test('adds up', () => { if (1 + 1 !== 3) throw new Error('sum is wrong'); });
END
}

# Answers what the client asks a person at its first start, and in each new folder.
answer_first_questions() {
    node -e 'const fs = require("fs"), path = process.env.HOME + "/.claude.json";
const known = fs.existsSync(path) ? JSON.parse(fs.readFileSync(path)) : {};
Object.assign(known, {hasCompletedOnboarding: true, theme: "dark",
  customApiKeyResponses: {approved: ["scripted"], rejected: []},
  projects: {[process.cwd()]: {hasTrustDialogAccepted: true}}});
fs.writeFileSync(path, JSON.stringify(known));'
}

# A list of three features, of which so many pass, its progress file, and a script that ticks one.
features() {
    mkdir loop
    node -e 'const features = [1, 2, 3].map((id) => ({id, description: `feature number ${id}`,
  steps: [`build number ${id}`], passes: id <= process.argv[1]}));
console.log(JSON.stringify({total_features: 3, features}, null, 2));' "$1" >loop/feature_list.json
    printf -- '- Iteration: 1\n- Max Iterations: 10\n- Status: IN_PROGRESS\n' >loop/progress.txt
    cat >tick.sh <<'END'
node -e 'const fs = require("fs"), path = "loop/feature_list.json", list = JSON.parse(fs.readFileSync(path));
list.features[process.argv[1] - 1].passes = true;
fs.writeFileSync(path, JSON.stringify(list, null, 2));' "$1"
END
}

# The plugin with this project's hooks inside, in a marketplace; the settings register none any more.
plugin() {
    mkdir "$SCRATCH/built"
    mv .claude/hooks/ralph-* "$SCRATCH/built"
    ln -s "$BINARIES/ralph-loop" "$SCRATCH/built/ralph-loop"
    "$XTASK" plugin --binaries "$SCRATCH/built" --output "$SCRATCH/marketplace"
    ralph-loop uninstall
    commit 'no settings'
}
