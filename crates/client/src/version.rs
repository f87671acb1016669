//! Which client is there? Its version decides about the events that may be registered.

use std::process::Command;
use std::time::Duration;

use camino::Utf8Path;
use ralph_base::supervised::{self, CheckEnd};

/// How long a client may take to say its version.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `<program> --version` prints first; none if it does not run, fails or takes too long. The
/// program is looked up from `folder`, as whoever works there would start it.
#[expect(clippy::disallowed_methods, reason = "this is the door for asking the client")]
pub fn version_text(program: &str, folder: &Utf8Path) -> Option<String> {
    let is_path = program.contains('/');
    let program = if is_path { folder.join(program).into_string() } else { program.to_owned() };
    let mut command = Command::new(program);
    command.arg("--version").current_dir(folder);
    let (end, said) = supervised::run(command, &[], Some(PATIENCE), &|| false, false).ok()?;
    let text = said.lines().next()?.trim().to_owned();
    (end == CheckEnd::Exited(Some(0)) && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn a_program_is_asked_and_failures_are_no_answer() {
        let scratch = Scratch::new();
        let check = |script: &str, expected: Option<&str>| {
            scratch.script("claude", &format!("#!/bin/sh\n{script}\n"));
            assert_eq!(version_text("./claude", scratch.root()).as_deref(), expected, "{script}");
        };
        check("echo '2.1.325 (Claude Code)'; echo more", Some("2.1.325 (Claude Code)"));
        check("echo 2.1.325; exit 1", None);
        check("exit 0", None);
        assert_eq!(version_text("no-such-client", scratch.root()), None);
    }
}
