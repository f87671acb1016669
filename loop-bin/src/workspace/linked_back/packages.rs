//! Packages of `node_modules` that are the project's own files, as `npm link` makes them.

use camino::{Utf8Path, Utf8PathBuf};

use super::{LinkedBack, Sides};

pub(super) fn look(sides: Sides<'_>, folder: &Utf8Path) -> Vec<LinkedBack> {
    let modules = folder.join("node_modules");
    let mut linked: Vec<Utf8PathBuf> = vec![modules.clone()];
    for entry in entries(&modules) {
        let is_scope = entry.file_name().is_some_and(|name| name.starts_with('@'));
        if is_scope {
            linked.extend(entries(&entry));
        }
        linked.push(entry);
    }
    let leads_back = |path: &Utf8PathBuf| {
        let real = path.canonicalize_utf8().ok()?;
        (path.is_symlink() && real.starts_with(sides.project)).then(|| {
            let path = sides.shown(path);
            LinkedBack::doubt(format!(
                "{path} in the copy leads to {real}, so not to what is in the copy; take it out of \
                 .worktreeinclude and install it with [workspace] setup, or start with --in-place"
            ))
        })
    };
    linked.iter().filter_map(leads_back).collect()
}

fn entries(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    entries.map(|entry| entry.into_path()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use test_support::Scratch;

    use super::*;

    #[test]
    fn only_links_into_the_project_are_named() {
        let scratch = Scratch::new();
        let (project, copy) = (scratch.dir("app"), scratch.dir("copy"));
        for folder in
            ["app/packages/a", "copy/packages/a", "copy/node_modules/@x", "copy/node_modules/c"]
        {
            scratch.dir(folder);
        }
        scratch.dir("global");
        symlink("../../app", scratch.path("global/app")).unwrap();
        symlink("../packages/a", copy.join("node_modules/a")).unwrap();
        symlink(project.join("packages/a"), copy.join("node_modules/@x/a")).unwrap();
        let found = look(Sides { project: &project, copy: &copy }, &copy);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.starts_with("node_modules/@x/a in the copy"), "{found:?}");
    }
}
