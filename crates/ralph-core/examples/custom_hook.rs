//! A hook of one's own: database migrations that are already committed stay as they are.
//!
//! Register the program in `.claude/settings.json` for `PreToolUse` with the matcher `Edit|Write`,
//! or try it here:
//!
//! ```sh
//! echo '{"hook_event_name":"PreToolUse","cwd":"/srv/app","tool_name":"Edit",
//!     "tool_input":{"file_path":"/srv/app/migrations/001.sql"}}' |
//!     cargo run --quiet -p ralph-loop-core --example custom_hook
//! ```

use std::process::ExitCode;

use ralph_core::hook::{self, Decision, Input};

/// A migration that exists must not be changed; a new one may be written.
fn decide(input: &Input, exists: impl Fn(&str) -> bool) -> Decision {
    let Some(call) = input.file() else { return Decision::NoOpinion };
    let is_migration = call.file_path.components().any(|part| part.as_str() == "migrations");
    if is_migration && exists(call.file_path.as_str()) {
        let reason = format!("{} was applied; write a new migration instead", call.file_path);
        return Decision::Deny(reason);
    }
    Decision::NoOpinion
}

fn main() -> ExitCode {
    hook::run(|input| decide(input, |path| std::path::Path::new(path).exists()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, exists: bool, is_denied: bool) {
        let sent = format!(
            r#"{{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{{"file_path":"{path}"}}}}"#
        );
        let input = Input::parse(sent.as_bytes()).unwrap();
        assert_eq!(decide(&input, |_| exists) != Decision::NoOpinion, is_denied, "{path}");
    }

    #[test]
    fn only_existing_migrations_are_protected() {
        check("/srv/app/migrations/001.sql", true, true);
        check("/srv/app/migrations/002.sql", false, false);
        check("/srv/app/src/migrations.rs", true, false);
    }
}
