//! Files that go into a package, and the archives that are made of them: the same files give the same
//! bytes, on every machine and in whatever order they were added.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::Result;
use camino::Utf8Path;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// Files by their path; nobody owns them, and all of them are from the same second.
pub(crate) struct Tree {
    files: BTreeMap<String, Contents>,
    /// The second, since 1970.
    at: u64,
}

struct Contents {
    bytes: Vec<u8>,
    mode: u32,
}

impl Tree {
    pub(crate) fn new(at: u64) -> Self {
        Self { files: BTreeMap::new(), at }
    }

    pub(crate) fn add(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), Contents { bytes: bytes.into(), mode: 0o644 });
    }

    pub(crate) fn add_program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), Contents { bytes: bytes.into(), mode: 0o755 });
    }

    /// How many bytes the files have together.
    pub(crate) fn size(&self) -> usize {
        self.files.values().map(|file| file.bytes.len()).sum()
    }

    /// All of it as `.tar.gz`, below a folder.
    pub(crate) fn tar_gz(&self, folder: &str) -> Result<Vec<u8>> {
        let mut archive = Builder::new(Vec::new());
        let paths = self.files.iter().map(|(path, file)| (format!("{folder}/{path}"), file));
        let mut folders = BTreeSet::new();
        for (path, file) in paths {
            let parents = Utf8Path::new(&path).ancestors().skip(1);
            let mut missing: Vec<&Utf8Path> = parents
                .filter(|parent| !parent.as_str().is_empty() && !folders.contains(*parent))
                .collect();
            while let Some(parent) = missing.pop() {
                let mut header = self.header(EntryType::Directory, 0o755);
                archive.append_data(&mut header, format!("{parent}/"), [].as_slice())?;
                folders.insert(parent.to_owned());
            }
            let mut header = self.header(EntryType::Regular, file.mode);
            header.set_size(file.bytes.len() as u64);
            archive.append_data(&mut header, &path, file.bytes.as_slice())?;
        }
        gz(&archive.into_inner()?)
    }

    fn header(&self, kind: EntryType, mode: u32) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(self.at);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        header
    }
}

/// Compressed, without a name or a time in it.
pub(crate) fn gz(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    writer.write_all(bytes)?;
    Ok(writer.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_adding_does_not_matter() {
        let mut one = Tree::new(1_700_000_000);
        one.add("share/doc/a", "a");
        one.add_program("bin/b", "b");
        let mut other = Tree::new(1_700_000_000);
        other.add_program("bin/b", "b");
        other.add("share/doc/a", "a");
        assert_eq!(one.tar_gz("x").unwrap(), other.tar_gz("x").unwrap());
        assert_ne!(one.tar_gz("x").unwrap(), one.tar_gz("y").unwrap());
    }

    #[test]
    fn each_folder_comes_once_and_before_its_files() {
        let mut tree = Tree::new(7);
        tree.add("share/doc/a", "a");
        tree.add("share/doc/b", "b");
        tree.add_program("bin/c", "c");
        let packed = tree.tar_gz("x").unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (7, 0));
            format!("{:o} {}", header.mode().unwrap(), entry.path().unwrap().display())
        });
        assert_eq!(
            entries.collect::<Vec<_>>(),
            [
                "755 x/",
                "755 x/bin/",
                "755 x/bin/c",
                "755 x/share/",
                "755 x/share/doc/",
                "644 x/share/doc/a",
                "644 x/share/doc/b"
            ]
        );
    }
}
