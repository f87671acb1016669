//! Landlock can only grant access. To make all but some paths readable, their siblings are granted
//! one by one, and so are the siblings of every folder above them.
//!
//! So a name that is created later beside a hidden path, or beside a folder above one, cannot be read by
//! processes that were started before.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use camino::Utf8PathBuf;

/// Returns the paths to grant so that everything outside of the hidden paths can be read.
pub(crate) fn paths(hidden: &[Utf8PathBuf]) -> Vec<PathBuf> {
    let mut known = HashMap::new();
    let mut hidden: HashSet<_> =
        hidden.iter().map(|path| real(path.as_ref(), &mut known)).collect();
    let led_to: Vec<_> = hidden.iter().flat_map(|folder| led_to(folder)).collect();
    hidden.extend(led_to);
    let is_hidden = |path: &Path| path.ancestors().any(|above| hidden.contains(above));
    let above = hidden.iter().flat_map(|path| path.ancestors().skip(1));
    let above: HashSet<&Path> = above.chain([Path::new("/")]).collect();
    let mut granted = Vec::new();
    for folder in above.iter().filter(|folder| !is_hidden(folder)) {
        // The target of a symlink has a rule of its own, or none because it is hidden.
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let entries = entries.filter(|entry| entry.file_type().is_ok_and(|it| !it.is_symlink()));
        let siblings = entries.map(|entry| entry.path());
        granted.extend(siblings.filter(|path| !above.contains(&**path) && !hidden.contains(path)));
    }
    granted
}

/// Returns the nearby files that links in a hidden folder lead to: they are just as secret.
fn led_to(folder: &Path) -> Vec<PathBuf> {
    let links = folder.read_dir().into_iter().flatten().flatten();
    let links = links.filter(|entry| entry.file_type().is_ok_and(|it| it.is_symlink()));
    let files = links.filter_map(|link| link.path().canonicalize().ok()).filter(|it| it.is_file());
    let nearby = |file: &PathBuf| {
        let mut above = folder.ancestors().skip(1).take(2).filter(|it| it.parent().is_some());
        above.any(|above| file.starts_with(above))
    };
    files.filter(nearby).collect()
}

/// Resolves symlinks as far as the path exists: rules apply to files, not to names. Results are
/// cached in `known`, because hidden paths share most of their folders.
fn real(path: &Path, known: &mut HashMap<PathBuf, PathBuf>) -> PathBuf {
    if let Some(place) = known.get(path) {
        return place.clone();
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let named = real(folder, known).join(name);
    let target = if named.is_symlink() { named.canonicalize().ok() } else { None };
    let place = target.unwrap_or(named);
    known.insert(path.to_owned(), place.clone());
    place
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    /// The granted names below the scratch folder.
    fn granted(scratch: &Scratch, hidden: &[&str]) -> Vec<String> {
        let hidden: Vec<Utf8PathBuf> = hidden.iter().map(|name| scratch.path(name)).collect();
        let below = paths(&hidden);
        let names = below.iter().filter_map(|path| path.strip_prefix(scratch.root()).ok());
        let mut names: Vec<String> = names.map(|name| name.display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn siblings_of_hidden_paths_and_of_their_folders_are_granted() {
        let scratch = Scratch::new();
        for name in [".ssh/id", ".config/gh/hosts", ".config/git/config", ".bashrc", "src/main"] {
            scratch.file(name, "");
        }
        let hidden = [".ssh", ".config/gh", ".docker/config", ".ssh/id"];
        assert_eq!(granted(&scratch, &hidden), [".bashrc", ".config/git", "src"]);
        for hidden in [vec![], vec![scratch.path(".ssh")]] {
            let elsewhere = paths(&hidden);
            assert!(elsewhere.contains(&PathBuf::from("/usr")), "{elsewhere:?}");
        }
    }

    #[test]
    fn links_are_never_granted_and_hide_their_targets() {
        let scratch = Scratch::new();
        for name in ["dotfiles/netrc", "dotfiles/vimrc", "keys/id"] {
            scratch.file(name, "");
        }
        let links =
            [("dotfiles/netrc", ".netrc"), ("keys", ".ssh"), ("keys", "other"), ("none", ".aws")];
        for (target, link) in links {
            std::os::unix::fs::symlink(scratch.path(target), scratch.path(link)).unwrap();
        }
        assert_eq!(granted(&scratch, &[".netrc", ".ssh", ".aws"]), ["dotfiles/vimrc"]);
    }

    #[test]
    fn targets_of_links_in_a_hidden_folder_are_hidden() {
        let scratch = Scratch::new();
        for name in ["home/dotfiles/key", "home/dotfiles/vimrc", "home/.ssh/config", "etc/cert"] {
            scratch.file(name, "");
        }
        for (target, link) in [("home/dotfiles/key", "id"), ("etc/cert", "cert"), ("none", "gone")]
        {
            let link = scratch.path("home/.ssh").join(link);
            std::os::unix::fs::symlink(scratch.path(target), link).unwrap();
        }
        assert_eq!(granted(&scratch, &["home/.ssh"]), ["home/dotfiles/vimrc"]);
    }
}
