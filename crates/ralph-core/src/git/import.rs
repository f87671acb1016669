//! Writes a snapshot as one `git fast-import` stream: a commit of the index, then the snapshot.
//!
//! File contents are streamed from disk, so a snapshot needs no more memory than one buffer.

use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::diff::{Change, quoted};
use super::files::Inventory;
use ralph_base::state::open_regular;

/// The committer of our commits, which are bookkeeping and not the user's work.
const COMMITTER: &str = "Ralph <ralph@localhost>";

/// Marks for the stream's own commits.
const INDEX: u32 = 1;
const SNAPSHOT: u32 = 2;

/// The content of a stream.
pub(super) struct Import<'a> {
    /// The ref to write.
    pub(super) name: &'a str,
    /// The snapshot's message.
    pub(super) message: &'a str,
    /// The top of the work tree.
    pub(super) top: &'a Path,
    /// The checked-out commit.
    pub(super) head: Option<&'a str>,
    /// Further commits that must stay reachable.
    pub(super) keep: &'a [String],
    /// The files to lay over HEAD's tree.
    pub(super) files: &'a Inventory,
    /// The differences between HEAD and the index.
    pub(super) staged: &'a [Change],
}

impl Import<'_> {
    /// Writes the whole stream; git then prints the ids of its commits.
    pub(super) fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(64 * 1024, out);
        self.index_commit(&mut out)?;
        self.snapshot_commit(&mut out)?;
        writeln!(out, "done")?;
        out.flush()
    }

    fn index_commit(&self, out: &mut impl Write) -> io::Result<()> {
        self.begin(out, INDEX, "what was staged")?;
        for change in self.staged.iter().filter(|change| change.is_absent()) {
            write_path(out, "D ", &change.path)?;
        }
        for change in self.staged.iter().filter(|change| !change.is_absent()) {
            write_path(out, &format!("M {} {} ", change.mode, change.object), &change.path)?;
        }
        writeln!(out, "get-mark :{INDEX}")
    }

    fn snapshot_commit(&self, out: &mut impl Write) -> io::Result<()> {
        self.begin(out, SNAPSHOT, self.message)?;
        for commit in self.keep {
            writeln!(out, "merge {commit}")?;
        }
        writeln!(out, "merge :{INDEX}")?;
        // Deletions first: a file may have become a folder, or a folder a file.
        for (path, _) in self.files.iter().filter(|(_, entry)| entry.is_none()) {
            write_path(out, "D ", path)?;
        }
        for (path, entry) in self.files.iter().filter_map(|(path, entry)| Some((path, (*entry)?))) {
            if entry.is_link {
                write_path(out, "M 120000 inline ", path)?;
                let target = fs_err::read_link(self.top.join(path))?;
                data(out, target.as_os_str().as_bytes())?;
            } else {
                let executable = entry.mode & 0o100 != 0;
                let mode = if executable { "M 100755 inline " } else { "M 100644 inline " };
                write_path(out, mode, path)?;
                self.content(out, path, entry.length)?;
            }
        }
        writeln!(out, "get-mark :{SNAPSHOT}")
    }

    /// Begins a commit on top of HEAD, regardless of earlier commits in the stream.
    fn begin(&self, out: &mut impl Write, mark: u32, message: &str) -> io::Result<()> {
        let (name, seconds) = (self.name, jiff::Timestamp::now().as_second());
        let from = self.head.map(|head| format!("from {head}\n")).unwrap_or_default();
        write!(out, "reset {name}\n{from}\ncommit {name}\nmark :{mark}\n")?;
        writeln!(out, "committer {COMMITTER} {seconds} +0000")?;
        data(out, message.as_bytes())
    }

    /// Writes a file's content; a file that changes while it is read must not corrupt the stream.
    fn content(&self, out: &mut impl Write, path: &Path, length: u64) -> io::Result<()> {
        let full = self.top.join(path);
        writeln!(out, "data {length}")?;
        let copied = io::copy(&mut open_regular(&full)?.take(length), out)?;
        if copied != length {
            let message = format!("{} shrank while it was being saved", full.display());
            return Err(io::Error::other(message));
        }
        out.write_all(b"\n")
    }
}

fn data(out: &mut impl Write, content: &[u8]) -> io::Result<()> {
    writeln!(out, "data {}", content.len())?;
    out.write_all(content)?;
    out.write_all(b"\n")
}

fn write_path(out: &mut impl Write, before: &str, path: &Path) -> io::Result<()> {
    out.write_all(before.as_bytes())?;
    out.write_all(&quoted(path.as_os_str().as_bytes()))?;
    out.write_all(b"\n")
}
