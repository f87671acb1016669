//! Which plan a command that only looks is about.

use std::io;

use clap::Args;
use ralph_project::config::Flag;
use ralph_project::project::Project;

use crate::run::record::plan_of_run;

/// The plan that was named, if one was.
#[derive(Debug, Args)]
pub(crate) struct PlanChoice {
    /// The plan to read; defaults to that of the current run, or the first one found
    #[arg(long, value_name = "PATH")]
    plan: Option<String>,
    /// Number of the PRD-N folder to use
    #[arg(long, value_name = "N")]
    prd: Option<u32>,
}

impl PlanChoice {
    pub(crate) fn flags(&self, project: &Project) -> io::Result<Vec<Flag>> {
        let plan = self.plan.clone().map(|plan| Flag::new("loop.plan", plan));
        let prd = self.prd.map(|prd| Flag::new("loop.prd", prd.to_string()));
        with_plan_of_run(plan.into_iter().chain(prd).collect(), project)
    }
}

/// While a run goes on, its plan is meant, unless another one is named.
pub(crate) fn with_plan_of_run(mut flags: Vec<Flag>, project: &Project) -> io::Result<Vec<Flag>> {
    if !flags.iter().any(|flag| ["loop.plan", "loop.prd"].contains(&flag.key.as_str())) {
        flags.extend(plan_of_run(project)?.map(|plan| Flag::new("loop.plan", plan)));
    }
    Ok(flags)
}
