//! Detects the commands that set up and check a copy of a project, from its files. Pure.
//!
//! Each folder of each kind has candidates, from its manifests, lock files and tasks. The commands of
//! the project's own CI choose among them, or replace them.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use globset::{Glob, GlobMatcher};
use ralph_core::verdict::{self, judge};

use super::ci::{Step, has_words, steps};
use super::files::{Files, Folder};
use super::table::{KindTable, ProjectKind, Row, listed};

/// A command and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundCommand {
    pub(crate) command: String,
    pub(crate) why: String,
}

/// The detected commands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Detected {
    /// Checks: all must pass before a story is done.
    pub(crate) checks: Vec<FoundCommand>,
    /// Setup commands for a new copy.
    pub(crate) setup: Vec<FoundCommand>,
    /// Further checks that CI does not run, so they may fail now.
    pub(crate) proposed: Vec<FoundCommand>,
}

/// If CI has more commands than this for one kind, they do not test a single story.
const MOST_FROM_CI: usize = 3;

/// How deep a project may lie below the top.
const DEPTH: usize = 2;

/// One kind in one folder.
struct KindFolder<'a> {
    table: &'a KindTable,
    kind: &'a ProjectKind,
    folder: Folder<'a>,
    /// The CI commands of this kind in this folder.
    steps: Vec<&'a Step>,
    mark: String,
    /// How it is tested.
    tests: Vec<FoundCommand>,
    is_by_ci: bool,
    is_alone: bool,
}

/// Detects the commands for a project.
pub(super) fn detect(table: &KindTable, files: &Files<'_>) -> Detected {
    let mut steps = steps(files, &table.actions);
    steps.retain(|step| !table.asks_for_more(&step.command) && !table.asks_for_more(&step.file));
    let mut chosen: Vec<KindFolder<'_>> = Vec::new();
    for mut place in places(table, files, &steps) {
        place.choose();
        if !chosen.iter().any(|above| place.is_covered(above)) {
            chosen.push(place);
        }
    }
    // If CI runs one task of the whole project, tests that CI does not run are dropped.
    let is_top = |place: &KindFolder<'_>| place.folder.path.is_empty();
    let by_task = chosen.iter().any(|place| place.kind.fallback && place.is_by_ci && is_top(place));
    let is_tested = chosen.iter().any(|place| !place.kind.fallback && !place.tests.is_empty());
    let mut found = Detected::default();
    for place in &mut chosen {
        let is_wanted = if place.kind.fallback { !is_tested } else { !by_task };
        if !place.is_by_ci && !is_wanted {
            let unwanted = std::mem::take(&mut place.tests);
            // A person wrote this task, so at least propose it.
            if place.kind.fallback && is_top(place) {
                found.proposed.extend(unwanted);
            }
        }
        let is_tested = !place.tests.is_empty();
        found.checks.append(&mut place.tests);
        if (is_tested || by_task && is_top(place)) && !place.is_alone {
            found.setup.extend(place.setup());
        }
        if is_tested {
            place.lint(&mut found);
        }
    }
    if found.checks.is_empty() {
        found.checks = unknown_tests(table, &steps);
    }
    let mut seen = BTreeSet::new();
    found.checks.retain(|one| seen.insert(one.command.clone()));
    found.proposed.retain(|one| seen.insert(one.command.clone()));
    found.setup.retain(|one| seen.insert(one.command.clone()));
    found
}

/// Test commands of CI whose programs belong to no known kind, and the `make` commands before them.
fn unknown_tests(table: &KindTable, steps: &[Step]) -> Vec<FoundCommand> {
    let is_known = |step: &Step| table.kind.iter().any(|kind| step.starts(&kind.programs));
    let tests = |step: &Step| is_test(&step.command) && !is_known(step);
    let Some(last) = steps.iter().rposition(tests) else { return Vec::new() };
    let wanted = steps.iter().take(last + 1).filter(|step| tests(step) || step.starts("make"));
    wanted.take(MOST_FROM_CI).map(|step| found(&step.folder, &step.command, step.why())).collect()
}

/// Whether a command certainly runs tests.
fn is_test(command: &str) -> bool {
    let ended_well = verdict::Run { command, exit_code: Some(0), ..verdict::Run::default() };
    judge(&ended_well).kind == verdict::Kind::Passed
}

fn found(folder: &str, command: &str, why: String) -> FoundCommand {
    let at = if folder.is_empty() { String::new() } else { format!("cd {folder} && ") };
    FoundCommand { command: at + command, why }
}

/// The folders of each kind, outer folders first.
fn places<'a>(
    table: &'a KindTable,
    files: &'a Files<'a>,
    steps: &'a [Step],
) -> Vec<KindFolder<'a>> {
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in &files.paths {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut parts = folder.split('/');
        if parts.clone().count() <= DEPTH && !parts.any(|part| table.skips(part)) {
            folders.entry(folder).or_default().push(name);
        }
    }
    let mut found = Vec::new();
    for kind in &table.kind {
        let marks =
            kind.marks.iter().filter_map(|mark| Some(Glob::new(mark).ok()?.compile_matcher()));
        let marks: Vec<GlobMatcher> = marks.collect();
        for (path, names) in &folders {
            let is_there = |mark: &&GlobMatcher| names.iter().any(|name| mark.is_match(name));
            let Some(mark) = marks.iter().find(is_there).map(|mark| mark.glob().glob()) else {
                continue;
            };
            let mark = format!("{}: {}", kind.name, Utf8Path::new(path).join(mark));
            let own = |step: &&Step| step.folder == *path && step.starts(&kind.programs);
            let (folder, steps) = (Folder { files, path }, steps.iter().filter(own).collect());
            let (tests, is_by_ci, is_alone) = (Vec::new(), false, false);
            found.push(KindFolder { table, kind, folder, steps, mark, tests, is_by_ci, is_alone });
        }
    }
    found
}

impl KindFolder<'_> {
    /// Whether the tests of a folder above include this one's: it has tests, and either they are known to
    /// be complete or CI runs none here.
    fn is_covered(&self, above: &KindFolder<'_>) -> bool {
        let is_below = Utf8Path::new(self.folder.path).starts_with(above.folder.path);
        let is_same = self.kind.name == above.kind.name && is_below && !above.tests.is_empty();
        is_same && !self.kind.apart && (self.kind.whole || !self.is_by_ci)
    }

    /// Chooses the tests: the candidate that CI runs, else what CI runs, else the first candidate.
    fn choose(&mut self) {
        let tests = |step: &&&Step| {
            let text = self.folder.inlined(&step.command, 0);
            is_test(&step.command) && self.is_real(&text) && !self.table.asks_for_more(&text)
        };
        let all: Vec<&Step> = self.steps.iter().filter(tests).copied().collect();
        // `x --settings=y` is only a variant of `x`.
        let is_case = |step: &Step| {
            let mut more = all.iter().filter_map(|other| step.beyond(&other.command));
            more.any(|more| !more.is_empty())
        };
        let steps: Vec<&Step> = all.iter().copied().filter(|step| !is_case(step)).collect();
        let rows = self.kind.test.iter().filter(|row| self.holds(&row.when, true));
        let rows: Vec<&Row> = rows.collect();
        let runs =
            |row: &&&Row| steps.iter().any(|step| has_words(&step.command, &needle(&row.run)));
        let by_ci = rows.iter().find(runs);
        let is_by_ci = !steps.is_empty();
        let row = by_ci.or(rows.first().filter(|_| !is_by_ci));
        let tests = if let Some(row) = row {
            let own = self.filled(&row.run);
            let is_harmless = |word: &&str| listed(&self.table.harmless, word);
            let is_same = |more: Vec<&str>| more.iter().all(is_harmless);
            let of_ci = steps.iter().find(|step| step.beyond(&own).is_some_and(is_same));
            vec![of_ci.map_or_else(|| self.found(&row.run), |step| self.taken(step))]
        } else {
            steps.iter().take(MOST_FROM_CI).map(|step| self.taken(step)).collect()
        };
        self.is_alone = row.is_some_and(|row| row.alone);
        (self.tests, self.is_by_ci) = (tests, is_by_ci);
    }

    /// The setup of the table's row, and what CI builds before its tests in the same file.
    fn setup(&self) -> Vec<FoundCommand> {
        let row = self.kind.setup.iter().find(|row| self.holds(&row.when, false));
        let row = row.filter(|row| !row.run.is_empty()).map(|row| self.found(&row.run));
        let test = self.steps.iter().rposition(|step| is_test(&step.command)).unwrap_or_default();
        let file = self.steps.get(test).map(|step| &step.file);
        let builds = |step: &&&Step| {
            let is_task = self.folder.inlined(&step.command, 0) != step.command;
            let task = step.command.rsplit(' ').next().unwrap_or_default();
            is_task && file == Some(&step.file) && listed(&self.table.builds, task)
        };
        let built = self.steps.iter().take(test).filter(builds).map(|step| self.taken(step));
        row.into_iter().chain(built).collect()
    }

    /// Linters that CI runs become checks; other linters are proposed.
    fn lint(&self, found: &mut Detected) {
        let texts = self.steps.iter().map(|step| (*step, self.folder.inlined(&step.command, 0)));
        let texts: Vec<(&Step, String)> = texts.collect();
        for row in self.kind.lint.iter().filter(|row| self.holds(&row.when, false)) {
            let needle = needle(&row.run);
            let runs = |text: &str| text.lines().any(|line| has_words(line, &needle));
            let by_ci = texts.iter().find(|(step, text)| runs(&step.command) || runs(text));
            match by_ci {
                None => found.proposed.push(self.found(&row.run)),
                // An action installs its program, which may be missing here.
                Some((step, text))
                    if step.is_action || !runs(&step.command) && !self.is_lint(text) =>
                {
                    found.proposed.push(self.taken(step));
                }
                Some((step, _)) => found.checks.push(self.taken(step)),
            }
        }
        // Tasks of the project that only lint.
        let is_task = |(step, text): &&(&Step, String)| *text != step.command && self.is_lint(text);
        found.checks.extend(texts.iter().filter(is_task).map(|(step, _)| self.taken(step)));
    }

    /// Whether all commands only read the code.
    fn is_lint(&self, text: &str) -> bool {
        let lints = |line: &str| {
            let line = line.rsplit_once("bin/").map_or(line, |(_, line)| line);
            let mut linters = self.table.linters.iter();
            linters.any(|one| format!("{line} ").starts_with(&format!("{one} ")))
        };
        let writes = ["--fix", "--write", " -w"].iter().any(|option| text.contains(option));
        !writes && !text.is_empty() && text.lines().all(lints)
    }

    /// A command of CI, with the programs of the project's own environment.
    fn taken(&self, step: &Step) -> FoundCommand {
        let (program, rest) = step.command.split_once(' ').unwrap_or((&step.command, ""));
        let program = self.kind.own.get(program).map_or(program.to_owned(), |own| self.filled(own));
        found(&step.folder, format!("{program} {rest}").trim_end(), step.why())
    }

    fn found(&self, run: &str) -> FoundCommand {
        found(self.folder.path, &self.filled(run), self.mark.clone())
    }

    /// Whether all parts of a condition hold; with `as_test`, its tasks must be tests.
    fn holds(&self, when: &[String], as_test: bool) -> bool {
        when.iter().all(|part| {
            let (wanted, part) = part.strip_prefix('!').map_or((true, &**part), |p| (false, p));
            part.split(" | ").any(|one| self.holds_one(one, as_test)) == wanted
        })
    }

    fn holds_one(&self, part: &str, as_test: bool) -> bool {
        if let Some((files, text)) = part.split_once(" has ") {
            let mut paths = self.folder.matching(files);
            return paths.any(|path| self.folder.text(path).contains(text));
        }
        match part.split_once(':') {
            None => self.folder.matching(part).next().is_some(),
            Some(("watch", name)) => self.unwatched(name).is_some_and(|text| !text.is_empty()),
            Some((tool, name)) => {
                let task = self.folder.task(tool, name, 0);
                task.is_some_and(|text| !as_test || self.is_real(&text))
            }
        }
    }

    /// Whether the commands do more than print or set up, and end by themselves.
    fn is_real(&self, text: &str) -> bool {
        let is_idle = |name: &str| listed(&self.table.idle, name);
        let script = shell_reader::read(text);
        let mut names = script.commands.iter().map(shell_reader::Command::name);
        names.any(|name| name.is_none_or(|name| !is_idle(name))) && self.watcher(text).is_none()
    }

    fn watcher(&self, text: &str) -> Option<&(String, String)> {
        let ends = text.contains("--watch=false") || text.contains("--watchAll=false");
        self.table.watchers.iter().find(|(has, _)| text.contains(has) && !ends)
    }

    /// A command that ends, to replace one that watches for changes; empty if none is known.
    fn unwatched(&self, name: &str) -> Option<String> {
        let text = self.folder.task("npm", name, 0)?;
        let (has, instead) = self.watcher(&text)?;
        // More than one command would be ambiguous.
        let is_known = !text.contains('\n') && !instead.is_empty();
        Some(if is_known { text.replacen(has, instead, 1) } else { String::new() })
    }

    /// A command with its placeholders filled in.
    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let words = self.kind.words.iter().find(|words| self.holds(&words.when, false));
        for (name, word) in words.iter().flat_map(|words| &words.texts) {
            text = text.replace(&format!("{{{name}}}"), word);
        }
        let packages = self.kind.packages.iter().filter(|row| self.holds(&row.when, false));
        let packages: String = packages.map(|row| &*row.run).collect();
        let unwatched = self.unwatched("test").unwrap_or_default();
        text.replace("{packages}", &packages).replace("{unwatched}", &unwatched)
    }
}

/// The words that identify a command: those after its placeholders, up to the first option.
fn needle(run: &str) -> Vec<&str> {
    let plain = run.rsplit('}').next().unwrap_or(run);
    let words = plain.split_whitespace().skip_while(|word| word.starts_with('-'));
    let words = words.take_while(|word| !word.starts_with(['-', '.']));
    words.filter(|word| *word != "run").collect()
}
