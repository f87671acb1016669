//! Paths in manifests, and links that git keeps: absolute ones lead back into the project, and
//! those that leave the repository lead to nothing beside the copy.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use ralph_core::git::Git;

use super::{LinkedBack, Sides};

/// Files in which build tools are told where code is.
const MANIFESTS: [&str; 15] = [
    ".cargo/config.toml",
    ".npmrc",
    "Cargo.toml",
    "Gemfile",
    "build.gradle",
    "composer.json",
    "go.mod",
    "go.work",
    "mix.exs",
    "package.json",
    "pnpm-workspace.yaml",
    "pom.xml",
    "pyproject.toml",
    "requirements.txt",
    "settings.gradle",
];

/// What stands around a path in any of them.
const AROUND: [char; 12] = ['"', '\'', '=', ':', '(', ')', ',', '<', '>', '[', ']', '`'];

/// What is named of each kind; the rest is like it.
const MOST: usize = 5;

pub(super) fn look(sides: Sides<'_>) -> Vec<LinkedBack> {
    let mut back = Vec::new();
    let mut out: Vec<(Utf8PathBuf, Utf8PathBuf)> = Vec::new();
    for file in listed(sides) {
        let path = sides.copy.join(&file);
        let text = match path.read_link_utf8() {
            Ok(target) => target.into_string(),
            Err(_) if is_manifest(&file) => fs_err::read_to_string(&path).unwrap_or_default(),
            Err(_) => continue,
        };
        let words = text.split(|c: char| c.is_whitespace() || AROUND.contains(&c));
        for word in words.map(Utf8Path::new) {
            if word.starts_with(sides.project) {
                back.push(format!("{file} names {word}, so not what is in the copy"));
            } else if let Some(outside) = outside(sides, &file, word) {
                out.push((file.clone(), outside));
            }
        }
    }
    out.dedup_by(|one, other| one.1 == other.1);
    let back = back.into_iter().take(MOST).map(|what| {
        format!("{what}; name it from the file's own folder, or start with --in-place")
    });
    let out = out.into_iter().take(MOST).map(|(file, outside)| {
        let there = sides.project.join(&outside);
        let there = there.canonicalize_utf8().unwrap_or(there);
        format!(
            "{file} needs {there}, which is outside of the repository, so the copy does not find it; \
             link it with [workspace] setup (`ln -sfn {there} {}`), or start with --in-place",
            plain(&sides.copy.join(&outside))
        )
    });
    back.chain(out).map(LinkedBack::doubt).collect()
}

/// The manifests and the links, from the top. Git is asked in the project, because an agent may have
/// been at work on the repository of the copy.
fn listed(sides: Sides<'_>) -> Vec<Utf8PathBuf> {
    let git = Git::at(sides.project.as_std_path());
    let Ok(output) = git.run(&["ls-files", "-z", "--stage"]) else { return Vec::new() };
    let text = String::from_utf8_lossy(&output);
    let lines = text.split('\0').filter_map(|line| line.split_once('\t'));
    let wanted =
        lines.filter(|(how, path)| how.starts_with("120000") || is_manifest(path.as_ref()));
    let mut files: Vec<Utf8PathBuf> = wanted.map(|(_, path)| path.into()).collect();
    // These are often kept out of git, and brought along.
    files.extend(["go.work", ".cargo/config.toml"].map(Utf8PathBuf::from));
    files.sort();
    files.dedup();
    files
}

fn is_manifest(path: &Utf8Path) -> bool {
    MANIFESTS.iter().any(|name| path.ends_with(name))
}

/// A relative path that leaves the repository, from its top: where it leads to something beside the
/// project, and to nothing beside the copy.
fn outside(sides: Sides<'_>, file: &Utf8Path, word: &Utf8Path) -> Option<Utf8PathBuf> {
    let is_up = word.starts_with("..") || word.starts_with("./..");
    let target = file.parent()?.join(word);
    let leaves = plain(&target).starts_with("..");
    let is_there = |top: &Utf8Path| plain(&top.join(&target)).exists();
    (is_up && leaves && is_there(sides.project) && !is_there(sides.copy)).then(|| plain(&target))
}

/// A path without `.` and without `..` behind a name.
fn plain(path: &Utf8Path) -> Utf8PathBuf {
    let mut plain = Utf8PathBuf::new();
    for part in path.components() {
        let has_name = plain.file_name().is_some();
        match part {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir if has_name => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use test_support::{Scratch, TestRepo};

    use super::*;

    #[test]
    fn paths_that_leave_the_copy_are_named() {
        let (repo, around) = (TestRepo::new(), Scratch::new());
        let project = repo.root();
        for folder in ["sibling", "lib", "shared"] {
            repo.scratch().dir(folder);
        }
        for (file, text) in [
            ("Cargo.toml", "x = { path = \"../sibling\" }\ny = { path = \"crates/y\" }\n"),
            ("crates/y/Cargo.toml", "z = { path = \"../z\" }\nw = { path = \"../../../no\" }"),
            ("go/go.mod", "replace example.com/lib => ../../lib\n"),
            ("go.work", &format!("use {project}/go\n")),
            ("notes.txt", "../sibling\n"),
        ] {
            repo.write(file, text);
            around.file(&format!("cache/1/{file}"), text);
        }
        let copy = around.path("cache/1");
        symlink("../shared", project.join("linked")).unwrap();
        symlink("../shared", copy.join("linked")).unwrap();
        repo.commit_all("manifests");
        let found = look(Sides { project, copy: &copy });
        let found: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(found.len(), 4, "{found:#?}");
        assert!(found[0].starts_with(&format!("go.work names {project}/go")), "{found:#?}");
        assert!(found[1].starts_with("Cargo.toml needs ") && found[1].contains("/sibling"));
        assert!(found[2].starts_with("go/go.mod needs ") && found[3].starts_with("linked needs "));
        let beside = around.path("cache/sibling");
        assert!(found[1].contains(&format!("/sibling {beside}`")), "{found:#?}");
    }
}
