//! Why a lifecycle script cannot be started, as far as its first line and its mode tell.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;
use ralph_core::state::StateDir;

/// The scripts that the loop runs.
const NAMES: [&str; 4] = ["started", "next_iteration", "post_iteration", "finished"];

/// No system reads a longer first line.
const LONGEST_LINE: u64 = 4096;

/// What is wrong with the scripts of a project, one line each.
pub(crate) fn in_scripts(state: &StateDir, root: &Utf8Path) -> Vec<String> {
    let folder = super::folder(state, root);
    let paths = NAMES.map(|name| folder.join(name));
    let flaw = |path: &Utf8Path| {
        let mode = fs_err::metadata(path).ok().filter(std::fs::Metadata::is_file)?.permissions();
        if mode.mode() & 0o111 == 0 {
            return Some(format!("{path} is not executable; run `chmod +x {path}`"));
        }
        of_script(path).map(|flaw| format!("{path} cannot be started: {flaw}"))
    };
    paths.iter().filter_map(|path| flaw(path)).collect()
}

/// What its first line is, if it is the reason.
pub(super) fn of_script(path: &Utf8Path) -> Option<String> {
    let mut line = Vec::new();
    let file = fs_err::File::open(path).ok()?;
    BufReader::new(file).take(LONGEST_LINE).read_until(b'\n', &mut line).ok()?;
    // A program is none of our business.
    if line.starts_with(b"\x7fELF") {
        return None;
    }
    let line = String::from_utf8_lossy(&line);
    let Some(interpreter) = line.trim_end_matches('\n').strip_prefix("#!") else {
        return Some("its first line names no interpreter; begin it with `#!/bin/sh`".to_owned());
    };
    if interpreter.ends_with('\r') {
        let name = interpreter.trim();
        return Some(format!(
            "its first line `#!{name}` ends with a carriage return, as on Windows; run \
             `sed -i 's/\\r$//' {path}`"
        ));
    }
    let program = interpreter.split_whitespace().next().unwrap_or_default();
    let is_there = Utf8Path::new(program).is_file();
    (!is_there)
        .then(|| format!("its interpreter `{program}` was not found; install it, or name another"))
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn the_first_line_tells_why() {
        let scratch = Scratch::new();
        for (content, word) in [
            ("#!/bin/sh\nexit 0\n", None),
            ("\u{7f}ELF...", None),
            ("#!/bin/sh\r\nexit 0\r\n", Some("carriage return")),
            ("#!/usr/bin/env sh\r\n", Some("carriage return")),
            ("#!/no/such/shell -e\n", Some("`/no/such/shell` was not found")),
            ("echo hello\n", Some("names no interpreter")),
            ("", Some("names no interpreter")),
        ] {
            let flaw = of_script(&scratch.file("script", content));
            assert_eq!(flaw.is_some(), word.is_some(), "{content:?}: {flaw:?}");
            assert!(flaw.unwrap_or_default().contains(word.unwrap_or_default()), "{content:?}");
        }
    }
}
