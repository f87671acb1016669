//! Landlock can only grant access. To make all but some paths readable, their siblings are granted
//! one by one, and so are the siblings of every folder above them.
//!
//! So a name that is created later beside a hidden path, or beside a folder above one, cannot be read by
//! processes that were started before.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use camino::Utf8PathBuf;

use crate::Policy;
use crate::found::holds_secret;
use crate::policy::is_entry;

/// What may be read and what not, without links. The longest path decides.
pub(crate) struct Rules {
    pub(crate) hidden: HashSet<PathBuf>,
    /// Those of which the last name has a `*`, which stands for any text.
    pub(crate) patterns: Vec<PathBuf>,
    pub(crate) shown: HashSet<PathBuf>,
}

/// Returns what a policy hides and shows on this machine.
pub(crate) fn rules(policy: &Policy) -> Rules {
    let mut known = HashMap::new();
    let mut resolved = |paths: &[Utf8PathBuf]| -> HashSet<PathBuf> {
        paths.iter().map(|path| real(path.as_ref(), &mut known)).collect()
    };
    let (mut hidden, mut shown) = (resolved(&policy.hide), resolved(&policy.show));
    for file in resolved(&policy.judged) {
        let is_secret = holds_secret(&file);
        if is_secret { &mut hidden } else { &mut shown }.insert(file);
    }
    let patterns: Vec<PathBuf> = hidden.iter().filter(|path| is_pattern(path)).cloned().collect();
    hidden.retain(|path| !is_pattern(path));
    let fits = |path: &Path| patterns.iter().any(|pattern| is_entry(path, pattern));
    for pattern in &patterns {
        let folder = pattern.parent().unwrap_or(pattern);
        let led_to = led_to(folder).into_iter().filter(|(link, _)| fits(link));
        hidden.extend(led_to.map(|(_, file)| file).filter(|file| !shown.contains(file)));
    }
    let led_to: Vec<_> = hidden.iter().flat_map(|folder| led_to(folder)).collect();
    hidden.extend(led_to.into_iter().map(|(_, file)| file));
    shown.retain(|path| !hidden.contains(path));
    Rules { hidden, patterns, shown }
}

/// Returns the paths to grant so that exactly what a policy does not hide can be read.
pub(crate) fn paths(policy: &Policy) -> Vec<PathBuf> {
    let Rules { hidden, patterns, shown } = rules(policy);
    let fits = |path: &Path| patterns.iter().any(|pattern| is_entry(path, pattern));
    // In a folder that is readable anyway, a rule would only have its siblings listed.
    let is_hidden = |path: &Path| {
        let mut above = path.ancestors().skip(1);
        let ruled = above.find(|it| shown.contains(*it) || hidden.contains(*it) || fits(it));
        fits(path) || ruled.is_some_and(|folder| !shown.contains(folder))
    };
    let shown: HashSet<_> = shown.iter().filter(|path| is_hidden(path)).cloned().collect();
    let rules = || hidden.iter().chain(&patterns).chain(&shown);
    let above: HashSet<&Path> = rules().flat_map(|path| path.ancestors().skip(1)).collect();
    // Begins with every folder that is readable by a rule of its own.
    let mut folders: Vec<PathBuf> = shown.iter().cloned().chain([PathBuf::from("/")]).collect();
    let mut granted = Vec::new();
    while let Some(folder) = folders.pop() {
        if !above.contains(&*folder) && folder.parent().is_some() {
            granted.push(folder);
            continue;
        }
        // The target of a symlink has a rule of its own, or none because it is hidden.
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let entries = entries.filter(|entry| entry.file_type().is_ok_and(|it| !it.is_symlink()));
        let entries = entries.map(|entry| entry.path());
        folders
            .extend(entries.filter(|it| !hidden.contains(it) && !shown.contains(it) && !fits(it)));
    }
    granted
}

fn is_pattern(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains('*'))
}

/// Returns the links in a folder that lead to nearby files: in a hidden folder, these are as secret.
fn led_to(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let links = folder.read_dir().into_iter().flatten().flatten();
    let links = links.filter(|entry| entry.file_type().is_ok_and(|it| it.is_symlink()));
    let files = links.filter_map(|link| Some((link.path(), link.path().canonicalize().ok()?)));
    let nearby = |file: &Path| {
        let mut above = folder.ancestors().take(3);
        above.any(|above| above.parent().is_some() && file.starts_with(above))
    };
    files.filter(|(_, file)| file.is_file() && nearby(file)).collect()
}

/// Resolves symlinks as far as the path exists: rules apply to files, not to names. Results are
/// cached in `known`, because hidden paths share most of their folders.
pub(crate) fn real(path: &Path, known: &mut HashMap<PathBuf, PathBuf>) -> PathBuf {
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
        let hide = hidden.iter().map(|name| scratch.path(name)).collect();
        let below = paths(&Policy { hide, ..Policy::default() });
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
            let elsewhere = paths(&Policy { hide: hidden, ..Policy::default() });
            assert!(elsewhere.contains(&PathBuf::from("/usr")), "{elsewhere:?}");
        }
    }

    #[test]
    fn a_folder_that_is_shown_is_granted_as_a_whole() {
        let scratch = Scratch::new();
        for name in [".tool/bin/run", ".tool/lib/x", ".tool/keys/id", ".tool/keys/known"] {
            scratch.file(name, "");
        }
        let shown = [".tool", ".tool/bin/run", ".tool/keys/known"].map(|name| scratch.path(name));
        let mut policy =
            Policy { hide: vec![scratch.path(".*")], show: shown.to_vec(), ..Policy::default() };
        let below = |policy: &Policy| {
            let mut found = paths(policy);
            found.retain(|path| path.starts_with(scratch.root()));
            found.sort();
            found
        };
        assert_eq!(below(&policy), [scratch.path(".tool")]);
        policy.hide.push(scratch.path(".tool/keys"));
        let wanted = [".tool/bin", ".tool/keys/known", ".tool/lib"].map(|it| scratch.path(it));
        assert_eq!(below(&policy), wanted);
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
