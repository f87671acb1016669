//! Access to files in a folder that an agent writes, without following any link that it left.

use std::io;
use std::path::{Component, Path};

use camino::Utf8Path;
use fs_err::os::unix::fs::OpenOptionsExt;
use nix::fcntl::OFlag;
use ralph_base::linux::opened;
use ralph_base::state;

/// Runs `act` on a file, named relative to a folder. The folders on the way are opened one by one.
/// With `make`, missing folders are created, and anything else in their place is replaced.
pub fn beneath<T>(
    top: &Path,
    below: &Path,
    make: bool,
    act: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let mut parts: Vec<Component<'_>> = below.components().collect();
    let is_below =
        !parts.is_empty() && parts.iter().all(|part| matches!(part, Component::Normal(_)));
    let Some(name) = parts.pop().filter(|_| is_below) else {
        return Err(io::Error::other(format!("{} leads elsewhere", below.display())));
    };
    let (mut folder, mut real) = (open_folder(top, OFlag::empty())?, top.to_owned());
    for part in parts {
        let path = opened(&folder, &real).join(part);
        real.push(part);
        let next = match open_folder(&path, OFlag::O_NOFOLLOW) {
            Err(_) if make => make_folder(&path),
            other => other,
        };
        folder = next.map_err(|error| naming(&error, &path, &real))?;
    }
    let path = opened(&folder, &real).join(name);
    real.push(name);
    act(&path).map_err(|error| naming(&error, &path, &real))
}

/// Reads a regular file, named relative to a folder; the file must not be a link itself.
pub(super) fn read_beneath(top: &Utf8Path, below: &Path) -> io::Result<Vec<u8>> {
    beneath(top.as_std_path(), below, false, |path| {
        if path.is_symlink() { Err(io::ErrorKind::InvalidInput.into()) } else { state::read(path) }
    })
}

fn open_folder(path: &Path, more: OFlag) -> io::Result<fs_err::File> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_PATH | more;
    fs_err::OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

fn make_folder(path: &Path) -> io::Result<fs_err::File> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs_err::create_dir(path)?,
    }
    open_folder(path, OFlag::O_NOFOLLOW)
}

/// Replaces the path in an error by the one that users know.
fn naming(error: &io::Error, path: &Path, real: &Path) -> io::Error {
    let [path, real] = [path, real].map(|path| path.display().to_string());
    io::Error::new(error.kind(), error.to_string().replace(&path, &real))
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn links_are_replaced_and_never_followed() {
        let scratch = Scratch::new();
        let (top, kept) = (scratch.dir("top"), scratch.file("elsewhere/a", "kept"));
        fs_err::os::unix::fs::symlink(kept.parent().unwrap(), top.join("x")).unwrap();
        let top = top.as_std_path();
        let read =
            |name: &str| beneath(top, Path::new(name), false, |path| fs_err::read_to_string(path));
        let write =
            |name: &str| beneath(top, Path::new(name), true, |path| fs_err::write(path, "new"));
        let error = read("x/a").unwrap_err().to_string();
        assert!(error.contains(&top.join("x").display().to_string()), "{error}");
        write("x/a").unwrap();
        write("y/z/a").unwrap();
        assert_eq!(read("x/a").unwrap() + &read("y/z/a").unwrap(), "newnew");
        assert_eq!(scratch.read("elsewhere/a"), "kept");
        for name in ["../elsewhere/a", "/etc/passwd", "", "x/../../elsewhere/a"] {
            assert!(write(name).is_err(), "{name}");
        }
    }
}
