//! Which commands make a copy of a project ready and check it, by its files. Pure.
//!
//! Each folder of each kind has candidates, from its manifests, lock files and tasks. What the
//! project's own CI runs chooses among them, or stands in their place.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use ralph_core::verdict::{self, judge};

use super::ci::{Step, steps};
use super::files::{Files, Folder};
use super::table::{KindTable, ProjectKind, Row, listed};

/// A command, and what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundCommand {
    pub(crate) command: String,
    pub(crate) why: String,
}

/// What was found out about a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Detected {
    /// All of them must pass before a story is done.
    pub(crate) checks: Vec<FoundCommand>,
    /// What makes a new copy ready.
    pub(crate) setup: Vec<FoundCommand>,
    /// More that could be checked; CI does not do it, so it may be red.
    pub(crate) proposed: Vec<FoundCommand>,
}

/// More commands of CI than this for one kind are not the way to test a story.
const MOST_FROM_CI: usize = 3;

/// How deep below the top a project may lie.
const DEPTH: usize = 2;

/// One kind in one folder.
struct Place<'a> {
    table: &'a KindTable,
    kind: &'a ProjectKind,
    folder: Folder<'a>,
    steps: Vec<&'a Step>,
    mark: String,
}

/// What one place needs.
struct Choice {
    tests: Vec<FoundCommand>,
    is_by_ci: bool,
    is_alone: bool,
}

/// Finds out.
pub(super) fn detect(table: &KindTable, files: &Files<'_>) -> Detected {
    let (steps, folders) = (steps(files), folders(table, files));
    let of_kind = |kind| places_of(table, kind, files, &folders, &steps);
    let mut chosen: Vec<(Place<'_>, Choice)> = Vec::new();
    for place in table.kind.iter().flat_map(of_kind) {
        let mut choice = place.choose();
        if chosen.iter().any(|(above, tested)| place.is_covered(&choice, above, tested)) {
            choice.tests.clear();
        }
        chosen.push((place, choice));
    }
    // One task of the whole project that CI runs stands for all that CI does not run by itself.
    let by_task = chosen.iter().any(|(place, choice)| {
        place.kind.fallback && choice.is_by_ci && place.folder.path.is_empty()
    });
    let is_tested =
        chosen.iter().any(|(place, choice)| !place.kind.fallback && !choice.tests.is_empty());
    let mut found = Detected::default();
    for (place, choice) in &mut chosen {
        let is_wanted = if place.kind.fallback { !is_tested } else { !by_task };
        if !choice.is_by_ci && !is_wanted {
            choice.tests.clear();
        }
        place.add(choice, by_task, &mut found);
    }
    if found.checks.is_empty() {
        found.checks = unknown_tests(table, &steps);
    }
    for list in [&mut found.checks, &mut found.setup, &mut found.proposed] {
        let mut seen = BTreeSet::new();
        list.retain(|one| seen.insert(one.command.clone()));
    }
    found
}

/// Tests that CI runs by programs that no kind knows, and what it builds for them.
fn unknown_tests(table: &KindTable, steps: &[Step]) -> Vec<FoundCommand> {
    let is_known = |step: &Step| table.kind.iter().any(|kind| starts(kind, &step.command));
    let is_build = |step: &Step| step.command.split(' ').next() == Some("make");
    let asks = |step: &Step| table.asks_for_more(&step.command) || table.asks_for_more(&step.file);
    let is_usable = |step: &&Step| step.is_plain() && !asks(step);
    let usable: Vec<&Step> = steps.iter().filter(is_usable).collect();
    let tests = |step: &Step| is_test(&step.command) && !is_known(step);
    let Some(last) = usable.iter().rposition(|step| tests(step)) else { return Vec::new() };
    let wanted = usable.iter().take(last + 1).filter(|step| tests(step) || is_build(step));
    wanted.take(MOST_FROM_CI).map(|step| from_ci(step, &step.command)).collect()
}

/// Whether a command surely runs tests.
fn is_test(command: &str) -> bool {
    let ended_well = verdict::Run { command, exit_code: Some(0), ..verdict::Run::default() };
    judge(&ended_well).kind == verdict::Kind::Passed
}

fn from_ci(step: &Step, command: &str) -> FoundCommand {
    let command = in_folder(&step.folder, command);
    FoundCommand { command, why: format!("{} runs it", step.file) }
}

fn in_folder(folder: &str, command: &str) -> String {
    if folder.is_empty() { command.to_owned() } else { format!("cd {folder} && {command}") }
}

/// The folders that may hold a project, the outer ones first, with the files in each.
fn folders<'a>(
    table: &KindTable,
    files: &'a Files<'a>,
) -> BTreeMap<(usize, &'a str), Vec<&'a str>> {
    let mut found: BTreeMap<(usize, &str), Vec<&str>> = BTreeMap::new();
    let is_skipped = |part: &str| {
        let mut words = part.split(['_', '-']).map(|word| word.trim_end_matches('s'));
        part.starts_with(['.', '_'])
            || listed(&table.skip, part)
            || words.any(|word| listed(&table.skip, word))
    };
    for path in &files.paths {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let depth = folder.split('/').filter(|part| !part.is_empty()).count();
        if depth <= DEPTH && !folder.split('/').any(is_skipped) {
            found.entry((depth, folder)).or_default().push(name);
        }
    }
    found
}

/// The folders of a kind.
fn places_of<'a>(
    table: &'a KindTable,
    kind: &'a ProjectKind,
    files: &'a Files<'a>,
    folders: &BTreeMap<(usize, &'a str), Vec<&str>>,
    steps: &'a [Step],
) -> Vec<Place<'a>> {
    let mut found: Vec<Place<'a>> = Vec::new();
    for ((_, path), names) in folders {
        let path: &'a str = path;
        let folder = Folder { files, path };
        let is_there = |mark: &&String| match mark.strip_prefix('*') {
            Some(end) => names.iter().any(|name| name.ends_with(end)),
            None => names.contains(&mark.as_str()),
        };
        let Some(mark) = kind.marks.iter().find(is_there) else { continue };
        let own = |step: &&Step| step.folder == path && starts(kind, &step.command);
        let steps: Vec<&Step> = steps.iter().filter(own).collect();
        let mark = format!("{}: {}", kind.name, Utf8Path::new(path).join(mark));
        found.push(Place { table, kind, folder, steps, mark });
    }
    found
}

/// Whether a command starts a program of the kind's.
fn starts(kind: &ProjectKind, command: &str) -> bool {
    let mut words = command.split(' ').skip_while(|word| word.contains('='));
    let program = words.next().and_then(|word| word.rsplit('/').next());
    program.is_some_and(|program| listed(&kind.programs, program))
}

impl Place<'_> {
    /// Whether a place above has the tests of this one: it has some, and it is known to have them all,
    /// or CI runs none here.
    fn is_covered(&self, own: &Choice, above: &Place<'_>, tested: &Choice) -> bool {
        let (path, outer) = (self.folder.path, above.folder.path);
        let is_below = outer.is_empty() || path.starts_with(&format!("{outer}/"));
        let is_same = self.kind.name == above.kind.name && is_below && !tested.tests.is_empty();
        is_same && !self.kind.apart && (self.kind.whole || !own.is_by_ci)
    }

    /// Its tests: the candidate that CI runs, else what CI runs, else the first candidate.
    fn choose(&self) -> Choice {
        let tests = |step: &&Step| is_test(&step.command) && self.is_worth_running(step);
        let steps: Vec<&Step> = self.steps.iter().copied().filter(tests).collect();
        let mut plain: Vec<&Step> = steps.iter().copied().filter(|step| step.is_plain()).collect();
        // `x --settings=y` is only a case of `x`.
        let all = plain.clone();
        plain.retain(|step| !all.iter().any(|other| is_case_of(&step.command, &other.command)));
        let rows: Vec<&Row> =
            self.kind.test.iter().filter(|row| self.holds(&row.when, true)).collect();
        let same = |row: &Row| -> Vec<&Step> {
            let known = needle(&row.run);
            plain.iter().copied().filter(|step| holds_words(&step.command, &known)).collect()
        };
        let by_ci = rows.iter().find(|row| !same(row).is_empty());
        let is_by_ci = !steps.is_empty();
        let Some(row) = by_ci.or_else(|| rows.first().filter(|_| plain.is_empty())) else {
            let tests = plain.iter().take(MOST_FROM_CI).map(|step| self.from_ci(step)).collect();
            return Choice { tests, is_by_ci, is_alone: false };
        };
        let own = self.filled(&row.run);
        let same = same(row);
        let test = match same.iter().find(|step| self.adds_only_options(step, &own)) {
            Some(step) => self.from_ci(step),
            None => {
                let also = same.first().map(|step| format!("; {} runs it", step.file));
                self.found(&own, self.mark.clone() + &also.unwrap_or_default())
            }
        };
        Choice { tests: vec![test], is_by_ci, is_alone: row.alone }
    }

    /// What was chosen, with what it needs and what could be added.
    fn add(&self, choice: &Choice, by_task: bool, found: &mut Detected) {
        found.checks.extend(choice.tests.iter().cloned());
        let is_tested = !choice.tests.is_empty();
        if (is_tested || by_task && self.folder.path.is_empty()) && !choice.is_alone {
            found.setup.extend(self.setup());
        }
        if is_tested {
            self.lints(found);
        }
    }

    /// A command of CI, with the programs of the project's own environment.
    fn from_ci(&self, step: &Step) -> FoundCommand {
        let (program, rest) = step.command.split_once(' ').unwrap_or((&step.command, ""));
        let own = self.kind.own.get(program).map(|own| self.filled(own));
        let program = own.as_deref().unwrap_or(program);
        from_ci(step, format!("{program} {rest}").trim_end())
    }

    fn found(&self, command: &str, why: String) -> FoundCommand {
        FoundCommand { command: in_folder(self.folder.path, command), why }
    }

    fn setup(&self) -> Option<FoundCommand> {
        let row = self.kind.setup.iter().find(|row| self.holds(&row.when, false))?;
        let command = self.filled(&row.run);
        (!command.is_empty()).then(|| self.found(&command, self.mark.clone()))
    }

    /// What CI lints is a check as well; the rest is only proposed.
    fn lints(&self, found: &mut Detected) {
        for row in self.kind.lint.iter().filter(|row| self.holds(&row.when, false)) {
            let changes =
                |step: &Step| ["--fix", "--write"].iter().any(|w| step.command.contains(w));
            let mut steps = self.steps.iter().filter(|step| {
                step.is_plain() && !changes(step) && holds_words(&step.command, &needle(&row.run))
            });
            match steps.next() {
                Some(step) => found.checks.push(self.from_ci(step)),
                None => {
                    found.proposed.push(self.found(&self.filled(&row.run), self.mark.clone()));
                }
            }
        }
    }

    /// Whether all parts of a condition hold; `as_test`: its tasks must be tests.
    fn holds(&self, when: &[String], as_test: bool) -> bool {
        when.iter().all(|part| {
            let (wanted, part) = part.strip_prefix('!').map_or((true, &**part), |p| (false, p));
            part.split(" | ").any(|one| self.holds_one(one, as_test)) == wanted
        })
    }

    fn holds_one(&self, part: &str, as_test: bool) -> bool {
        if let Some((file, text)) = part.split_once(" has ") {
            return self.folder.text(file).contains(text);
        }
        let Some((tool, name)) = part.split_once(':') else { return self.folder.has(part) };
        if let Some(name) = name.strip_prefix("*/") {
            let packages = self.folder.packages();
            return packages.iter().any(|path| {
                let folder = Folder { files: self.folder.files, path };
                self.is_real(folder, tool, name, 0) && self.unwatched(folder, name).is_none()
            });
        }
        match tool {
            "watch" => self.unwatched(self.folder, name).is_some_and(|text| !text.is_empty()),
            "npm" if as_test && self.unwatched(self.folder, name).is_some() => false,
            _ if as_test => self.is_real(self.folder, tool, name, 0),
            _ => self.folder.task(tool, name).is_some(),
        }
    }

    /// Whether a task does more than print, lint or call others that do no more.
    fn is_real(&self, folder: Folder<'_>, tool: &str, name: &str, depth: usize) -> bool {
        let Some(task) = folder.task(tool, name) else { return false };
        if depth < 4 && task.needs.iter().any(|name| self.is_real(folder, tool, name, depth + 1)) {
            return true;
        }
        // What only calls other tasks was judged by those.
        let calls = |line: &str| {
            task.needs.iter().any(|need| line.trim_end().ends_with(&**need))
                || line.starts_with('@')
        };
        let lines = task.text.lines().flat_map(|line| line.split("&&"));
        lines.filter(|line| !calls(line)).any(|line| {
            let script = shell_reader::read(line.trim());
            script
                .commands
                .iter()
                .any(|command| command.name().is_none_or(|name| !listed(&self.table.idle, name)))
        })
    }

    /// What ends, in the place of a script that waits for changes; empty if that is not known.
    fn unwatched(&self, folder: Folder<'_>, name: &str) -> Option<String> {
        let task = folder.task("npm", name)?;
        if task.text.contains("--watch=false") || task.text.contains("--watchAll=false") {
            return None;
        }
        let watcher = self.table.watcher.iter().find(|watcher| task.text.contains(&watcher.has))?;
        // More than the one command could not be told apart.
        let is_alone = !task.text.contains("&&") && !watcher.instead.is_empty();
        let instead = task.text.replacen(&watcher.has, &watcher.instead, 1);
        Some(if is_alone { instead } else { String::new() })
    }

    /// Whether CI's command can be run here: no empty task, and nothing that asks for more.
    fn is_worth_running(&self, step: &Step) -> bool {
        let command = &step.command;
        if self.table.asks_for_more(command) || self.table.asks_for_more(&step.file) {
            return false;
        }
        let tools = ["npm", "make", "just", "task", "composer", "deno"];
        command.split(' ').skip(1).all(|word| {
            tools.iter().all(|tool| match self.folder.task(tool, word) {
                Some(task) if starts_tool(command, tool) => {
                    self.is_real(self.folder, tool, word, 0)
                        && (*tool != "npm" || self.unwatched(self.folder, word).is_none())
                        && (word == "test" || !self.table.asks_for_more(&task.text))
                }
                _ => true,
            })
        })
    }

    /// Whether CI's command is the same one with options that do not make it test less.
    fn adds_only_options(&self, step: &Step, own: &str) -> bool {
        let words = |text: &'_ str| text.split(' ').filter(|word| *word != "run").count();
        let (mut there, mut more) = (step.command.split(' '), 0);
        let is_there = own.split(' ').filter(|word| *word != "run").all(|word| {
            there.any(|one| {
                more += usize::from(listed(&self.table.harmless, one));
                one == word
            })
        });
        more += there.filter(|one| listed(&self.table.harmless, one)).count();
        is_there && words(&step.command) == words(own) + more
    }

    /// A command with the texts for its placeholders.
    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Some(words) = self.kind.words.iter().find(|words| self.holds(&words.when, false)) {
            for (name, word) in &words.texts {
                text = text.replace(&format!("{{{name}}}"), word);
            }
        }
        let packages = self.kind.packages.iter().filter(|row| self.holds(&row.when, false));
        let packages: String = packages.map(|row| &*row.run).collect();
        text.replace("{packages}", &packages)
            .replace("{unwatched}", &self.unwatched(self.folder, "test").unwrap_or_default())
    }
}

/// Whether a command is one of the package managers that run the scripts of package.json, or the tool.
fn starts_tool(command: &str, tool: &str) -> bool {
    let program = command.split(' ').next().unwrap_or_default();
    program == tool || tool == "npm" && matches!(program, "pnpm" | "yarn" | "bun")
}

/// The words by which a command is known: without placeholders, options and what follows them.
fn needle(run: &str) -> Vec<&str> {
    let plain = run.rsplit('}').next().unwrap_or(run);
    let words = plain.split_whitespace().skip_while(|word| word.starts_with('-'));
    let words = words.take_while(|word| !word.starts_with(['-', '.']));
    words.filter(|word| *word != "run").collect()
}

/// Whether a command is another one with more words.
fn is_case_of(command: &str, other: &str) -> bool {
    let words: Vec<&str> = command.split(' ').collect();
    other.split(' ').count() < words.len() && other.split(' ').all(|word| words.contains(&word))
}

/// Whether these words stand side by side in a command; `bin/rubocop` is `rubocop`.
fn holds_words(command: &str, words: &[&str]) -> bool {
    let there: Vec<&str> = command.split(' ').filter(|word| *word != "run").collect();
    let same = |one: &str, word: &str| one == word || one.ends_with(&format!("/{word}"));
    let begins = |part: &[&str]| part.iter().zip(words).all(|(one, word)| same(one, word));
    !words.is_empty() && there.windows(words.len()).any(begins)
}
