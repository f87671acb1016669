//! Agent, checks and scripts that could not be started: found before the first story.

use std::path::PathBuf;

use nix::unistd::geteuid;
use ralph_base::env::Env;
use ralph_core::git::Repo;
use ralph_project::checks::one_line;
use ralph_project::config::Mode;

use super::preflight::Preflight;
use crate::{agent, lifecycle};

impl Preflight {
    /// Agent, checks and scripts that cannot be started.
    pub(super) fn look_for_programs(&mut self, env: &Env, repo: &Repo, uncommitted: &[PathBuf]) {
        let path = env.get("PATH").unwrap_or_default();
        if let Some(trouble) = self.agent_trouble(&path) {
            self.problem(trouble);
        }
        let skips = self.config.agent.command.contains("--dangerously-skip-permissions");
        if skips && geteuid().is_root() && env.get("IS_SANDBOX").is_none() {
            self.problem(
                "the client refuses --dangerously-skip-permissions as root; run as another user, or \
                 set IS_SANDBOX=1 if this is a container"
                    .to_owned(),
            );
        }
        for script in lifecycle::not_executable(self.project.own_state(), self.project.root()) {
            self.note(format!("{script} is not executable; run `chmod +x {script}`"));
        }
        if self.config.run.mode == Mode::Building {
            for line in self.config.verify.commands.clone() {
                if let Some(needs) = self.uncommitted_file(&line, repo, uncommitted) {
                    self.problem(format!("the check `{}` needs {needs}", one_line(&line)));
                }
            }
        }
    }

    /// A file that a check names and the copy will not have.
    fn uncommitted_file(&self, line: &str, repo: &Repo, files: &[PathBuf]) -> Option<String> {
        let tip = self.target.tip().ok().flatten().unwrap_or_else(|| "HEAD".to_owned());
        let file = line.split_whitespace().find(|word| {
            let word = word.trim_start_matches("./");
            let Some(below) = self.workspace.source.below_top(&self.project.root().join(word))
            else {
                return false;
            };
            let object = format!("{tip}:{below}");
            files.iter().any(|file| file.as_path() == below.as_std_path())
                && repo.git().run(&["cat-file", "-e", &object]).is_err()
        })?;
        Some(format!(
            "{file}, which is not committed, so the copy that the agent works in does not have it; \
             commit it"
        ))
    }

    /// Why the agent cannot be started, where that can be told.
    fn agent_trouble(&self, path: &str) -> Option<String> {
        let (line, root) = (&self.config.agent.command, self.project.root());
        let script = agent::script_of(line).filter(|script| !root.join(script).is_file());
        let program = || agent::program_of(line).filter(|name| !agent::is_found(name, path, root));
        let missing = script.or_else(program)?;
        if root.join(&missing).is_file() {
            return Some(format!(
                "the agent `{missing}` is not executable; run `chmod +x {missing}`"
            ));
        }
        let is_path = missing.contains(['/', '.']);
        let place = if is_path { root.as_str() } else { "the folders of PATH" };
        Some(format!(
            "the agent `{missing}` was not found in {place}; install it, or name another with --agent"
        ))
    }
}
