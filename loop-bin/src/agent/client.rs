//! Is the agent the client, Claude Code? Then its command line can take further settings.

use std::ops::Range;

use camino::Utf8Path;

/// Words that may stand before the program and start it unchanged.
const PASSED_OVER: [&str; 5] = ["command", "env", "exec", "nohup", "time"];

/// The client in an agent's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client<'a> {
    line: &'a str,
    program: Range<usize>,
}

impl<'a> Client<'a> {
    /// Finds it; none if another program is the agent, or if that cannot be told.
    pub(crate) fn find(line: &'a str) -> Option<Self> {
        let mut words = words(line).filter(|(_, word)| !is_passed_over(word));
        let (start, word) = words.next()?;
        let is_client = Utf8Path::new(word).file_name() == Some("claude");
        let plain = word.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
        (is_client && plain).then(|| Self { line, program: start..start + word.len() })
    }

    /// The program as the line names it.
    pub(crate) fn program(&self) -> &'a str {
        self.line.get(self.program.clone()).unwrap_or_default()
    }

    /// Whether the line has an option of this name.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options().any(|word| word == option || is_assigned(word, option))
    }

    /// The value of an option, as far as it is written without quotes.
    pub(crate) fn value_of(&self, option: &str) -> Option<&'a str> {
        let mut options = self.options();
        let word = options.find(|word| *word == option || is_assigned(word, option))?;
        word.split_once('=').map(|(_, value)| value).or_else(|| options.next())
    }

    /// The line with further options right behind the program, where no pipe and no redirection
    /// can swallow them.
    pub(crate) fn with(&self, options: &str) -> String {
        let (before, after) =
            self.line.split_at_checked(self.program.end).unwrap_or((self.line, ""));
        format!("{before} {options}{after}")
    }

    fn options(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let end = self.program.end;
        words(self.line).filter(move |(start, _)| *start >= end).map(|(_, word)| word)
    }
}

fn is_passed_over(word: &str) -> bool {
    let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    is_assignment || PASSED_OVER.contains(&word)
}

fn is_assigned(word: &str, option: &str) -> bool {
    word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
}

/// The words of a line and where each begins; quotes are not looked into.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_whitespace().map(|word| (word.as_ptr().addr() - line.as_ptr().addr(), word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&str>) {
        let found = Client::find(line).map(|client| client.with("--x"));
        assert_eq!(found.as_deref(), expected, "{line}");
    }

    #[test]
    fn options_come_right_behind_the_client() {
        check("claude -p --verbose", Some("claude --x -p --verbose"));
        check(
            "A=1 exec ./node/claude -p | tee log",
            Some("A=1 exec ./node/claude --x -p | tee log"),
        );
        check("claude", Some("claude --x"));
    }

    #[test]
    fn other_agents_are_left_alone() {
        for line in ["", "aider claude", "sh -c 'claude -p'", "claude-wrapper -p", "\"claude\" -p"]
        {
            check(line, None);
        }
    }

    #[test]
    fn options_are_found_with_their_values() {
        let client =
            Client::find("claude --setting-sources user,local --settings=x.json -p").unwrap();
        assert!(client.has("--settings") && client.has("-p") && !client.has("--setting"));
        assert_eq!(client.value_of("--setting-sources"), Some("user,local"));
        assert_eq!(client.value_of("--settings"), Some("x.json"));
        assert_eq!(client.value_of("--bare"), None);
    }
}
