//! What leads out of the copy, and what the client keeps for the project's folder.

use ralph_core::config::Config;
use ralph_core::env::Env;
use ralph_core::git::Repo;
use ralph_core::project::Project;

use super::Finding;
use crate::run::start::{client_options, run_dir};
use crate::workspace::{LinkedBack, Workspace};

/// What is known before a run; the files of the copy are looked at once there is one.
pub(super) fn look(project: &Project, env: &Env, config: &Config) -> Vec<Finding> {
    let mut findings = match linked_back(project, env, config) {
        Some(found) => found.into_iter().map(finding).collect(),
        None => Vec::new(),
    };
    let kept = client_options(env, project, config).kept;
    if !kept.passed.is_empty() {
        let passed = kept.passed.join(", ");
        findings.push(Finding::Good(format!("passed to the agent in the copy: {passed}")));
    }
    findings.extend(kept.left.into_iter().map(Finding::Worth));
    findings
}

fn linked_back(project: &Project, env: &Env, config: &Config) -> Option<Vec<LinkedBack>> {
    let repo = Repo::open(project.root()).ok()?;
    let workspace = Workspace::of(env, project, &repo, &run_dir(&repo).ok()?, config).ok()?;
    let (setup, checks) = (&config.workspace.setup, &config.verify.commands);
    let mut found = workspace.linked_by_environment(env, &[&setup[..], checks].concat());
    found.extend(workspace.linked_by_files(checks));
    Some(found)
}

fn finding(found: LinkedBack) -> Finding {
    if found.is_certain { Finding::Bad(found.message) } else { Finding::Worth(found.message) }
}
