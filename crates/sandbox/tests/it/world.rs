//! A home folder with credentials, a project, a copy of it, and programs inside or outside.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use sandbox::{Found, Limits, Policy, Request, Settings};
use test_support::Scratch;

/// The program that starts others inside the sandbox.
const DOOR: &str = env!("CARGO_BIN_EXE_sandbox-door");

/// The content of every file that must not be readable.
pub(crate) const SECRET: &str = "hunter2";

/// Credentials in the home folder.
pub(crate) const SECRETS: [&str; 22] = [
    ".ssh/id_ed25519",
    ".gnupg/private-keys-v1.d/key",
    ".aws/credentials",
    ".azure/msal_token_cache.json",
    ".config/gcloud/credentials.db",
    ".kube/config",
    ".config/gh/hosts.yml",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".docker/config.json",
    ".gem/credentials",
    ".config/composer/auth.json",
    ".composer/auth.json",
    ".cargo/credentials.toml",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json",
    ".factory/auth.json",
];

/// Whether a program runs inside or outside the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Inside,
    Outside,
}

pub(crate) struct World {
    pub(crate) scratch: Scratch,
    pub(crate) settings: Settings,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) agent: Option<&'static str>,
    pub(crate) found: Found,
}

impl World {
    pub(crate) fn new() -> Self {
        // Not in memory: the folder for shared memory is writable inside the sandbox.
        let scratch = Scratch::on_disk();
        for name in SECRETS {
            scratch.file(&format!("home/{name}"), SECRET);
        }
        for name in [".bashrc", ".gitconfig", ".config/git/config", ".cargo/config.toml"] {
            scratch.file(&format!("home/{name}"), "");
        }
        for name in [".claude/settings.json", ".claude.json", ".codex/config.toml"] {
            scratch.file(&format!("home/{name}"), "{}");
        }
        scratch.file("home/.claude/.credentials.json", SECRET);
        scratch.file("home/.claude/projects/-copies-own/old.jsonl", "old");
        scratch.file("home/.claude/projects/-copies-other/memory/MEMORY.md", "mine\n");
        for name in ["project/src/main.c", "project/.ralph/plan.md"] {
            scratch.file(name, "the user's\n");
        }
        scratch.file("project/.git/config", "[core]\nbare = false\n");
        scratch.dir("project/empty");
        scratch.file("copies/other/main.c", "another attempt's\n");
        scratch.file("copies/own/main.c", "own\n");
        let folders = ["tmp", "state"].map(|name| scratch.dir(name));
        assert!(folders.iter().all(|folder| folder.exists()));
        let env = [("PATH", test_path()), ("HOME", scratch.path("home").into_string())];
        let env = env.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        let world = Self {
            scratch,
            settings: Settings::default(),
            env,
            agent: None,
            found: Found::default(),
        };
        sandbox::create_folders(&[world.policy()]);
        world
    }

    pub(crate) fn path(&self, name: &str) -> Utf8PathBuf {
        self.scratch.path(name)
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy::new(&Request {
            home: &self.path("home"),
            copy: &self.path("copies/own"),
            starts: &["/copies/own".into()],
            tmp: &self.path("tmp"),
            state: &self.path("state"),
            read_only: &[self.path("project"), self.path("copies")],
            agent: self.agent,
            is_setup: false,
            found: &self.found,
            settings: &self.settings,
            env: &self.env,
        })
    }

    /// A shell that runs this script in the copy.
    pub(crate) fn shell(&self, side: Side, script: &str) -> Command {
        self.shell_with(&self.policy().looked_up(), side, script)
    }

    /// The same with a policy that was made before.
    pub(crate) fn shell_with(&self, policy: &Policy, side: Side, script: &str) -> Command {
        let mut command = match side {
            Side::Inside => {
                sandbox::door(Path::new(DOOR), Some(policy), Limits::default()).command("sh")
            }
            Side::Outside => Command::new("sh"),
        };
        if side == Side::Inside {
            let policy = command.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned()));
            let policy: Vec<_> = policy.collect();
            command.env_clear().envs(policy);
        } else {
            command.env_clear();
        }
        command.args(["-c", script]).current_dir(self.path("copies/own")).envs(&self.env);
        for (name, folder) in [("PROJECT", "project"), ("COPY", "copies/own"), ("STATE", "state")] {
            command.env(name, self.path(folder));
        }
        command.env("OTHER", self.path("copies/other"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, side: Side, script: &str) -> Output {
        self.shell(side, script).output().expect("a shell")
    }

    /// Everything that an attempt must not change.
    pub(crate) fn protected(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for folder in ["home", "project", "copies/other"] {
            collect(&self.path(folder), &mut found);
        }
        found
    }
}

/// The search path, real programs first: wrappers of version managers write into their own folders.
fn test_path() -> String {
    format!("/usr/local/bin:/usr/bin:/bin:{}", std::env::var("PATH").unwrap_or_default())
}

/// Type, mode, number of links and content of everything below a folder.
fn collect(path: &Utf8Path, found: &mut BTreeMap<String, String>) {
    let facts = path.symlink_metadata().unwrap();
    let links = if facts.is_dir() { 0 } else { facts.nlink() };
    let content =
        if facts.is_file() { fs_err::read_to_string(path).unwrap() } else { String::new() };
    found.insert(path.to_string(), format!("{:o} {links} {content}", facts.mode()));
    if facts.is_dir() {
        for entry in path.read_dir_utf8().unwrap() {
            collect(entry.unwrap().path(), found);
        }
    }
}

/// The text that a program printed.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&*output.stdout, &output.stderr].concat()).into_owned()
}

/// A process outside the sandbox, killed when the test ends.
pub(crate) struct Outsider(pub(crate) Child);

impl Outsider {
    pub(crate) fn start() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("600").env("TOKEN", SECRET).spawn().expect("a process"))
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Outsider {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
