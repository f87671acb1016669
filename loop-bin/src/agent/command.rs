//! The only place that starts the agent.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};

use super::words::words;

/// Variables that make the client think it runs inside another one.
const NESTED: [&str; 6] = [
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_PROJECT_DIR",
];

/// Names somebody else's loop; ours tells the agent which plan it works on.
const OTHER_LOOP: &str = "RALPH_LOOP_DIR";

/// How the agent is started.
#[derive(Debug, Clone)]
pub(crate) struct AgentCommand {
    /// The command line, as a shell reads it.
    pub(crate) line: String,
    /// Where it works.
    pub(crate) root: Utf8PathBuf,
    /// The project: an agent that is one of its files is started from there, committed or not.
    pub(crate) project: Utf8PathBuf,
    /// Variables for it and for the hooks that its client calls.
    pub(crate) vars: Vec<(String, String)>,
}

impl AgentCommand {
    /// Starts it in a process group of its own: Ctrl-C in a terminal reaches us, and we decide.
    #[expect(clippy::disallowed_methods, reason = "this is the door for starting the agent")]
    pub(super) fn spawn(&self) -> io::Result<Child> {
        let mut command = Command::new("sh");
        for name in NESTED.into_iter().chain([OTHER_LOOP]) {
            command.env_remove(name);
        }
        command
            .arg("-c")
            .arg(with_files_of(&self.project, &self.line))
            .current_dir(&self.root)
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }
}

/// The command line with the project's own program, or the script that an interpreter is given, by
/// its whole path.
fn with_files_of(project: &Utf8Path, line: &str) -> String {
    let mut found = words(line).into_iter().skip_while(|word| is_assignment(&word.text));
    let (Some(program), second) = (found.next(), found.next()) else { return line.to_owned() };
    let is_interpreter =
        Utf8Path::new(&program.text).file_name().is_some_and(|name| INTERPRETERS.contains(&name));
    let own = if is_interpreter { second } else { Some(program) };
    let Some(word) = own.filter(|word| word.is_plain && is_own_file(project, &word.text)) else {
        return line.to_owned();
    };
    let path = project.join(word.text.trim_start_matches("./"));
    let quoted = format!("'{}'", path.as_str().replace('\'', r"'\''"));
    let (before, after) = line.split_at_checked(word.end).unwrap_or((line, ""));
    let start = before.rfind(&word.text).unwrap_or(before.len());
    format!("{}{quoted}{after}", before.get(..start).unwrap_or_default())
}

/// Programs that are given a script to run.
pub(crate) const INTERPRETERS: [&str; 11] =
    ["sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "ruby", "perl", "deno"];

fn is_own_file(project: &Utf8Path, word: &str) -> bool {
    let is_relative = !word.starts_with(['/', '-', '~']);
    is_relative && word.contains(['/', '.']) && project.join(word).is_file()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Whether a shell would find nothing to run in a command line.
pub(crate) fn runs_nothing(line: &str) -> bool {
    line.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// What keeps a shell from reading a command line, in the shell's own words; none if it can.
#[expect(clippy::disallowed_methods, reason = "the shell that will start the agent reads its line")]
pub(crate) fn flaw_in(line: &str) -> Option<String> {
    let is_simple = |c: char| c.is_alphanumeric() || " /._-+=:,@%".contains(c);
    if line.chars().all(is_simple) {
        return None;
    }
    // Told to read it and to run nothing. A shell that cannot be asked finds no fault.
    let asked = Command::new("sh").args(["-n", "-c", line]).stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&asked.stderr);
    let said = said.trim().rsplit(": ").next().unwrap_or_default().to_owned();
    (!asked.status.success()).then_some(said)
}

/// The program that a command line starts, where that can be told without running it.
pub(crate) fn program_of(line: &str) -> Option<&str> {
    let word = line.split_whitespace().find(|word| !word.contains('='))?;
    let plain = word.chars().all(|c| c.is_alphanumeric() || "/._-+~".contains(c));
    (plain && !word.starts_with('~')).then_some(word)
}

/// Whether a program can be found.
pub(crate) fn is_found(program: &str, path: &str, root: &Utf8Path) -> bool {
    if program.contains('/') {
        return root.join(program).is_file();
    }
    path.split(':').any(|folder| Utf8Path::new(folder).join(program).is_file())
        || is_builtin(program)
}

/// That a program was not found, and where it was looked for: an agent is started in the project's
/// root, wherever the loop is.
pub(crate) fn not_found(program: &str, root: &Utf8Path) -> String {
    match program {
        path if path.starts_with('/') => format!("the agent `{path}` was not found"),
        path if path.contains('/') => format!(
            "the agent `{path}` was not found in {root}, from where it is started (looked for {})",
            root.join(path.trim_start_matches("./"))
        ),
        name => format!("the agent `{name}` was not found in the folders of PATH"),
    }
}

/// Words that the shell knows by itself.
fn is_builtin(word: &str) -> bool {
    "cd exec eval set export unset if for while until case command true false umask ulimit trap . : \
     test echo printf read exit time type wait kill source let select function declare"
        .split(' ')
        .any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_first_word_that_is_no_assignment() {
        assert_eq!(program_of("claude -p --verbose"), Some("claude"));
        assert_eq!(program_of("A=1 B=2 ./agent.sh x"), Some("./agent.sh"));
        for unclear in ["", "\"my agent\" -p", "(cd x; agent)", "$AGENT", "~/agent"] {
            assert_eq!(program_of(unclear), None, "{unclear}");
        }
    }

    #[test]
    fn an_agent_that_is_a_file_of_the_project_is_started_from_there() {
        let scratch = test_support::Scratch::new();
        scratch.file("agent.sh", "");
        scratch.file("tools/it's.sh", "");
        let root = scratch.root();
        for (line, expected) in [
            ("./agent.sh -p", format!("'{root}/agent.sh' -p")),
            ("A=1 sh agent.sh | tee x", format!("A=1 sh '{root}/agent.sh' | tee x")),
            ("claude -p", "claude -p".to_owned()),
            ("sh /abs/agent.sh", "sh /abs/agent.sh".to_owned()),
            ("./missing.sh", "./missing.sh".to_owned()),
        ] {
            assert_eq!(with_files_of(root, line), expected);
        }
    }

    #[test]
    fn a_line_that_no_shell_can_read_is_found_without_running_it() {
        for line in ["claude -p", "A='b c' x \"$Y\" | tee log", "exit 3", "(cd x; agent)"] {
            assert_eq!(flaw_in(line), None, "{line}");
        }
        for line in ["x 'y", "x \"y", "x $(y", "x | ; y", "(x"] {
            assert!(flaw_in(line).is_some_and(|flaw| !flaw.is_empty()), "{line}");
        }
    }

    #[test]
    fn programs_are_looked_up_as_the_shell_does() {
        let root = Utf8Path::new("/");
        assert!(is_found("sh", "/nowhere:/bin:/usr/bin", root));
        assert!(is_found("/bin/sh", "", root) && is_found("exec", "", root));
        assert!(!is_found("no-such-agent", "/bin:/usr/bin", root));
    }
}
