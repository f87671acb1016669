//! The array job: a controller and a node of its own, with folders, ports and a key of their own.

use std::process::Command;

use anyhow::{Result, ensure};

use super::daemon::Daemon;
use super::server::Server;
use super::stage::{Stage, free_port, until};
use super::tools::Tool;
use crate::run;

pub(super) const TOOLS: &[Tool] = &[
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("sbatch", "slurm-client"),
    ("munged", "munge"),
];

const TASKS: usize = 4;
const STORIES: usize = 8;

/// Four tasks do eight stories; then three do, because one is cancelled.
pub(super) fn play(stage: &Stage) -> Result<()> {
    let cluster = Cluster::start(stage)?;
    let server = Server::new(stage, "whole.git", STORIES)?;
    let job = cluster.submit(&server, "whole")?;
    cluster.expect_completed(&job, TASKS)?;
    server.expect_done_by(TASKS)?;
    let server = Server::new(stage, "cancelled.git", STORIES)?;
    let job = cluster.submit(&server, "cancelled")?;
    stage.until_says("cancelled-1", "iteration ")?;
    run::output(cluster.command("scancel").arg(format!("{job}_1")))?;
    cluster.expect_completed(&job, TASKS - 1)?;
    server.expect_done_by(TASKS)?;
    stage.expect_nothing_left()
}

/// Ended from the first to the last field.
struct Cluster<'a> {
    stage: &'a Stage,
    _node: Daemon,
    _controller: Daemon,
    _keeper: Daemon,
}

impl<'a> Cluster<'a> {
    fn start(stage: &'a Stage) -> Result<Self> {
        let scratch = &stage.scratch;
        for folder in ["slurm/state", "slurm/spool"] {
            scratch.dir(folder);
        }
        let folder = scratch.path("slurm");
        // As random as a key for one minute needs to be.
        let key =
            scratch.file("slurm/key", format!("{:?}{folder:<1000}", std::time::Instant::now()));
        run::output(stage.command("chmod").args(["600", key.as_str()]))?;
        let mut keeper = stage.command("munged");
        keeper.args(["--foreground", "--force"]);
        for (option, name) in [
            ("key-file", "key"),
            ("socket", "socket"),
            ("pid-file", "munged.pid"),
            ("seed-file", "seed"),
        ] {
            keeper.arg(format!("--{option}={folder}/{name}"));
        }
        let keeper = Daemon::start(&mut keeper, &folder.join("munged.log"))?;
        until("munged", || Ok(folder.join("socket").exists()))?;
        scratch.file("slurm/slurm.conf", configuration(stage)?);
        let daemon = |name: &str| {
            let mut command = stage.command(name);
            command.args(["-D", "-f", &format!("{folder}/slurm.conf")]);
            Daemon::start(&mut command, &folder.join(format!("{name}.log")))
        };
        let controller = daemon("slurmctld")?;
        let node = daemon("slurmd")?;
        let cluster = Self { stage, _node: node, _controller: controller, _keeper: keeper };
        until("a node that is idle", || {
            Ok(cluster.says("sinfo", &["--format=%t"]).contains("idle"))
        })?;
        Ok(cluster)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.stage.command(program);
        command.env("SLURM_CONF", self.stage.scratch.path("slurm/slurm.conf"));
        command
    }

    fn says(&self, program: &str, args: &[&str]) -> String {
        run::output(self.command(program).arg("--noheader").args(args)).unwrap_or_default()
    }

    /// Submits the recipe as it stands; task N writes into the file `NAME-N`.
    fn submit(&self, server: &Server<'_>, name: &str) -> Result<String> {
        let recipe = self.stage.recipe("slurm.sh");
        let output = self.stage.scratch.path(&format!("{name}-%a"));
        let mut sbatch = self.command("sbatch");
        sbatch.args(["--parsable", "--output", output.as_str(), recipe.as_str()]);
        sbatch.args([server.path.as_str(), "main"]).current_dir(self.stage.recipe(""));
        Ok(run::output(&mut sbatch)?.trim().to_owned())
    }

    /// Waits for the end of a job, so many tasks of which must have done what they could.
    fn expect_completed(&self, job: &str, tasks: usize) -> Result<()> {
        until("the end of the job", || Ok(self.says("squeue", &["--job", job]).trim().is_empty()))?;
        let shown = run::output(self.command("scontrol").args(["--oneliner", "show", "job", job]))?;
        let completed = shown.matches("JobState=COMPLETED").count();
        ensure!(completed == tasks, "{completed} tasks were completed, not {tasks}:\n{shown}");
        Ok(())
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        // What still runs after a failure would outlive its node.
        let _ = run::output(self.command("scancel").args([
            "--full",
            "--signal=KILL",
            "--partition=all",
        ]));
    }
}

/// One machine, that takes all tasks at once.
fn configuration(stage: &Stage) -> Result<String> {
    let folder = stage.scratch.path("slurm");
    let host = run::output(stage.command("hostname").arg("-s"))?;
    let user = run::output(stage.command("id").arg("-un"))?;
    let (host, user) = (host.trim(), user.trim());
    let (controller, node) = (free_port()?, free_port()?);
    Ok(format!(
        "ClusterName=recipe\n\
         SlurmctldHost={host}(127.0.0.1)\n\
         SlurmUser={user}\n\
         SlurmdUser={user}\n\
         AuthInfo=socket={folder}/socket\n\
         SlurmctldPort={controller}\n\
         SlurmdPort={node}\n\
         SlurmctldPidFile={folder}/slurmctld.pid\n\
         SlurmdPidFile={folder}/slurmd.pid\n\
         StateSaveLocation={folder}/state\n\
         SlurmdSpoolDir={folder}/spool\n\
         ProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\n\
         SelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\n\
         SlurmdParameters=config_overrides\n\
         NodeName={host} NodeAddr=127.0.0.1 CPUs={TASKS}\n\
         PartitionName=all Nodes=ALL Default=YES\n"
    ))
}
