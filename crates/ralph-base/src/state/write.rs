//! The only ways in which state reaches the disk: replaced as a whole, or appended under a lock.
//!
//! Both refuse to go through a symlink below a `.ralph/` folder, so that nothing outside of it is
//! ever written by way of it, and to write to a pipe, a device or a folder in the place of a file.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use super::read::LARGEST;
use super::{PROJECT_MARKER, read_if_there, stamp};
use crate::{fault, linux};

/// How long an append waits for another process's append, which takes microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// When a file that only grows is cut, and to what.
#[derive(Debug, Clone, Copy)]
pub struct Cap {
    /// The size in bytes above which the file is cut.
    pub above: u64,
    /// How many of its last lines remain.
    pub keep_lines: usize,
}

/// Replaces a file: readers see the old or the new content, never a part, and a crash leaves one
/// of the two.
pub fn replace(path: &Utf8Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |temporary| write_new(temporary, content)?.sync_all())
}

/// The same for what only matters while the machine is up: readers still see the old or the new
/// content, but a power cut may leave an empty file. To wait for the disk takes longer than all
/// the rest that a hook does.
pub fn replace_unsynced(path: &Utf8Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |temporary| write_new(temporary, content).map(drop))
}

/// Removes a file, if it is there.
pub fn remove_if_there(path: impl AsRef<Path>) -> io::Result<()> {
    match fs_err::remove_file(path.as_ref()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn replace_by(path: &Utf8Path, write: impl FnOnce(&Utf8Path) -> io::Result<()>) -> io::Result<()> {
    prepare_parent(path)?;
    let temporary = temporary_beside(path);
    let written = write(&temporary).and_then(|()| {
        fault::point("replace.written");
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        // Best effort: the reason for the failure is worth more than that of the clean-up.
        let _ = fs::remove_file(&temporary);
    }
    fault::point("replace.renamed");
    written
}

/// Replaces a file that is the user's or another tool's: where it is a link, what it leads to, and
/// with the permissions that it has.
pub fn replace_users(path: &Utf8Path, content: &[u8]) -> io::Result<()> {
    replace_users_by(path, |path| replace(path, content))
}

/// Changes a file that is the user's: `change` gets its content, none if there is no file, and gives
/// the new one, or none to leave it. What the user saves meanwhile is not overwritten; the change is
/// made to that instead.
pub fn edit_users(
    path: &Utf8Path,
    change: impl Fn(Option<&[u8]>) -> Option<Vec<u8>>,
) -> io::Result<()> {
    loop {
        let old = read_if_there(path)?;
        let new = change(old.as_deref()).filter(|new| Some(new) != old.as_ref());
        let Some(new) = new else { return Ok(()) };
        let mut is_saved_meanwhile = false;
        let replaced = replace_users_by(path, |path| {
            replace_by(path, |temporary| {
                write_new(temporary, &new)?.sync_all()?;
                is_saved_meanwhile = read_if_there(path)? != old;
                let kind = io::ErrorKind::ResourceBusy;
                if is_saved_meanwhile { Err(kind.into()) } else { Ok(()) }
            })
        });
        if !is_saved_meanwhile {
            return replaced;
        }
    }
}

fn replace_users_by(
    path: &Utf8Path,
    replace: impl FnOnce(&Utf8Path) -> io::Result<()>,
) -> io::Result<()> {
    refuse_others(path)?;
    let Ok(real) = path.canonicalize_utf8() else { return replace(path) };
    let mode = fs::metadata(&real)?.permissions();
    replace(&real)?;
    fs::set_permissions(&real, mode)
}

/// Appends one line; a newline is added, and those inside are the caller's mistake to avoid.
pub fn append_line(path: &Utf8Path, line: &[u8]) -> io::Result<()> {
    append(path, &[line, b"\n"].concat(), None)
}

/// Appends a block of lines and then cuts the file to its last lines if it has grown too large.
pub fn append_capped(path: &Utf8Path, block: &[u8], cap: Cap) -> io::Result<()> {
    append(path, block, Some(cap))
}

fn append(path: &Utf8Path, block: &[u8], cap: Option<Cap>) -> io::Result<()> {
    refuse_others(path)?;
    let mut file = match open_locked(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            prepare_parent(path)?;
            open_locked(path)?
        }
        other => other?,
    };
    let old_length = file.seek(SeekFrom::End(0))?;
    let begins_a_line = block.starts_with(b"\n") || block.starts_with(b"\r\n");
    // A line torn by a crash stays a line of its own instead of spoiling ours.
    let is_torn = old_length > 0 && !begins_a_line && !ends_with_newline(&mut file)?;
    let whole = [if is_torn { &b"\n"[..] } else { b"" }, block].concat();
    let new_length = old_length + whole.len() as u64;
    if let Err(error) = fault::write().and_then(|()| file.write_all(&whole)) {
        // A full disk takes a part of the line; take that part back.
        let _ = file.set_len(old_length);
        return Err(naming(path, "append to", &error));
    }
    fault::point("append.written");
    match cap {
        Some(cap) if new_length > cap.above => cut(path, &mut file, cap),
        _ => Ok(()),
    }
}

/// Opens a log of somebody else's output, to be appended to.
pub fn open_log(path: &Utf8Path) -> io::Result<File> {
    prepare_parent(path)?;
    let log = fs::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(log.into_parts().0)
}

/// Cutting replaces the file, so that a crash in the middle loses nothing.
fn cut(path: &Utf8Path, file: &mut File, cap: Cap) -> io::Result<()> {
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut content)?;
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    let start = lines.len().saturating_sub(cap.keep_lines);
    replace(path, &lines.get(start..).unwrap_or_default().concat())
}

/// Removes the beginning of a file to which others append, if it is this text; the file goes with its last
/// byte.
pub fn remove_beginning(path: &Utf8Path, text: &[u8]) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let mut file = open_locked(path)?;
    let mut all = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut all)?;
    match all.strip_prefix(text) {
        None => Ok(()),
        Some([]) => remove_if_there(path),
        Some(rest) => {
            file.set_len(0)?;
            file.write_all(rest)
        }
    }
}

/// Empties a file to which others append, after what it holds was taken.
pub fn drain(path: &Utf8Path, take: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
    refuse_others(path)?;
    if fs::metadata(path).map_or(0, |found| found.len()) == 0 {
        return Ok(());
    }
    let file = open_locked(path)?;
    let mut all = Vec::new();
    // Whoever writes more than this writes no lines of ours.
    (&file).take(LARGEST).read_to_end(&mut all)?;
    take(&all)?;
    file.set_len(0)
}

/// Opens for appending and locks. Whoever waited while the file was replaced holds the lock of a
/// file that is no longer there, so the name is looked up again after locking.
fn open_locked(path: &Utf8Path) -> io::Result<File> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let file = fs::OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let file = file.into_parts().0;
        lock_until(&file, deadline)?;
        let same = fs::symlink_metadata(path).is_ok_and(|now| {
            file.metadata().is_ok_and(|ours| (now.dev(), now.ino()) == (ours.dev(), ours.ino()))
        });
        if same {
            return Ok(file);
        }
        // A link that is put there by now is not followed either.
        refuse_others(path)?;
        if Instant::now() >= deadline {
            return Err(naming(path, "open", &io::ErrorKind::ResourceBusy.into()));
        }
    }
}

/// Past the deadline we go on without the lock: one `write` in append mode does not tear on a
/// local disk, and a stopped process must not hold up every other hook.
fn lock_until(file: &File, deadline: Instant) -> io::Result<()> {
    let mut pause = Duration::from_micros(200);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}

fn write_new(path: &Utf8Path, content: &[u8]) -> io::Result<fs::File> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    fault::write()
        .and_then(|()| file.write_all(content))
        .map_err(|error| naming(path, "write", &error))?;
    Ok(file)
}

/// Makes the folder of a file, after a look at what is in its place and on the way.
pub(super) fn prepare_parent(path: &Utf8Path) -> io::Result<()> {
    refuse_others(path)?;
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Whether a path below a state folder goes through a symlink.
pub fn leads_elsewhere(path: &Utf8Path) -> bool {
    symlink_below_state(path).is_some()
}

/// Writes what a file held into a folder before the file is replaced, so that nothing of it is lost.
pub fn keep_content_as_found(
    path: &Utf8Path,
    content: &[u8],
    folder: &Utf8Path,
) -> io::Result<Utf8PathBuf> {
    let time = stamp();
    let name = path.file_name().unwrap_or("state");
    let kept = folder.join(format!("as-found-{time}-{name}"));
    replace(&kept, content)?;
    Ok(kept)
}

/// Checks the path up to the state folder, and that nothing but a regular file is in its place.
fn refuse_others(path: &Utf8Path) -> io::Result<()> {
    let refused = |what: &str| {
        let text = format!("refusing to write {path}: {what}; remove it and try again");
        Err(io::Error::other(text))
    };
    if let Some(link) = symlink_below_state(path) {
        return refused(&format!("{link} is a symlink"));
    }
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => refused("it is not a regular file"),
        _ => Ok(()),
    }
}

/// The state folder itself may be a link: then it is the user who put it elsewhere.
fn symlink_below_state(path: &Utf8Path) -> Option<&Utf8Path> {
    if !path.as_str().contains(PROJECT_MARKER) {
        return None;
    }
    let mut below = path.ancestors().take_while(|p| p.file_name() != Some(PROJECT_MARKER));
    below.find(|part| part.is_symlink())
}

/// Beside the file, because a rename does not cross file systems; the process id and a counter
/// keep several writers apart.
fn temporary_beside(path: &Utf8Path) -> Utf8PathBuf {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or("state");
    path.with_file_name(format!(".{name}.{}-{count}.tmp", std::process::id()))
}

/// Removes what a process that was killed in the middle of a write left in a folder.
pub fn remove_stale_temporaries(folder: &Utf8Path) -> io::Result<()> {
    for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
        let writer = entry.file_name().strip_prefix('.').and_then(writer_of);
        if writer.is_some_and(|pid| !linux::is_alive(pid)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The process in the name of a temporary file of ours.
fn writer_of(name: &str) -> Option<i32> {
    let (_, numbers) = name.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (pid, count) = numbers.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if is_number(pid) && is_number(count) { pid.parse().ok() } else { None }
}

fn naming(path: &Utf8Path, doing: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("failed to {doing} {path}: {error}"))
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
