//! What was uncommitted in `.ralph/` and `.claude/` when a run began: it does not keep the run from
//! starting, so it does not become part of a story's commit either.
//!
//! Written down once a run, because the stop hook commits as well. Names are bytes, ended by NUL.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::state::{self, StateDir};

/// Keeps these files, named from the top of the work tree, out of every commit of the run that
/// begins.
pub fn leave_out<'a>(
    state: &StateDir,
    files: impl IntoIterator<Item = &'a Path>,
) -> io::Result<()> {
    let mut names = Vec::new();
    for file in files {
        names.extend_from_slice(file.as_os_str().as_bytes());
        names.push(0);
    }
    match names.is_empty() {
        true => state::remove_if_there(state.left_out()),
        false => state::replace_unsynced(&state.left_out(), &names),
    }
}

/// The files that stay out.
pub(super) fn left_out(state: &StateDir) -> io::Result<Vec<PathBuf>> {
    let names = match fs_err::read(state.left_out()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn the_list_is_that_of_the_last_run_and_holds_any_name() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        let odd = Path::new(OsStr::from_bytes(b".claude/a b\n\xff"));
        for files in [vec![odd, Path::new(".ralph/x")], vec![Path::new("y")], vec![]] {
            leave_out(&state, files.iter().copied()).unwrap();
            assert_eq!(left_out(&state).unwrap(), files);
        }
    }
}
