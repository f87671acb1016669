//! Task files that stand on the line itself: makefiles, justfiles, taskfiles, package files.
//!
//! Only the tasks that are asked for are followed, with those that they need.

use super::call::Call;
use super::context::Context;
use super::walk::Walker;
use super::{Reach, Word, options};

/// Tasks that are followed for one call.
const MAX_TASKS: usize = 64;

/// A task: its names, what runs before it, and its lines.
struct Task {
    names: Vec<String>,
    needs: Vec<String>,
    lines: Vec<String>,
}

impl Task {
    fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }
}

/// Follows a runner of tasks; false if it runs none that the line has written.
pub(super) fn follow(walker: &mut Walker, name: &str, call: &Call, context: &Context) -> bool {
    let files = match name {
        "make" | "gmake" => "GNUmakefile makefile Makefile",
        "just" => "justfile Justfile .justfile",
        "task" | "go-task" => "Taskfile.yml Taskfile.yaml taskfile.yml",
        "npm" | "pnpm" | "yarn" | "bun" => "package.json",
        "deno" => "deno.json deno.jsonc",
        "composer" => "composer.json",
        _ => return false,
    };
    let args = call.args();
    let named = options::values(args, "-f --file --makefile --justfile -t --taskfile", "-C -j");
    let text = match named.first().map(Word::text) {
        Some(path) => walker.script(path, call, context),
        None => files.split(' ').find_map(|name| walker.expander().file(name)),
    };
    let Some(text) = text.filter(|text| walker.session.spend(1 + text.len() / 16)) else {
        return false;
    };
    let mut texts = args.iter().map(Word::text);
    let looks = "-n --dry-run --just-print --list -l --summary --show --dry --list-all";
    if texts.any(|arg| looks.split(' ').any(|option| option == arg)) {
        return true;
    }
    let are_scripts = files.contains(".json");
    let tasks = if are_scripts { scripts(&text) } else { sections(&text) };
    for line in chosen(&tasks, args, are_scripts) {
        walker.child(line, Reach::ShellText(name.to_owned()), call, context);
    }
    true
}

/// The lines of the tasks that are asked for, and of those that they need.
fn chosen<'t>(tasks: &'t [Task], args: &[Word], are_scripts: bool) -> Vec<&'t str> {
    let mut wanted: Vec<&str> = args.iter().map(Word::text).take(MAX_TASKS).collect();
    if !are_scripts && !wanted.iter().any(|name| tasks.iter().any(|task| task.is_named(name))) {
        let default = tasks.iter().find(|task| task.is_named("default"));
        let first =
            || tasks.iter().find(|task| !task.names.iter().any(|name| name.starts_with('.')));
        let names = default.or_else(first).and_then(|task| task.names.first());
        wanted.extend(names.map(String::as_str));
    }
    let mut lines = Vec::new();
    let mut at = 0;
    while let Some(name) = wanted.get(at).copied().filter(|_| at < MAX_TASKS) {
        at += 1;
        let around = ["pre", "post"].map(|when| format!("{when}{name}"));
        let is_around = |task: &Task| are_scripts && around.iter().any(|name| task.is_named(name));
        for task in tasks.iter().filter(|task| task.is_named(name) || is_around(task)) {
            lines.extend(task.lines.iter().map(String::as_str));
            for need in &task.needs {
                if !wanted.contains(&need.as_str()) {
                    wanted.push(need);
                }
            }
        }
    }
    lines
}

/// The pairs of texts in a package file, each with a name of its own.
fn scripts(text: &str) -> Vec<Task> {
    let mut tasks = Vec::new();
    // Between quotes that no backslash precedes: other, name, colon, value, other …
    let escaped = text.replace("\\\\", "\u{1}").replace("\\\"", "\u{2}");
    let pieces: Vec<&str> = escaped.split('"').collect();
    for (at, window) in pieces.windows(3).enumerate() {
        if let [name, between, value] = window
            && at % 2 == 1
            && between.trim() == ":"
        {
            let line = value.replace('\u{2}', "\"").replace('\u{1}', "\\");
            let names = vec![(*name).to_owned()];
            tasks.push(Task { names, needs: Vec::new(), lines: vec![line] });
        }
    }
    tasks
}

/// The tasks of a file in which the lines of a task stand deeper than its name.
fn sections(text: &str) -> Vec<Task> {
    let text = text.replace("\\\n", " ");
    let inner = text.split_once("\ntasks:").map(|(_, inner)| inner);
    let inner = inner.or_else(|| text.strip_prefix("tasks:"));
    let mut tasks: Vec<Task> = Vec::new();
    let mut values = vec![("MAKE".to_owned(), "make".to_owned())];
    let mut base = inner.map(|_| None).unwrap_or(Some(0));
    for line in inner.unwrap_or(&text).lines().filter(|line| !line.trim().is_empty()) {
        let depth = line.len() - line.trim_start().len();
        let base = *base.get_or_insert(depth);
        if depth > base {
            if let Some(task) = tasks.last_mut() {
                body_line(task, line.trim(), &values);
            }
        } else if let Some(pair) = definition(line).filter(|_| values.len() < MAX_TASKS) {
            values.push(pair);
        } else if let Some((heads, behind)) = line.split_once(':') {
            let (needs, command) = behind.split_once(';').unwrap_or((behind, ""));
            let needs: Vec<String> = needs.split_whitespace().map(str::to_owned).collect();
            // `ship: git push` is a short form where tasks stand below a heading.
            let command = if inner.is_some() { behind } else { command };
            let names =
                heads.split_whitespace().map(|name| name.trim_matches(['@', '"', '\'']).to_owned());
            tasks.push(Task {
                names: names.collect(),
                needs,
                lines: vec![filled(command, &values)],
            });
        }
    }
    tasks
}

/// `NAME := value` and its like.
fn definition(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', ' ']);
    let value = value.trim().trim_matches(['"', '\'']);
    (!name.contains([' ', ':'])).then(|| (name.to_owned(), value.to_owned()))
}

/// Adds a line below a task's name: a command, or other tasks.
fn body_line(task: &mut Task, line: &str, values: &[(String, String)]) {
    let line = line.strip_prefix("- ").unwrap_or(line);
    let (key, value) = line.split_once(": ").unwrap_or(("", line));
    let listed = value.trim_matches(['[', ']', ' ']).split(',');
    let items = || listed.clone().map(|item| item.trim().trim_matches(['"', '\'']));
    match key {
        "deps" | "task" => task.needs.extend(items().map(str::to_owned)),
        "cmds" => task.lines.extend(items().map(|item| filled(item, values))),
        "cmd" | "sh" => task.lines.push(filled(value, values)),
        _ => task.lines.push(filled(line.trim_start_matches(['@', '-', '+', ' ']), values)),
    }
}

/// A line with the values of the file filled in: `$(NAME)`, `${NAME}`, `{{NAME}}`.
fn filled(line: &str, values: &[(String, String)]) -> String {
    let line = line.replace("$$", "$");
    values.iter().filter(|_| line.contains(['{', '('])).fold(line.clone(), |line, (name, value)| {
        let marks = [format!("$({name})"), format!("${{{name}}}"), format!("{{{{{name}}}}}")];
        marks.iter().fold(line, |line, mark| line.replace(mark, value))
    })
}
