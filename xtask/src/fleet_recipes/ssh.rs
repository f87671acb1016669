//! GNU parallel over ssh: three hosts behind one server on loopback, with keys of their own.

use std::process::Child;

use anyhow::{Result, ensure};
use nix::unistd::geteuid;
use test_support::{signal, started_with};

use super::daemon::Daemon;
use super::server::Server;
use super::stage::{Stage, free_port, until};
use super::tools::Tool;
use crate::run;

pub(super) const TOOLS: &[Tool] =
    &[("parallel", "parallel"), ("sshd", "openssh-server"), ("ssh", "openssh-client")];

const HOSTS: [&str; 3] = ["one", "two", "three"];
const STORIES: usize = 6;

/// By which the processes of a host are known.
const MARK: &str = "RALPH_RECIPE_HOST";

/// Three hosts do six stories; then two do, because one is killed.
pub(super) fn play(stage: &Stage) -> Result<()> {
    let port = free_port()?;
    let _sshd = sshd(stage, port)?;
    stage.scratch.file("hosts", HOSTS.join("\n"));
    let server = Server::new(stage, "whole.git", STORIES)?;
    let fleet = start(stage, &server, "whole", &[])?;
    stage.all_end_well(vec![(fleet, "whole".to_owned())])?;
    server.expect_done_by(HOSTS.len())?;
    stage.expect_nothing_left()?;
    let server = Server::new(stage, "killed.git", STORIES)?;
    let mut fleet = start(stage, &server, "killed", &["--lease", "8"])?;
    until("the first host to work", || {
        let said = fs_err::read_to_string(stage.scratch.path("killed")).unwrap_or_default();
        Ok(said.lines().any(|line| line.starts_with(HOSTS[0]) && line.contains(" iteration ")))
    })?;
    for process in started_with(&format!("{MARK}={}", HOSTS[0])) {
        signal("KILL", process);
    }
    let status = fleet.wait()?;
    ensure!(status.code() == Some(1), "one host has failed, but {status}");
    server.expect_done_by(HOSTS.len())
}

/// Starts the recipe as it stands.
fn start(stage: &Stage, server: &Server<'_>, output: &str, more: &[&str]) -> Result<Child> {
    let mut fleet = stage.command(stage.recipe("parallel.sh").as_str());
    let configuration = stage.scratch.path("ssh/config");
    fleet.env("PARALLEL_SSH", format!("ssh -F {configuration}"));
    fleet.args([stage.scratch.path("hosts").as_str(), server.path.as_str(), "main"]).args(more);
    stage.start(&mut fleet, output)
}

/// A server whose sessions see what a program of the stage sees.
fn sshd(stage: &Stage, port: u16) -> Result<Daemon> {
    let folder = stage.scratch.dir("ssh");
    for key in ["host", "user"] {
        let mut make = stage.command("ssh-keygen");
        make.args(["-q", "-t", "ed25519", "-N", "", "-f", folder.join(key).as_str()]);
        run::output(&mut make)?;
    }
    let host_key = stage.scratch.read("ssh/host.pub");
    stage.scratch.file("ssh/known", format!("[127.0.0.1]:{port} {host_key}"));
    let user = run::output(stage.command("id").arg("-un"))?;
    let user = user.trim();
    let hosts = HOSTS.map(|host| format!("Host {host}\n  SetEnv {MARK}={host}\n")).concat();
    let client = format!(
        "{hosts}Host *\n  HostName 127.0.0.1\n  Port {port}\n  User {user}\n  IdentitiesOnly yes\n  \
         IdentityFile {folder}/user\n  UserKnownHostsFile {folder}/known\n  BatchMode yes\n"
    );
    stage.scratch.file("ssh/config", client);
    let (path, home, temporary) = (&stage.path, stage.home(), stage.scratch.path("tmp"));
    let server = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\nPidFile none\n\
         AuthorizedKeysFile {folder}/user.pub\nStrictModes no\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nAcceptEnv {MARK}\n\
         SetEnv PATH={path} HOME={home} TMPDIR={temporary}\n"
    );
    let configuration = stage.scratch.file("ssh/server", server);
    if geteuid().is_root() {
        // It insists on this folder, which the system's own service would make.
        fs_err::create_dir_all("/run/sshd")?;
    }
    // It starts itself again for each session, so it wants its whole path.
    let mut sshd = stage.command("/usr/sbin/sshd");
    sshd.args(["-D", "-e", "-f", configuration.as_str()]);
    let daemon = Daemon::start(&mut sshd, &folder.join("log"))?;
    until("sshd", || Ok(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()))?;
    Ok(daemon)
}
