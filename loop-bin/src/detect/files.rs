//! The project files that detection may read, and the tasks that they define.

use camino::Utf8Path;
use globset::Glob;
use ralph_core::git::Git;
use regex::Regex;
use serde_json::Value;

/// A list of paths, and a way to read them.
pub(crate) struct Files<'a> {
    pub(crate) paths: Vec<String>,
    pub(crate) read: &'a dyn Fn(&str) -> Option<String>,
}

/// The files that git tracks or would add; in a folder without git, those at its top.
pub(super) fn paths_below(root: &Utf8Path) -> Vec<String> {
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    // As in a repository, but before there is one; empty files are ignored.
    let search = ["grep", "--no-index", "--exclude-standard", "-lz", "-e", ""];
    let git = Git::at(root);
    let names = git.run(&args).or_else(|_| git.run(&search)).unwrap_or_default();
    let names = String::from_utf8_lossy(&names);
    // File names are printed, and written to a file line by line.
    let names = names.split_terminator('\0').filter(|name| !name.contains(char::is_control));
    names.map(str::to_owned).collect()
}

/// Tools with tasks: the table of a JSON file, or the indentation of recipes, and the file names.
const TOOLS: [(&str, &str, &[&str]); 6] = [
    ("npm", "scripts", &["package.json"]),
    ("composer", "scripts", &["composer.json"]),
    ("deno", "tasks", &["deno.json", "deno.jsonc"]),
    ("make", "", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", "", &["justfile", "Justfile", ".justfile"]),
    ("task", "  ", &["Taskfile.yml", "Taskfile.yaml"]),
];

/// How deep tasks that call each other are followed.
const DEPTH: usize = 4;

/// One folder of a project; the path of the top folder is empty.
#[derive(Clone, Copy)]
pub(super) struct Folder<'a> {
    pub(super) files: &'a Files<'a>,
    pub(super) path: &'a str,
}

impl<'a> Folder<'a> {
    /// The paths below it with this name, or that match this pattern.
    pub(super) fn matching(&self, pattern: &str) -> impl Iterator<Item = &'a str> {
        let (folder, pattern) = (self.path, pattern.to_owned());
        let glob = if pattern.contains('*') { Glob::new(&pattern).ok() } else { None };
        let glob = glob.map(|glob| glob.compile_matcher());
        let paths = self.files.paths.iter().map(Utf8Path::new);
        let below = paths.filter_map(move |path| Some(path.strip_prefix(folder).ok()?.as_str()));
        below.filter(move |path| match &glob {
            Some(glob) => glob.is_match(path),
            None => *path == pattern,
        })
    }

    /// A file's text, or an empty one, after a line break, so that the first line can be found like any other.
    pub(super) fn text(&self, name: &str) -> String {
        let path = Utf8Path::new(self.path).join(name);
        (self.files.read)(path.as_str()).map(|text| format!("\n{text}")).unwrap_or_default()
    }

    /// The commands of a task, including those of the tasks that it calls.
    pub(super) fn task(&self, tool: &str, name: &str, depth: usize) -> Option<String> {
        let (_, table, files) = TOOLS.iter().find(|(name, ..)| *name == tool)?;
        let text = files.iter().map(|file| self.text(file)).find(|text| !text.is_empty())?;
        let lines = match table.trim() {
            "" => recipe(tool, &text, &format!("{table}{name}")),
            table => script(&text, table, name),
        }?;
        let lines = lines.lines().flat_map(|line| line.split("&&"));
        let lines = lines.map(|line| self.inlined(line.trim(), depth + 1));
        Some(lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"))
    }

    /// A command, or the commands of the task that it calls.
    pub(super) fn inlined(&self, line: &str, depth: usize) -> String {
        let mut words = line.split_whitespace();
        let tool = match words.next().unwrap_or_default() {
            "npm" | "pnpm" | "yarn" | "bun" => "npm",
            "$(MAKE)" => "make",
            other => other,
        };
        let called = words.filter_map(|word| self.task(tool, word, depth));
        let called: Vec<String> = if depth < DEPTH { called.collect() } else { Vec::new() };
        if called.is_empty() { line.to_owned() } else { called.join("\n") }
    }
}

/// A script of a JSON file.
fn script(text: &str, table: &str, name: &str) -> Option<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let json: Value = serde_json::from_str(&lines.collect::<String>()).ok()?;
    let task = json.get(table)?.get(name)?;
    let one = || Some(vec![task.get("command").unwrap_or(task).as_str()?]);
    let several = task.as_array().map(|lines| lines.iter().filter_map(Value::as_str).collect());
    // In Composer, `@php` is the program, and `@test` is another script.
    let line = |line: &str| match line.strip_prefix('@') {
        Some(own) if !own.starts_with("php ") => format!("composer {own}\n"),
        own => own.unwrap_or(line).to_owned() + "\n",
    };
    Some(several.or_else(one)?.into_iter().map(line).collect())
}

/// A target of a Makefile or a similar file, including those that it depends on.
fn recipe(tool: &str, text: &str, name: &str) -> Option<String> {
    let (head, mut body, mut is_inside) = (head_of(name)?, None, false);
    for line in text.lines() {
        is_inside &= indent(line) > indent(name) || line.trim().is_empty();
        // A Makefile may define a target once for each case.
        if let Some(found) = head.captures(line) {
            let needs = found.name("needs").map_or("", |needs| needs.as_str()).split_whitespace();
            let is_target = |need: &&str| {
                head_of(need).is_some_and(|head| text.lines().any(|line| head.is_match(line)))
            };
            let needs = needs.filter(is_target).map(|need| format!("{tool} {need}\n"));
            body.get_or_insert_with(String::new).extend(needs);
            is_inside = true;
        } else if let (true, Some(body)) = (is_inside, &mut body) {
            body.push_str(line.trim().trim_start_matches(['@', '-']));
            body.push('\n');
        }
    }
    body
}

/// The line that starts a recipe: `test: all`, `check test:`, `test *args:`, but not `test := x`.
fn head_of(name: &str) -> Option<Regex> {
    let (blanks, name) = (indent(name), regex::escape(name.trim()));
    Regex::new(&format!(r"^\s{{{blanks}}}(@*[^\s:]+\s+)*@*{name}(\s[^:]*)?:(?<needs>$|[^=].*)"))
        .ok()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
