//! Which entries of the index file are overlooked, read from the file itself: this is asked after
//! every iteration, and to start git takes longer.
//!
//! The format is that of git's `index-format`. What is not understood gives no answer: then git has
//! to be asked. Contents, modes and extensions are passed over.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::flags::Flags;

/// Before the object's id: the times, numbers and mode of the file.
const BEFORE_ID: usize = 40;

/// Where the mode is among them, and that of a folder, which stands for all that is in it.
const MODE: usize = 24;
const FOLDER: u32 = 0o040_000;

const ASSUMED: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const SKIPPED: u16 = 0x4000;

/// The flags in an index file, whose object ids have `id_length` bytes.
pub(in crate::git) fn parse(content: &[u8], id_length: usize) -> Option<Flags> {
    let rest = content.strip_prefix(b"DIRC")?;
    let (version, rest) = number(rest)?;
    let (count, mut rest) = number(rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut flags = Flags::default();
    let mut name = Vec::new();
    for _ in 0..count {
        let entry = rest;
        if number(entry.get(MODE..)?)?.0 == FOLDER {
            return None;
        }
        let (own, mut after) = short(rest.get(BEFORE_ID + id_length..)?)?;
        let mut more = 0;
        if own & EXTENDED != 0 {
            (more, after) = short(after)?;
        }
        if version == 4 {
            let (dropped, begun) = varint(after)?;
            name.truncate(name.len().checked_sub(dropped)?);
            after = begun;
        } else {
            name.clear();
        }
        let end = after.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(after.get(..end)?);
        rest = after.get(end..)?;
        // Up to the next multiple of eight, and one NUL at least; the last version has one only.
        let length = entry.len() - rest.len();
        rest = rest.get(if version == 4 { 1 } else { 8 - length % 8 }..)?;
        if (own & ASSUMED, more & SKIPPED) != (0, 0) {
            flags.add(OsStr::from_bytes(&name).into(), own & ASSUMED != 0, more & SKIPPED != 0);
        }
    }
    Some(flags)
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*first), rest))
}

fn short(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (first, rest) = bytes.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*first), rest))
}

/// How many bytes of the name before are dropped, in the last version of the format.
fn varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (mut byte, mut rest) = bytes.split_first()?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        (byte, rest) = rest.split_first()?;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
    }
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_support::TestRepo;

    use super::*;
    use crate::git::Repo;

    /// The same as git says, in every version of the format.
    #[test]
    fn flags_are_read_as_git_reads_them() {
        let test = TestRepo::new();
        for number in 0..300 {
            test.write(format!("some/folder-{}/file {number}", number % 7), "x");
        }
        test.commit_all("files");
        for (file, flag) in [
            ("some/folder-0/file 0", "--assume-unchanged"),
            ("some/folder-3/file 3", "--skip-worktree"),
            ("some/folder-6/file 293", "--skip-worktree"),
            ("some/folder-6/file 293", "--assume-unchanged"),
        ] {
            test.git(["update-index", flag, file]);
        }
        let repo = Repo::open(test.root()).unwrap();
        for version in ["2", "4"] {
            test.git(["update-index", "--index-version", version]);
            let content = fs_err::read(test.root().join(".git/index")).unwrap();
            let flags = parse(&content, 20).unwrap();
            assert_eq!(flags, Flags::read(&repo).unwrap(), "{version}");
            assert_ne!(flags, Flags::default());
        }
    }

    proptest! {
        #[test]
        fn rubbish_is_no_answer_and_no_panic(tail in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(parse(&tail, 20), None);
            for version in 2..5 {
                parse(&[&[b'D', b'I', b'R', b'C', 0, 0, 0, version, 0, 0, 0, 3], &tail[..]].concat(), 20);
            }
        }
    }
}
