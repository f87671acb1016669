//! What the project's own CI runs: commands from its workflow files, read line by line. Other parts of
//! the files are ignored, and so are commands that are not plain.

use camino::Utf8Path;

use super::files::Files;
use super::table::{is_plain_path, listed};

/// A command of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Its working directory, relative to the top.
    pub(super) folder: String,
    pub(super) command: String,
    /// The workflow file.
    pub(super) file: String,
    /// Whether an action runs it and installs the program.
    pub(super) is_action: bool,
}

impl Step {
    pub(super) fn why(&self) -> String {
        format!("{} runs it{}", self.file, if self.is_action { " as an action" } else { "" })
    }

    /// Whether it starts one of these programs.
    pub(super) fn starts(&self, programs: &str) -> bool {
        let mut words = self.command.split(' ').skip_while(|word| word.contains('='));
        let program = words.next().and_then(|word| word.rsplit('/').next());
        program.is_some_and(|program| listed(programs, program))
    }

    /// The words that it has in addition to another command's; `None` if it lacks one of those.
    pub(super) fn beyond(&self, command: &str) -> Option<Vec<&str>> {
        let (mut words, own) = (words_of(&self.command), words_of(command));
        let has_all = own.iter().all(|word| words.contains(word));
        words.retain(|word| !own.contains(word));
        has_all.then_some(words)
    }
}

/// Whether these words are adjacent in a command; `bin/rubocop` counts as `rubocop`.
pub(super) fn has_words(command: &str, words: &[&str]) -> bool {
    let same = |one: &str, word: &str| one == word || one.ends_with(&format!("/{word}"));
    let begins = |part: &[&str]| part.iter().zip(words).all(|(one, word)| same(one, word));
    !words.is_empty() && words_of(command).windows(words.len()).any(begins)
}

/// The words of a command without `run`, as in `npm run test`.
fn words_of(command: &str) -> Vec<&str> {
    command.split(' ').filter(|word| *word != "run").collect()
}

/// All commands that could be run unchanged, in the order of the files, and those of the project's scripts
/// that they call; `actions` maps parts of actions' names to commands.
pub(super) fn steps(files: &Files<'_>, actions: &[(String, String)]) -> Vec<Step> {
    let mut found = Vec::new();
    let is_ci = |file: &&String| {
        file.starts_with(".github/workflows/") || file.as_str() == ".gitlab-ci.yml"
    };
    for file in files.paths.iter().filter(is_ci) {
        let text = (files.read)(file).unwrap_or_default();
        for script in scripts(&text) {
            let action = actions.iter().find(|(name, _)| script.action.contains(name));
            let (is_action, of_action) = (action.is_some(), action.map(|(_, run)| run.clone()));
            let of_action = of_action.map(|command| (String::new(), command));
            for (folder, command) in script.commands().into_iter().chain(of_action) {
                let called = command.rsplit(' ').next().unwrap_or_default();
                let called = normal(&format!("{folder}/{called}"));
                let is_ours = files.paths.contains(&called);
                let text = if is_ours { (files.read)(&called) } else { None }.unwrap_or_default();
                let lines = text.lines().map(|line| line.trim().to_owned()).collect();
                let called = Script { lines, ..Script::default() }.commands();
                for (folder, command) in [(folder, command)].into_iter().chain(called) {
                    found.push(Step { folder, command, file: file.clone(), is_action });
                }
            }
        }
    }
    found
}

/// The commands of one step.
#[derive(Debug, Default)]
struct Script {
    lines: Vec<String>,
    folder: String,
    condition: String,
    action: String,
}

/// The scripts of a workflow. A step is a list item, and each of its keys has its own line.
fn scripts(text: &str) -> Vec<Script> {
    let (mut found, mut step) = (Vec::new(), Script::default());
    // The default folder of the workflow or of one job, and its indentation.
    let (mut folder, mut in_defaults) = ((String::new(), 0), false);
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with('#')).peekable();
    while let Some(line) = lines.next() {
        let key = line.trim_start().trim_start_matches("- ").trim_start();
        let indent = line.len() - key.len();
        let (name, value) = key.split_once(':').unwrap_or((key, ""));
        let value = unquoted(value);
        if indent == 2 && folder.1 > 4 {
            folder = (String::new(), 0);
        }
        if line.trim_start().starts_with("- ") || name == "script" {
            let next = Script { folder: folder.0.clone(), ..Script::default() };
            found.push(std::mem::replace(&mut step, next));
        }
        let was_in_defaults = in_defaults;
        in_defaults = name == "run" && value.is_empty() || in_defaults && name == "shell";
        let mut inside = || {
            let next = std::iter::from_fn(|| lines.next_if(|next| is_inside(next, indent)));
            next.map(|line| line.trim().trim_start_matches("- ").to_owned()).collect::<Vec<_>>()
        };
        match (name, &*value) {
            ("run", "|" | "|-" | "|+") | ("script", "") => step.lines = inside(),
            ("run", ">" | ">-" | ">+") => step.lines = vec![inside().join(" ")],
            ("run", _) if !value.is_empty() => step.lines = vec![value],
            ("working-directory", _) if was_in_defaults => folder = (value, indent),
            ("working-directory", _) => step.folder = value,
            ("uses", _) => step.action = value,
            ("if", _) => step.condition = value.to_ascii_lowercase(),
            _ => {}
        }
    }
    found.push(step);
    found
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

impl Script {
    /// The single commands, each with its working directory.
    fn commands(&self) -> Vec<(String, String)> {
        // A step for another operating system.
        let is_elsewhere = ["windows", "macos"].iter().any(|name| self.condition.contains(name));
        if is_elsewhere && !self.condition.contains("!=") {
            return Vec::new();
        }
        let (mut folder, mut found) = (normal(&self.folder), Vec::new());
        let text = self.lines.join("\n").replace("\\\n", " ");
        for command in text.lines().flat_map(|line| line.split("&&")) {
            let mut words: Vec<&str> = command.split_whitespace().collect();
            let mut at = folder.clone();
            // `npm --prefix web test` is `npm test` in that folder.
            let option = words.iter().position(|word| listed("--prefix --cwd --dir -C", word));
            if let Some([_, path]) = option.and_then(|option| words.get(option..option + 2))
                && listed("npm pnpm yarn make", words.first().unwrap_or(&""))
            {
                at = normal(&format!("{folder}/{path}"));
                words.drain(option.unwrap_or_default()..option.unwrap_or_default() + 2);
            }
            let command = words.join(" ").trim_end_matches(';').to_owned();
            // A matrix value at the end only selects cases, unless an option needs it.
            let plain = command.split_once(" ${{").filter(|(plain, more)| {
                let is_value = plain.rsplit(' ').next().is_some_and(|last| last.starts_with('-'));
                more.ends_with("}}") && !more.contains("${{") && !is_value
            });
            let command = plain.map_or(command.as_str(), |(plain, _)| plain).to_owned();
            let is_special = |c: char| c.is_control() || "$|><`;&({#".contains(c);
            let is_plain = !command.contains(is_special);
            if let ["cd", path] = words[..] {
                folder = normal(Utf8Path::new(&folder).join(path).as_str());
            // `pip install flake8` does not run it.
            } else if is_plain && !command.is_empty() && !words.contains(&"install") {
                found.push((at, command));
            }
        }
        // A folder that is known only at run time, or is left again, is ignored.
        found.retain(|(folder, _)| is_plain_path(folder));
        found
    }
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
        let found = steps(&files, &[("lint-action".into(), "golangci-lint run".into())]);
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
  web:
    defaults:
      run:
        shell: bash
        working-directory: web
    steps:
      - run: npm run web
  api:
    steps:
      - run: pytest
  matrix:
    strategy:
      run:
        - os: ubuntu
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
                // Defaults apply only to their job.
                ("web", "npm run web"),
                ("", "pytest"),
            ],
        );
    }

    #[test]
    fn folders_actions_and_matrix_expressions_are_handled() {
        let text = "\
jobs:
  test:
    steps:
      - uses: golangci/lint-action@v8
      - run: npm --prefix ./web run lint && npm test
      - run: make -C tools check
      - run: mvn verify ${{ matrix.args || '' }}
      - run: tox -e ${{ matrix.env }}
      - run: make test-${{ matrix.features }}
";
        check(
            WORKFLOW,
            text,
            &[
                ("", "golangci-lint run"),
                ("web", "npm run lint"),
                ("", "npm test"),
                ("tools", "make check"),
                ("", "mvn verify"),
            ],
        );
    }

    #[test]
    fn commands_in_project_scripts_are_found() {
        let read = |path: &str| {
            Some(
                if path == WORKFLOW {
                    "- run: bash ci/vet.sh -v\n- run: ci/vet.sh"
                } else {
                    "set -e\n\n go vet ./...\n./a $1"
                }
                .to_owned(),
            )
        };
        let files = Files { paths: vec![WORKFLOW.into(), "ci/vet.sh".into()], read: &read };
        let found: Vec<String> = steps(&files, &[]).into_iter().map(|step| step.command).collect();
        assert_eq!(found, ["bash ci/vet.sh -v", "ci/vet.sh", "set -e", "go vet ./..."]);
    }
}
