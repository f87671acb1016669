//! Where a path of the command line lies, found in the text alone.

use camino::Utf8PathBuf;

use super::check::Facts;
use super::protected::{Owner, owner};
use crate::shell::{UNKNOWN, Word};

/// Where the gates look for a session's state, below the home folder.
const HOME_STATE: &str = ".ralph/state";

/// Where a path lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Exactly there.
    At(String),
    /// Something in this folder that fits the pattern, which may go on into folders below it.
    In { folder: String, pattern: String },
    /// Nobody can say.
    Unknown,
}

/// Finds the place of a word that is used as a path.
pub(super) fn place(word: &Word, directory: Option<&Word>, facts: &Facts) -> Place {
    let text = word.text();
    if text.starts_with(UNKNOWN) {
        return Place::Unknown;
    }
    let Some(base) = base(directory, facts) else {
        return if text.starts_with(['/', '~']) {
            located(text, "", facts)
        } else {
            unknown_base(text)
        };
    };
    located(text, &base, facts)
}

/// Where the first vague character stands.
fn first_vague(text: &str) -> Option<usize> {
    text.find([UNKNOWN, '*', '?', '['])
}

/// The place of a path below a known folder.
fn located(text: &str, base: &str, facts: &Facts) -> Place {
    // A name that nobody knows is still a name, which `..` takes away again.
    let resolved = absolute(text, base, facts);
    let whole = if text.split('/').any(|part| part == "..") { resolved.as_str() } else { text };
    let Some(at) = first_vague(whole) else { return Place::At(resolved) };
    let cut = whole.get(..at).and_then(|before| before.rfind('/')).map_or(0, |slash| slash + 1);
    let (known, pattern) = whole.split_at(cut);
    Place::In { folder: absolute(known, base, facts), pattern: pattern.to_owned() }
}

/// Below a folder that nobody knows, a name is still only a name: `build` is not `/`.
fn unknown_base(text: &str) -> Place {
    match first_vague(text) {
        Some(_) => Place::Unknown,
        None => Place::In { folder: String::new(), pattern: String::new() },
    }
}

/// Whether a pattern stands for everything in its folder.
pub(super) fn is_everything(pattern: &str) -> bool {
    let first = pattern.split('/').next().unwrap_or_default();
    matches!(first, "*" | ".*" | "**" | "*.*" | "?*" | "{*,.*}")
}

/// Whether the first part of a pattern fits a name; a leading dot fits only itself.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let first = pattern.split('/').next().unwrap_or_default();
    (first.starts_with('.') || !name.starts_with('.'))
        && globset::Glob::new(first).is_ok_and(|glob| glob.compile_matcher().is_match(name))
}

/// Whether the project, its copy or the home folder lies there or below.
pub(super) fn holds_project_or_home(path: &str, facts: &Facts) -> bool {
    vital(facts).any(|own| !own.as_str().is_empty() && is_in(own.as_str(), path))
}

fn vital(facts: &Facts) -> impl Iterator<Item = &Utf8PathBuf> {
    let project = facts.copy.iter().flat_map(|copy| &copy.project);
    [&facts.root, &facts.home].into_iter().chain(project)
}

/// Whether what fits the pattern in this folder holds the project, its copy or the home folder.
pub(super) fn reaches_project_or_home(folder: &str, pattern: &str, facts: &Facts) -> bool {
    vital(facts).any(|own| {
        let below = own.as_str().strip_prefix(folder.trim_end_matches('/'));
        let below = below.and_then(|below| below.strip_prefix('/'));
        below.is_some_and(|below| fits(pattern, below.split('/').next().unwrap_or_default()))
    })
}

/// The folder that a command runs in.
fn base(directory: Option<&Word>, facts: &Facts) -> Option<String> {
    let cwd = facts.cwd.as_str();
    match directory {
        None => Some(cwd.to_owned()),
        Some(word) if word.text().contains(UNKNOWN) => None,
        Some(word) => Some(absolute(word.text(), cwd, facts)),
    }
}

/// An absolute path without `.`, `..` and `~`.
pub(super) fn absolute(path: &str, base: &str, facts: &Facts) -> String {
    let home = facts.home.as_str();
    let joined = match path.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => format!("{home}{rest}"),
        Some(user) => format!("/home/{user}"),
        None if path.starts_with('/') => path.to_owned(),
        None => format!("{base}/{path}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether `path` is `folder` or lies in it.
pub(super) fn is_in(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether `path` lies in a folder for temporary files; a home folder in there is none of them.
pub(super) fn is_temporary(path: &str, facts: &Facts) -> bool {
    let own = facts.temp.as_str().trim_end_matches('/');
    let home = facts.home.as_str().trim_end_matches('/');
    ["/tmp", "/var/tmp", "/private/tmp", own].iter().any(|folder| {
        let at_home = home != *folder && is_in(home, folder) && is_in(path, home);
        !folder.is_empty() && is_in(path, folder) && !at_home
    })
}

/// The path relative to the project, if it lies in it.
pub(super) fn in_project<'p>(path: &'p str, facts: &Facts) -> Option<&'p str> {
    relative(path, facts.root.as_str())
}

/// The path relative to a folder, if it lies in it.
pub(super) fn relative<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

/// Whether a path in a protected place is the agent's to write all the same.
pub(super) fn is_own(path: &str, facts: &Facts) -> bool {
    facts.own_files.iter().any(|own| is_in(path, own.as_str()))
}

/// Whether `path` is one of the client's settings files or the gates' state in the home folder.
pub(super) fn in_home_settings(path: &str, facts: &Facts) -> bool {
    let home = facts.home.as_str().trim_end_matches('/');
    let inside = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/'));
    !home.is_empty()
        && inside
            .is_some_and(|inside| owner(inside) == Owner::Settings || is_in(inside, HOME_STATE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, directory: Option<&str>, expected: &Place) {
        let facts = Facts {
            root: "/w/app".into(),
            cwd: "/w/app".into(),
            home: "/home/dev".into(),
            ..Facts::default()
        };
        let directory = directory.map(Word::from);
        assert_eq!(&place(&Word::from(path), directory.as_ref(), &facts), expected, "{path}");
    }

    #[test]
    fn paths_are_resolved_as_text() {
        let at = |path: &str| Place::At(path.to_owned());
        check("build", None, &at("/w/app/build"));
        check("./a/../..", None, &at("/w"));
        check("../../../..", None, &at("/"));
        check("~/x", Some("sub"), &at("/home/dev/x"));
        check("x", Some("../b"), &at("/w/b/x"));
        check("/a//b/", None, &at("/a/b"));
        check("*", Some("/"), &Place::In { folder: "/".into(), pattern: "*".into() });
        check("src/*.o", None, &Place::In { folder: "/w/app/src".into(), pattern: "*.o".into() });
        check("/tmp/\u{fffc}/../../home", None, &at("/home"));
        check("\u{fffc}/x", None, &Place::Unknown);
        check(
            "a/\u{fffc}",
            None,
            &Place::In { folder: "/w/app/a".into(), pattern: "\u{fffc}".into() },
        );
    }
}
