//! Who publishes a release, and where: what nobody but its publisher can fill in.

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::run;

/// Whom a package names that is not published.
const NOBODY: &str = "nobody yet <nobody@localhost>";

/// As the workspace's manifest says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Publisher {
    /// A name and an address, as Debian wants them.
    pub(super) maintainer: String,
    /// What is yet to be filled in, each with what for.
    missing: Vec<&'static str>,
}

#[derive(Deserialize)]
struct Manifest {
    workspace: Workspace,
}

#[derive(Deserialize)]
struct Workspace {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    #[serde(default)]
    repository: String,
    #[serde(default)]
    authors: Vec<String>,
}

impl Publisher {
    /// Reads it. What is missing is refused if the packages are to be published, and else named.
    pub(super) fn read(is_published: bool) -> Result<Self> {
        let publisher = Self::of(&fs_err::read_to_string(run::root().join("Cargo.toml"))?)?;
        let missing = publisher.missing.join(" and ");
        ensure!(!is_published || missing.is_empty(), "set in Cargo.toml: {missing}");
        if !missing.is_empty() {
            println!("not to be published like this; set in Cargo.toml: {missing}");
        }
        Ok(publisher)
    }

    fn of(manifest: &str) -> Result<Self> {
        let Package { repository, authors } =
            toml::from_str::<Manifest>(manifest)?.workspace.package;
        let mut missing = Vec::new();
        if repository.is_empty() {
            missing.push("`repository` (where cargo-binstall looks)");
        }
        let maintainer = authors.into_iter().find(|author| author.ends_with('>'));
        if maintainer.is_none() {
            missing.push("`authors` (the first is the maintainer of the Debian package)");
        }
        Ok(Self { maintainer: maintainer.unwrap_or_else(|| NOBODY.to_owned()), missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_author_maintains_and_what_is_missing_is_named() {
        let full = "[workspace.package]\nrepository = \"https://x\"\nauthors = [\"A <a@x>\"]\n";
        let publisher = Publisher::of(full).unwrap();
        assert_eq!(publisher, Publisher { maintainer: "A <a@x>".to_owned(), missing: Vec::new() });
        let empty = "[workspace.package]\nrepository = \"\"\nauthors = []\n";
        let publisher = Publisher::of(empty).unwrap();
        assert_eq!((publisher.maintainer.as_str(), publisher.missing.len()), (NOBODY, 2));
    }
}
