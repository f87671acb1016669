//! Resolves the paths of a command line, using its text alone.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use super::{Facts, Glob};
use shell_reader::{UNKNOWN, Word};

/// The location of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// Exactly this path.
    At(Utf8PathBuf),
    /// A match of the pattern in this folder; the pattern may extend into subfolders.
    In { folder: Utf8PathBuf, pattern: String },
    /// An unknown location.
    Unknown,
}

impl Location {
    /// Returns the path, or the pattern that it matches.
    pub(super) fn named(self) -> Option<Utf8PathBuf> {
        match self {
            Self::At(path) => Some(path),
            Self::In { folder, pattern } => Some(folder.join(pattern)),
            Self::Unknown => None,
        }
    }

    /// Returns the path, or the folder that contains it.
    pub(super) fn known(self) -> Option<Utf8PathBuf> {
        match self {
            Self::At(path) | Self::In { folder: path, .. } => Some(path),
            Self::Unknown => None,
        }
    }
}

/// Resolves a word that is used as a path.
pub(super) fn place(word: &Word, directory: Option<&Word>, facts: &Facts) -> Location {
    let text = word.text();
    let base = match directory {
        None => Some(facts.cwd.clone()),
        Some(word) if word.text().contains(UNKNOWN) => None,
        Some(word) => Some(absolute(word.text(), &facts.cwd, facts)),
    };
    match base {
        _ if text.starts_with(UNKNOWN) => Location::Unknown,
        Some(base) => located(text, &base, facts),
        None if text.starts_with(['/', '~']) => located(text, "".into(), facts),
        None if first_vague(text).is_some() => Location::Unknown,
        // Below an unknown folder, a name is still just a name: `build` is not `/`.
        None => Location::In { folder: Utf8PathBuf::new(), pattern: String::new() },
    }
}

/// Returns the position of the first wildcard or unknown part.
fn first_vague(text: &str) -> Option<usize> {
    text.find([UNKNOWN, '*', '?', '['])
}

/// Resolves a path below a known folder.
fn located(text: &str, base: &Utf8Path, facts: &Facts) -> Location {
    // An unknown name is still one component, which `..` removes again.
    let resolved = absolute(text, base, facts);
    let whole = if text.split('/').any(|part| part == "..") { resolved.as_str() } else { text };
    let Some(at) = first_vague(whole) else { return Location::At(resolved) };
    let cut = whole.get(..at).and_then(|before| before.rfind('/')).map_or(0, |slash| slash + 1);
    let (known, pattern) = whole.split_at(cut);
    Location::In { folder: absolute(known, base, facts), pattern: pattern.to_owned() }
}

/// Returns whether a pattern matches everything in its folder.
pub(super) fn is_everything(pattern: &str) -> bool {
    let first = pattern.split('/').next().unwrap_or_default();
    matches!(first, "*" | ".*" | "**" | "*.*" | "?*" | "{*,.*}")
}

/// Returns whether the first component of a pattern matches a name; a leading dot must be explicit.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let first = pattern.split('/').next().unwrap_or_default();
    (first.starts_with('.') || !name.starts_with('.')) && Glob::fits(first, name)
}

/// Returns whether the path is or contains the project, its copy or the home folder.
pub(super) fn holds_project_or_home(path: &Utf8Path, facts: &Facts) -> bool {
    vital(facts).any(|own| own != "" && own.starts_with(path))
}

fn vital(facts: &Facts) -> impl Iterator<Item = &Utf8PathBuf> {
    let project = facts.copy.iter().flat_map(|copy| &copy.project);
    [&facts.root, &facts.home].into_iter().chain(project)
}

/// Returns whether a match of the pattern in this folder is or contains one of these folders.
pub(super) fn reaches_project_or_home(folder: &Utf8Path, pattern: &str, facts: &Facts) -> bool {
    let below =
        |own: &Utf8PathBuf| Some(own.strip_prefix(folder).ok()?.components().next()?.to_string());
    vital(facts).filter_map(below).any(|name| fits(pattern, &name))
}

/// Makes a path absolute, without `.`, `..` and `~`.
pub(super) fn absolute(path: &str, base: &Utf8Path, facts: &Facts) -> Utf8PathBuf {
    let joined = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", facts.home),
        Some(user) => format!("/home/{user}"),
        None if path.starts_with('/') => path.to_owned(),
        None => format!("{base}/{path}"),
    };
    let mut resolved = Utf8PathBuf::from("/");
    for part in Utf8Path::new(&joined).components() {
        match part {
            Utf8Component::Normal(name) => resolved.push(name),
            Utf8Component::ParentDir => {
                resolved.pop();
            }
            _ => {}
        }
    }
    resolved
}

/// Returns whether `path` is in a folder for temporary files, but not in a home folder in there.
pub(super) fn is_temporary(path: &Utf8Path, facts: &Facts) -> bool {
    let home = &facts.home;
    temp_folders(facts).any(|folder| {
        let at_home = home != folder && home.starts_with(folder) && path.starts_with(home);
        path.starts_with(folder) && !at_home
    })
}

/// Returns the folders for temporary files.
pub(super) fn temp_folders(facts: &Facts) -> impl Iterator<Item = &Utf8Path> {
    let usual = ["/tmp", "/var/tmp", "/private/tmp"].into_iter().map(Utf8Path::new);
    usual.chain([facts.temp.as_path()]).filter(|folder| *folder != "")
}
