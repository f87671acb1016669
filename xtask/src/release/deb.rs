//! A package for Debian and its relatives: an `ar` archive with two `.tar.gz` in it.

use anyhow::Result;

use super::VERSION;
use super::publisher::Publisher;
use super::tree::Tree;

/// The package: `tree` is what lies below `/usr`, `control_file` describes it.
pub(super) fn deb(tree: &Tree, control_file: String, at: u64) -> Result<Vec<u8>> {
    let mut control = Tree::new(at);
    control.add("control", control_file);
    let mut archive = b"!<arch>\n".to_vec();
    member(&mut archive, "debian-binary", at, b"2.0\n");
    member(&mut archive, "control.tar.gz", at, &control.tar_gz(".")?);
    member(&mut archive, "data.tar.gz", at, &tree.tar_gz("./usr")?);
    Ok(archive)
}

/// What Debian wants to know about so many bytes for an architecture, as it names them.
pub(super) fn control_file(size: usize, architecture: &str, publisher: &Publisher) -> String {
    let kibibytes = size.div_ceil(1024);
    let maintainer = &publisher.maintainer;
    format!(
        "Package: ralph-loop\n\
         Version: {VERSION}\n\
         Architecture: {architecture}\n\
         Maintainer: {maintainer}\n\
         Installed-Size: {kibibytes}\n\
         Depends: git\n\
         Section: devel\n\
         Priority: optional\n\
         Description: runs a coding agent over a plan of stories\n \
         It commits only what the configured checks have passed; four hooks guard\n \
         the agent meanwhile.\n"
    )
}

/// A member of an `ar` archive: a header of sixty bytes, and the bytes, padded to an even number.
fn member(archive: &mut Vec<u8>, name: &str, at: u64, bytes: &[u8]) {
    let size = bytes.len();
    let header = format!("{name:<16}{at:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 100_644);
    archive.extend(header.bytes());
    archive.extend(bytes);
    if size % 2 == 1 {
        archive.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_headers_of_sixty_bytes_and_an_even_length() {
        let mut archive = Vec::new();
        member(&mut archive, "debian-binary", 1_700_000_000, b"2.0");
        let expected = "debian-binary   1700000000  0     0     100644  3         `\n2.0\n";
        assert_eq!(String::from_utf8(archive).unwrap(), expected);
    }
}
