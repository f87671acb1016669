//! Tries the sandbox on the machine where it runs: what must not get out, and what must go on working.
//! On Linux `doctor` does this, elsewhere every start, because nothing else proves the profile there.

use std::time::Duration;

use camino::Utf8Path;
use ralph_base::state;
use ralph_base::supervised;
use ralph_project::failure::Failure;

use crate::doors::Doors;

/// What must fail: `$OUT` is a folder outside with a file in it, `$HIDDEN` a file that may not be read,
/// and `$OUTSIDER` a process outside.
const ESCAPES: [(&str, &str); 10] = [
    ("a write to the project got through", "echo x > \"$PROJECT/.ralph-escape-$OUTSIDER\""),
    ("a file outside could be written", "echo x > \"$OUT/new\""),
    ("a file outside could be changed", "echo x >> \"$OUT/file\""),
    ("a file could be moved out", "echo x > moved && mv moved \"$OUT/moved\""),
    ("a file outside could be changed by another name", "ln \"$OUT/file\" l && echo x >> l"),
    ("a file outside could be changed by a symlink", "ln -s \"$OUT/file\" s && echo x >> s"),
    ("a hidden file could be read", "cat \"$HIDDEN\""),
    ("a hidden file could be read by a symlink", "ln -s \"$HIDDEN\" h && cat h"),
    ("a process outside could be signalled", "kill -0 \"$OUTSIDER\""),
    (
        "the system could be asked to start a program outside",
        "launchctl submit -l \"ralph.$$\" -- /usr/bin/true && launchctl remove \"ralph.$$\"",
    ),
];

/// The place in this list of what not every kernel can refuse.
const SIGNAL: usize = 8;

/// What must succeed.
const ORDINARY: [(&str, &str); 5] = [
    (
        "files in the attempt's own folder",
        "echo x > a && ln a b && mv b c && rm a c && mkdir d && rmdir d && mkfifo p && rm p",
    ),
    ("writing to /dev/null", "echo x > /dev/null"),
    ("reading and listing", "cat /etc/hosts && ls / \"$HOME\""),
    ("starting git", "git --version"),
    ("signals to its own processes", "sleep 9 & kill $!"),
];

/// How long all of that may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns what is wrong with the sandbox of an attempt's checks; nothing where there is none.
pub fn faults(doors: &Doors, project: &Utf8Path) -> Result<Vec<String>, Failure> {
    let Some(home) = doors.home() else { return Ok(Vec::new()) };
    doors.create_folders()?;
    let id = std::process::id();
    let out = doors.copies().join(format!("escape-{id}"));
    let hidden = home.join(format!(".ralph-escape-{id}"));
    fs_err::create_dir_all(&out)?;
    fs_err::write(out.join("file"), "x")?;
    fs_err::write(&hidden, "x")?;
    let mut shell = doors.checks.command("sh");
    let all = ESCAPES.iter().chain(&ORDINARY).enumerate();
    // What a probe says itself goes to the same place, so each answer has a mark.
    let tries: String = all.map(|(n, (_, act))| format!("({act}) >&2 && echo @{n}\n")).collect();
    let begin = "cd \"$TMPDIR\" && mkdir escape-$$ && cd escape-$$ || exit 1\n";
    let script = begin.to_owned() + &tries;
    shell.args(["-c", &script]).env("PROJECT", project).env("OUT", &out);
    shell.env("HIDDEN", &hidden).env("OUTSIDER", id.to_string());
    let ran = supervised::run(shell, b"", Some(PATIENCE), &|| false, None);
    crate::remove_all(out.as_std_path())?;
    for file in [hidden, project.join(format!(".ralph-escape-{id}"))] {
        state::remove_if_there(file)?;
    }
    let (_, said) = ran?;
    let succeeded = |n: usize| said.lines().any(|line| line == format!("@{n}"));
    let may_signal = !sandbox::support().missing.is_empty();
    let mut faults = Vec::new();
    for (n, (fault, _)) in ESCAPES.iter().enumerate().filter(|(n, _)| !may_signal || *n != SIGNAL) {
        faults.extend(succeeded(n).then(|| (*fault).to_owned()));
    }
    for (n, (what, _)) in ORDINARY.iter().enumerate() {
        if !succeeded(ESCAPES.len() + n) {
            let why = said.lines().last().unwrap_or_default();
            faults.push(format!("{what}: refused ({why})"));
        }
    }
    Ok(faults)
}
