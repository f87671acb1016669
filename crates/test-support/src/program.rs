//! Programs under test, started with their own environment.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use camino::Utf8Path;

/// Returns a command whose environment contains only a path and a home folder.
pub fn program(path: impl AsRef<str>, home: &Utf8Path) -> Command {
    let mut command = Command::new(path.as_ref());
    command
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("LC_ALL", "C")
        // A probe starts the agent, which is a script in most tests.
        .env("RALPH_PROBE", "off");
    if let Some(file) = std::env::var_os("LLVM_PROFILE_FILE") {
        // When measured for coverage, a program would otherwise write its counts to the project.
        command.env("LLVM_PROFILE_FILE", file);
    }
    command
}

/// Runs a program with this input and collects its output. It is no error if the program does not
/// read all of its input.
pub fn run_with_input(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("the program ends")
    })
}

/// Returns the command to run a shell script in its own mount namespace, if this machine allows it:
/// as root, or in a user namespace. `None` if it does not; a test that needs it then reports so and
/// passes, unless `RALPH_INTERNAL__REQUIRE_MOUNTS` is set, as it is in CI.
pub fn own_mounts() -> Option<Vec<&'static str>> {
    let ways = [vec!["unshare", "--mount"], vec!["unshare", "--mount", "--map-root-user"]];
    let works = |way: &Vec<&str>| {
        let mut command = Command::new("unshare");
        command.args(&way[1..]).args(["sh", "-c", "mount -t tmpfs tmpfs /tmp"]);
        command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let way = ways.into_iter().find(works);
    is_met(way.is_some(), "RALPH_INTERNAL__REQUIRE_MOUNTS", "this machine does not allow mounts");
    way
}

/// Returns the command to run a shell script in a folder `disk` on a file system that ignores case, in
/// its own mount namespace. `None`, like above, without exFAT for FUSE or a loop device.
pub fn on_a_disk_that_ignores_case(script: &str) -> Option<Vec<String>> {
    let way = own_mounts()?;
    let mount = "truncate -s 32M image && mkfs.exfat image >&2 && mkdir disk && \
                 loop=$(losetup -f --show image) && mount.exfat-fuse $loop disk >&2 && cd disk || exit 77";
    let leave = "code=$?; cd / && umount -l \"$at/disk\"; losetup -d $loop; exit $code";
    let whole = format!("at=$PWD; {mount}; ({script}); {leave}");
    let command = |script: &str| -> Vec<String> {
        way.iter().chain(&["sh", "-c", script]).map(|word| (*word).to_owned()).collect()
    };
    let scratch = crate::Scratch::on_disk();
    let tried = command(&format!("at=$PWD; {mount}; {leave}"));
    let tried = Command::new(&tried[0]).args(&tried[1..]).current_dir(scratch.root()).output();
    let works = tried.is_ok_and(|output| output.status.success());
    let otherwise = "this machine mounts no file system that ignores case";
    is_met(works, "RALPH_INTERNAL__REQUIRE_MOUNTS", otherwise).then(|| command(&whole))
}

/// Whether `gh` is installed. If it is not, a test that needs it reports so and passes, unless
/// `RALPH_INTERNAL__REQUIRE_GH` is set, as it is in CI.
pub fn gh_is_there() -> bool {
    let version = Command::new("gh").arg("--version").output();
    let is_there = version.is_ok_and(|output| output.status.success());
    is_met(is_there, "RALPH_INTERNAL__REQUIRE_GH", "gh is not installed")
}

/// Reports an unmet requirement of a test; panics if this variable is set.
fn is_met(is_there: bool, variable: &str, otherwise: &str) -> bool {
    assert!(is_there || std::env::var_os(variable).is_none(), "{otherwise}");
    if !is_there {
        println!("passed over: {otherwise}");
    }
    is_there
}
