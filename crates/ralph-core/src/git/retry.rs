//! Git commands that fail because somebody else does the same thing at the same time.
//!
//! Locks of others are waited for in `command.rs`; here nobody holds anything, and the next try goes
//! well.

use super::command::GitError;

/// Runs git up to `most` times, for as long as its failure `will_pass`.
pub(crate) fn retried<T>(
    most: usize,
    will_pass: impl Fn(&GitError) -> bool,
    run: impl Fn() -> Result<T, GitError>,
) -> Result<T, GitError> {
    for _ in 1..most {
        match run() {
            Err(error) if will_pass(&error) => {}
            other => return other,
        }
    }
    run()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn failure(code: i32) -> GitError {
        let text = String::new;
        GitError::Failed { command: text(), dir: text(), code: Some(code), stderr: text() }
    }

    /// Git that fails with these codes, one after the other, and then succeeds.
    fn check(codes: &[i32], expected: (Option<i32>, usize)) {
        let runs = Cell::new(0);
        let run = || {
            let code = codes.get(runs.get()).copied();
            runs.set(runs.get() + 1);
            code.map_or(Ok(()), |code| Err(failure(code)))
        };
        let ended = retried(3, |error| error.exit_code() == Some(1), run);
        let code = ended.err().and_then(|error| error.exit_code());
        assert_eq!((code, runs.get()), expected, "{codes:?}");
    }

    #[test]
    fn only_what_passes_is_tried_again_and_not_for_ever() {
        check(&[], (None, 1));
        check(&[1, 1], (None, 3));
        check(&[2], (Some(2), 1));
        check(&[1, 2], (Some(2), 2));
        check(&[1, 1, 1, 1], (Some(1), 3));
    }
}
