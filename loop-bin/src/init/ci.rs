//! What the project's own CI runs: the commands of its workflows, read line by line. Nothing else of
//! them is understood, and a command that holds an expression is only a hint.

use camino::Utf8Path;

use super::files::Files;

/// A command of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Where it runs, from the top.
    pub(super) folder: String,
    pub(super) command: String,
    /// The file that it is from.
    pub(super) file: String,
}

impl Step {
    /// Whether it can be run as it stands: one plain command.
    pub(super) fn is_plain(&self) -> bool {
        !self.command.contains(['$', '|', '>', '<', '`', ';', '&', '(', '{'])
    }
}

/// All commands, in the order of the files.
pub(super) fn steps(files: &Files<'_>) -> Vec<Step> {
    let mut found = Vec::new();
    for file in &files.paths {
        let is_yaml = file.ends_with(".yml") || file.ends_with(".yaml");
        let is_workflow = file.starts_with(".github/workflows/") && is_yaml;
        if !is_workflow && file != ".gitlab-ci.yml" {
            continue;
        }
        let text = (files.read)(file).unwrap_or_default();
        let starts = ["pull_request", "push", "workflow_call"];
        if is_workflow && !starts.iter().any(|event| text.contains(event)) {
            continue;
        }
        for block in blocks(&text) {
            let commands = commands(&block);
            found.extend(commands.into_iter().map(|(folder, command)| Step {
                folder,
                command,
                file: file.clone(),
            }));
        }
    }
    found
}

/// The script of one step.
#[derive(Debug, Default)]
struct Block {
    lines: Vec<String>,
    folder: Option<String>,
    condition: String,
    /// How far in its keys stand.
    indent: usize,
}

/// The scripts of a workflow. A step is a list item; its keys are those with the same indentation.
fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut step) = (Vec::new(), Block::default());
    // Folders that are said for all steps of the workflow, or of one job.
    let (mut of_all, mut of_job, mut in_defaults) = (None, None, false);
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with('#')).peekable();
    while let Some(line) = lines.next() {
        let key = line.trim_start().trim_start_matches("- ").trim_start();
        let indent = line.len() - key.len();
        if line.trim_start().starts_with("- ") {
            blocks.push(std::mem::take(&mut step));
            step.indent = indent;
        }
        let (name, value) = key.split_once(':').unwrap_or((key, ""));
        let value = value.trim();
        in_defaults = name == "defaults"
            || in_defaults && matches!(name, "run" | "shell" | "working-directory");
        if indent == 2 && value.is_empty() {
            of_job = None;
        }
        let mut inside = || {
            let mut block = Vec::new();
            while let Some(next) = lines.next_if(|next| is_inside(next, indent)) {
                block.push(next.trim().to_owned());
            }
            block
        };
        match (name, value) {
            ("run", "|" | "|-" | "|+") => step.lines = inside(),
            ("run", ">" | ">-" | ">+") => step.lines = vec![inside().join(" ")],
            ("run", "") => in_defaults = true,
            ("run", command) => step.lines = vec![unquoted(command)],
            ("script", "") => {
                blocks.push(std::mem::take(&mut step));
                let item = |line: String| line.trim_start_matches("- ").to_owned();
                step.lines = inside().into_iter().map(item).collect();
            }
            ("working-directory", folder) if in_defaults && indent > 4 => {
                of_job = Some(unquoted(folder));
            }
            ("working-directory", folder) if in_defaults => of_all = Some(unquoted(folder)),
            ("working-directory", folder) => step.folder = Some(unquoted(folder)),
            ("if", condition) => condition.clone_into(&mut step.condition),
            _ => {}
        }
        if step.folder.is_none() && !step.lines.is_empty() {
            step.folder = of_job.clone().or_else(|| of_all.clone());
        }
    }
    blocks.push(step);
    blocks
}

fn is_inside(line: &str, indent: usize) -> bool {
    let own = line.len() - line.trim_start().len();
    line.trim().is_empty() || own > indent || own == indent && line.trim_start().starts_with("- ")
}

fn unquoted(text: &str) -> String {
    let text = text.split(" #").next().unwrap_or(text).trim();
    let inner = ['"', '\''].iter().find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q));
    inner.unwrap_or(text).to_owned()
}

/// The single commands of a script, each with the folder that it runs in.
fn commands(block: &Block) -> Vec<(String, String)> {
    // A step for another system than this one's.
    let condition = block.condition.to_ascii_lowercase();
    let is_elsewhere = ["windows", "macos"].iter().any(|system| condition.contains(system));
    if is_elsewhere && !condition.contains("!=") {
        return Vec::new();
    }
    let mut folder = normal(block.folder.as_deref().unwrap_or_default());
    let text = block.lines.join("\n").replace("\\\n", " ");
    let mut found = Vec::new();
    for command in text.lines().flat_map(|line| line.split("&&")) {
        let command = command.trim().trim_end_matches(';').trim_end();
        match command.strip_prefix("cd ") {
            Some(path) => folder = normal(&Utf8Path::new(&folder).join(path.trim()).into_string()),
            None if command.is_empty() || command.starts_with('#') => {}
            None => {
                let words: Vec<&str> = command.split_whitespace().collect();
                // `pip install flake8` runs nothing of it.
                if !words.contains(&"install") {
                    found.push((folder.clone(), words.join(" ")));
                }
            }
        }
    }
    // A folder that only a run could tell, or that is left again, is none that we know.
    found.retain(|(folder, _)| !folder.contains(['$', '{']) && !folder.contains(".."));
    found
}

fn normal(folder: &str) -> String {
    let parts = folder.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, text: &str, expected: &[(&str, &str)]) {
        let files = Files { paths: vec![file.to_owned()], read: &|_| Some(text.to_owned()) };
        let found = steps(&files);
        let found: Vec<(&str, &str)> =
            found.iter().map(|step| (&*step.folder, &*step.command)).collect();
        assert_eq!(found, expected, "{text}");
    }

    const WORKFLOW: &str = ".github/workflows/ci.yml";

    #[test]
    fn each_command_of_a_step_is_found_with_its_folder() {
        let text = "\
on: [push]
jobs:
  test:
    steps:
      - uses: actions/checkout@v4
        with:
          working-directory: other
      - run: npm ci && npm test # all of it
      # - run: npm run old
      - name: App
        working-directory: ./app/
        run: |
          set -e
          cargo test \\
            --workspace

          cd sub
          cargo bench
      - run: 'make test'
        if: matrix.os == 'windows-latest'
      - { uses: x }
      - run: >-
          go test
          ./...
        working-directory: ${{ matrix.dir }}
";
        check(
            WORKFLOW,
            text,
            &[
                ("", "npm ci"),
                ("", "npm test"),
                ("app", "set -e"),
                ("app", "cargo test --workspace"),
                ("app/sub", "cargo bench"),
            ],
        );
    }

    #[test]
    fn defaults_hold_for_their_job() {
        let text = "\
on:
  pull_request:
jobs:
  web:
    defaults:
      run:
        shell: bash
        working-directory: web
    steps:
      - run: npm test
  api:
    steps:
      - run: pytest
";
        check(WORKFLOW, text, &[("web", "npm test"), ("", "pytest")]);
    }

    #[test]
    fn a_workflow_that_no_change_starts_is_left_out() {
        check(WORKFLOW, "on:\n  schedule:\njobs:\n  a:\n    steps:\n      - run: make test\n", &[]);
    }

    #[test]
    fn the_scripts_of_gitlab_are_found() {
        let text = "test:\n  stage: test\n  script:\n    - bundle install\n    - bundle exec rspec\n\
                    \nlint:\n  script:\n  - rubocop\n  only:\n  - main\n";
        let expected = [("", "bundle exec rspec"), ("", "rubocop")];
        check(".gitlab-ci.yml", text, &expected);
    }
}
