//! Names of files as those file systems see them that ignore case (macOS, FAT): other letters may name
//! the same file. What is protected is protected under all of its names, on every system, because no
//! honest program needs a `.GIT` beside `.git`.

use std::fs::symlink_metadata;
use std::os::unix::fs::MetadataExt;

use camino::{Utf8Path, Utf8PathBuf};

/// Returns whether two names may be of the same file.
pub fn are_same(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other) || is_short(one, other);
    }
    folded(one).eq(folded(other))
}

/// Returns the letters of a name, without those that are shown by nothing.
pub fn folded(name: &str) -> impl Iterator<Item = char> {
    let is_shown = |c: &char| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    name.chars().filter(is_shown).flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

/// Returns whether this is the short name that FAT gives to a longer one: `GIT~1` for `.git`.
fn is_short(one: &str, name: &str) -> bool {
    let Some((start, rest)) = one.split_once('~') else { return false };
    let stem = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    let stem = stem.get(..stem.len().min(6)).unwrap_or(stem);
    rest.starts_with(|c: char| c.is_ascii_digit()) && start.eq_ignore_ascii_case(stem)
}

/// Returns the rest of a path that may lead into a folder.
pub fn below<'p>(path: &'p Utf8Path, folder: &Utf8Path) -> Option<&'p Utf8Path> {
    if let Ok(rest) = path.strip_prefix(folder) {
        return Some(rest);
    }
    let mut parts = path.components();
    let mut above = folder.components();
    let leads =
        above.all(|name| parts.next().is_some_and(|part| are_same(part.as_str(), name.as_str())));
    leads.then(|| parts.as_path())
}

/// Returns a path with each name as its folder lists it, where the file system ignores case: git knows
/// files by that name alone.
pub fn as_on_disk(path: &Utf8Path) -> Utf8PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let file = |path: &Utf8Path| symlink_metadata(path).ok().map(|it| (it.dev(), it.ino()));
    let here = file(path);
    let swap = |c: char| {
        if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
    };
    let other: String = name.chars().map(swap).collect();
    let ignores_case = other != name && here.is_some() && file(&folder.join(other)) == here;
    let folder = as_on_disk(folder);
    let listed = || {
        let names =
            folder.read_dir_utf8().ok()?.flatten().map(|entry| entry.file_name().to_owned());
        let same: Vec<String> = names.filter(|it| are_same(it, name)).collect();
        same.iter().find(|it| *it == name).or(same.first()).cloned()
    };
    let listed = if ignores_case { listed() } else { None };
    folder.join(listed.as_deref().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_file_system_may_take_for_the_same_are_the_same() {
        for (one, other) in [
            (".GIT", ".git"),
            ("GIT~1", ".git"),
            ("ralph~2", ".ralph"),
            ("SETTIN~1.JSO", "settings.json"),
            ("\u{212a}eys", "keys"),
            ("hoo\u{212a}\u{17f}", "hooks"),
            (".g\u{200c}it", ".git"),
            ("ÄPFEL", "äpfel"),
        ] {
            assert!(are_same(one, other), "{one}");
        }
        for (one, other) in [
            (".gitignore", ".git"),
            ("git", ".git"),
            ("GIT~x", ".git"),
            ("gi~1", ".git"),
            ("", "a"),
        ] {
            assert!(!are_same(one, other), "{one}");
        }
        let rest = |path: &'static str| below(path.into(), "/home/Ada/app".into());
        assert_eq!(rest("/HOME/ada/APP/.git"), Some(".git".into()));
        assert_eq!(rest("/home/Ada/app"), Some("".into()));
        assert_eq!(rest("/home/Ada/apple"), None);
        assert_eq!(rest("/home"), None);
    }
}
