//! What would only show itself in the middle of a run: scripts and programs that cannot be started,
//! a template with a mistake, a lock that nobody holds, a signature that fails.

use camino::Utf8Path;
use ralph_core::config::Config;
use ralph_core::env::Env;
use ralph_core::git::Repo;
use ralph_core::project::Project;

use super::Finding;
use crate::{agent, here, lifecycle, run};

/// Lifecycle scripts that cannot be started.
pub(super) fn scripts(project: &Project) -> Vec<Finding> {
    let flaws = lifecycle::in_scripts(project.own_state(), project.root());
    flaws.into_iter().map(Finding::Bad).collect()
}

/// The user's prompt template.
pub(super) fn prompt(project: &Project, env: &Env, config: &Config) -> Option<Finding> {
    let plan = here::plan(project, env, config).ok()?;
    run::template(plan.path()).err().map(|failure| Finding::Bad(failure.to_string()))
}

/// Checks whose program is not there.
pub(super) fn programs(project: &Project, env: &Env, config: &Config) -> Vec<Finding> {
    let path = env.get("PATH").unwrap_or_default();
    let missing = |line: &String| {
        let program = agent::program_of(line)?;
        // The setup may make it in the copy, or a story.
        let is_made = program.contains('/') && !config.workspace.setup.is_empty();
        if is_made && !config.workspace.in_place {
            return None;
        }
        let what = match agent::is_found(program, &path, project.root()) {
            true => missing_script(line, project.root())?,
            false => program,
        };
        Some(Finding::Bad(format!(
            "the check `{line}` needs `{what}`, which was not found; install it, or fix [verify] \
             commands"
        )))
    };
    config.verify.commands.iter().filter_map(missing).collect()
}

/// The script that an interpreter is given in a command line, if it is not there.
pub(super) fn missing_script<'a>(line: &'a str, root: &Utf8Path) -> Option<&'a str> {
    let mut words = line.split_whitespace().skip_while(|word| word.contains('='));
    let program = Utf8Path::new(words.next()?).file_name()?;
    let script = words.next()?.trim_matches(['\'', '"']);
    let plain = script.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
    let is_file = plain && !script.starts_with('-') && script.contains(['.', '/']);
    let is_missing =
        agent::INTERPRETERS.contains(&program) && is_file && !root.join(script).exists();
    is_missing.then_some(script)
}

/// Locks that keep git from working.
pub(super) fn locks(repo: &Repo) -> Option<Finding> {
    let locks = repo.locks();
    let first = locks.first()?.display();
    Some(Finding::Bad(format!(
        "{first} is there: a git is at work, or was killed; remove the file if none is running"
    )))
}

/// A commit that is to be signed, made for nobody: a dangling object of a few bytes.
pub(super) fn signing(repo: &Repo) -> Option<Finding> {
    let git = repo.git();
    let wanted = git.line(&["config", "--type=bool", "--get", "commit.gpgsign"]).ok()?;
    if wanted != "true" {
        return None;
    }
    let signed = git.feed(&["mktree"], &[]).and_then(|tree| {
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        git.line(&["commit-tree", "-S", "-m", "does signing work?", &tree])
    });
    Some(match signed {
        Ok(_) => Finding::Good("commits can be signed".to_owned()),
        Err(error) => {
            let said = error.to_string();
            let why = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Finding::Bad(format!(
                "commits are to be signed (commit.gpgsign), and that fails: {why}; unlock or fix \
                 the key, or run `git config commit.gpgsign false` in this repository"
            ))
        }
    })
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn only_a_script_that_is_surely_missing_is_named() {
        let scratch = Scratch::new();
        scratch.file("there.sh", "");
        for (line, missing) in [
            ("sh missing.sh", Some("missing.sh")),
            ("A=1 bash 'tools/agent' -p", Some("tools/agent")),
            ("sh there.sh", None),
            ("sh -c 'exit 1'", None),
            ("python3 -m pytest", None),
            ("sh $HOME/x.sh", None),
            ("cargo missing.sh", None),
            ("sh", None),
        ] {
            assert_eq!(missing_script(line, scratch.root()), missing, "{line}");
        }
    }
}
