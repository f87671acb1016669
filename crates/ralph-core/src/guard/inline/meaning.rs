//! Which shell commands the calls in a program amount to.

use super::source::{calls, literals, resolved, variables};
use crate::guard::settings::Settings;

/// Calls that run a command given as text or as a list of words.
const RUNS: &[&str] = &[
    "system",
    "popen",
    "Popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "execute",
    "cmd",
    "Command",
    "exec",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnSync",
    "shell_exec",
    "passthru",
    "proc_open",
    "execv",
    "execvp",
    "execlp",
    "execl",
    "spawnlp",
    "sh",
    "capture2",
    "capture3",
    "pipeline",
    "create_subprocess_exec",
    "create_subprocess_shell",
];
/// What a program mentions that talks to git without starting it.
const LIBRARIES: &[&str] =
    &["import git", "from git", "pygit2", "simple-git", "simpleGit", "isomorphic-git", "nodegit"];
/// Calls that mean something only together with one of these.
const OF_LIBRARIES: &[&str] = &["push", "merge", "git"];
/// How Ruby and Perl quote a command without quotation marks.
const QUOTED_COMMANDS: &[&str] = &[
    "%x(",
    "%x{",
    "%x[",
    "qx(",
    "qx{",
    "qx/",
    "system qw(",
    "exec qw(",
    "system(q(",
    "system(q{",
    "system(qq{",
    "exec(q{",
];
/// Calls that delete a whole folder.
const DELETES: &[&str] =
    &["rmtree", "rmSync", "rm_rf", "rm_r", "remove_tree", "remove_dir_all", "rimraf", "removeSync"];
/// Calls that write a file.
const WRITES: &[&str] = &[
    "writeFileSync",
    "writeFile",
    "appendFileSync",
    "write_text",
    "write_bytes",
    "file_put_contents",
    "open",
    "truncate",
    "unlink",
    "unlinkSync",
    "remove",
    "Path",
    "write",
    "delete",
];

/// The shell commands that an inline program amounts to.
pub(super) fn amounts_to(language: &str, text: &str, settings: &Settings) -> Vec<String> {
    let mut lines = Vec::new();
    let variables = variables(text);
    for (name, arguments) in calls(text, is_call) {
        let literals = resolved(arguments, &variables);
        if RUNS.contains(&name) {
            lines.extend(command_of(&literals));
        }
        if matches!(name, "push" | "merge")
            && LIBRARIES.iter().any(|library| text.contains(library))
        {
            lines.push(format!("git {name}"));
        }
        if name == "git" {
            lines.extend(command_of(&literals).map(|words| format!("git {words}")));
        }
        if !settings.switch("inline-writes") {
            continue;
        }
        if DELETES.contains(&name) {
            lines.extend(literals.first().map(|path| format!("rm -r -- {}", quoted(path))));
        }
        let writes = WRITES.contains(&name)
            && match name {
                "open" => literals.iter().skip(1).any(|mode| is_writing_mode(mode)),
                "Path" => text.contains("write_") || text.contains(".unlink("),
                "write" | "delete" => text.contains(&format!("File.{name}")),
                _ => true,
            };
        if writes {
            lines.extend(literals.first().map(|path| format!(": > {}", quoted(path))));
        }
    }
    if matches!(language, "ruby" | "perl" | "php") {
        lines.extend(text.split('`').skip(1).step_by(2).map(str::to_owned));
        for opening in QUOTED_COMMANDS {
            let inner = text
                .split(opening)
                .skip(1)
                .filter_map(|rest| rest.split([')', '}', ']', '/']).next());
            lines.extend(inner.map(str::to_owned));
        }
    }
    if language == "osascript" {
        lines.extend(literals(text));
    }
    if language.ends_with("awk") {
        // `print | "command"`, `"command" | getline` and `cmd = "command"; system(cmd)`.
        let runs = text.contains('|') || text.contains("system(");
        lines.extend(literals(text).into_iter().filter(|_| runs));
        // `print > "file"`.
        let targets = text.split('>').skip(1).filter(|rest| rest.trim_start().starts_with('"'));
        let targets = targets.filter_map(|rest| literals(rest).into_iter().next());
        lines.extend(targets.map(|path| format!(": > {}", quoted(&path))));
    }
    lines
}

/// Whether a name that matters is followed by an opening parenthesis or, as in Ruby and Perl, by a
/// quote.
fn is_call(name: &str, behind: &str) -> bool {
    if OF_LIBRARIES.contains(&name) {
        return behind.starts_with('(');
    }
    [RUNS, DELETES, WRITES].iter().any(|calls| calls.contains(&name))
        && behind.trim_start().starts_with(['(', '"', '\'', '[', '`'])
}

/// A text with blanks is a command line, single words are its words.
fn command_of(literals: &[String]) -> Option<String> {
    // `execvp("git", ["git", "push"])` names the program twice.
    let literals = match literals {
        [program, name, ..] if program == name => literals.get(1..)?,
        _ => literals,
    };
    let first = literals.first()?;
    if first.contains(' ') {
        return Some(first.clone());
    }
    Some(literals.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

fn is_writing_mode(mode: &str) -> bool {
    mode.len() <= 3 && mode.contains(['w', 'a', 'x', '+'])
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, text: &str, expected: &[&str]) {
        assert_eq!(amounts_to(language, text, &Settings::default()), expected, "{text}");
    }

    #[test]
    fn calls_amount_to_commands_and_mentions_do_not() {
        check(
            "python3",
            "import subprocess; subprocess.run(['git','push'], cwd='x')",
            &["'git' 'push' 'x'"],
        );
        check("python3", "import os; os.system(\"git push\")", &["git push"]);
        check("python3", "print('git push is blocked')", &[]);
        check("python3", "s = s.replace(\"os.system('git push')\", 'pass')", &[]);
        check("python3", "# don't\nos.system('git push')", &["git push"]);
        check("python3", "\"\"\"run('git push')\"\"\"", &[]);
        check("python3", "import shutil; shutil.rmtree('/x')", &["rm -r -- '/x'"]);
        check("python3", "open('a').read(); open('b', 'w')", &[": > 'b'"]);
        check("node", "require('child_process').spawnSync('git', ['push'])", &["'git' 'push'"]);
        check("ruby", "system 'git push'; `ls`", &["git push", "ls"]);
        check("perl", "exec(\"git\", \"push\")", &["'git' 'push'"]);
        check("awk", "BEGIN{ \"git push\" | getline }", &["git push"]);
        check("awk", "/git push/ { print \"git push\" }", &[]);
    }
}
