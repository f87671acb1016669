//! One log of reads, and an index beside it for when it grows long.
//!
//! The index holds the hashes of the names in the log, sorted, and what was appended since it was
//! made is read in full. An index that does not belong to the log, or is broken, is made anew. So a
//! hook takes as long with a hundred thousand reads as with ten.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use camino::{Utf8Path, Utf8PathBuf};

use ralph_base::state;

/// So much of a log is read in full rather than looked up.
const READ_IN_FULL: u64 = 64 * 1024;

/// The beginning of an index file, whose last character is the version of the format.
const MAGIC: u64 = u64::from_le_bytes(*b"reads iy");

/// Words before the hashes: magic, how much of the log is covered, and the hash of the end of that
/// part.
const HEAD: u64 = 3;

/// How much of the end of the covered part is compared.
const COMPARED: u64 = 256;

/// A log with lines `Read: <absolute path>`.
#[derive(Debug, Clone)]
pub struct ReadLog {
    path: Utf8PathBuf,
    index: Option<Utf8PathBuf>,
}

impl ReadLog {
    /// A log that is read in full each time.
    pub fn at(path: Utf8PathBuf) -> Self {
        Self { path, index: None }
    }

    /// A log whose index may be kept at `index`.
    pub fn indexed(path: Utf8PathBuf, index: Utf8PathBuf) -> Self {
        Self { path, index: Some(index) }
    }

    pub(super) fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Whether one of its lines names this file.
    pub(super) fn names(&self, file: &str) -> bool {
        // A log that cannot be read knows nothing.
        self.looked_up(file, READ_IN_FULL).unwrap_or(false)
    }

    /// The files that it names at or below this path.
    pub(super) fn below(&self, path: &Utf8Path) -> Vec<Utf8PathBuf> {
        let lines = state::read(&self.path).unwrap_or_default();
        let names = lines.split(|byte| *byte == b'\n').filter_map(name_in);
        let names = names.filter_map(|name| Some(Utf8PathBuf::from(str::from_utf8(name).ok()?)));
        names.filter(|name| name.starts_with(path)).collect()
    }

    fn looked_up(&self, name: &str, in_full: u64) -> io::Result<bool> {
        let log = state::open_regular(&self.path)?;
        let length = log.metadata()?.len();
        let Some(index) = self.index.as_deref().filter(|_| length > in_full) else {
            return Ok(mentions(&read(&log, 0, length)?, name));
        };
        if let Ok(Some(index)) = Index::open(index, &log)
            && length.checked_sub(index.covered).is_some_and(|rest| rest <= in_full)
        {
            let rest = read(&log, index.covered, length - index.covered)?;
            return Ok(mentions(&rest, name) || index.finds(name)?);
        }
        let all = read(&log, 0, length)?;
        // Best effort: without an index the log is read in full next time as well.
        let _ = Index::save(index, &log, &all);
        Ok(mentions(&all, name))
    }
}

/// An index that belongs to a log.
struct Index {
    file: File,
    covered: u64,
    names: u64,
}

impl Index {
    /// Opens an index; none if it belongs to another log, or to this one as it was before somebody
    /// rewrote it.
    fn open(path: &Utf8Path, log: &File) -> io::Result<Option<Self>> {
        let file = state::open_regular(path)?;
        let &[magic, covered, end] = words(&read(&file, 0, HEAD * 8)?).as_slice() else {
            return Ok(None);
        };
        let belongs = magic == MAGIC && covered <= log.metadata()?.len();
        let belongs = belongs && end == hash(&end_of(log, covered)?);
        let names = (file.metadata()?.len() / 8).saturating_sub(HEAD);
        Ok(belongs.then_some(Self { file, covered, names }))
    }

    /// Writes an index of the whole lines in `all`, which is what the log holds.
    fn save(path: &Utf8Path, log: &File, all: &[u8]) -> io::Result<()> {
        let covered = all.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = all.get(..covered).unwrap_or_default().split(|byte| *byte == b'\n');
        let mut names: Vec<u64> = lines.filter_map(name_in).map(hash).collect();
        names.sort_unstable();
        let head = [MAGIC, covered as u64, hash(&end_of(log, covered as u64)?)];
        let words = head.iter().chain(&names).flat_map(|word| word.to_le_bytes());
        state::replace_unsynced(path, &words.collect::<Vec<u8>>())
    }

    /// Whether a line of the covered part names this file.
    fn finds(&self, name: &str) -> io::Result<bool> {
        let wanted = hash(name.as_bytes());
        let (mut low, mut high) = (0, self.names);
        while low < high {
            let middle = low.midpoint(high);
            match words(&read(&self.file, (HEAD + middle) * 8, 8)?).first() {
                Some(found) if *found == wanted => return Ok(true),
                Some(found) if *found < wanted => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(false)
    }
}

/// The end of the first `covered` bytes of a log.
fn end_of(log: &File, covered: u64) -> io::Result<Vec<u8>> {
    let length = covered.min(COMPARED);
    read(log, covered - length, length)
}

/// Whether one of these lines names this file; the newest are last, so the search begins there.
fn mentions(lines: &[u8], name: &str) -> bool {
    lines.rsplit(|byte| *byte == b'\n').any(|line| name_in(line) == Some(name.as_bytes()))
}

fn name_in(line: &[u8]) -> Option<&[u8]> {
    let name = line.strip_prefix(b"Read: ")?;
    Some(name.trim_ascii_end())
}

/// What stands there, or less at the end of the file.
fn read(file: &File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read_at(room, from + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// FNV-1a: the same in every build, because the index outlives the process.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_support::Scratch;

    use super::*;

    /// A log and its index in a folder of their own.
    fn logged(scratch: &Scratch, text: &str) -> ReadLog {
        ReadLog::indexed(scratch.file("log", text), scratch.path("index"))
    }

    #[test]
    fn lines_that_came_after_the_index_count() {
        let scratch = Scratch::new();
        let log = logged(&scratch, "Read: /a\nRead: /b\n");
        assert!(log.looked_up("/a", 4).unwrap() && scratch.path("index").is_file());
        scratch.file("log", "Read: /a\nRead: /b\nRead: /c\n");
        assert!(log.looked_up("/c", 20).unwrap());
        assert!(log.looked_up("/a", 20).unwrap());
        assert!(!log.looked_up("/d", 20).unwrap());
    }

    #[test]
    fn a_log_that_was_rewritten_is_not_believed_to_be_the_old_one() {
        let scratch = Scratch::new();
        let log = logged(&scratch, "Read: /a\nRead: /b\n");
        assert!(log.looked_up("/a", 4).unwrap());
        scratch.file("log", "Read: /x\nRead: /y\n");
        assert!(!log.looked_up("/a", 4).unwrap());
        assert!(log.looked_up("/x", 4).unwrap());
    }

    #[test]
    fn rubbish_in_the_place_of_the_index_does_no_harm() {
        let scratch = Scratch::new();
        let log = logged(&scratch, "Read: /a\nRead: /b\n");
        for rubbish in ["", "reads ix", &"x".repeat(4096)] {
            scratch.file("index", rubbish);
            assert!(log.looked_up("/b", 4).unwrap());
        }
    }

    proptest! {
        #[test]
        fn the_index_knows_what_the_log_says(
            lines in proptest::collection::vec("(Read: |)/[ab]{0,5}( |\r|)", 0..60),
            torn: bool,
            name in "/[ab]{0,5}",
        ) {
            let scratch = Scratch::new();
            let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            text.truncate(text.len() - usize::from(torn && !text.is_empty()));
            let log = logged(&scratch, &text);
            let expected = mentions(text.as_bytes(), &name);
            // The first time makes the index, the second asks it.
            prop_assert_eq!(log.looked_up(&name, 0).unwrap(), expected);
            prop_assert_eq!(log.looked_up(&name, 40).unwrap(), expected);
        }
    }
}
