//! The matrix: read by a linter; and its last step, in the kind of clone that a workflow gets (detached,
//! without history), by a server that takes nothing but branches.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::server::Server;
use super::stage::Stage;
use super::tools::Tool;
use super::yaml::Yaml;
use crate::{release, run};

pub(super) const TOOLS: &[Tool] =
    &[("node", "nodejs"), ("npm", "npm"), ("python3", "python3-venv")];

const STORIES: usize = 6;

/// What a step runs, and with which variables.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Step {
    run: String,
    env: BTreeMap<String, String>,
}

/// As many machines as the matrix has do six stories.
pub(super) fn play(stage: &Stage) -> Result<()> {
    let path = stage.recipe("workflow.yml");
    release::lint_workflows(std::slice::from_ref(&path))?;
    let workflow = Yaml::read(&path)?;
    let may: String = workflow.at("/permissions/contents")?;
    ensure!(may == "write", "the workflow may not push");
    let matrix: Vec<usize> = workflow.at("/jobs/machine/strategy/matrix/machine")?;
    let steps: Vec<Step> = workflow.at("/jobs/machine/steps")?;
    let step = steps.last().context("the job has no steps")?;
    let server = Server::new(stage, "server.git", STORIES)?.takes_only_branches();
    let mut machines = Vec::new();
    for machine in &matrix {
        let clone = stage.scratch.path(&format!("clone-{machine}"));
        let address = format!("file://{}", server.path);
        let git = |args: &[&str]| run::output(stage.command("git").args(args));
        git(&["clone", "--quiet", "--depth=1", &address, clone.as_str()])?;
        git(&["-C", clone.as_str(), "checkout", "--quiet", "--detach"])?;
        let mut command = stage.command("sh");
        command.args(["-e", "-c", &step.run]).current_dir(clone);
        command.envs(&step.env).env("BRANCH", "main");
        let output = format!("output-{machine}");
        machines.push((stage.start(&mut command, &output)?, output));
    }
    stage.all_end_well(machines)?;
    server.expect_done_by(matrix.len())?;
    let refs = server.git(&["for-each-ref", "--format=%(refname)"])?;
    ensure!(refs.lines().all(|name| name.starts_with("refs/heads/")), "not only branches:\n{refs}");
    Ok(())
}
