//! The Indexed Job: read with the published schema; and what its pods run, each as the first process of
//! a namespace with a host name of its own.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use test_support::own_mounts;

use super::server::Server;
use super::stage::Stage;
use super::tools::Tool;
use super::yaml::{Yaml, validate};

pub(super) const TOOLS: &[Tool] =
    &[("unshare", "util-linux"), ("hostname", "hostname"), ("python3", "python3-venv")];

const STORIES: usize = 8;

/// The part of a container that can be tried here.
#[derive(Deserialize)]
struct Container {
    command: Vec<String>,
    args: Vec<String>,
    env: Vec<Variable>,
}

#[derive(Deserialize)]
struct Variable {
    name: String,
    value: String,
}

/// As many machines as there are pods do eight stories.
pub(super) fn play(stage: &Stage) -> Result<()> {
    let path = stage.recipe("kubernetes.yaml");
    validate(&path)?;
    let Some(way) = own_mounts() else { return Ok(()) };
    let (program, own) = way.split_first().context("no way to have mounts")?;
    let manifest = Yaml::read(&path)?;
    let pods: usize = manifest.at("/spec/completions")?;
    let Container { command, args, env } = manifest.at("/spec/template/spec/containers/0")?;
    let variables: BTreeMap<String, String> =
        env.into_iter().map(|variable| (variable.name, variable.value)).collect();
    let address = variables.get("REPOSITORY").context("the manifest names no REPOSITORY")?;
    let server = Server::new(stage, "server.git", STORIES)?;
    let mut machines = Vec::new();
    for pod in 0..pods {
        let mut machine = stage.command(program);
        machine.args(own).args(["--pid", "--uts", "--fork", "--kill-child", "--mount-proc"]);
        machine.args(["sh", "-c"]);
        machine.args([r#"hostname "$0" && exec "$@""#, &format!("ralph-fleet-{pod}")]);
        machine.args(&command).args(&args).envs(&variables);
        machine.env("HOME", stage.scratch.dir(&format!("pod-{pod}")));
        // The address is the manifest's; where it leads to is ours.
        machine.env("GIT_CONFIG_KEY_0", format!("url.{}.insteadOf", server.path));
        machine.env("GIT_CONFIG_VALUE_0", address);
        let output = format!("output-{pod}");
        machines.push((stage.start(&mut machine, &output)?, output));
    }
    stage.all_end_well(machines)?;
    server.expect_done_by(pods)
}
