//! Recognises known agents in a command line, to which options can then be added.

use std::ops::Range;

use shell_reader::{Reach, Word};

use crate::dialect::Dialect;

/// Variables that make the client believe that it runs inside another one; and one that names
/// another loop's folder, because our loop assigns the agent its plan.
pub const SCRUBBED_VARS: &str = "\
    CLAUDECODE CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID \
    CLAUDE_CODE_SSE_PORT CLAUDE_PROJECT_DIR RALPH_LOOP_DIR";

/// A known agent in a command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Client<'a> {
    /// The agent's row.
    pub dialect: &'static Dialect,
    line: &'a str,
    command: shell_reader::Command,
    /// The end of its name, or of its subcommand.
    end: usize,
}

impl<'a> Client<'a> {
    /// Finds the agent; `None` if the program is unknown, or its name is not written literally.
    pub fn find(line: &'a str) -> Option<Self> {
        let is_written =
            |step: &Reach| matches!(step, Reach::Wrapper(_) | Reach::Pipe { .. } | Reach::Group);
        let mut commands = shell_reader::read(line).commands.into_iter();
        let (command, dialect) = commands
            .find_map(|command| Dialect::find(command.name()?).map(|dialect| (command, dialect)))?;
        let place = written(line, &command, command.program.known()?)?;
        let behind = written(line, &command, dialect.behind).filter(|_| !dialect.behind.is_empty());
        let end = behind.unwrap_or(place).end;
        command.reached.iter().all(is_written).then_some(Self { dialect, line, end, command })
    }

    /// Returns whether it is Claude Code, for which settings of the project are read.
    pub fn is_claude(&self) -> bool {
        self.dialect.name == "claude"
    }

    /// Returns the program.
    pub fn program(&self) -> &str {
        self.command.program.text()
    }

    /// Returns whether the line has an option of this name.
    pub fn has(&self, option: &str) -> bool {
        self.value_of(option).is_some()
    }

    /// Returns the value of an option; empty if it has none.
    pub fn value_of(&self, option: &str) -> Option<&str> {
        let mut words = self.command.args.iter().map(Word::text);
        let rest = words.find_map(|word| {
            let rest = word.strip_prefix(option)?;
            (rest.is_empty() || rest.starts_with('=')).then_some(rest)
        })?;
        Some(rest.strip_prefix('=').unwrap_or_else(|| words.next().unwrap_or_default()))
    }

    /// Returns the options that the agent's row starts it with and that the line lacks. A line without the
    /// row's subcommand does something else.
    pub fn missing(&self) -> Vec<String> {
        let Dialect { start, behind, instead, .. } = self.dialect;
        if !behind.is_empty() && self.command.args.iter().all(|word| word.text() != *behind) {
            return Vec::new();
        }
        let has_any = |option: &str| {
            let mut rows = instead.iter().map(|names| names.split(' '));
            let names = rows.find(|names| names.clone().any(|name| name == option));
            names.map_or(self.has(option), |mut names| names.any(|name| self.has(name)))
        };
        let words = start.split(' ').skip_while(|word| !word.starts_with('-'));
        let mut options: Vec<String> = Vec::new();
        for word in words.filter(|word| *word != "-") {
            match options.last_mut() {
                Some(last) if !word.starts_with('-') => *last = format!("{last} {word}"),
                _ => options.push(word.to_owned()),
            }
        }
        options.retain(|option| !has_any(option.split(' ').next().unwrap_or_default()));
        options
    }

    /// Returns the line with further options right after the program, where no pipe and no
    /// redirection can swallow them.
    pub fn with(&self, options: &str) -> String {
        let (before, after) = self.line.split_at_checked(self.end).unwrap_or((self.line, ""));
        format!("{before} {options}{after}")
    }
}

/// Returns where a word of a command is written literally, plain or in quotes.
pub fn written(line: &str, command: &shell_reader::Command, word: &str) -> Option<Range<usize>> {
    let is_edge = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "|&;<>()".contains(c));
    line.get(command.span.clone())?.match_indices(word).find_map(|(at, _)| {
        let start = command.span.start + at;
        let is_quoted = line.get(..start)?.ends_with(['\'', '"']);
        let quote = usize::from(is_quoted);
        let range = start - quote..start + word.len() + quote;
        let before = line.get(..range.start)?.chars().next_back();
        let after = line.get(range.end..)?.chars().next();
        (is_edge(before) && is_edge(after)).then_some(range)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&str>) {
        let found = Client::find(line).map(|client| client.with("--x"));
        assert_eq!(found.as_deref(), expected, "{line}");
    }

    #[test]
    fn options_are_inserted_right_after_the_client() {
        check("claude -p --verbose", Some("claude --x -p --verbose"));
        check(
            "A=1 exec ./node/claude -p | tee log",
            Some("A=1 exec ./node/claude --x -p | tee log"),
        );
        check("claude", Some("claude --x"));
        check("claude|tee log", Some("claude --x|tee log"));
        check("'claude' -p", Some("'claude' --x -p"));
        check("\"/opt/my tools/claude\" -p", Some("\"/opt/my tools/claude\" --x -p"));
        check("A=claude claude -p", Some("A=claude claude --x -p"));
        check("cd x && claude -p", Some("cd x && claude --x -p"));
        check("codex exec --json -", Some("codex exec --x --json -"));
        check("gemini --yolo | tee log", Some("gemini --x --yolo | tee log"));
    }

    #[test]
    fn the_client_is_found_behind_wrappers() {
        for before in [
            "/usr/bin/env",
            "env -i -u HOME A=1 B='c d'",
            "timeout -k 5 --signal=INT 1h nice -n 5",
            "nohup stdbuf -oL -e 0",
            "setsid -w ionice -c 3",
            "time -p command",
        ] {
            check(&format!("{before} claude -p"), Some(&format!("{before} claude --x -p")));
        }
    }

    #[test]
    fn other_commands_are_not_taken_for_the_client() {
        for line in [
            "",
            "aider claude",
            "sh -c 'claude -p'",
            "claude-wrapper -p",
            "env -S 'claude -p'",
            "timeout 9",
            "$HOME/claude -p",
            "\"$HOME/claude\" -p",
            "'claude -p'",
            "cl'aud'e -p",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn what_a_command_line_lacks_is_what_its_row_has() {
        let missing = |line: &str| Client::find(line).unwrap().missing().join(" ");
        let rest = "--dangerously-skip-permissions --output-format stream-json --verbose";
        assert_eq!(missing("claude -p"), rest);
        assert_eq!(
            missing("claude --print --permission-mode acceptEdits --verbose"),
            "--output-format stream-json"
        );
        assert_eq!(
            missing("claude -p --dangerously-skip-permissions --output-format=json"),
            "--verbose"
        );
        assert_eq!(
            missing("codex exec -"),
            "--json --dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust --skip-git-repo-check"
        );
        assert_eq!(missing("codex review"), "");
        assert_eq!(missing("kimi -p 'x'"), "--output-format stream-json");
        assert_eq!(missing("kimi"), "--output-format stream-json -p \"$(cat)\"");
        for agent in crate::dialect::AGENTS.iter().filter(|agent| !agent.start.is_empty()) {
            assert_eq!(missing(agent.start), "", "{}", agent.name);
        }
    }

    #[test]
    fn options_are_found_with_their_values() {
        let client =
            Client::find("claude --setting-sources 'user,local' --settings=x.json -p").unwrap();
        assert!(client.has("--settings") && client.has("-p") && !client.has("--setting"));
        assert_eq!(client.value_of("--setting-sources"), Some("user,local"));
        assert_eq!(client.value_of("--settings"), Some("x.json"));
        assert_eq!(client.value_of("--bare"), None);
    }
}
