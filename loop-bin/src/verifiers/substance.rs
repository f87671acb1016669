//! Whether there is in the work what its story asks for: no placeholders, more than tests or comments, and the
//! files that the story names.

use std::path::Path;

use ralph_base::listing::first_few;
use ralph_project::leftovers::{LeftoverKind, find, lines_added, without_comments};
use ralph_project::strikes::is_test_file;
use ralph_project::verification::Finding;
use work_copy::git_output::paths;

use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Stage, Texts, Verifier, Work};

/// How many places are named.
const NAMED: usize = 5;

#[derive(Debug)]
pub(super) struct Substance;

impl Verifier for Substance {
    fn name(&self) -> &'static str {
        "substance"
    }

    fn is_due(&self, work: &Work<'_>) -> bool {
        work.stage != Stage::Committed && !work.staged.files.is_empty()
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let texts = work.texts(|path| without_comments(&path.to_string_lossy(), "").is_some())?;
        let files = &work.staged.files;
        let mut found = Vec::new();
        if let Some(places) = placeholders(&texts) {
            found.push(("unfinished", places));
        }
        if files.iter().all(|path| is_test_file(path)) {
            found.push((
                "only tests changed",
                first_few(files.iter().map(|path| path.display()), NAMED),
            ));
        } else if texts.len() == files.len() && texts.iter().all(only_comments) {
            found.push((
                "only comments changed",
                first_few(files.iter().map(|path| path.display()), NAMED),
            ));
        }
        if let Some(missing) = missing(work)? {
            found.push(("missing", missing));
        }
        let remark = |(about, what)| Finding::remark(self.name(), about, what);
        Ok(found.into_iter().map(remark).collect())
    }
}

fn placeholders(texts: &[Texts]) -> Option<String> {
    let files = texts.iter().filter(|one| !is_test_file(Path::new(&one.path)));
    let added = lines_added(
        files.map(|one| (one.path.clone(), one.old.as_bytes(), one.new.clone().into_bytes())),
    );
    let found = find(&added, &[LeftoverKind::Marker, LeftoverKind::Placeholder]);
    (!found.is_empty()).then(|| first_few(found.iter(), NAMED))
}

fn only_comments(one: &Texts) -> bool {
    without_comments(&one.path, &one.old) == without_comments(&one.path, &one.new)
}

/// The files that the story names in backticks and that are neither there now nor were there before.
fn missing(work: &Work<'_>) -> Result<Option<String>, Stopped> {
    let text = &work.attempt.text;
    let quoted = text.split('`').skip(1).step_by(2).filter(|name| is_path(name));
    let mut named: Vec<&str> = quoted.map(|name| name.trim_start_matches("./")).collect();
    if named.is_empty() {
        return Ok(None);
    }
    let store = work.copy.store();
    let list =
        |tree: &str| store.run(&["ls-tree", "-r", "-z", "--name-only", tree]).map(|it| paths(&it));
    let mut there = list(&work.staged.tree)?;
    if let Some(base) = &work.attempt.base {
        there.extend(list(base)?);
    }
    let top = work.copy.top();
    named.retain(|name| {
        // Git ignores what a build makes.
        let is_on_disk = top.join(name).symlink_metadata().is_ok();
        !is_on_disk && !there.iter().any(|path| path.ends_with(name))
    });
    Ok((!named.is_empty())
        .then(|| format!("the story names {}, which is not there", first_few(named.iter(), NAMED))))
}

/// Whether a word in backticks is the path of a file of code.
fn is_path(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let has_language = name.contains('.') && without_comments(name, "").is_some();
    let is_file = has_language && !name.ends_with('.') && !name.starts_with('.');
    // `Node.js` and the like.
    is_file
        && name.chars().all(is_plain)
        && !name.starts_with(|c: char| c.is_uppercase())
        && !name.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_code_are_known() {
        for path in ["src/calc.py", "calc.py", "a/b/c.test.ts", "./main.go"] {
            assert!(is_path(path) || path.starts_with("./"), "{path}");
        }
        for other in
            ["user.name", "Node.js", "npm test", "a/b", "README.md", "f()", ".py", "/etc/x.py"]
        {
            assert!(!is_path(other), "{other}");
        }
    }
}
