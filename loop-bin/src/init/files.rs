//! The files of a project that detection may look at, and the tasks that they define.

use camino::Utf8Path;
use globset::{GlobBuilder, GlobMatcher};
use ralph_core::git::Repo;
use serde_json::Value;

/// A list of paths, and a way to read them.
pub(crate) struct Files<'a> {
    pub(crate) paths: Vec<String>,
    pub(crate) read: &'a dyn Fn(&str) -> Option<String>,
}

/// The files that git knows or would take; in a folder without git, those at its top.
pub(super) fn paths_below(root: &Utf8Path) -> Vec<String> {
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."];
    let below = |top: &Utf8Path| Some(root.strip_prefix(top).ok()?.to_string());
    let listed = Repo::open(root).ok().and_then(|repo| {
        let prefix = below(Utf8Path::from_path(repo.top())?)?;
        let text = String::from_utf8_lossy(&repo.git().run(&args).ok()?).into_owned();
        let own =
            text.split('\0').filter_map(|path| Utf8Path::new(path).strip_prefix(&prefix).ok());
        Some(own.map(ToString::to_string).filter(|path| !path.is_empty()).collect())
    });
    listed.unwrap_or_else(|| {
        let entries = root.read_dir_utf8().into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_owned()).collect()
    })
}

/// One folder of a project; the top has an empty path.
#[derive(Clone, Copy)]
pub(super) struct Folder<'a> {
    pub(super) files: &'a Files<'a>,
    pub(super) path: &'a str,
}

/// What a task runs: other tasks, and a text of commands.
pub(super) struct Task {
    pub(super) needs: Vec<String>,
    pub(super) text: String,
}

impl Folder<'_> {
    /// The paths below it, from it.
    fn below(&self) -> impl Iterator<Item = &str> {
        let from_here = |path: &'_ str| match self.path {
            "" => Some(0),
            own => path.strip_prefix(own)?.starts_with('/').then_some(own.len() + 1),
        };
        self.files.paths.iter().filter_map(move |path| path.get(from_here(path)?..))
    }

    /// Whether a file is there, by its name or a pattern.
    pub(super) fn has(&self, pattern: &str) -> bool {
        match matcher(pattern) {
            Some(glob) => self.below().any(|path| glob.is_match(path)),
            None => self.below().any(|path| path == pattern),
        }
    }

    /// The text of a file, or nothing; a line break before it makes the beginning of a line findable.
    pub(super) fn text(&self, name: &str) -> String {
        let path = Utf8Path::new(self.path).join(name);
        (self.files.read)(path.as_str()).map(|text| format!("\n{text}")).unwrap_or_default()
    }

    /// A task of one of the tools that have some.
    pub(super) fn task(&self, tool: &str, name: &str) -> Option<Task> {
        match tool {
            "npm" => self.script("package.json", "scripts", name),
            "composer" => self.script("composer.json", "scripts", name),
            "deno" => {
                let find = |file| self.script(file, "tasks", name);
                find("deno.json").or_else(|| find("deno.jsonc"))
            }
            "make" => self.recipe(&["GNUmakefile", "makefile", "Makefile"], name),
            "just" => self.recipe(&["justfile", "Justfile", ".justfile"], name),
            "task" => self.recipe(&["Taskfile.yml", "Taskfile.yaml"], &format!("  {name}")),
            _ => None,
        }
    }

    /// The folders of packages below this one.
    pub(super) fn packages(&self) -> Vec<String> {
        let own = self.below().filter_map(|path| path.strip_suffix("/package.json"));
        own.filter(|path| !path.contains("node_modules")).map(|path| self.sub(path)).collect()
    }

    fn sub(&self, path: &str) -> String {
        Utf8Path::new(self.path).join(path).into_string()
    }

    fn script(&self, file: &str, table: &str, name: &str) -> Option<Task> {
        let text = self.text(file);
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let json: Value = serde_json::from_str(&lines.collect::<String>()).ok()?;
        let text = match json.get(table)?.get(name)? {
            Value::String(text) => text.clone(),
            Value::Array(lines) => {
                lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
            }
            task => task.get("command")?.as_str()?.to_owned(),
        };
        // `@php` is the program, `@test` another script.
        let text = text.replace("@php ", "php ").replace("@composer ", "composer ");
        let runs = |line: &str| Some(line.rsplit_once(" run ")?.1.trim().to_owned());
        let needs = text.split("&&").filter_map(runs);
        let own = text.lines().filter_map(|line| Some(line.strip_prefix('@')?.to_owned()));
        Some(Task { needs: needs.chain(own).collect(), text })
    }

    /// A target of a Makefile, or of something that looks like one.
    fn recipe(&self, files: &[&str], name: &str) -> Option<Task> {
        let text = files.iter().map(|file| self.text(file)).find(|text| !text.is_empty())?;
        let indent = name.len() - name.trim_start().len();
        let (mut task, mut is_inside) = (None, false);
        for line in text.lines() {
            let own = line.len() - line.trim_start().len();
            is_inside &= own > indent || line.trim().is_empty();
            // A Makefile may have one for each case.
            if defines(line, name) {
                let task = task.get_or_insert(Task { needs: Vec::new(), text: String::new() });
                let needs = line.split_once(':').map(|(_, needs)| needs.split_whitespace());
                task.needs.extend(needs.into_iter().flatten().map(str::to_owned));
                is_inside = true;
            } else if let (true, Some(task)) = (is_inside, &mut task) {
                task.text.push_str(line.trim().trim_start_matches(['@', '-']));
                task.text.push('\n');
            }
        }
        task
    }
}

/// Whether a line is where the recipe begins: `test: all`, `check test:`, `test *args:`, not `test := x`.
fn defines(line: &str, name: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else { return false };
    let indent = name.len() - name.trim_start().len();
    let is_here = line.len() - line.trim_start().len() == indent;
    let mut words = targets.split_whitespace().map(|word| word.trim_start_matches('@'));
    is_here && !rest.starts_with('=') && words.any(|word| word == name.trim())
}

fn matcher(pattern: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.ok().filter(|_| pattern.contains('*')).map(|glob| glob.compile_matcher())
}
