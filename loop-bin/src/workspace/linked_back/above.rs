//! Files above the project that tools find by going up, and do not find from the copy.

use super::{LinkedBack, Sides};

/// What tools look for in the folders above them.
const SEARCHED: [&str; 13] = [
    ".cargo/config.toml",
    ".envrc",
    ".npmrc",
    ".nvmrc",
    ".python-version",
    ".tool-versions",
    "CLAUDE.md",
    "go.work",
    "mise.toml",
    "pnpm-workspace.yaml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "tsconfig.base.json",
];

pub(super) fn look(sides: Sides<'_>) -> Option<LinkedBack> {
    let folders = sides.project.ancestors().skip(1);
    let unseen = folders.filter(|folder| !sides.copy.starts_with(folder));
    let files = unseen.flat_map(|folder| SEARCHED.map(|name| folder.join(name)));
    let found: Vec<String> =
        files.filter(|file| file.is_file()).map(|file| file.to_string()).collect();
    let named = found.join(", ");
    (!found.is_empty()).then(|| {
        LinkedBack::doubt(format!(
            "not found from the copy, because it is above the project: {named}; copy it into the \
             repository, or start with --in-place"
        ))
    })
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn only_what_the_copy_does_not_find_is_named() {
        let scratch = Scratch::new();
        let (project, copy) = (scratch.dir("home/work/app"), scratch.dir("home/.cache/1"));
        scratch.file("home/CLAUDE.md", "");
        scratch.file("home/work/app/CLAUDE.md", "");
        let sides = Sides { project: &project, copy: &copy };
        assert_eq!(look(sides), None);
        let go = scratch.file("home/work/go.work", "");
        assert!(look(sides).unwrap().message.contains(go.as_str()));
    }
}
