//! Is the agent the client, Claude Code? Then its command line can take further settings.

use camino::Utf8Path;

use super::words::{Word, words};

/// A program that starts another one unchanged.
struct Wrapper {
    name: &'static str,
    /// Its options whose value is the next word.
    valued: &'static [&'static str],
    /// How many words of its own stand before the program.
    own_words: usize,
}

const WRAPPERS: [Wrapper; 11] = [
    wrapper("command", &[], 0),
    wrapper("env", &["-u", "--unset", "-C", "--chdir"], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("ionice", &["-c", "--class", "-n", "--classdata"], 0),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("stdbuf", &["-i", "--input", "-o", "--output", "-e", "--error"], 0),
    wrapper("time", &["-f", "--format", "-o", "--output"], 0),
    wrapper("timeout", &["-k", "--kill-after", "-s", "--signal"], 1),
];

const fn wrapper(name: &'static str, valued: &'static [&'static str], own_words: usize) -> Wrapper {
    Wrapper { name, valued, own_words }
}

/// The client in an agent's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client<'a> {
    line: &'a str,
    /// Where its name ends.
    end: usize,
    program: String,
    options: Vec<String>,
}

impl<'a> Client<'a> {
    /// Finds it; none if another program is the agent, or if that cannot be told.
    pub(crate) fn find(line: &'a str) -> Option<Self> {
        let words = words(line);
        let place = place_of_program(&words)?;
        let mut words = words.into_iter().skip(place);
        let Word { text: program, end, is_plain } = words.next()?;
        let is_client = is_plain && Utf8Path::new(&program).file_name() == Some("claude");
        let options = words.map(|word| word.text).collect();
        is_client.then_some(Self { line, end, program, options })
    }

    /// The program.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// Whether the line has an option of this name.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|word| word == option || is_assigned(word, option))
    }

    /// The value of an option.
    pub(crate) fn value_of(&self, option: &str) -> Option<&str> {
        let mut options = self.options.iter();
        let word = options.find(|word| *word == option || is_assigned(word, option))?;
        match word.split_once('=') {
            Some((_, value)) => Some(value),
            None => options.next().map(String::as_str),
        }
    }

    /// The line with further options right behind the program, where no pipe and no redirection
    /// can swallow them.
    pub(crate) fn with(&self, options: &str) -> String {
        let (before, after) = self.line.split_at_checked(self.end).unwrap_or((self.line, ""));
        format!("{before} {options}{after}")
    }
}

/// Where the program stands that the words start in the end, behind assignments and wrappers.
fn place_of_program(words: &[Word]) -> Option<usize> {
    let mut at = 0;
    loop {
        let word = words.get(at)?;
        let name = Utf8Path::new(&word.text).file_name();
        match WRAPPERS.iter().find(|wrapper| Some(wrapper.name) == name) {
            _ if is_assignment(&word.text) => at += 1,
            Some(wrapper) => at = behind(wrapper, words, at + 1)?,
            None => return Some(at),
        }
    }
}

/// The place behind a wrapper's own words; none if those are a command line by themselves.
fn behind(wrapper: &Wrapper, words: &[Word], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(option) = words.get(at).map(|word| &*word.text).filter(|text| is_option(text)) {
        if wrapper.name == "env" && (option.starts_with("-S") || option.starts_with("--split")) {
            return None;
        }
        at += if wrapper.valued.contains(&option) { 2 } else { 1 };
    }
    Some(at + wrapper.own_words)
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn is_assigned(word: &str, option: &str) -> bool {
    word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
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
        check("claude|tee log", Some("claude --x|tee log"));
        check("'claude' -p", Some("'claude' --x -p"));
        check("\"/opt/my tools/claude\" -p", Some("\"/opt/my tools/claude\" --x -p"));
        check("A=\"b c\" cl'aud'e", Some("A=\"b c\" cl'aud'e --x"));
    }

    #[test]
    fn programs_that_start_it_unchanged_are_passed_over() {
        for before in [
            "/usr/bin/env",
            "env -i -u HOME A=1 B='c d'",
            "timeout 9",
            "timeout -k 5 --signal=INT 1h nice -n 5",
            "nice",
            "nohup stdbuf -oL -e 0",
            "setsid -w ionice -c 3",
            "time -p command",
        ] {
            check(&format!("{before} claude -p"), Some(&format!("{before} claude --x -p")));
        }
    }

    #[test]
    fn other_agents_are_left_alone() {
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
            "cd x && claude -p",
        ] {
            check(line, None);
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
