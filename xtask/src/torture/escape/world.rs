//! The user's machine, made anew for each run: a home folder with credentials, projects, processes,
//! terminals and sockets. As root, each one belongs to an ordinary user of its own.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use test_support::{Scratch, signal};
use wait_timeout::ChildExt;

use super::probes::Table;
use crate::{linux, run};

/// The roles in which an attempt's programs run.
pub(super) const ROLES: [&str; 6] = ["agent", "check", "hook", "setup", "reviewer", "detached"];

/// Where programs are found by an ordinary user.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// The most processes of a user, as root only: as anybody else they would count what runs already.
const MOST_PROCESSES: u32 = 400;

/// How long a loop may take to obey SIGTERM.
const OBEYS: Duration = Duration::from_secs(20);

/// How long processes may take to end after their loop.
const ENDS: Duration = Duration::from_secs(3);

/// What is said of a loop that was killed.
pub(super) const KILLED: &str = "signal 9 ended it";

/// Where the agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    Copy,
    InPlace,
}

impl Mode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::InPlace => "in place",
        }
    }

    /// The roles that there are: in place, nothing is set up.
    pub(super) fn roles(self) -> Vec<&'static str> {
        let is_there = |role: &&str| self == Self::Copy || *role != "setup";
        ROLES.into_iter().filter(is_there).collect()
    }

    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Copy => "",
            Self::InPlace => "--in-place",
        }
    }
}

/// What all worlds share.
pub(super) struct Machine {
    /// The programs, where any user can start them.
    binaries: Scratch,
    /// The data of the campaign.
    pub(super) data: Utf8PathBuf,
    pub(super) table: Table,
    pub(super) is_root: bool,
    next: AtomicU32,
}

impl Machine {
    pub(super) fn new(from: &Utf8Path) -> Result<Self> {
        let data = run::root().join("xtask/escape");
        let table = toml::from_str(&fs_err::read_to_string(data.join("probes.toml"))?)?;
        let binaries = Scratch::on_disk();
        open(binaries.root())?;
        for entry in from.read_dir_utf8()?.flatten() {
            if entry.file_name().starts_with("ralph-") && entry.path().extension().is_none() {
                fs_err::copy(entry.path(), binaries.path(entry.file_name()))?;
            }
        }
        ensure!(binaries.path("ralph-loop").exists(), "{from} has no ralph-loop");
        let is_root = linux::process(std::process::id()).is_some_and(|it| it.uid == 0);
        // A number that no other campaign on this machine uses.
        let next = AtomicU32::new(1_000_000 + std::process::id() * 500);
        Ok(Self { binaries, data, table, is_root, next })
    }
}

fn open(folder: &Utf8Path) -> Result<()> {
    Ok(fs_err::set_permissions(folder, Permissions::from_mode(0o755))?)
}

/// What is different from world to world.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) stories: usize,
    /// The loop's options, as a shell writes them.
    pub(super) options: String,
    /// Scripts of roles.
    pub(super) scripts: Vec<(&'static str, String)>,
}

/// One machine with one user.
pub(super) struct World {
    scratch: Scratch,
    uid: Option<u32>,
    pub(super) mode: Mode,
    /// The processes of the user's that were there before.
    own: Vec<Child>,
}

/// How a run ended.
pub(super) struct Ended {
    /// What is wrong with that: it hung, panicked, left processes behind.
    pub(super) wrong: Vec<String>,
}

impl World {
    pub(super) fn new(machine: &Machine, mode: Mode, plan: &Plan) -> Result<Self> {
        let scratch = Scratch::on_disk();
        let uid = machine.is_root.then(|| machine.next.fetch_add(1, Ordering::Relaxed));
        let mut world = Self { scratch, uid, mode, own: Vec::new() };
        fs_err::create_dir(world.path("s"))?;
        for entry in machine.data.read_dir_utf8()?.flatten() {
            if entry.path().extension().is_some_and(|kind| kind != "toml") {
                fs_err::copy(entry.path(), world.path("s").join(entry.file_name()))?;
            }
        }
        world.write("s/here.sh", &world.here(machine))?;
        world.write("s/loop.sh", &world.starts(machine, &plan.options))?;
        for (role, script) in &plan.scripts {
            let input = if *role == "agent" { "cat >/dev/null\n" } else { "" };
            let text = format!(
                "{input}ROLE={role}; export ROLE\n. {0}/s/here.sh\n. {0}/s/env.sh\n{script}",
                world.root()
            );
            world.write(&format!("s/{role}.sh"), &text)?;
        }
        world.give(world.root())?;
        let secrets = &machine.table.secrets;
        let files = format!("{} {}", secrets.files, secrets.setup_files);
        let mut command = world.command(&format!("{}/s/world.sh", world.root()));
        command.env("FILES", files).env("STORIES", plan.stories.max(1).to_string());
        let made = command.current_dir(world.root()).output()?;
        ensure!(made.status.success(), "no world: {}", String::from_utf8_lossy(&made.stderr));
        if plan.scripts.iter().any(|(role, _)| *role == "hook") {
            let hook = ".git/hooks/pre-commit";
            let text = format!(
                "printf '#!/bin/sh\\nexec sh \"%s\"\\n' \"$W/s/hook.sh\" >{hook} && chmod +x {hook}"
            );
            ensure!(world.outside(&text, &[])?.0, "no hook");
        }
        world.populate()?;
        Ok(world)
    }

    /// Hands everything below a path to the user.
    pub(super) fn give(&self, path: &Utf8Path) -> Result<()> {
        let Some(uid) = self.uid else { return Ok(()) };
        chown(path, Some(uid), Some(uid))?;
        if path.symlink_metadata()?.is_dir() {
            for entry in path.read_dir_utf8()? {
                self.give(entry?.path())?;
            }
        }
        Ok(())
    }

    pub(super) fn root(&self) -> &Utf8Path {
        self.scratch.root()
    }

    pub(super) fn path(&self, name: &str) -> Utf8PathBuf {
        self.scratch.path(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs_err::write(self.path(name), text)?)
    }

    /// Reads a file, or returns an empty text.
    pub(super) fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs_err::read(self.path(name)).unwrap_or_default()).into_owned()
    }

    /// The project that probes attack: with `--in-place`, another one than the loop's.
    pub(super) fn victim_project(&self) -> &'static str {
        if self.mode == Mode::Copy { "project" } else { "home/work" }
    }

    /// The names of folders and programs, as a shell script.
    fn here(&self, machine: &Machine) -> String {
        let w = self.root();
        let bin = machine.binaries.root();
        let victim = self.victim_project();
        format!(
            "W={w} HOME={w}/home PROJECT={w}/project VP={w}/{victim} OUTSIDE={w}/outside NOTES={w}/notes\n\
             OTHER={w}/home/.cache/ralph/other-01234567/1 BIN={bin} RALPH={bin}/ralph-loop OUTPUT={w}/loop.out\n\
             PATH={PATH} LC_ALL=C GIT_CONFIG_NOSYSTEM=1\nPORT=$(cat {w}/s/port 2>/dev/null)\n\
             export W HOME PROJECT VP OUTSIDE NOTES OTHER BIN RALPH OUTPUT PATH LC_ALL GIT_CONFIG_NOSYSTEM PORT\n"
        )
    }

    /// The command line of the loop, as a shell script.
    fn starts(&self, machine: &Machine, options: &str) -> String {
        let w = self.root();
        let secrets = &machine.table.secrets;
        let variables = [&secrets.variables, &secrets.setup_variables, &secrets.agent_variables]
            .map(String::as_str);
        let variables = variables.join(" ");
        let variables: String =
            variables.split_whitespace().map(|name| format!(" {name}=S3CRET-env-{name}")).collect();
        let limit = self.uid.map(|_| format!("prlimit --nproc={MOST_PROCESSES} "));
        format!(
            ". {w}/s/here.sh\ncd \"$PROJECT\" || exit 1\numask 022\n\
             exec {limit}env -i PATH=\"$PATH\" HOME=\"$HOME\" LC_ALL=C GIT_CONFIG_NOSYSTEM=1 \
             RALPH_SANDBOX_WRITE=\"$NOTES\"{variables} \"$RALPH\" {mode} {options} \"$@\"\n",
            limit = limit.unwrap_or_default(),
            mode = self.mode.option(),
        )
    }

    /// A script that the user runs.
    pub(super) fn command(&self, file: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg(file).env_clear().env("PATH", PATH).env("HOME", self.path("home"));
        command.current_dir(self.path("project")).stdin(Stdio::null()).process_group(0);
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        command
    }

    /// Runs a script of the user's in the project, outside of any sandbox, and returns whether it
    /// succeeded, and what it printed.
    pub(super) fn outside(&self, script: &str, vars: &[(&str, &str)]) -> Result<(bool, String)> {
        // Read by the shell before the user's own files could change what it does.
        let text = format!(". {0}/s/here.sh\n. {0}/s/env.sh\n{script}\n", self.root());
        let mut command = self.command("-c");
        let output = command.arg(text).envs(vars.iter().copied()).output()?;
        let said = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
    }

    /// Runs a script as a user that no world has; whether it succeeded.
    pub(super) fn by_another(&self, script: &str) -> Result<bool> {
        let uid = self.uid.map_or(0, |uid| uid + 100_000);
        let mut command = self.command("-c");
        command.arg(script).arg(self.root()).uid(uid).gid(uid);
        Ok(command.current_dir("/").status()?.success())
    }

    /// Starts what runs on the machine besides the loop.
    fn populate(&mut self) -> Result<()> {
        let mut command = self.command("-c");
        let script =
            "cd / && exec python3 \"$0/s/outsider.py\" \"$0\" \"$0/s/port\" \"$0/s/tty\" \"$@\"";
        command.arg(script).arg(self.root()).args(ROLES);
        self.own.push(command.stdout(Stdio::null()).spawn()?);
        let begun = Instant::now();
        while self.read("s/port").is_empty() {
            ensure!(begun.elapsed() < OBEYS, "no server");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Starts a process of the user's, which is to be harmed, and returns its id.
    pub(super) fn victim(&mut self) -> Result<u32> {
        let mut command = self.command("-c");
        command.arg("cd \"$0/outside\"; exec sleep 600").arg(self.root()).env("V", "S3CRET-victim");
        let key = fs_err::File::open(self.path("home/.aws/credentials"))?.into_parts().0;
        let child = command.stdin(key).stdout(Stdio::null()).spawn()?;
        let pid = child.id();
        self.own.push(child);
        Ok(pid)
    }

    /// Runs the loop to its end and says what is wrong with that.
    pub(super) fn run(&mut self, args: &[&str], limit: Duration) -> Result<Ended> {
        let out = fs_err::File::create(self.path("loop.out"))?.into_parts().0;
        let mut command = self.command(self.path("s/loop.sh").as_str());
        let mut child = command.args(args).stderr(out.try_clone()?).stdout(out).spawn()?;
        let mut wrong = Vec::new();
        if child.wait_timeout(limit)?.is_none() {
            wrong.push(format!("it hung: still there after {} s", limit.as_secs()));
            signal("TERM", child.id());
            if child.wait_timeout(OBEYS)?.is_none() {
                wrong.push("it is deaf to SIGTERM".to_owned());
                child.kill()?;
            }
        }
        let status = child.wait()?;
        let said = self.read("loop.out");
        if said.contains("panicked at") || status.code() == Some(101) {
            wrong.push("it panicked".to_owned());
        }
        wrong.extend(status.signal().map(|signal| format!("signal {signal} ended it")));
        let begun = Instant::now();
        let left = loop {
            let left = self.processes();
            if left.is_empty() || begun.elapsed() > ENDS {
                break left;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        wrong.extend(left.iter().map(|(_, name)| format!("a process outlived it: {name}")));
        Ok(Ended { wrong })
    }

    /// The processes of the user's that are not the machine's own, with their command lines.
    pub(super) fn processes(&self) -> Vec<(u32, String)> {
        let mut found = self.every_process();
        found.retain(|(_, line)| !line.contains("s/forge.py"));
        found
    }

    fn every_process(&self) -> Vec<(u32, String)> {
        let own: Vec<u32> = self.own.iter().map(Child::id).collect();
        let here = self.root().as_str();
        let is_ours = |it: &linux::Process| match self.uid {
            Some(uid) => it.uid == uid,
            None => it.line.contains(here) || it.variables.contains(here),
        };
        let mut found = linux::processes();
        found.retain(|it| is_ours(it) && it.state != 'Z' && !own.contains(&it.pid));
        found.into_iter().map(|it| (it.pid, it.line)).collect()
    }

    /// Everything below a folder: names with kind and content.
    pub(super) fn snapshot(&self, folder: &str) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
                let path = entry.path();
                let Ok(kind) = entry.file_type() else { continue };
                let content = if kind.is_file() {
                    String::from_utf8_lossy(&fs_err::read(path).unwrap_or_default()).into_owned()
                } else {
                    format!("{kind:?} {:?}", path.read_link_utf8().ok())
                };
                found.insert(path.to_string(), content);
                if kind.is_dir() {
                    folders.push(path.to_owned());
                }
            }
        }
        found
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for child in &mut self.own {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.own.clear();
        for _ in 0..50 {
            let left = self.every_process();
            if left.is_empty() {
                break;
            }
            left.iter().for_each(|(pid, _)| signal("KILL", *pid));
            std::thread::sleep(Duration::from_millis(20));
        }
        // What an attempt made may be so deep, or so closed, that removing it by name fails.
        let remove = "cd /; chmod -R u+rwX \"$0\" 2>/dev/null; rm -rf \"$0\"/project \"$0\"/home";
        let theirs =
            "; find /tmp /dev/shm -maxdepth 1 -user \"$(id -u)\" ! -path \"$0\" -exec rm -rf {} +";
        let script = format!("{remove}{}", if self.uid.is_some() { theirs } else { "" });
        let _ = self.command("-c").arg(script).arg(self.root()).stderr(Stdio::null()).status();
    }
}
