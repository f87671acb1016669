//! Where a path of the command line lies, found in the text alone.

use super::check::Facts;
use super::protected::{Owner, owner};
use crate::shell::{UNKNOWN, Word};

/// Where a path lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Exactly there.
    At(String),
    /// Something in this folder; `all` if it is everything in it.
    In { folder: String, all: bool },
    /// Nobody can say.
    Unknown,
}

/// Finds the place of a word that is used as a path.
pub(super) fn place(word: &Word, directory: Option<&Word>, facts: &Facts) -> Place {
    let text = word.text();
    if text.starts_with(UNKNOWN) {
        return Place::Unknown;
    }
    let vague = text.find([UNKNOWN, '*', '?', '[']);
    let (known, vague) = match vague {
        Some(at) => {
            let (before, behind) = text.split_at(at);
            let cut = before.rfind('/').map_or(0, |slash| slash + 1);
            let rest = text.get(cut..).unwrap_or(behind);
            (before.get(..cut).unwrap_or_default(), Some(rest))
        }
        None => (text, None),
    };
    let Some(base) = base(directory, facts) else {
        return if known.starts_with(['/', '~']) {
            finish(absolute(known, "", facts), vague)
        } else {
            unknown_base(vague)
        };
    };
    finish(absolute(known, &base, facts), vague)
}

/// Below a folder that nobody knows, a name is still only a name: `build` is not `/`.
fn unknown_base(vague: Option<&str>) -> Place {
    match vague {
        Some(_) => Place::Unknown,
        None => Place::In { folder: String::new(), all: false },
    }
}

fn finish(path: String, vague: Option<&str>) -> Place {
    match vague {
        None => Place::At(path),
        Some(rest) => {
            let first = rest.split('/').next().unwrap_or_default();
            Place::In {
                folder: path,
                all: matches!(first, "*" | ".*" | "**" | "*.*" | "?*" | "{*,.*}"),
            }
        }
    }
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

/// Whether `path` lies in a folder for temporary files.
pub(super) fn is_temporary(path: &str, facts: &Facts) -> bool {
    let own = facts.temp.as_str().trim_end_matches('/');
    ["/tmp", "/var/tmp", "/private/tmp", own]
        .iter()
        .any(|folder| !folder.is_empty() && is_in(path, folder))
}

/// The path relative to the project, if it lies in it.
pub(super) fn in_project<'p>(path: &'p str, facts: &Facts) -> Option<&'p str> {
    let root = facts.root.as_str().trim_end_matches('/');
    let rest = path.strip_prefix(root)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

/// Whether `path` is one of the client's own settings files in the home folder.
pub(super) fn in_home_settings(path: &str, facts: &Facts) -> bool {
    let home = facts.home.as_str().trim_end_matches('/');
    let inside = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/'));
    !home.is_empty() && inside.is_some_and(|inside| owner(inside) == Owner::Settings)
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
        check("*", Some("/"), &Place::In { folder: "/".into(), all: true });
        check("src/*.o", None, &Place::In { folder: "/w/app/src".into(), all: false });
        check("\u{fffc}/x", None, &Place::Unknown);
        check("a/\u{fffc}", None, &Place::In { folder: "/w/app/a".into(), all: false });
    }
}
