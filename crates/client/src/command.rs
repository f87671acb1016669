//! Analyses the agent's command line: which program it runs, and where that is.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::supervised::{self, CheckEnd, Door};
use ralph_project::client::written;
use ralph_project::install::quoted;
use run_history::LOOP;

/// Returns the command line with the absolute path of its program, or of the script that its
/// interpreter runs, if that is a file in this folder.
pub fn with_files_of(folder: &Utf8Path, line: &str) -> String {
    let mut whole = line.to_owned();
    let file = script_of(line).or_else(|| program_of(line)).filter(|word| {
        let is_relative = word.contains(['/', '.']) && !word.starts_with('/');
        is_relative && folder.join(word).is_file()
    });
    let script = shell_reader::read(line);
    if let (Some(file), Some(command)) = (file, script.commands.first())
        && let Some(place) = written(line, command, &file)
    {
        whole.replace_range(place, &quoted(&folder.join(file)));
    }
    whole
}

/// Programs that run a script given as an argument.
const INTERPRETERS: &str = "sh bash dash zsh ksh python python3 node ruby perl deno";

/// Returns why a command line cannot be run: invalid shell syntax, or no command in it.
#[expect(clippy::disallowed_methods, reason = "the shell that will start the agent reads its line")]
pub fn flaw_in(line: &str) -> Option<String> {
    // `-n` only checks the syntax. If the shell cannot be started, no flaw is reported.
    let asked = Command::new("sh").args(["-n", "-c", line]).stdin(Stdio::null()).output().ok()?;
    if asked.status.success() {
        let script = shell_reader::read(line);
        let is_empty = script.complete && script.commands.is_empty();
        return is_empty.then(|| "does not run anything".to_owned());
    }
    let said = String::from_utf8_lossy(&asked.stderr);
    let said = said.trim().rsplit(": ").next().unwrap_or_default();
    Some(format!("is not valid shell syntax ({said})"))
}

/// Returns the program that a command line starts, if that is known without running it.
pub fn program_of(line: &str) -> Option<String> {
    let script = shell_reader::read(line);
    let program = script.commands.first()?.program.known()?;
    (!program.starts_with('~')).then(|| program.to_owned())
}

/// Returns the script that the line's interpreter runs.
pub fn script_of(line: &str) -> Option<String> {
    let script = shell_reader::read(line);
    let command = script.commands.first()?;
    let mut interpreters = INTERPRETERS.split(' ');
    let is_interpreter = interpreters.any(|interpreter| Some(interpreter) == command.name());
    let is_file = |word: &&str| word.contains(['/', '.']) && !word.starts_with(['-', '~']);
    command.arg(0).filter(is_file).filter(|_| is_interpreter).map(str::to_owned)
}

/// Returns whether a program can be found and started.
pub fn is_found(program: &str, path: &str, root: &Utf8Path) -> bool {
    if program.contains('/') {
        return is_executable(&root.join(program));
    }
    path.split(':').any(|folder| is_executable(&Utf8Path::new(folder).join(program)))
        || is_builtin(program)
}

/// Whether a word is a builtin or keyword of the shell.
fn is_builtin(word: &str) -> bool {
    "cd exec eval set export unset if for while until case command true false umask ulimit trap . : \
     test echo printf read exit time type wait kill source let select function declare"
        .split(' ')
        .any(|known| known == word)
}

/// Returns whether a path is an executable file.
pub fn is_executable(path: &Utf8Path) -> bool {
    fs_err::metadata(path)
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns the folder of this program, and so of its hooks; symlinks are followed.
pub fn folder_of_this_program() -> Option<Utf8PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    Utf8PathBuf::from_path_buf(program.parent()?.to_owned()).ok()
}

/// Returns the agent's `PATH`: with the folder of this program at its end, unless `ralph-loop` is
/// found already.
pub fn path_of_agent(path: &str, root: &Utf8Path) -> String {
    let is_missing = !path.is_empty() && !is_found(LOOP, path, root);
    let folder = folder_of_this_program().filter(|folder| folder.join(LOOP).is_file());
    match folder {
        Some(folder) if is_missing => format!("{path}:{folder}"),
        _ => path.to_owned(),
    }
}

/// How long a client may take to print its version.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the first line of `<program> --version`; `None` if it does not run, fails or takes too
/// long. A path is resolved relative to `folder`.
pub fn version_text(program: &str, folder: &Utf8Path) -> Option<String> {
    let is_path = program.contains('/');
    let program = if is_path { folder.join(program).into_string() } else { program.to_owned() };
    let mut command = Door::default().command(&program);
    command.arg("--version").current_dir(folder);
    let (end, said) = supervised::run(command, &[], Some(PATIENCE), &|| false, None).ok()?;
    let text = said.lines().next()?.trim().to_owned();
    (end == CheckEnd::Exited(Some(0)) && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn the_program_is_the_first_word_after_assignments() {
        assert_eq!(program_of("claude -p --verbose").unwrap(), "claude");
        assert_eq!(program_of("A=1 B=2 ./agent.sh x").unwrap(), "./agent.sh");
        assert_eq!(program_of("\"my agent\" -p").unwrap(), "my agent");
        for unclear in ["", "$AGENT", "~/agent"] {
            assert_eq!(program_of(unclear), None, "{unclear}");
        }
    }

    #[test]
    fn an_agent_script_in_the_project_gets_an_absolute_path() {
        let scratch = Scratch::new();
        scratch.file("agent.sh", "");
        scratch.file("tools/it's.sh", "");
        let root = scratch.root();
        for (line, expected) in [
            ("./agent.sh -p", format!("'{root}/./agent.sh' -p")),
            ("A=1 sh agent.sh | tee x", format!("A=1 sh '{root}/agent.sh' | tee x")),
            ("claude -p", "claude -p".to_owned()),
            ("sh /abs/agent.sh", "sh /abs/agent.sh".to_owned()),
            ("./missing.sh", "./missing.sh".to_owned()),
        ] {
            assert_eq!(with_files_of(root, line), expected);
        }
    }

    #[test]
    fn an_invalid_command_line_is_detected_without_running_it() {
        for line in ["claude -p", "A='b c' x \"$Y\" | tee log", "exit 3", "(cd x; agent)"] {
            assert_eq!(flaw_in(line), None, "{line}");
        }
        for line in ["x 'y", "x \"y", "x $(y", "x | ; y", "(x", "", " # nothing\n"] {
            assert!(flaw_in(line).is_some(), "{line}");
        }
    }

    #[test]
    fn programs_are_looked_up_as_the_shell_does() {
        let root = Utf8Path::new("/");
        assert!(is_found("sh", "/nowhere:/bin:/usr/bin", root));
        assert!(is_found("/bin/sh", "", root) && is_found("exec", "", root));
        assert!(!is_found("no-such-agent", "/bin:/usr/bin", root));
    }

    #[test]
    fn the_version_is_the_first_line_or_none_on_failure() {
        let scratch = Scratch::new();
        let check = |script: &str, expected: Option<&str>| {
            scratch.script("claude", &format!("#!/bin/sh\n{script}\n"));
            // A process that another test forks may have the script open for a moment.
            let answer = (0..20).find_map(|_| version_text("./claude", scratch.root()));
            assert_eq!(answer.as_deref(), expected, "{script}");
        };
        check("echo '2.1.325 (Claude Code)'; echo more", Some("2.1.325 (Claude Code)"));
        check("echo 2.1.325; exit 1", None);
        check("exit 0", None);
        assert_eq!(version_text("no-such-client", scratch.root()), None);
    }
}
