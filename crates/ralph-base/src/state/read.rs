//! The only functions that read state: from regular files only, and with a size limit.
//!
//! Opening a pipe waits until another process writes to it, and a hook that waits blocks the
//! client. So files are opened without waiting, and read only if they are regular.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use camino::Utf8Path;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::place::{OnTheWay, Place};

/// The size limit of our files; larger files are not read.
pub(super) const LARGEST: u64 = 64 * 1024 * 1024;

/// Opens a regular file for reading.
pub fn open_regular(path: impl AsRef<Path>) -> io::Result<File> {
    Place::to_read(path.as_ref())?.open(File::options().read(true))
}

/// Reads a regular file, named relative to a folder that others may change; no link is followed.
pub fn read_beneath(top: &Path, below: &Path) -> io::Result<Vec<u8>> {
    let file = Place::beneath(top, below, OnTheWay::Expect)?.open(File::options().read(true))?;
    read_all(file, below, LARGEST)
}

/// Reads a regular file.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_at_most(path, LARGEST)
}

/// Reads a regular file; `None` if it does not exist.
pub fn read_if_there(path: impl AsRef<Path>) -> io::Result<Option<Vec<u8>>> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Reads a regular file of at most `most` bytes.
pub fn read_at_most(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    read_all(open_regular(&path)?, path.as_ref(), most)
}

fn read_all(file: File, path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.metadata()?.len().min(most)).unwrap_or(0);
    // One extra byte, so that the end is detected without growing the buffer.
    let mut bytes = Vec::with_capacity(length + 1);
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let error = format!("{} is larger than {most} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, error));
    }
    Ok(bytes)
}

/// Reads a regular file as UTF-8 text.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    String::from_utf8(read(path)?).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{} is not UTF-8 text", path.display()))
    })
}

/// Reads one of our JSON files that hold a version; `None` if the file is missing, or empty after a
/// power cut.
pub fn read_record<T: DeserializeOwned>(path: &Utf8Path, newest: u32) -> io::Result<Option<T>> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Some(text) = read_if_there(path)?.filter(|text| !text.is_empty()) else { return Ok(None) };
    let damaged = |error| {
        let text = format!("{path} is damaged ({error}); delete it, and the next run starts over");
        io::Error::new(io::ErrorKind::InvalidData, text)
    };
    let Versioned { version } = serde_json::from_slice(&text).map_err(damaged)?;
    if version > newest {
        let advice = "use that version, or delete the file";
        return Err(io::Error::other(format!("{path} was written by a newer version; {advice}")));
    }
    serde_json::from_slice(&text).map(Some).map_err(damaged)
}

/// The last whole lines of a file, up to a limit in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tail {
    /// The length of the file.
    pub length: u64,
    /// The offset of the first of these lines.
    pub start: u64,
    /// The lines, from the first to the end of the file.
    pub bytes: Vec<u8>,
}

/// Reads the end of a file; a first line that the limit truncates is left out.
pub fn tail(path: &Utf8Path, limit: u64) -> io::Result<Tail> {
    let mut file = open_regular(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let mut start = length.saturating_sub(limit);
    file.seek(SeekFrom::Start(start))?;
    // Allocated at once: otherwise `read_to_end` would start with many small reads.
    let mut bytes = Vec::with_capacity(usize::try_from(length - start).unwrap_or_default() + 1);
    file.take(length - start).read_to_end(&mut bytes)?;
    if start > 0 {
        let cut = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.drain(..cut);
        start += cut as u64;
    }
    Ok(Tail { length, start, bytes })
}

impl Tail {
    /// Returns the lines, oldest first, without their newlines.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let text = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        text.split(|byte| *byte == b'\n').filter(|_| !self.bytes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use test_support::Scratch;

    use super::*;

    #[test]
    fn regular_files_are_read_and_missing_ones_are_an_error() {
        let scratch = Scratch::new();
        let path = scratch.file("x", "text");
        assert_eq!(read_text(&path).unwrap(), "text");
        assert_eq!(read_at_most(&path, 4).unwrap(), b"text");
        assert_eq!(read_at_most(&path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(scratch.path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(read_text(scratch.file("bytes", [0xff])).is_err());
    }

    #[test]
    fn pipes_devices_and_folders_are_refused_without_waiting() {
        let scratch = Scratch::new();
        let pipe = scratch.pipe("pipe");
        fs_err::os::unix::fs::symlink(&pipe, scratch.path("link")).unwrap();
        let begun = Instant::now();
        let folder = scratch.dir("folder");
        for path in [pipe, scratch.path("link"), folder, "/dev/zero".into()] {
            let error = read(path).unwrap_err().to_string();
            assert!(error.ends_with("is not a regular file"), "{error}");
        }
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}

#[cfg(test)]
mod tail_tests {
    use test_support::Scratch;

    use super::*;

    fn check(content: &str, limit: u64, expected: &[&str]) {
        let scratch = Scratch::new();
        let tail = tail(&scratch.file("log", content), limit).unwrap();
        let lines: Vec<&str> = tail.lines().map(|l| std::str::from_utf8(l).unwrap()).collect();
        assert_eq!(lines, expected);
        assert_eq!(tail.length, content.len() as u64);
        assert_eq!(&content.as_bytes()[tail.start as usize..], tail.bytes);
    }

    #[test]
    fn the_tail_of_a_short_file_is_the_whole_file() {
        check("", 1000, &[]);
        check("a", 1000, &["a"]);
        check("a\n\nb\n", 1000, &["a", "", "b"]);
        check("a\nb\ntorn", 1000, &["a", "b", "torn"]);
    }

    #[test]
    fn a_line_cut_by_the_limit_is_left_out() {
        check("long first line\nb\nc\n", 8, &["b", "c"]);
        check("one long line", 8, &[]);
    }
}
