//! Files of a story that tools outside of the sandbox execute or take orders from: other agents,
//! editors, git hooks, shells, and the forge.

use std::path::{Path, PathBuf};

use ralph_base::listing::named_files;
use ralph_project::verification::Finding;

use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Verifier, Work};

/// Folders whose files count, at any depth of the project.
const FOLDERS: &str = "\
    .agents .buildkite .circleci .claude .clinerules .codex .copilot .cursor .devcontainer .factory \
    .forgejo .gemini .gitea .githooks .github/actions .github/hooks .github/instructions .github/workflows .gitlab .husky \
    .idea/runConfigurations .kilocode .kimi .kimi-code .kiro/hooks .lefthook .opencode .qwen \
    .windsurf .woodpecker .zed";

/// Files that count, at any depth of the project.
const FILES: &str = "\
    .aider.conf.yml .appveyor.yml .cursorrules .drone.yml .envrc .gitattributes .gitlab-ci.yml .gitmodules .goosehints \
    .lefthook.toml .lefthook.yaml .lefthook.yml .mcp.json .mise.toml .overcommit.yml \
    .pre-commit-config.yaml .pre-commit-hooks.yaml .travis.yml .vscode/extensions.json \
    .vscode/launch.json .vscode/mcp.json .vscode/settings.json .vscode/tasks.json .windsurfrules \
    .woodpecker.yml AGENTS.md AGENTS.override.md CLAUDE.local.md CLAUDE.md GEMINI.md Jenkinsfile QWEN.md appveyor.yml azure-pipelines.yml bitbucket-pipelines.yml \
    cloudbuild.yaml lefthook.toml lefthook.yaml lefthook.yml mise.toml opencode.json opencode.jsonc";

#[derive(Debug)]
pub(super) struct Elsewhere;

impl Verifier for Elsewhere {
    fn name(&self) -> &'static str {
        "elsewhere"
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let files = run_elsewhere(&work.staged.files);
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let what = format!("tools outside of the sandbox execute or obey {}", named_files(&files));
        Ok(vec![Finding::remark(self.name(), "runs elsewhere", what)])
    }
}

/// Returns the files that other tools execute.
fn run_elsewhere(files: &[PathBuf]) -> Vec<PathBuf> {
    files.iter().filter(|file| is_run_elsewhere(file)).cloned().collect()
}

fn is_run_elsewhere(file: &Path) -> bool {
    let is_in = |folder: &Path| FOLDERS.split(' ').any(|name| folder.ends_with(name));
    FILES.split(' ').any(|name| file.ends_with(name)) || file.ancestors().skip(1).any(is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_other_tools_execute_are_known() {
        let known = ".mcp.json .gemini/settings.json app/.codex/config.toml .claude/skills/a/run.sh \
                     .vscode/tasks.json .husky/pre-commit .github/workflows/ci.yml .envrc \
                     lefthook.yml sub/.pre-commit-config.yaml .gitlab-ci.yml CLAUDE.md";
        let files: Vec<PathBuf> = known.split_whitespace().map(PathBuf::from).collect();
        assert_eq!(run_elsewhere(&files), files);
        let others =
            "src/main.rs .github/CODEOWNERS .vscode/words.txt mcp.json claude/a docs/envrc";
        let others: Vec<PathBuf> = others.split_whitespace().map(PathBuf::from).collect();
        assert!(run_elsewhere(&others).is_empty());
    }
}
