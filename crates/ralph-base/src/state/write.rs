//! The only functions that write state: they replace a whole file, or append under a lock.
//!
//! Both refuse to follow a symlink below a `.ralph/` folder, so that nothing outside of it is ever
//! written that way, and to write to anything but a regular file, such as a pipe or a folder.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use super::place::{OnTheWay, Place, naming, split};
use super::read::LARGEST;
use super::{read_if_there, stamp};
use crate::{fault, linux};

/// How long an append waits for another process's append, which takes microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// When a growing file is cut, and how much of it remains.
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
    replace_by(path, None, |file| write_all(file, path, content)?.sync_all())
}

/// Replaces a file without waiting for the disk: readers still see the old or the new content, but
/// a power cut may leave an empty file. An fsync takes longer than all the rest that a hook does.
pub fn replace_unsynced(path: &Utf8Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, None, |file| write_all(file, path, content).map(drop))
}

/// Removes a file if it exists; a link is removed, not followed.
pub fn remove_if_there(path: impl AsRef<Path>) -> io::Result<()> {
    let place = Place::to_write(path.as_ref(), OnTheWay::Expect);
    match place.and_then(|place| place.act(|at| fs::remove_file(at))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn replace_by(
    path: &Utf8Path,
    mode: Option<Permissions>,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let place = prepared(path)?;
    place.refuse_others()?;
    let temporary = place.temporary(&temporary_name(path));
    let written = temporary.open(OpenOptions::new().write(true).create_new(true));
    let written = written.and_then(|mut file| {
        mode.map_or(Ok(()), |mode| file.set_permissions(mode))?;
        write(&mut file)?;
        fault::point("replace.written");
        place.act(|at| fs::rename(&temporary.at, at))
    });
    if written.is_err() {
        // Best effort: the write error matters more than a failed clean-up.
        let _ = fs::remove_file(&temporary.at);
    }
    fault::point("replace.renamed");
    written
}

/// Replaces a file of the user or of another tool: follows a link, and keeps the permissions.
pub fn replace_users(path: &Utf8Path, content: &[u8]) -> io::Result<()> {
    replace_users_by(path, |path, mode| {
        replace_by(path, mode, |file| write_all(file, path, content)?.sync_all())
    })
}

/// Edits a user's file: `change` maps its content, `None` if there is no file, to the new content,
/// or to `None` to keep the file. If the user saves the file in the meantime, the change is applied
/// to what they saved.
pub fn edit_users(
    path: &Utf8Path,
    change: impl Fn(Option<&[u8]>) -> Option<Vec<u8>>,
) -> io::Result<()> {
    loop {
        let old = read_if_there(path)?;
        let new = change(old.as_deref()).filter(|new| Some(new) != old.as_ref());
        let Some(new) = new else { return Ok(()) };
        let mut is_saved_meanwhile = false;
        let replaced = replace_users_by(path, |path, mode| {
            replace_by(path, mode, |file| {
                write_all(file, path, &new)?.sync_all()?;
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
    replace: impl FnOnce(&Utf8Path, Option<Permissions>) -> io::Result<()>,
) -> io::Result<()> {
    Place::to_write(path.as_std_path(), OnTheWay::Make)?.refuse_others()?;
    let Ok(real) = path.canonicalize_utf8() else { return replace(path, None) };
    let mode = fs::metadata(&real)?.permissions();
    replace(&real, Some(mode))
}

/// Appends one line and a newline; the line itself must not contain newlines.
pub fn append_line(path: &Utf8Path, line: &[u8]) -> io::Result<()> {
    append(path, &[line, b"\n"].concat(), None)
}

/// Appends a block of lines and then cuts the file to its last lines if it has grown too large.
pub fn append_capped(path: &Utf8Path, block: &[u8], cap: Cap) -> io::Result<()> {
    append(path, block, Some(cap))
}

fn append(path: &Utf8Path, block: &[u8], cap: Option<Cap>) -> io::Result<()> {
    let mut file = open_locked(path, OnTheWay::Make)?;
    let old_length = file.seek(SeekFrom::End(0))?;
    let begins_a_line = block.starts_with(b"\n") || block.starts_with(b"\r\n");
    // A line torn by a crash is terminated first, so that it does not spoil ours.
    let is_torn = old_length > 0 && !begins_a_line && !ends_with_newline(&mut file)?;
    let whole = [if is_torn { &b"\n"[..] } else { b"" }, block].concat();
    let new_length = old_length + whole.len() as u64;
    if let Err(error) = fault::write().and_then(|()| file.write_all(&whole)) {
        // A full disk may take a part of the line; remove that part again.
        let _ = file.set_len(old_length);
        return Err(naming(path.as_std_path(), "append to", error));
    }
    fault::point("append.written");
    match cap {
        Some(cap) if new_length > cap.above => cut(path, &mut file, cap),
        _ => Ok(()),
    }
}

/// Closes a file to other users, if it exists.
pub fn make_private(path: &Utf8Path) -> io::Result<()> {
    let place = Place::to_read(path.as_std_path());
    match place.and_then(|place| place.open(OpenOptions::new().read(true))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        file => file?.set_permissions(Permissions::from_mode(0o600)),
    }
}

/// Opens a log of another program's output for appending.
pub fn open_log(path: &Utf8Path) -> io::Result<File> {
    prepared(path)?.open(OpenOptions::new().create(true).append(true))
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

/// Removes `text` from the start of a file that others append to; if the file is left with nothing
/// more, it is deleted.
pub fn remove_beginning(path: &Utf8Path, text: &[u8]) -> io::Result<()> {
    let Some(mut file) = open_if_there(path)? else { return Ok(()) };
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

/// Calls `take` with the content of a file that others append to, then empties the file.
pub fn drain(path: &Utf8Path, take: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let Some(file) = open_if_there(path)? else { return Ok(()) };
    let mut all = Vec::new();
    // A larger file was not written by us.
    (&file).take(LARGEST).read_to_end(&mut all)?;
    if all.is_empty() {
        return Ok(());
    }
    take(&all)?;
    file.set_len(0)
}

/// Opens a file for appending, if it exists, and locks it.
fn open_if_there(path: &Utf8Path) -> io::Result<Option<File>> {
    match open_locked(path, OnTheWay::Expect) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Opens a file for appending and locks it; with `Make`, a missing one is created. If the file was
/// replaced while we waited, we hold the lock of the old file, so the name is looked up again.
fn open_locked(path: &Utf8Path, way: OnTheWay) -> io::Result<File> {
    let deadline = Instant::now() + PATIENCE;
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(way == OnTheWay::Make);
    let find = |way| Place::to_write(path.as_std_path(), way);
    let mut open = |way| find(way).and_then(|place| Ok((place.open(&mut options)?, place)));
    loop {
        let (file, place) = match open(OnTheWay::Expect) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => open(way)?,
            found => found?,
        };
        lock_until(&file, deadline)?;
        let same = fs::symlink_metadata(&place.at).is_ok_and(|now| {
            file.metadata().is_ok_and(|ours| (now.dev(), now.ino()) == (ours.dev(), ours.ino()))
        });
        if same {
            return Ok(file);
        }
        if Instant::now() >= deadline {
            return Err(naming(path.as_std_path(), "open", io::ErrorKind::ResourceBusy.into()));
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

fn write_all<'a>(file: &'a mut File, path: &Utf8Path, content: &[u8]) -> io::Result<&'a mut File> {
    fault::write()
        .and_then(|()| file.write_all(content))
        .map_err(|error| naming(path.as_std_path(), "write", error))?;
    Ok(file)
}

/// Finds the place of a file that is written, and creates its folder.
pub(super) fn prepared(path: &Utf8Path) -> io::Result<Place> {
    Place::to_write(path.as_std_path(), OnTheWay::Make)
}

/// Returns whether a path below a state folder goes through a symlink.
pub fn leads_elsewhere(path: &Utf8Path) -> bool {
    symlink_below_state(path).is_some()
}

/// Saves the content of a file to a folder before the file is replaced; returns the saved file.
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

/// The state folder itself may be a link: the user may have moved it elsewhere.
fn symlink_below_state(path: &Utf8Path) -> Option<&Utf8Path> {
    let (top, _) = split(path.as_std_path())?;
    path.ancestors().take_while(|part| part.as_std_path() != top).find(|part| part.is_symlink())
}

/// Beside the file, because a rename does not cross file systems; the process id and a counter
/// keep several writers apart.
fn temporary_name(path: &Utf8Path) -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or("state");
    format!(".{name}.{}-{count}.tmp", std::process::id())
}

/// Removes the temporary files that killed processes left in a folder.
pub fn remove_stale_temporaries(folder: &Utf8Path) -> io::Result<()> {
    for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
        let writer = entry.file_name().strip_prefix('.').and_then(writer_of);
        if writer.is_some_and(|pid| !linux::is_alive(pid)) {
            remove_if_there(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the process id in the name of one of our temporary files.
fn writer_of(name: &str) -> Option<i32> {
    let (_, numbers) = name.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (pid, count) = numbers.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if is_number(pid) && is_number(count) { pid.parse().ok() } else { None }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
